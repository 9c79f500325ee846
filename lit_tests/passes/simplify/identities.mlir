// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// On floats only -0.0 is neutral.
// CHECK-LABEL: func.func @add_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @add_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %r = stablehlo.add %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @add_zero_on_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xui8>
// CHECK-NEXT: return %[[X]]
func.func @add_zero_on_integers(%x: tensor<4xui8>) -> tensor<4xui8> {
  %c = stablehlo.constant dense<0> : tensor<4xui8>
  %r = stablehlo.add %c, %x : tensor<4xui8>
  return %r : tensor<4xui8>
}

// On booleans add is OR.
// CHECK-LABEL: func.func @add_zero_on_booleans(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: return %[[X]]
func.func @add_zero_on_booleans(%x: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.add %x, %c : tensor<4xi1>
  return %r : tensor<4xi1>
}

// JAX broadcasts the scalar.
// CHECK-LABEL: func.func @add_zero_as_jax_writes_it(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xbf16>
// CHECK-NEXT: return %[[X]]
func.func @add_zero_as_jax_writes_it(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %c = stablehlo.constant dense<-0.0> : tensor<bf16>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<bf16>) -> tensor<2x4xbf16>
  %r = stablehlo.add %b, %x : tensor<2x4xbf16>
  return %r : tensor<2x4xbf16>
}

// -0.0 + 0.0 is 0.0.
// CHECK-LABEL: func.func @add_zero_not_positive_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.add
func.func @add_zero_not_positive_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.add %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// true is not neutral: true OR x is true.
// CHECK-LABEL: func.func @add_true_not_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: stablehlo.constant dense<true>
func.func @add_true_not_zero(%x: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.add %x, %c : tensor<4xi1>
  return %r : tensor<4xi1>
}

// A complex zero has two signs, which are not compared.
// CHECK-LABEL: func.func @add_zero_not_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.add
func.func @add_zero_not_complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %c = stablehlo.constant dense<(0.0,0.0)> : tensor<4xcomplex<f32>>
  %r = stablehlo.add %x, %c : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

