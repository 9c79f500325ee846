// If a pipeline changes a result, `jxc verify` prints a small program that shows the difference.
// RUN: rm -rf %t && mkdir -p %t
// RUN: not %jxc verify %s -p 'simplify,subtract-of-same' --load-pass %S/Inputs/wrong.py --save-reduced %t/small.mlir > %t/told
// RUN: FileCheck %s < %t/told
// RUN: FileCheck %s --check-prefix=SMALL < %t/small.mlir
// RUN: not env JXC_REDUCE=0 %jxc verify %s -p subtract-of-same --load-pass %S/Inputs/wrong.py | FileCheck %s --check-prefix=NONE
// RUN: not %jxc verify %t/small.mlir -p subtract-of-same --load-pass %S/Inputs/wrong.py --json | FileCheck %s --check-prefix=JSON
// RUN: not %jxc verify %s %s --save-reduced %t/x.mlir 2>&1 | FileCheck %s --check-prefix=TWO

// CHECK: @main: differs (exact): output 0[
// CHECK: argument 1: float32[4]
// CHECK: reduced (6 ops -> 1 ops, {{[0-9]+}} candidates, {{[0-9.]+}} s):
// CHECK-NEXT: module {
// CHECK: @main: differs (exact): output 0[{{[0-9]}}]: expected nan, found 0.0 ({{.*}}), on edge arguments:
// CHECK-NEXT: argument 0: float32[{{[1-4]}}] [{{.*(nan|inf).*}}]
// SMALL: func.func public @main(%[[X:.+]]: tensor<{{[1-4]}}xf32>)
// SMALL-NEXT: stablehlo.subtract %[[X]], %[[X]]
// SMALL-NEXT: return
// NONE: @main: differs
// NONE-NOT: reduced
// JSON: "reduced": {
// JSON-NEXT: "module": "module {{.*}}stablehlo.subtract
// JSON-NEXT: "ops": 1,
// JSON-NEXT: "difference": "output 0[{{[0-9]}}]: expected nan, found 0.0
// TWO: --save-reduced saves what a pipeline breaks: drop a second module
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<4xf32>
  %1 = stablehlo.subtract %0, %0 : tensor<4xf32>
  %2 = stablehlo.abs %y : tensor<4xf32>
  %3 = stablehlo.maximum %2, %1 : tensor<4xf32>
  %4 = stablehlo.minimum %3, %x : tensor<4xf32>
  %5 = stablehlo.add %4, %1 : tensor<4xf32>
  return %5 : tensor<4xf32>
}
