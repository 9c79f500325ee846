// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @identity_pad(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: return %[[X]]
func.func @identity_pad(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<4xf32> {
  %r = stablehlo.pad %x, %v, low = [0], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The result has the shape of x, but other elements.
// CHECK-LABEL: func.func @identity_pad_not_shifting(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.pad
func.func @identity_pad_not_shifting(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<4xf32> {
  %r = stablehlo.pad %x, %v, low = [1], high = [-1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @pad_of_pad(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[X]], %[[V]], low = [5], high = [5], interior = [5]
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.slice %[[R]]
// CHECK-NEXT: return %[[S]]
func.func @pad_of_pad(%x: tensor<2xf32>, %v: tensor<f32>) -> tensor<16xf32> {
  %a = stablehlo.pad %x, %v, low = [1], high = [2], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<6xf32>
  %r = stablehlo.pad %a, %v, low = [2], high = [-1], interior = [2] : (tensor<6xf32>, tensor<f32>) -> tensor<17xf32>
  %s = stablehlo.slice %r [0:16] : (tensor<17xf32>) -> tensor<16xf32>
  return %s : tensor<16xf32>
}

// The gradient of x[1:3, ::2][:, 1].
// CHECK-LABEL: func.func @pad_of_pad_as_index_gradients_do(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x1xf32>
// CHECK-NEXT: %[[V:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[X]], %[[V]], low = [1, 2], high = [1, 5], interior = [0, 0]
// CHECK-NEXT: return %[[R]]
func.func @pad_of_pad_as_index_gradients_do(%x: tensor<2x1xf32>) -> tensor<4x8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.pad %x, %c, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x4xf32>
  %r = stablehlo.pad %a, %d, low = [1, 0], high = [1, 1], interior = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// 0.0 and -0.0 have different bits.
// CHECK-LABEL: func.func @pad_of_pad_not_with_other_values(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK: stablehlo.pad
// CHECK-NEXT: stablehlo.pad
func.func @pad_of_pad_not_with_other_values(%x: tensor<2xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<-0.0> : tensor<f32>
  %a = stablehlo.pad %x, %c, low = [1], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  %r = stablehlo.pad %a, %d, low = [1], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The first pad removes elements.
// CHECK-LABEL: func.func @pad_of_pad_not_of_a_cut(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.pad
// CHECK-NEXT: stablehlo.pad
func.func @pad_of_pad_not_of_a_cut(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<4xf32> {
  %a = stablehlo.pad %x, %v, low = [1], high = [-2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  %r = stablehlo.pad %a, %v, low = [0], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @negative_pad_to_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:4, 0:2]
// CHECK-NEXT: return %[[R]]
func.func @negative_pad_to_slice(%x: tensor<4x4xf32>, %v: tensor<f32>) -> tensor<3x2xf32> {
  %r = stablehlo.pad %x, %v, low = [-1, 0], high = [0, -2], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @negative_pad_to_slice_not_adding(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.pad
func.func @negative_pad_to_slice_not_adding(%x: tensor<4x4xf32>, %v: tensor<f32>) -> tensor<3x5xf32> {
  %r = stablehlo.pad %x, %v, low = [-1, 0], high = [0, 1], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @pad_of_empty(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<0x4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[V]], dims = []
// CHECK-NEXT: return %[[R]]
func.func @pad_of_empty(%x: tensor<0x4xf32>, %v: tensor<f32>) -> tensor<3x4xf32> {
  %r = stablehlo.pad %x, %v, low = [1, 0], high = [2, 0], interior = [0, 0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// Row 1 is of x.
// CHECK-LABEL: func.func @pad_of_empty_not_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.pad
func.func @pad_of_empty_not_of_one(%x: tensor<1x4xf32>, %v: tensor<f32>) -> tensor<3x4xf32> {
  %r = stablehlo.pad %x, %v, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @pad_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.pad %[[X]], %[[V]], low = [0, 2], high = [0, 0], interior = [0, 0]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[A]], dims = [1, 0]
// CHECK-NEXT: return %[[R]]
func.func @pad_of_transpose(%x: tensor<2x3xf32>, %v: tensor<f32>) -> tensor<5x2xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = stablehlo.pad %a, %v, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<3x2xf32>, tensor<f32>) -> tensor<5x2xf32>
  return %r : tensor<5x2xf32>
}

// The transpose has another use.
// CHECK-LABEL: func.func @pad_of_transpose_not_with_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.pad
func.func @pad_of_transpose_not_with_others(%x: tensor<2x3xf32>, %v: tensor<f32>) -> (tensor<5x2xf32>, tensor<3x2xf32>) {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = stablehlo.pad %a, %v, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<3x2xf32>, tensor<f32>) -> tensor<5x2xf32>
  return %r, %a : tensor<5x2xf32>, tensor<3x2xf32>
}

// CHECK-LABEL: func.func @pad_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.pad %[[X]], %[[V]], low = [2], high = [0], interior = [0]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @pad_of_broadcast(%x: tensor<3xf32>, %v: tensor<f32>) -> tensor<5x4xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
  %r = stablehlo.pad %a, %v, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// The padding is a column, along which the broadcast repeats x.
// CHECK-LABEL: func.func @pad_of_broadcast_not_where_it_repeats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.pad
func.func @pad_of_broadcast_not_where_it_repeats(%x: tensor<3xf32>, %v: tensor<f32>) -> tensor<3x5xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
  %r = stablehlo.pad %a, %v, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// The form of gradients of jnp.roll.
// CHECK-LABEL: func.func @add_of_pads(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.concatenate %[[Y]], %[[X]], dim = 0
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[A]], %{{.*}}, low = [0], high = [1], interior = [0]
// CHECK-NEXT: return %[[R]]
func.func @add_of_pads(%x: tensor<3xi32>, %y: tensor<4xi32>) -> tensor<8xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.pad %x, %c, low = [4], high = [1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<8xi32>
  %b = stablehlo.pad %y, %c, low = [0], high = [4], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<8xi32>
  %r = stablehlo.add %a, %b : tensor<8xi32>
  return %r : tensor<8xi32>
}

// Element 3 is a sum of elements of both.
// CHECK-LABEL: func.func @add_of_pads_not_overlapping(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.pad
// CHECK-NEXT: stablehlo.pad
// CHECK-NEXT: stablehlo.add
func.func @add_of_pads_not_overlapping(%x: tensor<3xi32>, %y: tensor<4xi32>) -> tensor<8xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.pad %x, %c, low = [3], high = [2], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<8xi32>
  %b = stablehlo.pad %y, %c, low = [0], high = [4], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<8xi32>
  %r = stablehlo.add %a, %b : tensor<8xi32>
  return %r : tensor<8xi32>
}

// -0.0 + 0.0 is 0.0.
// CHECK-LABEL: func.func @add_of_pads_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.pad
// CHECK-NEXT: stablehlo.pad
// CHECK-NEXT: stablehlo.add
func.func @add_of_pads_not_on_floats(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.pad %x, %c, low = [4], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %b = stablehlo.pad %y, %c, low = [0], high = [4], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.add %a, %b : tensor<8xf32>
  return %r : tensor<8xf32>
}