// CHECK-LABEL: func.func @subtract_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @subtract_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.subtract %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -0.0 - -0.0 is 0.0.
// CHECK-LABEL: func.func @subtract_zero_not_negative_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.subtract
func.func @subtract_zero_not_negative_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %r = stablehlo.subtract %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0 - x is not x.
// CHECK-LABEL: func.func @subtract_zero_not_on_the_left(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.negate
func.func @subtract_zero_not_on_the_left(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %r = stablehlo.subtract %c, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @subtract_self(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0> : tensor<4xi32>
// CHECK-NEXT: return %[[C]]
func.func @subtract_self(%x: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.subtract %x, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// inf - inf is NaN.
// CHECK-LABEL: func.func @subtract_self_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.subtract
func.func @subtract_self_not_on_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.subtract %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @multiply_by_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf8E4M3FN>
// CHECK-NEXT: return %[[X]]
func.func @multiply_by_one(%x: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf8E4M3FN>
  %r = stablehlo.multiply %c, %x : tensor<4xf8E4M3FN>
  return %r : tensor<4xf8E4M3FN>
}

// On booleans multiply is AND.
// CHECK-LABEL: func.func @multiply_by_one_on_booleans(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: return %[[X]]
func.func @multiply_by_one_on_booleans(%x: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.multiply %x, %c : tensor<4xi1>
  return %r : tensor<4xi1>
}

// An infinite imaginary part times 0.0 makes the real part NaN.
// CHECK-LABEL: func.func @multiply_by_one_not_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.multiply
func.func @multiply_by_one_not_complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %c = stablehlo.constant dense<(1.0,0.0)> : tensor<4xcomplex<f32>>
  %r = stablehlo.multiply %x, %c : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

// CHECK-LABEL: func.func @multiply_by_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0>
// CHECK-NEXT: return %[[C]]
func.func @multiply_by_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %r = stablehlo.multiply %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// inf * 0.0 is NaN, -1.0 * 0.0 is -0.0.
// CHECK-LABEL: func.func @multiply_by_zero_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.multiply
func.func @multiply_by_zero_not_on_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.multiply %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @divide_by_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>
// CHECK-NEXT: return %[[X]]
func.func @divide_by_one(%x: tensor<4xi8>) -> tensor<4xi8> {
  %c = stablehlo.constant dense<1> : tensor<4xi8>
  %r = stablehlo.divide %x, %c : tensor<4xi8>
  return %r : tensor<4xi8>
}

// 1 / x is not x.
// CHECK-LABEL: func.func @divide_by_one_not_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.divide
func.func @divide_by_one_not_of_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %r = stablehlo.divide %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @and_or_self(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]]
func.func @and_or_self(%x: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.and %x, %x : tensor<4xi32>
  %r = stablehlo.or %a, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @and_or_self_not_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.and
func.func @and_or_self_not_of_two(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.and %x, %y : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @and_all_ones(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xui8>
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<2xi1>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<3xi16>
// CHECK-NEXT: return %[[X]], %[[P]], %[[Z]]
func.func @and_all_ones(%x: tensor<4xui8>, %p: tensor<2xi1>, %z: tensor<3xi16>) -> (tensor<4xui8>, tensor<2xi1>, tensor<3xi16>) {
  %c = stablehlo.constant dense<255> : tensor<4xui8>
  %d = stablehlo.constant dense<true> : tensor<2xi1>
  %e = stablehlo.constant dense<-1> : tensor<3xi16>
  %r = stablehlo.and %x, %c : tensor<4xui8>
  %s = stablehlo.and %d, %p : tensor<2xi1>
  %t = stablehlo.and %z, %e : tensor<3xi16>
  return %r, %s, %t : tensor<4xui8>, tensor<2xi1>, tensor<3xi16>
}

// Only one bit of the constant is set.
// CHECK-LABEL: func.func @and_all_ones_not_one_bit(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>
// CHECK: stablehlo.and
func.func @and_all_ones_not_one_bit(%x: tensor<4xi8>) -> tensor<4xi8> {
  %c = stablehlo.constant dense<1> : tensor<4xi8>
  %r = stablehlo.and %x, %c : tensor<4xi8>
  return %r : tensor<4xi8>
}

// CHECK-LABEL: func.func @and_zero(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<2xi1>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<false>
// CHECK-NEXT: return %[[C]]
func.func @and_zero(%p: tensor<2xi1>) -> tensor<2xi1> {
  %c = stablehlo.constant dense<false> : tensor<2xi1>
  %r = stablehlo.and %c, %p : tensor<2xi1>
  return %r : tensor<2xi1>
}

// Not every element of the constant is zero.
// CHECK-LABEL: func.func @and_zero_not_mixed(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<2xi1>
// CHECK: stablehlo.and
func.func @and_zero_not_mixed(%p: tensor<2xi1>) -> tensor<2xi1> {
  %c = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %r = stablehlo.and %c, %p : tensor<2xi1>
  return %r : tensor<2xi1>
}

// CHECK-LABEL: func.func @or_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]]
func.func @or_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %r = stablehlo.or %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @or_zero_not_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.or
func.func @or_zero_not_one(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<1> : tensor<4xi32>
  %r = stablehlo.or %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @or_all_ones(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<-1>
// CHECK-NEXT: return %[[C]]
func.func @or_all_ones(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<-1> : tensor<4xi32>
  %r = stablehlo.or %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// The greatest int32 has its sign bit clear.
// CHECK-LABEL: func.func @or_all_ones_not_signed_greatest(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.or
func.func @or_all_ones_not_signed_greatest(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<2147483647> : tensor<4xi32>
  %r = stablehlo.or %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @xor_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: return %[[X]]
func.func @xor_zero(%x: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.xor %c, %x : tensor<4xi1>
  return %r : tensor<4xi1>
}

// x ^ true is not(x).
// CHECK-LABEL: func.func @xor_zero_not_true(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi1>
// CHECK: stablehlo.not
func.func @xor_zero_not_true(%x: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.xor %c, %x : tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @xor_self(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xui32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0> : tensor<4xui32>
// CHECK-NEXT: return %[[C]]
func.func @xor_self(%x: tensor<4xui32>) -> tensor<4xui32> {
  %r = stablehlo.xor %x, %x : tensor<4xui32>
  return %r : tensor<4xui32>
}

// CHECK-LABEL: func.func @xor_self_not_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xui32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xui32>
// CHECK: stablehlo.xor
func.func @xor_self_not_of_two(%x: tensor<4xui32>, %y: tensor<4xui32>) -> tensor<4xui32> {
  %r = stablehlo.xor %x, %y : tensor<4xui32>
  return %r : tensor<4xui32>
}

// CHECK-LABEL: func.func @shift_by_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]]
func.func @shift_by_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %a = stablehlo.shift_left %x, %c : tensor<4xi32>
  %b = stablehlo.shift_right_logical %a, %c : tensor<4xi32>
  %r = stablehlo.shift_right_arithmetic %b, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// 0 << x is not x.
// CHECK-LABEL: func.func @shift_by_zero_not_of_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.shift_left
func.func @shift_by_zero_not_of_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %r = stablehlo.shift_left %c, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @max_min_self(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @max_min_self(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.maximum %x, %x : tensor<4xf32>
  %r = stablehlo.minimum %a, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @max_min_self_not_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.maximum
func.func @max_min_self_not_of_two(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.maximum %x, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The form of jax.nn.softmax.
// CHECK-LABEL: func.func @max_of_least(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @max_of_least(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.maximum %b, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @max_of_least_on_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xui8>
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: return %[[X]], %[[Y]], %[[P]]
func.func @max_of_least_on_integers(%x: tensor<4xi8>, %y: tensor<4xui8>, %p: tensor<4xi1>) -> (tensor<4xi8>, tensor<4xui8>, tensor<4xi1>) {
  %c = stablehlo.constant dense<-128> : tensor<4xi8>
  %d = stablehlo.constant dense<0> : tensor<4xui8>
  %e = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.maximum %x, %c : tensor<4xi8>
  %s = stablehlo.maximum %y, %d : tensor<4xui8>
  %t = stablehlo.maximum %p, %e : tensor<4xi1>
  return %r, %s, %t : tensor<4xi8>, tensor<4xui8>, tensor<4xi1>
}

// -inf is less than the lowest finite float.
// CHECK-LABEL: func.func @max_of_least_not_lowest_finite(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.maximum
func.func @max_of_least_not_lowest_finite(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-3.40282347E+38> : tensor<4xf32>
  %r = stablehlo.maximum %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0 is the least of unsigned integers only.
// CHECK-LABEL: func.func @max_of_zero_not_on_signed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>
// CHECK: stablehlo.maximum
func.func @max_of_zero_not_on_signed(%x: tensor<4xi8>) -> tensor<4xi8> {
  %c = stablehlo.constant dense<0> : tensor<4xi8>
  %r = stablehlo.maximum %x, %c : tensor<4xi8>
  return %r : tensor<4xi8>
}

// CHECK-LABEL: func.func @min_of_greatest(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf16>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi16>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<4xui8>
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: return %[[X]], %[[Y]], %[[Z]], %[[P]]
func.func @min_of_greatest(%x: tensor<4xf16>, %y: tensor<4xi16>, %z: tensor<4xui8>, %p: tensor<4xi1>) -> (tensor<4xf16>, tensor<4xi16>, tensor<4xui8>, tensor<4xi1>) {
  %a = stablehlo.constant dense<0x7C00> : tensor<4xf16>
  %b = stablehlo.constant dense<32767> : tensor<4xi16>
  %c = stablehlo.constant dense<255> : tensor<4xui8>
  %d = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.minimum %x, %a : tensor<4xf16>
  %s = stablehlo.minimum %b, %y : tensor<4xi16>
  %t = stablehlo.minimum %z, %c : tensor<4xui8>
  %u = stablehlo.minimum %p, %d : tensor<4xi1>
  return %r, %s, %t, %u : tensor<4xf16>, tensor<4xi16>, tensor<4xui8>, tensor<4xi1>
}

// min(x, NaN) is NaN.
// CHECK-LABEL: func.func @min_of_greatest_not_nan(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.minimum
func.func @min_of_greatest_not_nan(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
  %r = stablehlo.minimum %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @clamp_to_minimum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.minimum %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @clamp_to_minimum(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.clamp %c, %x, %y : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp_to_minimum_of_a_constant(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xui8>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<7> : tensor<4xui8>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.minimum %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @clamp_to_minimum_of_a_constant(%x: tensor<4xui8>) -> tensor<4xui8> {
  %c = stablehlo.constant dense<0> : tensor<ui8>
  %d = stablehlo.constant dense<7> : tensor<ui8>
  %r = stablehlo.clamp %c, %x, %d : (tensor<ui8>, tensor<4xui8>, tensor<ui8>) -> tensor<4xui8>
  return %r : tensor<4xui8>
}

// The bound would have to be broadcast.
// CHECK-LABEL: func.func @clamp_to_minimum_not_to_a_scalar(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.clamp
func.func @clamp_to_minimum_not_to_a_scalar(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.clamp %c, %x, %y : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp_to_maximum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0> : tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @clamp_to_maximum(%x: tensor<4xi32>) -> tensor<4xi32> {
  %d = stablehlo.constant dense<2147483647> : tensor<i32>
  %e = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.clamp %e, %x, %d : (tensor<i32>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// Infinity is above the greatest finite number.
// CHECK-LABEL: func.func @clamp_to_maximum_not_finite(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.clamp
func.func @clamp_to_maximum_not_finite(%x: tensor<4xf32>) -> tensor<4xf32> {
  %d = stablehlo.constant dense<3.4028234663852886E+38> : tensor<f32>
  %e = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.clamp %e, %x, %d : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp_of_clamp(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.clamp %[[C]], %[[X]], %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @clamp_of_clamp(%x: tensor<4xf32>, %a: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.clamp %c, %x, %a : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.clamp %d, %b, %a : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The bounds are swapped.
// CHECK-LABEL: func.func @clamp_of_clamp_not_to_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<f32>
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.clamp
// CHECK-NEXT: stablehlo.clamp
func.func @clamp_of_clamp_not_to_others(%x: tensor<4xf32>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.clamp %b, %c, %a : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
