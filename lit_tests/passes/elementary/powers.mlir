// RUN: %jxc opt %s -p 'elementary{always=true}' --split-input-file | FileCheck %s

// x * x * sqrt(x). The absolute value makes -0.0 positive, and the select avoids NaN for -infinity.
// CHECK-LABEL: func.func @power_to_products(
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<1024xf32>) -> tensor<1024xf64>
// CHECK-DAG: %[[SQUARE:[a-z0-9_]+]] = stablehlo.multiply %[[WIDE]], %[[WIDE]]
// CHECK-DAG: %[[ROOT:[a-z0-9_]+]] = stablehlo.sqrt %[[WIDE]]
// CHECK: %[[PRODUCT:[a-z0-9_]+]] = stablehlo.multiply %[[SQUARE]], %[[ROOT]]
// CHECK: %[[SIZE:[a-z0-9_]+]] = stablehlo.abs %[[PRODUCT]]
// CHECK: stablehlo.select %{{.*}}, %{{.*}}, %[[SIZE]]
func.func @power_to_products(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %c = stablehlo.constant dense<2.5> : tensor<1024xf32>
  %y = stablehlo.power %x, %c : tensor<1024xf32>
  return %y : tensor<1024xf32>
}

// As `jnp.power(x, -4.0)`.
// CHECK-LABEL: func.func @power_to_products_whole(
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<1024xf32>) -> tensor<1024xf64>
// CHECK: %[[SQUARE:[a-z0-9_]+]] = stablehlo.multiply %[[WIDE]], %[[WIDE]]
// CHECK: %[[FOURTH:[a-z0-9_]+]] = stablehlo.multiply %[[SQUARE]], %[[SQUARE]]
// CHECK: stablehlo.divide %{{.*}}, %[[FOURTH]]
func.func @power_to_products_whole(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %c = stablehlo.constant dense<-4.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<1024xf32>
  %y = stablehlo.power %x, %b : tensor<1024xf32>
  return %y : tensor<1024xf32>
}

// The exponent comes from the bits; the logarithm of the significand starts with a division.
// CHECK-LABEL: func.func @power_to_polynomials(
// CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<65536xf64>) -> tensor<65536xi64>
// CHECK: stablehlo.shift_right_logical
// CHECK: stablehlo.divide %{{.*}} : tensor<65536xf64>
// CHECK: stablehlo.round_nearest_even
// CHECK: stablehlo.shift_left
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<65536xf64>) -> tensor<65536xf32>
// CHECK-NEXT: return %[[R]]
func.func @power_to_polynomials(%x: tensor<65536xf32>, %y: tensor<65536xf32>) -> tensor<65536xf32> {
  %z = stablehlo.power %x, %y : tensor<65536xf32>
  return %z : tensor<65536xf32>
}

// The sign of a constant base is not checked at run time.
// CHECK-LABEL: func.func @power_to_polynomials_of_two(
// CHECK-NOT: shift_right_logical
// CHECK: stablehlo.shift_left
// CHECK-NOT: stablehlo.power
func.func @power_to_polynomials_of_two(%y: tensor<1024xf32>) -> tensor<1024xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<1024xf32>
  %z = stablehlo.power %c, %y : tensor<1024xf32>
  return %z : tensor<1024xf32>
}

// CHECK-LABEL: func.func @power_to_polynomials_by_a_third(
// CHECK: stablehlo.shift_left
// CHECK-NOT: stablehlo.power
func.func @power_to_polynomials_by_a_third(%x: tensor<256x256xbf16>) -> tensor<256x256xbf16> {
  %c = stablehlo.constant dense<3.33984375e-1> : tensor<256x256xbf16>
  %z = stablehlo.power %x, %c : tensor<256x256xbf16>
  return %z : tensor<256x256xbf16>
}

// -----

// XLA computes x * x * x by itself.
// CHECK-LABEL: func.func @power_to_products_not_three(
// CHECK: stablehlo.power
func.func @power_to_products_not_three(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<1024xf32>
  %y = stablehlo.power %x, %c : tensor<1024xf32>
  return %y : tensor<1024xf32>
}

// -----

// Not for integers, which wrap around.
// CHECK-LABEL: func.func @power_to_polynomials_not_integer(
// CHECK: stablehlo.power
func.func @power_to_polynomials_not_integer(%x: tensor<1024xi32>, %y: tensor<1024xi32>) -> tensor<1024xi32> {
  %z = stablehlo.power %x, %y : tensor<1024xi32>
  return %z : tensor<1024xi32>
}
