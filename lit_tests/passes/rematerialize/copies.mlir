// Values that are read after the peak of memory are computed again.

// RUN: %jxc opt %s -p 'rematerialize{values=first}' | FileCheck %s
// RUN: %jxc opt %s -p 'rematerialize{values=first,second}' --target gpu:h100 | FileCheck %s --check-prefix=GPU
// RUN: %jxc opt %s -p 'rematerialize{values=unknown}' | FileCheck %s --check-prefix=NONE

// The copy reads its operand through a select whose condition always holds, which depends on the
// product before it: XLA:CPU neither merges the copy with the original nor runs it early.

// CHECK-LABEL: func.func public @main
// CHECK-SAME:  %[[X:.*]]: tensor<64x64xf32>, %[[W:.*]]: tensor<64x64xf32>)
// CHECK:       %[[FIRST:.*]] = stablehlo.dot_general %[[X]], %[[W]]
// CHECK:       %[[LATE:.*]] = stablehlo.dot_general
// CHECK:       stablehlo.slice %{{.*}} [0:1, 0:1]
// CHECK:       %[[BITS:.*]] = stablehlo.bitcast_convert %{{.*}} : (tensor<f32>) -> tensor<ui32>
// CHECK:       %[[HALF:.*]] = stablehlo.shift_right_logical %[[BITS]], %[[SIXTEEN:.*]] :
// CHECK:       %[[ZERO:.*]] = stablehlo.shift_right_logical %[[HALF]], %[[SIXTEEN]] :
// CHECK:       %[[IS_TRUE:.*]] = stablehlo.compare EQ, %[[ZERO]],
// CHECK:       %[[TIED:.*]] = stablehlo.select %[[IS_TRUE]], %[[X]],
// CHECK:       %[[AGAIN:.*]] = stablehlo.dot_general %[[TIED]], %[[W]]
// CHECK:       stablehlo.dot_general %{{.*}}, %[[AGAIN]]

// The GPU compiler respects barriers. Only the first copy needs one: the second reads the first.

// GPU:     %[[TIED:.*]]:2 = stablehlo.optimization_barrier %{{.*}}, %{{.*}} : tensor<64x64xf32>, tensor<f32>
// GPU:     %[[FIRST:.*]] = stablehlo.dot_general %[[TIED]]#0,
// GPU:     %[[SECOND:.*]] = stablehlo.dot_general %[[FIRST]],
// GPU:     stablehlo.dot_general %{{.*}}, %[[SECOND]]
// GPU-NOT: optimization_barrier

// No op has this name.

// NONE-NOT: stablehlo.select

module @jit_chain {
  func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(f)/first")
    %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(f)/second")
    %c = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = stablehlo.dot_general %d, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %f = stablehlo.dot_general %e, %a, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %f : tensor<64x64xf32>
  }
}
