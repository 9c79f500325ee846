// RUN: %jxc opt %s -p 'elementary{always=true}' --split-input-file | FileCheck %s

// Seven products give the argument in revolutions. Half revolutions are subtracted, and their
// parity gives the sign.
// CHECK-LABEL: func.func @sine_to_polynomial(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<65536xf32>
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.compare EQ, %[[X]],
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %[[X]] : (tensor<65536xf32>) -> tensor<65536xf64>
// CHECK: %[[TURNS:[a-z0-9_]+]] = stablehlo.multiply %[[WIDE]],
// CHECK: %[[WHOLE:[a-z0-9_]+]] = stablehlo.round_nearest_even %[[TURNS]]
// CHECK: stablehlo.subtract %[[TURNS]], %[[WHOLE]]
// CHECK: %[[SINE:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<65536xf64>) -> tensor<65536xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select %[[ZERO]], %[[X]], %[[SINE]]
// CHECK-NEXT: return %[[R]]
func.func @sine_to_polynomial(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %y = stablehlo.sine %x : tensor<65536xf32>
  return %y : tensor<65536xf32>
}

// f16 ends at 2^16, so three products are enough.
// CHECK-LABEL: func.func @sine_to_polynomial_16_bit(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256x256xf16>
// CHECK: %[[SINGLE:[a-z0-9_]+]] = stablehlo.convert %[[X]] : (tensor<256x256xf16>) -> tensor<256x256xf32>
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %[[SINGLE]] : (tensor<256x256xf32>) -> tensor<256x256xf64>
// CHECK-COUNT-3: stablehlo.multiply %[[WIDE]],
// CHECK-NOT: stablehlo.multiply %[[WIDE]],
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<256x256xf32>) -> tensor<256x256xf16>
// CHECK-NEXT: return %[[R]]
func.func @sine_to_polynomial_16_bit(%x: tensor<256x256xf16>) -> tensor<256x256xf16> {
  %y = stablehlo.sine %x : tensor<256x256xf16>
  return %y : tensor<256x256xf16>
}

// Two users share one computation.
// CHECK-LABEL: func.func @sine_to_polynomial_used_twice(
// CHECK: %[[S:[a-z0-9_]+]] = call @stored_tensor_65536xf32_(%{{.*}}) {mhlo.frontend_attributes = {inlineable = "false"}}
// CHECK: stablehlo.multiply %[[S]], %[[S]]
func.func @sine_to_polynomial_used_twice(%x: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>) {
  %y = stablehlo.sine %x : tensor<65536xf32>
  %z = stablehlo.multiply %y, %y : tensor<65536xf32>
  return %y, %z : tensor<65536xf32>, tensor<65536xf32>
}

// A cosine is a sine a quarter of a revolution further.
// CHECK-LABEL: func.func @cosine_to_polynomial(
// CHECK: %[[QUARTER:[a-z0-9_]+]] = stablehlo.constant dense<2.500000e-01> : tensor<65536xf64>
// CHECK: stablehlo.add %{{.*}}, %[[QUARTER]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<65536xf64>) -> tensor<65536xf32>
// CHECK-NEXT: return %[[R]]
func.func @cosine_to_polynomial(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %y = stablehlo.cosine %x : tensor<65536xf32>
  return %y : tensor<65536xf32>
}

// The whole quarter revolutions are subtracted. If their number is odd, the result is the negative
// inverse of the quotient.
// CHECK-LABEL: func.func @tangent_to_polynomials(
// CHECK: %[[OVER:[a-z0-9_]+]] = stablehlo.select %[[ODD:[a-z0-9_]+]], %[[MINUS:[a-z0-9_]+]], %[[SINE:[a-z0-9_]+]] : tensor<1024xi1>, tensor<1024xf64>
// CHECK: %[[UNDER:[a-z0-9_]+]] = stablehlo.select %[[ODD]], %[[SINE]], %[[COSINE:[a-z0-9_]+]] :
// CHECK: stablehlo.divide %[[OVER]], %[[UNDER]]
func.func @tangent_to_polynomials(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %y = stablehlo.tan %x : tensor<1024xf32>
  return %y : tensor<1024xf32>
}

// -----

// Positional encodings: sines and cosines that are concatenated are materialized, otherwise XLA
// would compute them inside the concatenation. The same holds for their operand.
// CHECK-LABEL: func.func @sine_to_polynomial_put_together(
// CHECK: %[[X:[a-z0-9_]+]] = call @stored_tensor_4096x24xf32_(
// CHECK: %[[S:[a-z0-9_]+]] = call @stored_tensor_4096x24xf32_(
// CHECK: %[[C:[a-z0-9_]+]] = call @stored_tensor_4096x24xf32_(
// CHECK-NOT: call
// CHECK: stablehlo.concatenate %{{[a-z0-9_]+}}, %[[S]], %[[C]]
func.func @sine_to_polynomial_put_together(%x: tensor<4096x3xf32>, %w: tensor<4096x3x8xf32>) -> tensor<4096x51xf32> {
  %b = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<4096x3xf32>) -> tensor<4096x3x8xf32>
  %m = stablehlo.multiply %b, %w : tensor<4096x3x8xf32>
  %a = stablehlo.reshape %m : (tensor<4096x3x8xf32>) -> tensor<4096x24xf32>
  %s = stablehlo.sine %a : tensor<4096x24xf32>
  %c = stablehlo.cosine %a : tensor<4096x24xf32>
  %r = stablehlo.concatenate %x, %s, %c, dim = 1 : (tensor<4096x3xf32>, tensor<4096x24xf32>, tensor<4096x24xf32>) -> tensor<4096x51xf32>
  return %r : tensor<4096x51xf32>
}

// -----

// f64 has no wider type for exact products.
// CHECK-LABEL: func.func @sine_to_polynomial_not_f64(
// CHECK: stablehlo.sine
func.func @sine_to_polynomial_not_f64(%x: tensor<65536xf64>) -> tensor<65536xf64> {
  %y = stablehlo.sine %x : tensor<65536xf64>
  return %y : tensor<65536xf64>
}

// -----

// One sine for each row: XLA computes it once, outside of the vectorized loop.
// CHECK-LABEL: func.func @sine_to_polynomial_not_spread(
// CHECK: stablehlo.sine
func.func @sine_to_polynomial_not_spread(%x: tensor<65536xf32>) -> tensor<65536x2xf32> {
  %y = stablehlo.sine %x : tensor<65536xf32>
  %z = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<65536xf32>) -> tensor<65536x2xf32>
  return %z : tensor<65536x2xf32>
}

// -----

// CHECK-LABEL: func.func @cosine_to_polynomial_not_dynamic(
// CHECK: stablehlo.cosine
func.func @cosine_to_polynomial_not_dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = stablehlo.cosine %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// The tangent of complex numbers needs other formulas.
// CHECK-LABEL: func.func @tangent_to_polynomials_not_complex(
// CHECK: stablehlo.tan
func.func @tangent_to_polynomials_not_complex(%x: tensor<1024xcomplex<f32>>) -> tensor<1024xcomplex<f32>> {
  %y = stablehlo.tan %x : tensor<1024xcomplex<f32>>
  return %y : tensor<1024xcomplex<f32>>
}
