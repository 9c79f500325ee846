// RUN: %jxc opt %s -p 'elementary{always=true}' --split-input-file | FileCheck %s

// The smaller operand is divided by the larger, so that the quotient is at most 1. If the operands
// were swapped, the angle is adjusted.
// CHECK-LABEL: func.func @arctangent_to_polynomial(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<1024xf32>, %[[X:[a-z0-9]+]]: tensor<1024xf32>
// CHECK: %[[LEFT:[a-z0-9_]+]] = stablehlo.compare LT, %{{.*}} : (tensor<1024xi32>, tensor<1024xi32>) -> tensor<1024xi1>
// CHECK: %[[LEAST:[a-z0-9_]+]] = stablehlo.minimum
// CHECK: %[[MOST:[a-z0-9_]+]] = stablehlo.maximum
// CHECK: stablehlo.divide %[[LEAST]], %[[MOST]] : tensor<1024xf64>
// CHECK: stablehlo.select %[[LEFT]],
// CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<1024xi32>) -> tensor<1024xf32>
func.func @arctangent_to_polynomial(%y: tensor<1024xf32>, %x: tensor<1024xf32>) -> tensor<1024xf32> {
  %z = stablehlo.atan2 %y, %x : tensor<1024xf32>
  return %z : tensor<1024xf32>
}

// CHECK-LABEL: func.func @arcsine_to_polynomial(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1024xf32>
// CHECK: %[[LARGE:[a-z0-9_]+]] = stablehlo.compare GT,
// CHECK: %[[SQUARE:[a-z0-9_]+]] = stablehlo.select %[[LARGE]],
// CHECK: stablehlo.sqrt %[[SQUARE]] : tensor<1024xf64>
// CHECK: stablehlo.select %{{.*}}, %[[X]], %{{.*}} : tensor<1024xi1>, tensor<1024xf32>
func.func @arcsine_to_polynomial(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %y = chlo.asin %x : tensor<1024xf32> -> tensor<1024xf32>
  return %y : tensor<1024xf32>
}

// CHECK-LABEL: func.func @arccosine_to_polynomial(
// CHECK: %[[LARGE:[a-z0-9_]+]] = stablehlo.compare GT,
// CHECK: stablehlo.sqrt
// CHECK: stablehlo.select %[[LARGE]],
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<1024xf64>) -> tensor<1024xf32>
// CHECK-NEXT: return %[[R]]
func.func @arccosine_to_polynomial(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %y = chlo.acos %x : tensor<1024xf32> -> tensor<1024xf32>
  return %y : tensor<1024xf32>
}

// The select changes no value. It ends the kernel that XLA makes of the sum.
// CHECK-LABEL: func.func @arccosine_to_polynomial_summed(
// CHECK: %[[ANGLE:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<1024xf64>) -> tensor<1024xf32>
// CHECK: %[[SAME:[a-z0-9_]+]] = stablehlo.compare EQ, %[[ANGLE]], %[[ANGLE]]
// CHECK: %[[FENCED:[a-z0-9_]+]] = stablehlo.select %[[SAME]], %[[ANGLE]],
// CHECK: stablehlo.reduce(%[[FENCED]] init:
func.func @arccosine_to_polynomial_summed(%x: tensor<1024xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %y = chlo.acos %x : tensor<1024xf32> -> tensor<1024xf32>
  %z = stablehlo.reduce(%y init: %c) applies stablehlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  return %z : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @arctangent_to_polynomial_not_f64(
// CHECK: stablehlo.atan2
func.func @arctangent_to_polynomial_not_f64(%y: tensor<1024xf64>, %x: tensor<1024xf64>) -> tensor<1024xf64> {
  %z = stablehlo.atan2 %y, %x : tensor<1024xf64>
  return %z : tensor<1024xf64>
}

// -----

// So few elements that the compile time is not worth it.
// CHECK-LABEL: func.func @arcsine_to_polynomial_not_few(
// CHECK: chlo.asin
func.func @arcsine_to_polynomial_not_few(%x: tensor<31x33xf32>) -> tensor<31x33xf32> {
  %y = chlo.asin %x : tensor<31x33xf32> -> tensor<31x33xf32>
  return %y : tensor<31x33xf32>
}

// -----

// CHECK-LABEL: func.func @arccosine_to_polynomial_not_complex(
// CHECK: chlo.acos
func.func @arccosine_to_polynomial_not_complex(%x: tensor<1024xcomplex<f32>>) -> tensor<1024xcomplex<f32>> {
  %y = chlo.acos %x : tensor<1024xcomplex<f32>> -> tensor<1024xcomplex<f32>>
  return %y : tensor<1024xcomplex<f32>>
}
