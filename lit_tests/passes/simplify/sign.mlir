// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @subtract_from_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.negate %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @subtract_from_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %r = stablehlo.subtract %c, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @subtract_from_zero_of_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.negate %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @subtract_from_zero_of_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %r = stablehlo.subtract %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0.0 - 0.0 is 0.0, but -(0.0) is -0.0.
// CHECK-LABEL: func.func @subtract_from_zero_not_from_positive(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.subtract
func.func @subtract_from_zero_not_from_positive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.subtract %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @multiply_by_minus_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.negate %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @multiply_by_minus_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-1.0> : tensor<4xf32>
  %r = stablehlo.multiply %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// This type has no -0.0: its bits are those of NaN.
// CHECK-LABEL: func.func @multiply_by_minus_one_not_without_signs(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf8E4M3FNUZ>
// CHECK: stablehlo.multiply
func.func @multiply_by_minus_one_not_without_signs(%x: tensor<4xf8E4M3FNUZ>) -> tensor<4xf8E4M3FNUZ> {
  %c = stablehlo.constant dense<-1.0> : tensor<4xf8E4M3FNUZ>
  %r = stablehlo.multiply %x, %c : tensor<4xf8E4M3FNUZ>
  return %r : tensor<4xf8E4M3FNUZ>
}

// CHECK-LABEL: func.func @divide_by_minus_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.negate %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @divide_by_minus_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-1.0> : tensor<4xf32>
  %r = stablehlo.divide %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The least integer divided by -1 overflows.
