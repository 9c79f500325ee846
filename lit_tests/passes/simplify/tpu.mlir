// What the prices of a TPU decide.
// RUN: %jxc opt %s -p simplify --target tpu | FileCheck %s

// CHECK-LABEL: func.func @transpose_of_dot(
// CHECK-NEXT: stablehlo.dot_general
// CHECK-NEXT: return
func.func @transpose_of_dot(%x: tensor<4x8xf32>, %y: tensor<8x3xf32>) -> tensor<3x4xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// The compiler chooses the layout of other products.
// CHECK-LABEL: func.func @transpose_of_dot_not_of_three_dimensions(
// CHECK: stablehlo.dot_general
// CHECK-NEXT: stablehlo.transpose
func.func @transpose_of_dot_not_of_three_dimensions(%x: tensor<4x8xf32>, %y: tensor<5x3x8xf32>) -> tensor<5x3x4xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [2] : (tensor<4x8xf32>, tensor<5x3x8xf32>) -> tensor<4x5x3xf32>
  %r = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<4x5x3xf32>) -> tensor<5x3x4xf32>
  return %r : tensor<5x3x4xf32>
}

// The compiler multiplies a single row without the matrix unit.
// CHECK-LABEL: func.func @slice_of_dot_with_a_tile_of_rows(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x128x256xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:1, 120:128, 0:256]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.dot_general %[[A]], %{{.*}} -> tensor<1x8x32000xf32>
// CHECK: stablehlo.slice %[[B]] [0:1, 6:7, 0:32000]
func.func @slice_of_dot_with_a_tile_of_rows(%x: tensor<1x128x256xf32>, %y: tensor<256x32000xf32>) -> tensor<1x1x32000xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [2] x [0] : (tensor<1x128x256xf32>, tensor<256x32000xf32>) -> tensor<1x128x32000xf32>
  %r = stablehlo.slice %a [0:1, 126:127, 0:32000] : (tensor<1x128x32000xf32>) -> tensor<1x1x32000xf32>
  return %r : tensor<1x1x32000xf32>
}

// CHECK-LABEL: func.func @slice_of_dot_of_several_rows(
// CHECK: stablehlo.slice %{{.*}} [0:4, 127:128, 0:256]
// CHECK-NEXT: stablehlo.dot_general
func.func @slice_of_dot_of_several_rows(%x: tensor<4x128x256xf32>, %y: tensor<256x32000xf32>) -> tensor<4x1x32000xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [2] x [0] : (tensor<4x128x256xf32>, tensor<256x32000xf32>) -> tensor<4x128x32000xf32>
  %r = stablehlo.slice %a [0:4, 127:128, 0:32000] : (tensor<4x128x32000xf32>) -> tensor<4x1x32000xf32>
  return %r : tensor<4x1x32000xf32>
}

// All rows are one tile.
// CHECK-LABEL: func.func @slice_of_dot_not_of_a_row_of_a_tile(
// CHECK: stablehlo.dot_general
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_dot_not_of_a_row_of_a_tile(%x: tensor<8x16xf32>, %y: tensor<16x12xf32>) -> tensor<1x12xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %r = stablehlo.slice %a [7:8, 0:12] : (tensor<8x12xf32>) -> tensor<1x12xf32>
  return %r : tensor<1x12xf32>
}

// CHECK-LABEL: func.func @gather_of_affine_indices_not_on_tpu(
// CHECK: stablehlo.gather
func.func @gather_of_affine_indices_not_on_tpu(%x: tensor<8xf32>) -> tensor<3xf32> {
  %i = stablehlo.constant dense<[[1], [3], [5]]> : tensor<3x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
