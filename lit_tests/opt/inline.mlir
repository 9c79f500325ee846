// `inline` leaves no call, also in the body of a loop. Without the extension that jxc registers, it
// would do nothing and raise no error. The test counts the calls, so that it cannot miss one.
// RUN: %jxc opt %s -p 'inline{default-pipeline=},symbol-dce' | FileCheck %s
// RUN: %jxc opt %s | FileCheck %s --check-prefix=BEFORE

// BEFORE-COUNT-3: call @double
// CHECK-NOT: call
// CHECK-NOT: @double
// CHECK: func.func public @main(%[[X:.+]]: tensor<f32>, %[[N:.+]]: tensor<i32>)
// CHECK: %[[ONCE:.+]] = stablehlo.add %[[X]], %[[X]]
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: stablehlo.add
// CHECK: stablehlo.add
// CHECK-NOT: call
func.func public @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = call @double(%x) : (tensor<f32>) -> tensor<f32>
  %1:2 = stablehlo.while(%i = %zero, %y = %0) : tensor<i32>, tensor<f32>
    cond {
      %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %2 = func.call @double(%y) : (tensor<f32>) -> tensor<f32>
      stablehlo.return %next, %2 : tensor<i32>, tensor<f32>
    }
  %3 = call @double(%1#1) : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
func.func private @double(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
