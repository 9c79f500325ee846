// RUN: jxc opt -p absolute-values %s | filecheck %s

// CHECK-LABEL: func.func public @max_of_negate(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[ABS:.*]] = stablehlo.abs %[[X]] : tensor<8xf32>
// CHECK-NEXT: return %[[ABS]]
func.func public @max_of_negate(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %x : tensor<8xf32>
  %1 = stablehlo.maximum %0, %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Unsigned integers have no absolute value: the negation wraps around.
// CHECK-LABEL: func.func public @max_of_negate_not_of_unsigned(
// CHECK: stablehlo.maximum
func.func public @max_of_negate_not_of_unsigned(%x: tensor<8xui32>) -> tensor<8xui32> {
  %0 = stablehlo.negate %x : tensor<8xui32>
  %1 = stablehlo.maximum %0, %x : tensor<8xui32>
  return %1 : tensor<8xui32>
}
