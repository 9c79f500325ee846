// If the body of a loop needs most of the memory at the peak, its values are computed again.

// RUN: %jxc opt %s -p 'rematerialize{values=first}' --split-input-file | FileCheck %s

// CHECK-LABEL: @jit_body
// CHECK:       stablehlo.while(%[[I:.*]] = %{{.*}}, %[[X:.*]] = %{{.*}})
// CHECK:       } do {
// CHECK:       %[[FIRST:.*]] = stablehlo.dot_general %[[X]],
// CHECK:       stablehlo.dot_general %[[FIRST]],
// CHECK:       %[[TIED:.*]] = stablehlo.select %{{.*}}, %[[X]],
// CHECK:       %[[AGAIN:.*]] = stablehlo.dot_general %[[TIED]],
// CHECK:       stablehlo.dot_general %{{.*}}, %[[AGAIN]]
// CHECK:       stablehlo.return

module @jit_body {
  func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %loop:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<64x64xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %a = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(f)/first")
      %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %c = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %d = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %e = stablehlo.dot_general %d, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %f = stablehlo.dot_general %e, %a, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      stablehlo.return %next, %f : tensor<i32>, tensor<64x64xf32>
    }
    return %loop#1 : tensor<64x64xf32>
  }
}

// -----

// The peak is in front of this loop: its body is left as it is.

// CHECK-LABEL: @jit_small_body
// CHECK:       stablehlo.while
// CHECK-NOT:   stablehlo.select
// CHECK:       return

module @jit_small_body {
  func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %y: tensor<256x256xf32>) -> (tensor<64x64xf32>, tensor<256x256xf32>) {
    %large = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %larger = stablehlo.dot_general %large, %y, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %loop:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<64x64xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %a = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(f)/first")
      %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %c = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      stablehlo.return %next, %c : tensor<i32>, tensor<64x64xf32>
    }
    return %loop#1, %larger : tensor<64x64xf32>, tensor<256x256xf32>
  }
}
