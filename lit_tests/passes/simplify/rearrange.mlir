// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @identity_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_reshape(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @identity_reshape_not_other_shape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK: stablehlo.reshape
func.func @identity_reshape_not_other_shape(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %r = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @reshape_of_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x6xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @reshape_of_reshape(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %r = stablehlo.reshape %a : (tensor<12xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @reshape_of_reshape_not_through_a_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x6xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.reshape
func.func @reshape_of_reshape_not_through_a_transpose(%x: tensor<2x6xf32>) -> tensor<12xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %r = stablehlo.reshape %a : (tensor<6x2xf32>) -> tensor<12xf32>
  return %r : tensor<12xf32>
}

// The form of keepdims in JAX.
// CHECK-LABEL: func.func @broadcast_to_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @broadcast_to_reshape(%x: tensor<4xf32>) -> tensor<1x4x1xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<1x4x1xf32>
  return %r : tensor<1x4x1xf32>
}

// CHECK-LABEL: func.func @broadcast_to_reshape_not_repeating(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.broadcast_in_dim
func.func @broadcast_to_reshape_not_repeating(%x: tensor<4xf32>) -> tensor<4x2xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @transpose_to_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @transpose_to_reshape(%x: tensor<4x1x3xf32>) -> tensor<1x4x3xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<4x1x3xf32>) -> tensor<1x4x3xf32>
  return %r : tensor<1x4x3xf32>
}

// The extents 4 and 3 are swapped.
// CHECK-LABEL: func.func @transpose_to_reshape_not_moving(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1x3xf32>
// CHECK: stablehlo.transpose
func.func @transpose_to_reshape_not_moving(%x: tensor<4x1x3xf32>) -> tensor<3x1x4xf32> {
  %r = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<4x1x3xf32>) -> tensor<3x1x4xf32>
  return %r : tensor<3x1x4xf32>
}

// -----

