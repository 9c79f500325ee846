// Values that must not be computed twice are kept, although they are chosen.

// RUN: %jxc opt %s -p 'rematerialize{values=draw,solve,first}' | FileCheck %s

// A custom call may have any effect, and `rng` draws other numbers each time. The result of the
// program is stored anyway.

// CHECK-COUNT-1: stablehlo.rng
// CHECK-COUNT-1: stablehlo.custom_call
// CHECK-NOT:     stablehlo.select

module @jit_kept {
  func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %low = stablehlo.constant dense<0.0> : tensor<f32>
    %high = stablehlo.constant dense<1.0> : tensor<f32>
    %shape = stablehlo.constant dense<64> : tensor<2xi64>
    %r = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<64x64xf32> loc("jit(f)/draw")
    %s = stablehlo.custom_call @solve(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(f)/solve")
    %a = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(f)/first")
    %b = stablehlo.dot_general %a, %r, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %c = stablehlo.dot_general %b, %s, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = stablehlo.dot_general %c, %r, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = stablehlo.dot_general %d, %s, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %f = stablehlo.dot_general %e, %a, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %f, %a : tensor<64x64xf32>, tensor<64x64xf32>
  }
}
