// RUN: %jxc opt %s -p 'elementary{always=true}' --split-input-file | FileCheck %s

// As in `jnp.logaddexp` and `jax.nn.softplus`.
// CHECK-LABEL: func.func @softplus_to_polynomials(
// CHECK-NOT: stablehlo.exponential
// CHECK: stablehlo.round_nearest_even
// CHECK: stablehlo.shift_left
// CHECK: stablehlo.divide %{{.*}} : tensor<65536xf64>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<65536xf64>) -> tensor<65536xf32>
// CHECK-NEXT: return %[[R]]
func.func @softplus_to_polynomials(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %0 = stablehlo.abs %x : tensor<65536xf32>
  %1 = stablehlo.negate %0 : tensor<65536xf32>
  %2 = stablehlo.exponential %1 : tensor<65536xf32>
  %3 = stablehlo.log_plus_one %2 : tensor<65536xf32>
  return %3 : tensor<65536xf32>
}

// -----

// The sum 1 + y is between 1 and 2 only if x is not positive.
// CHECK-LABEL: func.func @softplus_to_polynomials_not_of_positive(
// CHECK: stablehlo.log_plus_one
func.func @softplus_to_polynomials_not_of_positive(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %2 = stablehlo.exponential %x : tensor<65536xf32>
  %3 = stablehlo.log_plus_one %2 : tensor<65536xf32>
  return %3 : tensor<65536xf32>
}

// -----

// The exponential has another user and would be computed twice.
// CHECK-LABEL: func.func @softplus_to_polynomials_not_if_used(
// CHECK: stablehlo.log_plus_one
func.func @softplus_to_polynomials_not_if_used(%x: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>) {
  %0 = stablehlo.abs %x : tensor<65536xf32>
  %1 = stablehlo.negate %0 : tensor<65536xf32>
  %2 = stablehlo.exponential %1 : tensor<65536xf32>
  %3 = stablehlo.log_plus_one %2 : tensor<65536xf32>
  return %2, %3 : tensor<65536xf32>, tensor<65536xf32>
}