// CHECK-LABEL: func.func @divide_by_minus_one_not_of_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.divide
func.func @divide_by_minus_one_not_of_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<-1> : tensor<4xi32>
  %r = stablehlo.divide %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @negate_of_multiply(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<-5.000000e-01>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @negate_of_multiply(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<4xf32>
  %a = stablehlo.multiply %c, %x : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The product has another use, so there would be two.
// CHECK-LABEL: func.func @negate_of_multiply_not_with_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.multiply
// CHECK-NEXT: stablehlo.negate
func.func @negate_of_multiply_not_with_others(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<0.5> : tensor<4xf32>
  %a = stablehlo.multiply %x, %c : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r, %a : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @divide_of_negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<-3.000000e+00>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.divide %[[C]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @divide_of_negate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.divide %c, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -x overflows if x is the least integer.
// CHECK-LABEL: func.func @divide_of_negate_not_of_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.negate
// CHECK-NEXT: stablehlo.divide
func.func @divide_of_negate_not_of_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %a = stablehlo.negate %x : tensor<4xi32>
  %r = stablehlo.divide %a, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @negate_of_divide(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<-3.000000e+00>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.divide %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @negate_of_divide(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.divide %x, %c : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// Whether the quotient overflows depends on the signs.
// CHECK-LABEL: func.func @negate_of_divide_not_of_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.divide
// CHECK-NEXT: stablehlo.negate
func.func @negate_of_divide_not_of_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %a = stablehlo.divide %c, %x : tensor<4xi32>
  %r = stablehlo.negate %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @square_of_abs(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[X]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @square_of_abs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.abs %x : tensor<4xf32>
  %r = stablehlo.multiply %a, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// |z| * |z| is not z * z.
// CHECK-LABEL: func.func @square_of_abs_not_of_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.abs
// CHECK-NEXT: stablehlo.multiply
func.func @square_of_abs_not_of_complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %a = stablehlo.abs %x : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %r = stablehlo.multiply %a, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @abs_of_square(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[X]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @abs_of_square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %x : tensor<4xf32>
  %r = stablehlo.abs %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The square of 46341 wraps around to a negative number.
// CHECK-LABEL: func.func @abs_of_square_not_of_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.multiply
// CHECK-NEXT: stablehlo.abs
func.func @abs_of_square_not_of_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.multiply %x, %x : tensor<4xi32>
  %r = stablehlo.abs %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @abs_of_square_as_jax_writes_it(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = chlo.square %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @abs_of_square_as_jax_writes_it(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  %r = stablehlo.abs %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @abs_of_positive(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.exponential %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @abs_of_positive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.exponential %x : tensor<4xf32>
  %r = stablehlo.abs %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// sqrt(-0.0) is -0.0.
// CHECK-LABEL: func.func @abs_of_positive_not_of_a_root(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.sqrt
// CHECK-NEXT: stablehlo.abs
func.func @abs_of_positive_not_of_a_root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.sqrt %x : tensor<4xf32>
  %r = stablehlo.abs %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @negate_of_negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]]
func.func @negate_of_negate(%x: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.negate %x : tensor<4xi32>
  %r = stablehlo.negate %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @negate_of_negate_not_once(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.negate
func.func @negate_of_negate_not_once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.negate %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @not_of_not(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: return %[[X]]
func.func @not_of_not(%x: tensor<4xi1>) -> tensor<4xi1> {
  %a = stablehlo.not %x : tensor<4xi1>
  %r = stablehlo.not %a : tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @not_of_negate_not(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.negate
// CHECK-NEXT: stablehlo.not
func.func @not_of_negate_not(%x: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.negate %x : tensor<4xi32>
  %r = stablehlo.not %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @negate_of_subtract(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.subtract %[[Y]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @negate_of_subtract(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.subtract %x, %y : tensor<4xi32>
  %r = stablehlo.negate %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// If x equals y, -(x - y) is -0.0, and y - x is 0.0.
// CHECK-LABEL: func.func @negate_of_subtract_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.negate
func.func @negate_of_subtract_not_on_floats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.subtract %x, %y : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @add_of_negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.subtract %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @add_of_negate(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.negate %y : tensor<4xf32>
  %r = stablehlo.add %a, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -(x + y) is not -x - y if x and y are 0.0 and -0.0.
// CHECK-LABEL: func.func @add_of_negate_not_outer(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.negate
func.func @add_of_negate_not_outer(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.add %x, %y : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @subtract_of_negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.add %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @subtract_of_negate(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %a = stablehlo.negate %y : tensor<4xcomplex<f32>>
  %r = stablehlo.subtract %x, %a : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

// (-x) - y differs from -(x + y) in the sign of zero.
// CHECK-LABEL: func.func @subtract_of_negate_not_on_the_left(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.subtract
func.func @subtract_of_negate_not_on_the_left(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.subtract %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @multiply_of_negates(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @multiply_of_negates(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.negate %x : tensor<4xf32>
  %b = stablehlo.negate %y : tensor<4xf32>
  %r = stablehlo.multiply %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @multiply_of_negates_not_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.negate
func.func @multiply_of_negates_not_of_one(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.multiply %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @divide_of_negates(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.divide %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @divide_of_negates(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.negate %x : tensor<4xf32>
  %b = stablehlo.negate %y : tensor<4xf32>
  %r = stablehlo.divide %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// (-x) / (-1) overflows if x is the least integer; x / 1 does not.
// CHECK-LABEL: func.func @divide_of_negates_not_on_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.divide
func.func @divide_of_negates_not_on_integers(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.negate %x : tensor<4xi32>
  %b = stablehlo.negate %y : tensor<4xi32>
  %r = stablehlo.divide %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @abs_of_negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.abs %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @abs_of_negate(%x: tensor<4xi8>) -> tensor<4xi8> {
  %a = stablehlo.negate %x : tensor<4xi8>
  %r = stablehlo.abs %a : tensor<4xi8>
  return %r : tensor<4xi8>
}

// CHECK-LABEL: func.func @abs_of_negate_not_of_sign(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.sign
func.func @abs_of_negate_not_of_sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.sign %x : tensor<4xf32>
  %r = stablehlo.abs %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @abs_of_abs(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.abs %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @abs_of_abs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.abs %x : tensor<4xf32>
  %r = stablehlo.abs %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @abs_of_abs_not_once(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.abs
func.func @abs_of_abs_not_once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.abs %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @real_of_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @real_of_complex(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %r = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @real_of_complex_not_of_product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.real
func.func @real_of_complex_not_of_product(%x: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %x : tensor<4xcomplex<f32>>
  %r = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @imag_of_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @imag_of_complex(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %r = stablehlo.imag %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @imag_of_complex_not_of_product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.imag
func.func @imag_of_complex_not_of_product(%x: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %x : tensor<4xcomplex<f32>>
  %r = stablehlo.imag %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @complex_of_parts(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f64>>
// CHECK-NEXT: return %[[X]]
func.func @complex_of_parts(%x: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %a = stablehlo.real %x : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  %b = stablehlo.imag %x : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  %r = stablehlo.complex %a, %b : tensor<4xcomplex<f64>>
  return %r : tensor<4xcomplex<f64>>
}

// The parts are of two different numbers.
// CHECK-LABEL: func.func @complex_of_parts_not_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.complex
func.func @complex_of_parts_not_of_two(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %a = stablehlo.real %x : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %b = stablehlo.imag %y : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %r = stablehlo.complex %a, %b : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

// CHECK-LABEL: func.func @bitcast_of_bitcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @bitcast_of_bitcast(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
  %r = stablehlo.bitcast_convert %a : (tensor<4xui32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @bitcast_of_bitcast_not_to_another_type(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: stablehlo.bitcast_convert
func.func @bitcast_of_bitcast_not_to_another_type(%x: tensor<4xf32>) -> tensor<4xi32> {
  %a = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
  %r = stablehlo.bitcast_convert %a : (tensor<4xui32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
