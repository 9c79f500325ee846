// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @fold_rearrangement(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<{{\[\[\[}}6, 4], [6, 4]], {{\[\[}}3, 1], [3, 1]]]> : tensor<2x2x2xi8>
// CHECK-NEXT: return %[[R]]
func.func @fold_rearrangement() -> tensor<2x2x2xi8> {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi8>
  %a = stablehlo.reshape %x : (tensor<6xi8>) -> tensor<2x3xi8>
  %b = stablehlo.reverse %a, dims = [0, 1] : tensor<2x3xi8>
  %c = stablehlo.slice %b [0:2, 0:3:2] : (tensor<2x3xi8>) -> tensor<2x2xi8>
  %d = stablehlo.transpose %c, dims = [1, 0] : (tensor<2x2xi8>) -> tensor<2x2xi8>
  %r = stablehlo.broadcast_in_dim %d, dims = [2, 0] : (tensor<2x2xi8>) -> tensor<2x2x2xi8>
  return %r : tensor<2x2x2xi8>
}

// What comes out equal everywhere is a splat.
// CHECK-LABEL: func.func @fold_rearrangement_to_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<7.000000e+00> : tensor<2xf32>
// CHECK-NEXT: return %[[R]]
func.func @fold_rearrangement_to_splat() -> tensor<2xf32> {
  %x = stablehlo.constant dense<[1.0, 7.0, 7.0]> : tensor<3xf32>
  %r = stablehlo.slice %x [1:3] : (tensor<3xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// The constant would be written out twice.
// CHECK-LABEL: func.func @fold_rearrangement_not_where_shared(
// CHECK: stablehlo.transpose
func.func @fold_rearrangement_not_where_shared() -> (tensor<2x9xi8>, tensor<9x2xi8>) {
  %x = stablehlo.constant dense<[[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6, 7, 8, 10]]> : tensor<2x9xi8>
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x9xi8>) -> tensor<9x2xi8>
  return %x, %r : tensor<2x9xi8>, tensor<9x2xi8>
}

// 20 elements of 2.
// CHECK-LABEL: func.func @fold_rearrangement_not_growing(
// CHECK: stablehlo.broadcast_in_dim
func.func @fold_rearrangement_not_growing() -> tensor<2x10xi8> {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xi8>) -> tensor<2x10xi8>
  return %r : tensor<2x10xi8>
}

// CHECK-LABEL: func.func @fold_concatenate(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 0xFFC1, 3.000000e+00]> : tensor<4xbf16>
// CHECK-NEXT: return %[[R]]
func.func @fold_concatenate() -> tensor<4xbf16> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  %y = stablehlo.constant dense<[0xFFC1, 3.0]> : tensor<2xbf16>
  %r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// Two splats say in two words what 40 elements say.
// CHECK-LABEL: func.func @fold_concatenate_not_of_splats(
// CHECK: stablehlo.concatenate
func.func @fold_concatenate_not_of_splats() -> tensor<40xi8> {
  %x = stablehlo.constant dense<1> : tensor<20xi8>
  %y = stablehlo.constant dense<2> : tensor<20xi8>
  %r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<20xi8>, tensor<20xi8>) -> tensor<40xi8>
  return %r : tensor<40xi8>
}

// CHECK-LABEL: func.func @fold_pad(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[9, 9, 1, 9, 2]> : tensor<5xi32>
// CHECK-NEXT: return %[[R]]
func.func @fold_pad() -> tensor<5xi32> {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %c = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.pad %x, %c, low = [2], high = [-2], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// The padding is an argument.
// CHECK-LABEL: func.func @fold_pad_not_with_argument(
// CHECK: stablehlo.pad
func.func @fold_pad_not_with_argument(%c: tensor<i32>) -> tensor<5xi32> {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %r = stablehlo.pad %x, %c, low = [2], high = [0], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// The start is clamped to 3, unsigned.
// CHECK-LABEL: func.func @fold_dynamic_update_slice(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[1, 2, 3, 8, 9]> : tensor<5xi32>
// CHECK-NEXT: return %[[R]]
func.func @fold_dynamic_update_slice() -> tensor<5xi32> {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %u = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
  %i = stablehlo.constant dense<255> : tensor<ui8>
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<5xi32>, tensor<2xi32>, tensor<ui8>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// The start is an argument.
// CHECK-LABEL: func.func @fold_dynamic_update_slice_not_at_argument(
// CHECK: stablehlo.dynamic_update_slice
func.func @fold_dynamic_update_slice_not_at_argument(%i: tensor<i32>) -> tensor<5xi32> {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %u = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<5xi32>, tensor<2xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// Rows 2 and 1 (200 and -1 are clamped, in their signedness), columns from 1 on.
// CHECK-LABEL: func.func @fold_gather(
// CHECK-DAG: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<{{\[\[}}8, 9], [5, 6]]> : tensor<2x2xi32>
// CHECK-DAG: %[[S:[a-z0-9_]+]] = stablehlo.constant dense<[1, 8]> : tensor<2xi32>
// CHECK: return %[[R]], %[[S]]
func.func @fold_gather() -> (tensor<2x2xi32>, tensor<2xi32>) {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %i = stablehlo.constant dense<[[200, 1], [1, 1]]> : tensor<2x2xui8>
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2>
  } : (tensor<3x3xi32>, tensor<2x2xui8>) -> tensor<2x2xi32>
  %j = stablehlo.constant dense<[-1, 7]> : tensor<2xi8>
  %y = stablehlo.constant dense<[1, 2, 3, 8]> : tensor<4xi32>
  %s = "stablehlo.gather"(%y, %j) {
    dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  } : (tensor<4xi32>, tensor<2xi8>) -> tensor<2xi32>
  return %r, %s : tensor<2x2xi32>, tensor<2xi32>
}

// The indices are an argument.
// CHECK-LABEL: func.func @fold_gather_not_at_argument(
// CHECK: stablehlo.gather
func.func @fold_gather_not_at_argument(%j: tensor<2xi8>) -> tensor<2xi32> {
  %y = stablehlo.constant dense<[1, 2, 3, 8]> : tensor<4xi32>
  %s = "stablehlo.gather"(%y, %j) {
    dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  } : (tensor<4xi32>, tensor<2xi8>) -> tensor<2xi32>
  return %s : tensor<2xi32>
}