// CHECK-LABEL: func.func @identity_reverse(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_reverse(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  %r = stablehlo.reverse %x, dims = [1] : tensor<4x1xf32>
  return %r : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @identity_reverse_not_of_four(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK: stablehlo.reverse
func.func @identity_reverse_not_of_four(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  %r = stablehlo.reverse %x, dims = [0] : tensor<4x1xf32>
  return %r : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @reverse_of_reverse(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reverse %[[X]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @reverse_of_reverse(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = stablehlo.reverse %x, dims = [0, 1] : tensor<4x4xf32>
  %r = stablehlo.reverse %a, dims = [1] : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @reverse_of_reverse_to_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @reverse_of_reverse_to_nothing(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = stablehlo.reverse %x, dims = [1] : tensor<4x4xf32>
  %r = stablehlo.reverse %a, dims = [1] : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @reverse_of_reverse_not_of_a_part(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.reverse
// CHECK-NEXT: stablehlo.concatenate
// CHECK-NEXT: stablehlo.reverse
func.func @reverse_of_reverse_not_of_a_part(%x: tensor<4xf32>) -> tensor<8xf32> {
  %a = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  %b = stablehlo.concatenate %x, %a, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %r = stablehlo.reverse %b, dims = [0] : tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @reverse_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.reverse %[[X]], dims = [0]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [0, 1]
// CHECK-NEXT: return %[[R]]
func.func @reverse_of_broadcast(%x: tensor<4x1xf32>) -> tensor<4x3x2xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x3x2xf32>
  %r = stablehlo.reverse %a, dims = [0, 1, 2] : tensor<4x3x2xf32>
  return %r : tensor<4x3x2xf32>
}

// CHECK-LABEL: func.func @reverse_of_broadcast_of_what_repeats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @reverse_of_broadcast_of_what_repeats(%x: tensor<4xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
  %r = stablehlo.reverse %a, dims = [1] : tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @reverse_of_broadcast_not_of_iota(
// CHECK: stablehlo.reverse
func.func @reverse_of_broadcast_not_of_iota() -> tensor<4xi32> {
  %a = stablehlo.iota dim = 0 : tensor<4xi32>
  %r = stablehlo.reverse %a, dims = [0] : tensor<4xi32>
  return %r : tensor<4xi32>
}

// -----

// With static extents the transpose would first become a reshape.
// CHECK-LABEL: func.func @identity_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_transpose(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %r = stablehlo.transpose %x, dims = [0, 1] : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

// Equal types do not make it an identity.
// CHECK-LABEL: func.func @identity_transpose_not_square(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x3xf32>
// CHECK: stablehlo.transpose
func.func @identity_transpose_not_square(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @transpose_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[X]], dims = [1, 2, 0]
// CHECK-NEXT: return %[[R]]
func.func @transpose_of_transpose(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %a = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %r = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  return %r : tensor<3x4x2xf32>
}

// CHECK-LABEL: func.func @transpose_of_transpose_to_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @transpose_of_transpose_to_nothing(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %a = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %r = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  return %r : tensor<2x3x4xf32>
}

// The product has another use.
// CHECK-LABEL: func.func @transpose_of_transpose_not_through_a_product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x3xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.multiply
// CHECK-NEXT: stablehlo.transpose
func.func @transpose_of_transpose_not_through_a_product(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %b = stablehlo.multiply %a, %x : tensor<3x3xf32>
  %r = stablehlo.transpose %b, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %r, %b : tensor<3x3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: func.func @transpose_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [2, 0]
// CHECK-NEXT: return %[[R]]
func.func @transpose_of_broadcast(%x: tensor<2x3xf32>) -> tensor<3x4x2xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x4x3xf32>
  %r = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<2x4x3xf32>) -> tensor<3x4x2xf32>
  return %r : tensor<3x4x2xf32>
}

// The reshape joins dimensions that the transpose separates.
// CHECK-LABEL: func.func @transpose_of_broadcast_not_of_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK: stablehlo.transpose
func.func @transpose_of_broadcast_not_of_reshape(%x: tensor<2x3x4xf32>) -> tensor<4x6xf32> {
  %a = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @transpose_of_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.iota dim = 1
// CHECK-NEXT: return %[[R]]
func.func @transpose_of_iota() -> tensor<3x2xi32> {
  %a = stablehlo.iota dim = 0 : tensor<2x3xi32>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}

// CHECK-LABEL: func.func @transpose_of_iota_not_of_sum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xi32>
// CHECK: stablehlo.transpose
func.func @transpose_of_iota_not_of_sum(%x: tensor<2x3xi32>) -> tensor<3x2xi32> {
  %a = stablehlo.iota dim = 0 : tensor<2x3xi32>
  %b = stablehlo.add %a, %x : tensor<2x3xi32>
  %r = stablehlo.transpose %b, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}

// -----

// CHECK-LABEL: func.func @rearranged_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0x7FC00001> : tensor<3x2xf32>
// CHECK-NEXT: return %[[R]]
func.func @rearranged_splat() -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<0x7FC00001> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %b = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %d = stablehlo.reverse %b, dims = [0] : tensor<3x2xf32>
  %e = stablehlo.slice %d [0:2, 0:2] : (tensor<3x2xf32>) -> tensor<2x2xf32>
  %f = stablehlo.reshape %e : (tensor<2x2xf32>) -> tensor<4xf32>
  %r = stablehlo.broadcast_in_dim %f, dims = [0] : (tensor<4xf32>) -> tensor<4x2xf32>
  %s = stablehlo.slice %r [0:3, 0:2] : (tensor<4x2xf32>) -> tensor<3x2xf32>
  return %s : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @rearranged_splat_not_of_two_values(
// CHECK: stablehlo.broadcast_in_dim
func.func @rearranged_splat_not_of_two_values() -> tensor<2x5000xi32> {
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<2xi32>) -> tensor<2x5000xi32>
  return %r : tensor<2x5000xi32>
}

// CHECK-LABEL: func.func @pad_of_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: return %[[R]]
func.func @pad_of_splat() -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<2xf32>
  %p = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.pad %c, %p, low = [1], high = [1], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0.0 and -0.0 have different bits.
// CHECK-LABEL: func.func @pad_of_splat_not_negative_zero(
// CHECK: stablehlo.pad
func.func @pad_of_splat_not_negative_zero() -> tensor<5002xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<5000xf32>
  %p = stablehlo.constant dense<-0.0> : tensor<f32>
  %r = stablehlo.pad %c, %p, low = [1], high = [1], interior = [0] : (tensor<5000xf32>, tensor<f32>) -> tensor<5002xf32>
  return %r : tensor<5002xf32>
}

// CHECK-LABEL: func.func @concatenate_of_splats(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<7> : tensor<5xi8>
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_splats() -> tensor<5xi8> {
  %c = stablehlo.constant dense<7> : tensor<2xi8>
  %d = stablehlo.constant dense<7> : tensor<3xi8>
  %r = stablehlo.concatenate %c, %d, dim = 0 : (tensor<2xi8>, tensor<3xi8>) -> tensor<5xi8>
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @concatenate_of_splats_not_of_others(
// CHECK: stablehlo.concatenate
func.func @concatenate_of_splats_not_of_others() -> tensor<5003xi8> {
  %c = stablehlo.constant dense<7> : tensor<5000xi8>
  %d = stablehlo.constant dense<8> : tensor<3xi8>
  %r = stablehlo.concatenate %c, %d, dim = 0 : (tensor<5000xi8>, tensor<3xi8>) -> tensor<5003xi8>
  return %r : tensor<5003xi8>
}
