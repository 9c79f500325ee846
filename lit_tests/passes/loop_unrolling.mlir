// RUN: %jxc opt %s -p loop-unrolling --split-input-file | FileCheck %s
// RUN: %jxc opt %s -p loop-unrolling --target gpu --split-input-file | FileCheck %s --check-prefix=GPU
// RUN: %jxc opt %s -p loop-unrolling --split-input-file --why 2>&1 >%t | FileCheck %s --check-prefix=WHY
// WHY: [Missed] loop-unrolling | Reason="declined: {{.*}} µs instead of {{.*}} µs on cpu"

// LLVM unrolls the loop over 16 elements, and does not vectorize it.
// CHECK: module @rows_of_16 attributes {jxc.xla_options = {xla_cpu_disable_loop_unrolling = true}}
// GPU: module @rows_of_16 {
module @rows_of_16 {
  func.func @main(%x: tensor<3750x16xf32>, %y: tensor<3750x16xf32>) -> tensor<3750x16xf32> {
    %0 = stablehlo.add %x, %y : tensor<3750x16xf32>
    %1 = stablehlo.tanh %0 : tensor<3750x16xf32>
    return %1 : tensor<3750x16xf32>
  }
}

// -----

// Unrolled, the loop over 3 elements is computed for several rows at once.
// CHECK: module @rows_of_3 {
module @rows_of_3 {
  func.func @main(%x: tensor<20000x3xf32>, %y: tensor<20000x3xf32>) -> tensor<20000x3xf32> {
    %0 = stablehlo.add %x, %y : tensor<20000x3xf32>
    %1 = stablehlo.tanh %0 : tensor<20000x3xf32>
    return %1 : tensor<20000x3xf32>
  }
}

// -----

// The calls of a library have no loops.
// CHECK: module @product {
module @product {
  func.func @main(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    return %0 : tensor<256x256xf32>
  }
}

// -----

// Other options of the module stay.
// CHECK: module @with_options attributes {jxc.xla_options = {xla_cpu_disable_loop_unrolling = true, xla_cpu_enable_fast_min_max = false}}
module @with_options attributes {jxc.xla_options = {xla_cpu_enable_fast_min_max = false}} {
  func.func @main(%x: tensor<1250x6x8xf32>) -> tensor<1250x6x8xf32> {
    %0 = stablehlo.add %x, %x : tensor<1250x6x8xf32>
    %1 = stablehlo.exponential %0 : tensor<1250x6x8xf32>
    return %1 : tensor<1250x6x8xf32>
  }
}

// -----

// Without unrolling, XLA copies the operands of such a product more slowly, which a kernel that
// compiles faster does not outweigh.
// CHECK: module @scores {
module @scores {
  func.func @main(%q: tensor<4x128x4x64xf32>, %k: tensor<4x128x4x64xf32>) -> tensor<4x4x128x128xf32> {
    %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<4x128x4x64xf32>, tensor<4x128x4x64xf32>) -> tensor<4x4x128x128xf32>
    %1 = stablehlo.sine %0 : tensor<4x4x128x128xf32>
    %2 = stablehlo.cosine %1 : tensor<4x4x128x128xf32>
    %3 = stablehlo.tanh %2 : tensor<4x4x128x128xf32>
    %4 = stablehlo.exponential %3 : tensor<4x4x128x128xf32>
    %5 = stablehlo.sine %4 : tensor<4x4x128x128xf32>
    %6 = stablehlo.cosine %5 : tensor<4x4x128x128xf32>
    return %6 : tensor<4x4x128x128xf32>
  }
}
