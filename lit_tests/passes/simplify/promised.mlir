// RUN: %jxc opt %s -p simplify --assume no-nans --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @subtract_same_float(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00>
// CHECK-NEXT: return %[[R]]
func.func @subtract_same_float(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.subtract %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The promise covers real numbers only.
// CHECK-LABEL: func.func @subtract_same_float_not_of_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.subtract
func.func @subtract_same_float_not_of_complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.subtract %x, %x : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

// CHECK-LABEL: func.func @divide_same_float(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<1.000000e+00>
// CHECK-NEXT: return %[[R]]
func.func @divide_same_float(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.divide %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0 / 0 is -1 in XLA.
// CHECK-LABEL: func.func @divide_same_float_not_of_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.divide
func.func @divide_same_float_not_of_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.divide %x, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// The type has no NaN: 0 / 0 is 0, which the promise does not exclude.
// CHECK-LABEL: func.func @divide_same_float_not_without_nan(
// CHECK: stablehlo.divide
func.func @divide_same_float_not_without_nan(%x: tensor<4xf4E2M1FN>) -> tensor<4xf4E2M1FN> {
  %r = stablehlo.divide %x, %x : tensor<4xf4E2M1FN>
  return %r : tensor<4xf4E2M1FN>
}

// CHECK-LABEL: func.func @compare_same_float(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<false>
// CHECK-NEXT: return %[[R]]
func.func @compare_same_float(%x: tensor<4xf32>) -> tensor<4xi1> {
  %r = stablehlo.compare NE, %x, %x, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// The operands are different values.
// CHECK-LABEL: func.func @compare_same_float_not_of_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.compare
func.func @compare_same_float_not_of_others(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %r = stablehlo.compare LE, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @not_of_float_compare(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare GE, %[[X]], %[[Y]], FLOAT
// CHECK-NEXT: return %[[R]]
func.func @not_of_float_compare(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %a = stablehlo.compare LT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.not %a : tensor<4xi1>
  return %r : tensor<4xi1>
}

// There is another op between them.
// CHECK-LABEL: func.func @not_of_float_compare_not_of_and(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.not
func.func @not_of_float_compare_not_of_and(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %a = stablehlo.compare LT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = stablehlo.and %a, %p : tensor<4xi1>
  %r = stablehlo.not %b : tensor<4xi1>
  return %r : tensor<4xi1>
}

// The form of jnp.where(x > 0, x, 0).
// CHECK-LABEL: func.func @select_to_maximum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @select_to_maximum(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %d = stablehlo.constant dense<0.0> : tensor<4xf32>
  %a = stablehlo.compare GT, %x, %c, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %d : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_to_maximum_or_minimum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.minimum %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @select_to_maximum_or_minimum(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4xf32>
  %a = stablehlo.compare GE, %c, %x, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %c : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// -0.0 >= 0.0 chooses -0.0, which is not the maximum.
// CHECK-LABEL: func.func @select_to_maximum_not_of_equal_zeros(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.compare
// CHECK-NEXT: stablehlo.select
func.func @select_to_maximum_not_of_equal_zeros(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %a = stablehlo.compare GE, %x, %c, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %c : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0.0 > -0.0 is false, and chooses -0.0.
// CHECK-LABEL: func.func @select_to_maximum_not_of_two_variables(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.compare
// CHECK-NEXT: stablehlo.select
func.func @select_to_maximum_not_of_two_variables(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.compare GT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}
