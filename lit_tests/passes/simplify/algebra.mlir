// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// The sum of the constants wraps around.
// CHECK-LABEL: func.func @offset_of_offset(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<-2147483646>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.add %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @offset_of_offset(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<2147483647> : tensor<4xi32>
  %d = stablehlo.constant dense<3> : tensor<4xi32>
  %a = stablehlo.add %x, %c : tensor<4xi32>
  %r = stablehlo.add %d, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// 4 - (7 - x).
// CHECK-LABEL: func.func @offset_of_offset_twice_negated(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<-3>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.add %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @offset_of_offset_twice_negated(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<7> : tensor<4xi32>
  %d = stablehlo.constant dense<4> : tensor<4xi32>
  %a = stablehlo.subtract %c, %x : tensor<4xi32>
  %r = stablehlo.subtract %d, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @offset_of_offset_as_scans_count_down(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<3>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.subtract %[[C]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @offset_of_offset_as_scans_count_down(%x: tensor<i32>) -> tensor<i32> {
  %c = stablehlo.constant dense<4> : tensor<i32>
  %d = stablehlo.constant dense<1> : tensor<i32>
  %a = stablehlo.subtract %c, %x : tensor<i32>
  %r = stablehlo.subtract %a, %d : tensor<i32>
  return %r : tensor<i32>
}

// Floats round after each addition.
// CHECK-LABEL: func.func @offset_of_offset_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.add
// CHECK: stablehlo.add
func.func @offset_of_offset_not_on_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %d = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.add %x, %c : tensor<4xf32>
  %r = stablehlo.add %a, %d : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The product of the constants wraps around.
// CHECK-LABEL: func.func @constants_of_chain(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<65536>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @constants_of_chain(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<65536> : tensor<4xi32>
  %d = stablehlo.constant dense<65537> : tensor<4xi32>
  %a = stablehlo.multiply %c, %x : tensor<4xi32>
  %r = stablehlo.multiply %a, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @constants_of_chain_of_unsigned_maximum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xui8>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<200>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @constants_of_chain_of_unsigned_maximum(%x: tensor<4xui8>) -> tensor<4xui8> {
  %c = stablehlo.constant dense<200> : tensor<4xui8>
  %d = stablehlo.constant dense<100> : tensor<4xui8>
  %a = stablehlo.maximum %x, %c : tensor<4xui8>
  %r = stablehlo.maximum %a, %d : tensor<4xui8>
  return %r : tensor<4xui8>
}

// (x | 12) & 10 is 8 more than x & 10, where x is 0.
// CHECK-LABEL: func.func @constants_of_chain_not_of_two_kinds(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.or
// CHECK: stablehlo.and
func.func @constants_of_chain_not_of_two_kinds(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<12> : tensor<4xi32>
  %d = stablehlo.constant dense<10> : tensor<4xi32>
  %a = stablehlo.or %x, %c : tensor<4xi32>
  %r = stablehlo.and %a, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @subtract_of_sum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]]
func.func @subtract_of_sum(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.add %x, %y : tensor<4xi32>
  %r = stablehlo.subtract %a, %y : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @subtract_of_sum_to_negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.negate %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @subtract_of_sum_to_negate(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.add %x, %y : tensor<4xi32>
  %r = stablehlo.subtract %y, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// The sum of floats loses digits of y.
// CHECK-LABEL: func.func @subtract_of_sum_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.add
// CHECK-NEXT: stablehlo.subtract
func.func @subtract_of_sum_not_on_floats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.add %x, %y : tensor<4xf32>
  %r = stablehlo.subtract %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @subtract_of_difference(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[Y]]
func.func @subtract_of_difference(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.subtract %x, %y : tensor<4xi32>
  %r = stablehlo.subtract %x, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @subtract_of_difference_to_negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.negate %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @subtract_of_difference_to_negate(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.subtract %x, %y : tensor<4xi32>
  %r = stablehlo.subtract %a, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// y - (x - y) is 2 * y - x.
// CHECK-LABEL: func.func @subtract_of_difference_not_of_another(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.subtract
// CHECK-NEXT: stablehlo.subtract
func.func @subtract_of_difference_not_of_another(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.subtract %x, %y : tensor<4xi32>
  %r = stablehlo.subtract %y, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @add_of_difference(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]]
func.func @add_of_difference(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.subtract %x, %y : tensor<4xi32>
  %r = stablehlo.add %y, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// An infinite y makes it NaN.
// CHECK-LABEL: func.func @add_of_difference_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.subtract
// CHECK-NEXT: stablehlo.add
func.func @add_of_difference_not_on_floats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.subtract %x, %y : tensor<4xf32>
  %r = stablehlo.add %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @max_min_absorbed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]]
func.func @max_min_absorbed(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.minimum %y, %x : tensor<4xi32>
  %r = stablehlo.maximum %x, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @max_min_absorbed_of_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @max_min_absorbed_of_floats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.maximum %x, %y : tensor<4xf32>
  %r = stablehlo.maximum %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// If y is NaN, the minimum is NaN.
// CHECK-LABEL: func.func @max_min_absorbed_not_of_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.minimum
// CHECK-NEXT: stablehlo.maximum
func.func @max_min_absorbed_not_of_floats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.minimum %y, %x : tensor<4xf32>
  %r = stablehlo.maximum %x, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// If a part is NaN, the maximum depends on the order of the operands.
// CHECK-LABEL: func.func @max_min_absorbed_not_of_complex(
// CHECK: stablehlo.maximum
// CHECK: stablehlo.maximum
func.func @max_min_absorbed_not_of_complex(%x: tensor<7xcomplex<f32>>, %y: tensor<7xcomplex<f32>>) -> tensor<7xcomplex<f32>> {
  %a = stablehlo.maximum %y, %x : tensor<7xcomplex<f32>>
  %r = stablehlo.maximum %a, %y : tensor<7xcomplex<f32>>
  return %r : tensor<7xcomplex<f32>>
}

// CHECK-LABEL: func.func @xor_of_xor(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]]
func.func @xor_of_xor(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.xor %x, %y : tensor<4xi32>
  %r = stablehlo.xor %y, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// The operands are different values.
// CHECK-LABEL: func.func @xor_of_xor_not_of_another(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.xor
// CHECK-NEXT: stablehlo.xor
func.func @xor_of_xor_not_of_another(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.xor %x, %y : tensor<4xi32>
  %r = stablehlo.xor %a, %z : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @xor_of_nots(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.xor %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @xor_of_nots(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.not %x : tensor<4xi32>
  %b = stablehlo.not %y : tensor<4xi32>
  %r = stablehlo.xor %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// not(x) ^ y is not(x ^ y).
// CHECK-LABEL: func.func @xor_of_nots_not_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.not
// CHECK-NEXT: stablehlo.xor
func.func @xor_of_nots_not_of_one(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.not %x : tensor<4xi32>
  %r = stablehlo.xor %a, %y : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @xor_all_ones(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.not %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @xor_all_ones(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<-1> : tensor<4xi32>
  %r = stablehlo.xor %c, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// Only the last bit is set.
// CHECK-LABEL: func.func @xor_all_ones_not_of_some(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.xor
func.func @xor_all_ones_not_of_some(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<1> : tensor<4xi32>
  %r = stablehlo.xor %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @boolean_arithmetic(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.or %[[P]], %[[Q]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.and %[[A]], %[[S]]
// CHECK-NEXT: return %[[R]]
func.func @boolean_arithmetic(%p: tensor<4xi1>, %q: tensor<4xi1>, %s: tensor<4xi1>) -> tensor<4xi1> {
  %a = stablehlo.maximum %p, %q : tensor<4xi1>
  %r = stablehlo.multiply %a, %s : tensor<4xi1>
  return %r : tensor<4xi1>
}

// max(1, 2) is not 3.
// CHECK-LABEL: func.func @boolean_arithmetic_not_on_integers(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi2>
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4xi2>
// CHECK: stablehlo.maximum
func.func @boolean_arithmetic_not_on_integers(%p: tensor<4xi2>, %q: tensor<4xi2>) -> tensor<4xi2> {
  %r = stablehlo.maximum %p, %q : tensor<4xi2>
  return %r : tensor<4xi2>
}

// CHECK-LABEL: func.func @shift_of_shift(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<31>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.shift_right_arithmetic %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @shift_of_shift(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<7> : tensor<4xi32>
  %d = stablehlo.constant dense<24> : tensor<4xi32>
  %a = stablehlo.shift_right_arithmetic %x, %c : tensor<4xi32>
  %r = stablehlo.shift_right_arithmetic %a, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// A shift by 32, the width of the type, gives 0.
// CHECK-LABEL: func.func @shift_of_shift_not_beyond_the_width(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.shift_left
// CHECK: stablehlo.shift_left
func.func @shift_of_shift_not_beyond_the_width(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<8> : tensor<4xi32>
  %d = stablehlo.constant dense<24> : tensor<4xi32>
  %a = stablehlo.shift_left %x, %c : tensor<4xi32>
  %r = stablehlo.shift_left %a, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// The first shift drops bits.
// CHECK-LABEL: func.func @shift_of_shift_not_of_two_kinds(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.shift_left
// CHECK-NEXT: stablehlo.shift_right_logical
func.func @shift_of_shift_not_of_two_kinds(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<7> : tensor<4xi32>
  %a = stablehlo.shift_left %x, %c : tensor<4xi32>
  %r = stablehlo.shift_right_logical %a, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @remainder_by_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0>
// CHECK-NEXT: return %[[R]]
func.func @remainder_by_one(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<1> : tensor<4xi32>
  %r = stablehlo.remainder %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// x % 1 is the fraction of a float.
// CHECK-LABEL: func.func @remainder_by_one_not_of_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.remainder
func.func @remainder_by_one_not_of_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %r = stablehlo.remainder %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @power_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @power_of_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %r = stablehlo.power %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// Only a correctly rounded power is x * x.
// CHECK-LABEL: func.func @power_of_one_not_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.power
func.func @power_of_one_not_of_two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4xf32>
  %r = stablehlo.power %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// NaN ** 0 is 1 too.
// CHECK-LABEL: func.func @power_of_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<1.000000e+00>
// CHECK-NEXT: return %[[R]]
func.func @power_of_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %r = stablehlo.power %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0 ** -1 is infinite.
// CHECK-LABEL: func.func @power_of_zero_not_zero_to_a_power(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.power
func.func @power_of_zero_not_zero_to_a_power(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.power %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
