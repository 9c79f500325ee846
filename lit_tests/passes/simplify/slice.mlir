// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @identity_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_slice(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = stablehlo.slice %x [0:4, 0:8] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @identity_slice_not_a_part(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.slice
func.func @identity_slice_not_a_part(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %r = stablehlo.slice %x [0:4, 0:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @slice_of_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x20xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [2:4, 5:15:9]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_slice(%x: tensor<4x20xf32>) -> tensor<2x2xf32> {
  %a = stablehlo.slice %x [1:4, 2:20:3] : (tensor<4x20xf32>) -> tensor<3x6xf32>
  %r = stablehlo.slice %a [1:3, 1:6:3] : (tensor<3x6xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// A slice of one element has a stride of 1.
// CHECK-LABEL: func.func @slice_of_slice_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [2:3]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_slice_of_one(%x: tensor<8xf32>) -> tensor<1xf32> {
  %a = stablehlo.slice %x [0:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %r = stablehlo.slice %a [1:2] : (tensor<4xf32>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}

// The slice is empty.
// CHECK-LABEL: func.func @slice_of_slice_not_empty(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK: stablehlo.slice
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_slice_not_empty(%x: tensor<8xf32>) -> tensor<0xf32> {
  %a = stablehlo.slice %x [0:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %r = stablehlo.slice %a [4:4] : (tensor<4xf32>) -> tensor<0xf32>
  return %r : tensor<0xf32>
}

// CHECK-LABEL: func.func @slice_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:3, 0:1]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [1, 2]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_broadcast(%x: tensor<4x1xf32>) -> tensor<3x2x5xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x1xf32>) -> tensor<6x4x8xf32>
  %r = stablehlo.slice %a [0:6:2, 1:3, 3:8] : (tensor<6x4x8xf32>) -> tensor<3x2x5xf32>
  return %r : tensor<3x2x5xf32>
}

// CHECK-LABEL: func.func @slice_of_broadcast_of_what_repeats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [1]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_broadcast_of_what_repeats(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %r = stablehlo.slice %a [5:7, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @slice_of_broadcast_not_of_sum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8xf32>
// CHECK: stablehlo.add
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_broadcast_not_of_sum(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %a = stablehlo.add %x, %y : tensor<8xf32>
  %r = stablehlo.slice %a [0:4] : (tensor<8xf32>) -> tensor<4xf32>
  return %r, %a : tensor<4xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @slice_of_concatenate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[Y]] [0:3:2, 1:3]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_concatenate(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) -> tensor<2x2xf32> {
  %a = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %r = stablehlo.slice %a [2:5:2, 1:3] : (tensor<5x4xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @slice_of_concatenate_not_across(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3x4xf32>
// CHECK: stablehlo.concatenate
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_concatenate_not_across(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %a = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %r = stablehlo.slice %a [1:3, 0:4] : (tensor<5x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @slice_of_some_concatenated(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<1xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.concatenate %[[Y]], %[[Z]], dim = 0
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[A]] [1:5]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_some_concatenated(%x: tensor<2xf32>, %y: tensor<3xf32>, %z: tensor<4xf32>, %w: tensor<1xf32>) -> tensor<4xf32> {
  %a = stablehlo.concatenate %x, %y, %z, %w, dim = 0 : (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<10xf32>
  %r = stablehlo.slice %a [3:7] : (tensor<10xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The concatenation has another use: two concatenations would copy more.
// CHECK-LABEL: func.func @slice_of_some_concatenated_not_with_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.concatenate %[[X]], %[[Y]], %[[Z]]
// CHECK-NEXT: stablehlo.slice %[[A]] [3:7]
func.func @slice_of_some_concatenated_not_with_others(%x: tensor<2xf32>, %y: tensor<3xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<9xf32>) {
  %a = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<9xf32>
  %r = stablehlo.slice %a [3:7] : (tensor<9xf32>) -> tensor<4xf32>
  return %r, %a : tensor<4xf32>, tensor<9xf32>
}

// CHECK-LABEL: func.func @slice_of_pad(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:3:2, 0:4]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[A]], %[[V]], low = [0, 1], high = [0, 2], interior = [0, 0]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_pad(%x: tensor<4x4xf32>, %v: tensor<f32>) -> tensor<2x7xf32> {
  %a = stablehlo.pad %x, %v, low = [1, 1], high = [0, 2], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<5x7xf32>
  %r = stablehlo.slice %a [1:4:2, 0:7] : (tensor<5x7xf32>) -> tensor<2x7xf32>
  return %r : tensor<2x7xf32>
}

// The slice removes the padding.
// CHECK-LABEL: func.func @slice_of_pad_undone(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: return %[[X]]
func.func @slice_of_pad_undone(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<4xf32> {
  %a = stablehlo.pad %x, %v, low = [2], high = [3], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %r = stablehlo.slice %a [2:6] : (tensor<9xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The pad removes two elements.
// CHECK-LABEL: func.func @slice_of_negative_pad(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [3:6]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_negative_pad(%x: tensor<6xf32>, %v: tensor<f32>) -> tensor<3xf32> {
  %a = stablehlo.pad %x, %v, low = [-2], high = [3], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<7xf32>
  %r = stablehlo.slice %a [1:4] : (tensor<7xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// One element of the padding is taken.
// CHECK-LABEL: func.func @slice_of_pad_not_within(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.pad
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_pad_not_within(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<4xf32> {
  %a = stablehlo.pad %x, %v, low = [1], high = [3], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.slice %a [0:4] : (tensor<8xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The pad has another use, so both x and the padded value would stay in memory.
// CHECK-LABEL: func.func @slice_of_pad_not_alone(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.pad
// CHECK-NEXT: stablehlo.slice %[[P]]
func.func @slice_of_pad_not_alone(%x: tensor<4xf32>, %v: tensor<f32>) -> (tensor<4xf32>, tensor<9xf32>) {
  %a = stablehlo.pad %x, %v, low = [2], high = [3], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %r = stablehlo.slice %a [2:6] : (tensor<9xf32>) -> tensor<4xf32>
  return %r, %a : tensor<4xf32>, tensor<9xf32>
}

// There is padding between the elements.
// CHECK-LABEL: func.func @slice_of_pad_not_dilated(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.pad
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_pad_not_dilated(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<3xf32> {
  %a = stablehlo.pad %x, %v, low = [0], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %r = stablehlo.slice %a [0:3] : (tensor<7xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @slice_of_padding(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[V]], dims = []
// CHECK-NEXT: return %[[R]]
func.func @slice_of_padding(%x: tensor<2x4xf32>, %v: tensor<f32>) -> tensor<2x2xf32> {
  %a = stablehlo.pad %x, %v, low = [0, 1], high = [0, 2], interior = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x10xf32>
  %r = stablehlo.slice %a [0:2, 8:10] : (tensor<2x10xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @slice_of_padding_not_all(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.pad
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_padding_not_all(%x: tensor<2x4xf32>, %v: tensor<f32>) -> tensor<2x3xf32> {
  %a = stablehlo.pad %x, %v, low = [0, 1], high = [0, 2], interior = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x10xf32>
  %r = stablehlo.slice %a [0:2, 7:10] : (tensor<2x10xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// Every start is clamped to 0.
// CHECK-LABEL: func.func @full_dynamic_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: return %[[X]]
func.func @full_dynamic_slice(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %r = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @full_dynamic_slice_not_a_part(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: stablehlo.dynamic_slice
func.func @full_dynamic_slice_not_a_part(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<3xf32> {
  %r = stablehlo.dynamic_slice %x, %i, sizes = [3] : (tensor<4xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @full_dynamic_update_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: return %[[U]]
func.func @full_dynamic_update_slice(%x: tensor<4xf32>, %u: tensor<4xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @full_dynamic_update_slice_not_a_part(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: stablehlo.dynamic_update_slice
func.func @full_dynamic_update_slice_not_a_part(%x: tensor<4xf32>, %u: tensor<3xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<3xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The second start is clamped to 6, the third to 0.
// CHECK-LABEL: func.func @dynamic_slice_to_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:3, 6:8, 0:2]
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_to_slice(%x: tensor<4x8x8xf32>) -> tensor<2x2x2xf32> {
  %i = stablehlo.constant dense<1> : tensor<ui8>
  %j = stablehlo.constant dense<7> : tensor<ui8>
  %k = stablehlo.constant dense<0> : tensor<ui8>
  %r = stablehlo.dynamic_slice %x, %i, %j, %k, sizes = [2, 2, 2] : (tensor<4x8x8xf32>, tensor<ui8>, tensor<ui8>, tensor<ui8>) -> tensor<2x2x2xf32>
  return %r : tensor<2x2x2xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_to_slice_signed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:2]
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_to_slice_signed(%x: tensor<8xf32>) -> tensor<2xf32> {
  %i = stablehlo.constant dense<-3> : tensor<i32>
  %r = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_to_slice_not_of_argument(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK-SAME: %[[J:[a-z0-9]+]]: tensor<i32>
// CHECK: stablehlo.dynamic_slice
func.func @dynamic_slice_to_slice_not_of_argument(%x: tensor<8x8xf32>, %j: tensor<i32>) -> tensor<2x2xf32> {
  %i = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @slice_of_elementwise(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [3:4, 0:8]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.reshape %[[Y]]
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = stablehlo.add %[[A]], %[[B]]
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<2.000000e+00> : tensor<1x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[D]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_elementwise(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<1x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x8xf32>
  %a = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %b = stablehlo.add %x, %a : tensor<4x8xf32>
  %d = stablehlo.multiply %b, %c : tensor<4x8xf32>
  %r = stablehlo.slice %d [3:4, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
  return %r : tensor<1x8xf32>
}

// The exponential has two uses, which take all of its elements.
// CHECK-LABEL: func.func @slice_of_elementwise_not_of_many(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.exponential
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_elementwise_not_of_many(%x: tensor<4x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %a = stablehlo.exponential %x : tensor<4x8xf32>
  %b = stablehlo.slice %a [0:2, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %c = stablehlo.slice %a [2:4, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return %b, %c : tensor<2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: func.func @slice_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:2, 0:3, 0:3:2]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[A]], dims = [2, 0, 1]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_transpose(%x: tensor<2x3x4xf32>) -> tensor<2x2x3xf32> {
  %a = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %r = stablehlo.slice %a [0:4:2, 0:2, 0:3] : (tensor<4x2x3xf32>) -> tensor<2x2x3xf32>
  return %r : tensor<2x2x3xf32>
}

// The transpose has another use.
// CHECK-LABEL: func.func @slice_of_transpose_not_with_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_transpose_not_with_others(%x: tensor<4x8xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = stablehlo.slice %a [0:2, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %r, %a : tensor<2x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @slice_of_reverse(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:4, 3:8:2]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reverse %[[A]], dims = [1]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_reverse(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.reverse %x, dims = [1] : tensor<4x8xf32>
  %r = stablehlo.slice %a [0:4, 0:6:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// The slice is empty, so there is no last element.
// CHECK-LABEL: func.func @slice_of_reverse_not_of_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.reverse
func.func @slice_of_reverse_not_of_nothing(%x: tensor<4x8xf32>) -> tensor<4x0xf32> {
  %a = stablehlo.reverse %x, dims = [1] : tensor<4x8xf32>
  %r = stablehlo.slice %a [0:4, 3:3] : (tensor<4x8xf32>) -> tensor<4x0xf32>
  return %r : tensor<4x0xf32>
}

// The second of three pairs of rows.
// CHECK-LABEL: func.func @slice_of_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [2:4, 0:4]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_reshape(%x: tensor<6x4xf32>) -> tensor<1x2x1x4xf32> {
  %a = stablehlo.reshape %x : (tensor<6x4xf32>) -> tensor<1x3x2x4xf32>
  %r = stablehlo.slice %a [0:1, 1:2, 0:2, 0:4] : (tensor<1x3x2x4xf32>) -> tensor<1x1x2x4xf32>
  %s = stablehlo.reshape %r : (tensor<1x1x2x4xf32>) -> tensor<1x2x1x4xf32>
  return %s : tensor<1x2x1x4xf32>
}

// CHECK-LABEL: func.func @slice_of_reshape_to_less(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x2x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:2, 0:2, 0:4]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_reshape_to_less(%x: tensor<3x2x4xf32>) -> tensor<2x4xf32> {
  %a = stablehlo.reshape %x : (tensor<3x2x4xf32>) -> tensor<6x4xf32>
  %r = stablehlo.slice %a [2:4, 0:4] : (tensor<6x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// The slice takes half of one pair and half of the next.
// CHECK-LABEL: func.func @slice_of_reshape_not_across(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x2x4xf32>
// CHECK: stablehlo.reshape
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_reshape_not_across(%x: tensor<3x2x4xf32>) -> tensor<2x4xf32> {
  %a = stablehlo.reshape %x : (tensor<3x2x4xf32>) -> tensor<6x4xf32>
  %r = stablehlo.slice %a [1:3, 0:4] : (tensor<6x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// A mask that is used elsewhere too: the booleans are sliced, and converted once more.
// CHECK-LABEL: func.func @slice_of_elementwise_masked(
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.slice %{{.*}} : (tensor<4x8xi1>) -> tensor<4x4xi1>
// CHECK-NEXT: %[[M:[a-z0-9_]+]] = stablehlo.convert %[[B]]
// CHECK-NEXT: stablehlo.multiply %{{.*}}, %[[M]]
func.func @slice_of_elementwise_masked(%x: tensor<4x8xf32>, %m: tensor<4x8xi1>) -> (tensor<4x4xf32>, tensor<4x8xf32>) {
  %f = stablehlo.convert %m : (tensor<4x8xi1>) -> tensor<4x8xf32>
  %p = stablehlo.multiply %x, %f : tensor<4x8xf32>
  %r = stablehlo.slice %p [0:4, 0:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  return %r, %f : tensor<4x4xf32>, tensor<4x8xf32>
}
