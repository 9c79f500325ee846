// RUN: not %jxc opt %s -p 'microbatch{steps=4 arguments=0}' 2>&1 | FileCheck %s
// RUN: not %jxc opt %s -p 'microbatch{steps=3 arguments=0}' 2>&1 | FileCheck %s --check-prefix=DIVISORS
// RUN: not %jxc opt %s -p 'microbatch{steps=1}' 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not %jxc opt %s -p 'microbatch{steps=2 arguments=z}' 2>&1 | FileCheck %s --check-prefix=NAME

// Each example is multiplied by each other example.
// CHECK: :14: microbatch cannot split the batch at this dot_general: it multiplies each example by each other example of the batch
// DIVISORS: steps=3 does not divide the batch of 8: expected one of 2, 4, 8
// STEPS: steps=1: expected 2 or more iterations
// NAME: the program uses no argument 'z'

func.func @main(%x: tensor<8x5xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.exponential %x : tensor<8x5xf32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [1] : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
