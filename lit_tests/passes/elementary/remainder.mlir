// RUN: %jxc opt %s -p 'elementary{always=true}' --split-input-file | FileCheck %s

// Ten digits of 28 bits hold the largest quotient of two f32 numbers.
// CHECK-LABEL: func.func @remainder_to_long_division(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1024xf32>, %[[Y:[a-z0-9]+]]: tensor<1024xf32>
// CHECK-COUNT-10: stablehlo.floor %{{.*}} : tensor<1024xf64>
// CHECK-NOT: stablehlo.floor
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %[[X]], %{{.*}} : tensor<1024xi1>, tensor<1024xf32>
// CHECK-NEXT: return %[[R]]
func.func @remainder_to_long_division(%x: tensor<1024xf32>, %y: tensor<1024xf32>) -> tensor<1024xf32> {
  %z = stablehlo.remainder %x, %y : tensor<1024xf32>
  return %z : tensor<1024xf32>
}

// `x % 12.0` in JAX starts with this op. 2^128 / 12 has 125 bits: five digits.
// CHECK-LABEL: func.func @remainder_to_long_division_by_twelve(
// CHECK-COUNT-5: stablehlo.floor
// CHECK-NOT: stablehlo.floor
// CHECK-NOT: stablehlo.divide
func.func @remainder_to_long_division_by_twelve(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %c = stablehlo.constant dense<12.0> : tensor<1024xf32>
  %z = stablehlo.remainder %x, %c : tensor<1024xf32>
  return %z : tensor<1024xf32>
}

// -----

// A value that is materialized for two users is rewritten by the other rules like any other value.
// CHECK-LABEL: func.func @remainder_to_long_division_used_twice(
// CHECK: %[[R:[a-z0-9_]+]] = call @stored_tensor_1024xf32_(
// CHECK-NOT: stablehlo.tan 
func.func @remainder_to_long_division_used_twice(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
  %twelve = stablehlo.constant dense<12.0> : tensor<1024xf32>
  %r = stablehlo.remainder %x, %twelve : tensor<1024xf32>
  %c = stablehlo.tan %r : tensor<1024xf32>
  return %r, %c : tensor<1024xf32>, tensor<1024xf32>
}

// -----

// In a program for two devices, an optimization barrier is used instead of a call.
// CHECK-LABEL: func.func @remainder_to_long_division_split(
// CHECK: stablehlo.optimization_barrier
// CHECK-NOT: call @
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @remainder_to_long_division_split(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
    %twelve = stablehlo.constant dense<12.0> : tensor<1024xf32>
    %r = stablehlo.remainder %x, %twelve : tensor<1024xf32>
    %s = stablehlo.add %r, %x : tensor<1024xf32>
    return %r, %s : tensor<1024xf32>, tensor<1024xf32>
  }
}

// -----

// XLA calls no library for a power of two.
// CHECK-LABEL: func.func @remainder_to_long_division_not_power_of_two(
// CHECK: stablehlo.remainder
func.func @remainder_to_long_division_not_power_of_two(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %c = stablehlo.constant dense<0.25> : tensor<1024xf32>
  %z = stablehlo.remainder %x, %c : tensor<1024xf32>
  return %z : tensor<1024xf32>
}

// -----

// CHECK-LABEL: func.func @remainder_to_long_division_not_integer(
// CHECK: stablehlo.remainder
func.func @remainder_to_long_division_not_integer(%x: tensor<1024xi32>, %y: tensor<1024xi32>) -> tensor<1024xi32> {
  %z = stablehlo.remainder %x, %y : tensor<1024xi32>
  return %z : tensor<1024xi32>
}
