// XLA:GPU evaluates the indices of rows by the counter of a loop, and fails at a barrier: the counter
// gets a select, as on other targets. Other values get a barrier.

// RUN: %jxc opt %s -p 'rematerialize{values=first}' --target gpu:h100 | FileCheck %s

// CHECK:       stablehlo.while(%[[I:[a-zA-Z0-9]+]] = %{{.*}}, %[[X:.*]] = %{{.*}})
// CHECK:       } do {
// CHECK:       stablehlo.dynamic_slice %{{.*}}, %[[I]],
// CHECK-NOT:   optimization_barrier %[[I]]
// CHECK:       %[[TIED:.*]] = stablehlo.select %{{.*}}, %[[I]],
// CHECK:       stablehlo.dynamic_slice %{{.*}}, %[[TIED]],
// CHECK:       stablehlo.return

module @jit_body {
  func.func public @main(%x: tensor<1x64x64xf32>, %ws: tensor<3x64x64xf32>) -> tensor<1x64x64xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %loop:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<1x64x64xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %none = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %a = stablehlo.dynamic_slice %ws, %i, %none, %none, sizes = [1, 64, 64] : (tensor<3x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32> loc("jit(f)/first")
      %b = stablehlo.dot_general %h, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
      %c = stablehlo.dot_general %b, %h, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
      %d = stablehlo.dot_general %c, %c, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
      %e = stablehlo.dot_general %d, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
      %f = stablehlo.dot_general %e, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
      stablehlo.return %next, %f : tensor<i32>, tensor<1x64x64xf32>
    }
    return %loop#1 : tensor<1x64x64xf32>
  }
}
