// Two modules, or one module before and after a pipeline, are compared on generated arguments.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %jxc verify %s -O2 | FileCheck %s --check-prefix=SAME
// RUN: %jxc opt %s -O1 -o %t/after.mlir
// RUN: %jxc verify %s %t/after.mlir --draws 1 | FileCheck %s --check-prefix=TWO
// RUN: not %jxc verify %s --load-pass %S/Inputs/wrong.py -p 'simplify,wrong-sine,cse' --bisect --save-inputs %t/in.npz 2>&1 | FileCheck %s --check-prefix=WRONG
// The saved arguments reproduce the difference:
// RUN: %jxc compile %s --run --input @%t/in.npz | FileCheck %s --check-prefix=AGAIN
// RUN: not %jxc verify %s --load-pass %S/Inputs/wrong.py -p wrong-sine --json | FileCheck %s --check-prefix=JSON
// RUN: %jxc verify %S/Inputs/zero.mlir %S/Inputs/zero_added.mlir --contract reassociates | FileCheck %s --check-prefix=LOOSE
// RUN: not %jxc verify %S/Inputs/zero.mlir %S/Inputs/zero_added.mlir | FileCheck %s --check-prefix=STRICT

// SAME: @main: same (exact) on normal (interpreter), edge (interpreter), small (interpreter) [9 draws, 6 with other sizes, 1 of 1 rewrites in place]
// TWO: @main: same (exact) on {{.*}} [3 draws]
// WRONG: @main: differs (exact): output 0[0]: expected {{.*}}, found {{.*}} (4 of 4 elements differ), on normal arguments:
// WRONG-NEXT: argument 0: float32[4]
// WRONG: broken by rule 'wrong-sine', rewrite 1 of pass 'wrong-sine', step 2 of the pipeline
// WRONG: arguments saved to {{.*}}in.npz
// AGAIN: [0]: float32[4]
// JSON: "agrees": false
// JSON: "difference": "output 0[0]: expected
// LOOSE: @main: same (reassociates)
// STRICT: @main: differs (exact): output 0{{.*}}: expected -0.0, found 0.0
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  %2 = stablehlo.sine %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
