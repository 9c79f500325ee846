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

// The index of an element, as JAX numbers random words.
// CHECK-LABEL: func.func @convert_of_count(
// CHECK-DAG: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<5> : tensor<3x5xui32>
// CHECK-DAG: %[[I:[a-z0-9_]+]] = stablehlo.iota dim = 0 : tensor<3x5xui32>
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.multiply %[[C]], %[[I]]
// CHECK: %[[J:[a-z0-9_]+]] = stablehlo.iota dim = 1 : tensor<3x5xui32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.add %[[M]], %[[J]]
// CHECK: return %[[R]]
func.func @convert_of_count() -> tensor<3x5xui32> {
  %c = stablehlo.constant dense<5> : tensor<3x5xui64>
  %i = stablehlo.iota dim = 0 : tensor<3x5xui64>
  %j = stablehlo.iota dim = 1 : tensor<3x5xui64>
  %m = stablehlo.multiply %c, %i : tensor<3x5xui64>
  %s = stablehlo.add %m, %j : tensor<3x5xui64>
  %r = stablehlo.convert %s : (tensor<3x5xui64>) -> tensor<3x5xui32>
  return %r : tensor<3x5xui32>
}

// The sum wraps around in 8 bits, but not in 32.
// CHECK-LABEL: func.func @convert_of_count_not_wider(
// CHECK: stablehlo.convert
func.func @convert_of_count_not_wider() -> tensor<200xui32> {
  %i = stablehlo.iota dim = 0 : tensor<200xui8>
  %s = stablehlo.add %i, %i : tensor<200xui8>
  %r = stablehlo.convert %s : (tensor<200xui8>) -> tensor<200xui32>
  return %r : tensor<200xui32>
}

// CHECK-LABEL: func.func @convert_of_count_not_other_numbers(
// CHECK: stablehlo.convert
func.func @convert_of_count_not_other_numbers(%x: tensor<3xui64>) -> tensor<3xui32> {
  %i = stablehlo.iota dim = 0 : tensor<3xui64>
  %s = stablehlo.add %i, %x : tensor<3xui64>
  %r = stablehlo.convert %s : (tensor<3xui64>) -> tensor<3xui32>
  return %r : tensor<3xui32>
}

// The greatest number is 14.
// CHECK-LABEL: func.func @shift_of_count(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0> : tensor<3x5xui64>
// CHECK-NEXT: return %[[R]]
func.func @shift_of_count() -> tensor<3x5xui64> {
  %c = stablehlo.constant dense<5> : tensor<3x5xui64>
  %four = stablehlo.constant dense<4> : tensor<3x5xui64>
  %i = stablehlo.iota dim = 0 : tensor<3x5xui64>
  %j = stablehlo.iota dim = 1 : tensor<3x5xui64>
  %m = stablehlo.multiply %c, %i : tensor<3x5xui64>
  %s = stablehlo.add %m, %j : tensor<3x5xui64>
  %r = stablehlo.shift_right_logical %s, %four : tensor<3x5xui64>
  return %r : tensor<3x5xui64>
}

// CHECK-LABEL: func.func @shift_of_count_not_three_bits(
// CHECK: stablehlo.shift_right_logical
func.func @shift_of_count_not_three_bits() -> tensor<3x5xui64> {
  %c = stablehlo.constant dense<5> : tensor<3x5xui64>
  %three = stablehlo.constant dense<3> : tensor<3x5xui64>
  %i = stablehlo.iota dim = 0 : tensor<3x5xui64>
  %j = stablehlo.iota dim = 1 : tensor<3x5xui64>
  %m = stablehlo.multiply %c, %i : tensor<3x5xui64>
  %s = stablehlo.add %m, %j : tensor<3x5xui64>
  %r = stablehlo.shift_right_logical %s, %three : tensor<3x5xui64>
  return %r : tensor<3x5xui64>
}

// The sum wraps around: 200 in 8 bits.
// CHECK-LABEL: func.func @shift_of_count_not_wrapping(
// CHECK: stablehlo.shift_right_logical
func.func @shift_of_count_not_wrapping() -> tensor<200xi8> {
  %seven = stablehlo.constant dense<7> : tensor<200xi8>
  %i = stablehlo.iota dim = 0 : tensor<200xi8>
  %s = stablehlo.add %i, %i : tensor<200xi8>
  %r = stablehlo.shift_right_logical %s, %seven : tensor<200xi8>
  return %r : tensor<200xi8>
}
