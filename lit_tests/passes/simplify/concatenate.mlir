// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @concatenate_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @concatenate_of_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.concatenate %x, dim = 0 : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @concatenate_of_one_not_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.concatenate
func.func @concatenate_of_one_not_of_two(%x: tensor<4xf32>) -> tensor<8xf32> {
  %r = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @concatenate_of_empty(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<0xf32>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<2xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.concatenate %[[X]], %[[Z]], dim = 0
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_empty(%x: tensor<4xf32>, %y: tensor<0xf32>, %z: tensor<2xf32>) -> tensor<6xf32> {
  %r = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<4xf32>, tensor<0xf32>, tensor<2xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// The operands are empty along another dimension.
// CHECK-LABEL: func.func @concatenate_of_empty_not_across(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<0x2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<0x3xf32>
// CHECK: stablehlo.concatenate
func.func @concatenate_of_empty_not_across(%x: tensor<0x2xf32>, %y: tensor<0x3xf32>) -> tensor<0x5xf32> {
  %r = stablehlo.concatenate %x, %y, dim = 1 : (tensor<0x2xf32>, tensor<0x3xf32>) -> tensor<0x5xf32>
  return %r : tensor<0x5xf32>
}

// CHECK-LABEL: func.func @concatenate_of_concatenate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<2xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.concatenate %[[Z]], %[[X]], %[[Y]], %[[X]], dim = 0
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_concatenate(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<8xf32> {
  %a = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %r = stablehlo.concatenate %z, %a, %x, dim = 0 : (tensor<2xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @concatenate_of_concatenate_not_across(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x2xf32>
// CHECK: stablehlo.concatenate
// CHECK-NEXT: stablehlo.concatenate
func.func @concatenate_of_concatenate_not_across(%x: tensor<2x2xf32>) -> tensor<4x4xf32> {
  %a = stablehlo.concatenate %x, %x, dim = 0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %r = stablehlo.concatenate %a, %a, dim = 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// A split followed by a concatenation.
// CHECK-LABEL: func.func @concatenate_of_slices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6x2xf32>
// CHECK-NEXT: return %[[X]]
func.func @concatenate_of_slices(%x: tensor<6x2xf32>) -> tensor<6x2xf32> {
  %a = stablehlo.slice %x [0:2, 0:2] : (tensor<6x2xf32>) -> tensor<2x2xf32>
  %b = stablehlo.slice %x [2:3, 0:2] : (tensor<6x2xf32>) -> tensor<1x2xf32>
  %c = stablehlo.slice %x [3:6, 0:2] : (tensor<6x2xf32>) -> tensor<3x2xf32>
  %r = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<2x2xf32>, tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

// CHECK-LABEL: func.func @concatenate_of_slices_in_part(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6x4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<1x2xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:5, 0:3:2]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.concatenate %[[Y]], %[[A]], dim = 0
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_slices_in_part(%x: tensor<6x4xf32>, %y: tensor<1x2xf32>) -> tensor<5x2xf32> {
  %a = stablehlo.slice %x [1:3, 0:4:2] : (tensor<6x4xf32>) -> tensor<2x2xf32>
  %b = stablehlo.slice %x [3:5, 0:4:2] : (tensor<6x4xf32>) -> tensor<2x2xf32>
  %r = stablehlo.concatenate %y, %a, %b, dim = 0 : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  return %r : tensor<5x2xf32>
}

// jnp.roll: the second slice does not start where the first one ends.
// CHECK-LABEL: func.func @concatenate_of_slices_not_rolled(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6xf32>
// CHECK: stablehlo.concatenate
func.func @concatenate_of_slices_not_rolled(%x: tensor<6xf32>) -> tensor<6xf32> {
  %a = stablehlo.slice %x [2:6] : (tensor<6xf32>) -> tensor<4xf32>
  %b = stablehlo.slice %x [0:2] : (tensor<6xf32>) -> tensor<2xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// The other dimensions differ.
// CHECK-LABEL: func.func @concatenate_of_slices_not_shifted(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK: stablehlo.concatenate
func.func @concatenate_of_slices_not_shifted(%x: tensor<4x4xf32>) -> tensor<4x2xf32> {
  %a = stablehlo.slice %x [0:2, 0:2] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %b = stablehlo.slice %x [2:4, 1:3] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @concatenate_of_same(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [0, 1]
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_same(%x: tensor<1x4xf32>) -> tensor<3x4xf32> {
  %r = stablehlo.concatenate %x, %x, %x, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// Row 0 is followed by row 1.
// CHECK-LABEL: func.func @concatenate_of_same_not_of_several(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK: stablehlo.concatenate
func.func @concatenate_of_same_not_of_several(%x: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %r = stablehlo.concatenate %x, %x, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @concatenate_of_broadcasts(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [1]
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_broadcasts(%x: tensor<4xf32>) -> tensor<5x4xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// x has the dimension in full, so the concatenation tiles it. A broadcast cannot.
// CHECK-LABEL: func.func @concatenate_of_broadcasts_not_along_its_own(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.concatenate
func.func @concatenate_of_broadcasts_not_along_its_own(%x: tensor<4xf32>) -> tensor<2x8xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %r = stablehlo.concatenate %a, %a, dim = 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @concatenate_of_adjacent_splats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<3> : tensor<5xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.concatenate %[[X]], %[[C]], dim = 0
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_adjacent_splats(%x: tensor<2xi32>) -> tensor<7xi32> {
  %c = stablehlo.constant dense<3> : tensor<1xi32>
  %d = stablehlo.constant dense<3> : tensor<4xi32>
  %r = stablehlo.concatenate %x, %c, %d, dim = 0 : (tensor<2xi32>, tensor<1xi32>, tensor<4xi32>) -> tensor<7xi32>
  return %r : tensor<7xi32>
}

// x is between the two constants.
// CHECK-LABEL: func.func @concatenate_of_adjacent_splats_not_apart(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xi32>
// CHECK: stablehlo.concatenate
func.func @concatenate_of_adjacent_splats_not_apart(%x: tensor<2xi32>) -> tensor<7xi32> {
  %c = stablehlo.constant dense<3> : tensor<1xi32>
  %d = stablehlo.constant dense<3> : tensor<4xi32>
  %r = stablehlo.concatenate %c, %x, %d, dim = 0 : (tensor<1xi32>, tensor<2xi32>, tensor<4xi32>) -> tensor<7xi32>
  return %r : tensor<7xi32>
}

// The form of gradients of jnp.split.
// CHECK-LABEL: func.func @concatenate_to_pad(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[X]], %[[C]], low = [0, 2], high = [0, 3], interior = [0, 0]
// CHECK-NEXT: return %[[R]]
func.func @concatenate_to_pad(%x: tensor<2x4xf32>) -> tensor<2x9xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<2x2xf32>
  %d = stablehlo.constant dense<0.0> : tensor<2x3xf32>
  %r = stablehlo.concatenate %c, %x, %d, dim = 1 : (tensor<2x2xf32>, tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
  return %r : tensor<2x9xf32>
}

// 0.0 and -0.0 have different bits.
// CHECK-LABEL: func.func @concatenate_to_pad_not_with_two_values(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.concatenate
func.func @concatenate_to_pad_not_with_two_values(%x: tensor<4xf32>) -> tensor<6xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<1xf32>
  %d = stablehlo.constant dense<-0.0> : tensor<1xf32>
  %r = stablehlo.concatenate %c, %x, %d, dim = 0 : (tensor<1xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// Rules for gathers and scatters recognise indices as a concatenation.
// CHECK-LABEL: func.func @concatenate_to_pad_not_on_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xi32>
// CHECK: stablehlo.concatenate
func.func @concatenate_to_pad_not_on_integers(%x: tensor<4x1xi32>) -> tensor<4x2xi32> {
  %c = stablehlo.constant dense<0> : tensor<4x1xi32>
  %r = stablehlo.concatenate %x, %c, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}

// CHECK-LABEL: func.func @concatenate_of_elementwise(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.concatenate %[[X]], %[[Y]], dim = 0
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.exponential %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_elementwise(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %a = stablehlo.exponential %x : tensor<2xf32>
  %b = stablehlo.exponential %y : tensor<3xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// Sine and cosine are different ops.
// CHECK-LABEL: func.func @concatenate_of_elementwise_not_of_two_kinds(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3xf32>
// CHECK: stablehlo.sine
// CHECK-NEXT: stablehlo.cosine
// CHECK-NEXT: stablehlo.concatenate
func.func @concatenate_of_elementwise_not_of_two_kinds(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %a = stablehlo.sine %x : tensor<2xf32>
  %b = stablehlo.cosine %y : tensor<3xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @concatenate_of_elementwise_not_of_different_attributes(
// CHECK: stablehlo.exponential
// CHECK-NEXT: stablehlo.exponential
// CHECK-NEXT: stablehlo.concatenate
func.func @concatenate_of_elementwise_not_of_different_attributes(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %a = stablehlo.exponential %x : tensor<2xf32>
  %b = stablehlo.exponential %y {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<3xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// The operands of the converts have different types.
// CHECK-LABEL: func.func @concatenate_of_elementwise_not_of_two_types(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf16>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3xbf16>
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.convert
// CHECK-NEXT: stablehlo.concatenate
func.func @concatenate_of_elementwise_not_of_two_types(%x: tensor<2xf16>, %y: tensor<3xbf16>) -> tensor<5xf32> {
  %a = stablehlo.convert %x : (tensor<2xf16>) -> tensor<2xf32>
  %b = stablehlo.convert %y : (tensor<3xbf16>) -> tensor<3xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @concatenate_of_transposes(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4x3xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.concatenate %[[X]], %[[Y]], dim = 0
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[A]], dims = [1, 0]
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_transposes(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<3x6xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<3x6xf32>
  return %r : tensor<3x6xf32>
}

// Another transpose would be needed for y.
// CHECK-LABEL: func.func @concatenate_of_transposes_not_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3x4xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.concatenate
func.func @concatenate_of_transposes_not_of_one(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<3x6xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = stablehlo.concatenate %a, %y, dim = 1 : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<3x6xf32>
  return %r : tensor<3x6xf32>
}

// CHECK-LABEL: func.func @concatenate_of_broadcasts_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.concatenate %[[X]], %[[Y]], dim = 0
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [1]
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_broadcasts_of_two(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<2x7xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  return %r : tensor<2x7xf32>
}
