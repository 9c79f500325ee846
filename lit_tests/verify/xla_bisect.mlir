// XLA and the interpreter differ by rounding, which is accepted: no XLA pass is reported.
// RUN: %jxc verify %s --xla-bisect --draws 1 | FileCheck %s
// RUN: %jxc verify %s --xla-bisect --draws 1 --json | FileCheck %s --check-prefix=JSON
// RUN: not %jxc verify %s --xla-bisect -O1 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: not %jxc verify %s %s --xla-bisect 2>&1 | FileCheck %s --check-prefix=SECOND

// CHECK: @main, XLA against the interpreter: same (reassociates) on normal (xla), mild (xla), small (xla)
// JSON: "schema_version": 1
// JSON: "agrees": true
// JSON: "disable": null
// PIPELINE: --xla-bisect looks for a pass of XLA: drop a pipeline
// SECOND: --xla-bisect looks for a pass of XLA: drop a second module
func.func public @main(%x: tensor<64xf32>, %y: tensor<64xf32>, %z: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<64xf32>
  %1 = stablehlo.add %0, %z : tensor<64xf32>
  return %1 : tensor<64xf32>
}
