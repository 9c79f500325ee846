// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @convert_of_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.iota dim = 1 : tensor<2x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @convert_of_iota() -> tensor<2x8xf32> {
  %i = stablehlo.iota dim = 1 : tensor<2x8xi32>
  %r = stablehlo.convert %i : (tensor<2x8xi32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// The indices wrap around in 8 bits, but not in 32.
// CHECK-LABEL: func.func @convert_of_iota_not_wrapping(
// CHECK: stablehlo.convert
func.func @convert_of_iota_not_wrapping() -> tensor<300xi32> {
  %i = stablehlo.iota dim = 0 : tensor<300xi8>
  %r = stablehlo.convert %i : (tensor<300xi8>) -> tensor<300xi32>
  return %r : tensor<300xi32>
}

// bf16 cannot represent 257.
// CHECK-LABEL: func.func @convert_of_iota_not_rounded(
// CHECK: stablehlo.convert
func.func @convert_of_iota_not_rounded() -> tensor<300xbf16> {
  %i = stablehlo.iota dim = 0 : tensor<300xi32>
  %r = stablehlo.convert %i : (tensor<300xi32>) -> tensor<300xbf16>
  return %r : tensor<300xbf16>
}

// CHECK-LABEL: func.func @slice_of_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.iota dim = 1 : tensor<2x4xi32>
// CHECK-NEXT: return %[[R]]
func.func @slice_of_iota() -> tensor<2x4xi32> {
  %i = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %r = stablehlo.slice %i [1:4:2, 0:4] : (tensor<4x8xi32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}

// CHECK-LABEL: func.func @slice_of_iota_of_one(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<5> : tensor<4x1xi32>
// CHECK-NEXT: return %[[R]]
func.func @slice_of_iota_of_one() -> tensor<4x1xi32> {
  %i = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %r = stablehlo.slice %i [0:4, 5:6] : (tensor<4x8xi32>) -> tensor<4x1xi32>
  return %r : tensor<4x1xi32>
}

// An iota and an addition would be more ops.
// CHECK-LABEL: func.func @slice_of_iota_not_from_the_middle(
// CHECK: stablehlo.slice
func.func @slice_of_iota_not_from_the_middle() -> tensor<1500xi32> {
  %i = stablehlo.iota dim = 0 : tensor<3000xi32>
  %r = stablehlo.slice %i [1000:2500] : (tensor<3000xi32>) -> tensor<1500xi32>
  return %r : tensor<1500xi32>
}

// CHECK-LABEL: func.func @reverse_of_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.iota dim = 1 : tensor<4x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @reverse_of_iota() -> tensor<4x8xf32> {
  %i = stablehlo.iota dim = 1 : tensor<4x8xf32>
  %r = stablehlo.reverse %i, dims = [0] : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @reverse_of_iota_not_counting_down(
// CHECK: stablehlo.reverse
func.func @reverse_of_iota_not_counting_down() -> tensor<4x8xf32> {
  %i = stablehlo.iota dim = 1 : tensor<4x8xf32>
  %r = stablehlo.reverse %i, dims = [1] : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
