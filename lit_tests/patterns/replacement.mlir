// RUN: jxc opt --load-pass %S/Inputs/norms.py -p unit --split-input-file %s | filecheck %s
// RUN: jxc opt --load-pass %S/Inputs/norms.py -p unit --split-input-file --why %s 2>&1 >/dev/null | filecheck %s --check-prefix=WHY
// RUN: jxc opt --load-pass %S/Inputs/norms.py -p unit --split-input-file --mlir-debug-counter unit-skip=1 %s | filecheck %s --check-prefix=SKIP

// CHECK-LABEL: func.func public @main(
// CHECK-SAME:      %[[X:.*]]: tensor<8x2x6xf32>
// SKIP-LABEL: func.func public @main(
// SKIP: stablehlo.sqrt
func.func public @main(%x: tensor<8x2x6xf32>) -> tensor<8x2x6xf32> {
  // The sum is along the first dimension; the others are mapped over.
  // CHECK: %[[ROWS:.*]] = stablehlo.transpose %[[X]]
  // CHECK: %[[CALL:.*]] = call @with_rsqrt
  // CHECK: stablehlo.transpose %[[CALL]]
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<0.5> : tensor<1x2x6xf32>
  %squares = stablehlo.multiply %x, %x : tensor<8x2x6xf32>
  %sums = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x2x6xf32>, tensor<f32>) -> tensor<2x6xf32>
  %kept = stablehlo.reshape %sums : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
  %moved = stablehlo.add %eps, %kept : tensor<1x2x6xf32>
  %root = stablehlo.sqrt %moved : tensor<1x2x6xf32>
  %wide = stablehlo.broadcast_in_dim %root, dims = [0, 1, 2] : (tensor<1x2x6xf32>) -> tensor<8x2x6xf32>
  %unit = stablehlo.divide %x, %wide : tensor<8x2x6xf32>
  return %unit : tensor<8x2x6xf32>
}
// CHECK: func.func private @with_rsqrt
// CHECK: stablehlo.rsqrt

// -----

// CHECK-LABEL: func.func public @not_by_another_value(
// CHECK-NOT: call
// WHY: replacement.mlir:[[#]]:[[#]]: remark: [Missed] unit | Reason="{{.*}} this one is another value than where the pattern has the same one before
func.func public @not_by_another_value(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<0.5> : tensor<2xf32>
  %squares = stablehlo.multiply %x, %y : tensor<2x8xf32>
  %sums = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x8xf32>, tensor<f32>) -> tensor<2xf32>
  %moved = stablehlo.add %sums, %eps : tensor<2xf32>
  %root = stablehlo.sqrt %moved : tensor<2xf32>
  %wide = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<2xf32>) -> tensor<2x8xf32>
  %unit = stablehlo.divide %x, %wide : tensor<2x8xf32>
  return %unit : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func public @not_short_rows(
// CHECK-NOT: call
// WHY: remark: [Missed] unit | Reason="{{.*}} ops match, but `when` of the alternative 'with-rsqrt' is false"
func.func public @not_short_rows(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<0.5> : tensor<2xf32>
  %squares = stablehlo.multiply %x, %x : tensor<2x3xf32>
  %sums = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %moved = stablehlo.add %sums, %eps : tensor<2xf32>
  %root = stablehlo.sqrt %moved : tensor<2xf32>
  %wide = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  %unit = stablehlo.divide %x, %wide : tensor<2x3xf32>
  return %unit : tensor<2x3xf32>
}
