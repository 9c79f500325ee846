// Input is text, bytecode, a portable artifact or HLO. jxc detects the form from the content.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %jxc opt %s --emit-bytecode -o %t/m.bc
// RUN: %jxc opt %t/m.bc | FileCheck %s
// RUN: %python %S/Inputs/export_add.py %t/add.export
// RUN: %jxc opt %t/add.export | FileCheck %s --check-prefix=EXPORT
// RUN: %jxc opt %S/Inputs/add.hlo | FileCheck %s --check-prefix=HLO
// RUN: %jxc opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: %jxc opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// RUN: %jxc opt %s --mlir-elide-elementsattrs-if-larger=3 | FileCheck %s --check-prefix=ELIDE
// RUN: %jxc opt %s --json -O0 | FileCheck %s --check-prefix=JSON
// A failed run does not change the output file:
// RUN: cp %t/m.bc %t/kept.bc
// RUN: not %jxc opt %s -p no-such-pass --emit-bytecode -o %t/kept.bc
// RUN: cmp %t/m.bc %t/kept.bc
// RUN: not %jxc opt %s -o %t/no/such/folder.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER

// CHECK: func.func public @main(%[[X:.+]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[C:.+]] = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK: stablehlo.add %[[X]], %[[C]] : tensor<4xf32>

// EXPORT: module @jit_add
// EXPORT: stablehlo.add

// HLO: module @adder
// HLO: stablehlo.add

// GENERIC: "stablehlo.add"(%{{.+}}, %{{.+}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// LOC: #loc{{.*}} = loc("{{.*}}forms.mlir":{{[0-9]+}}:
// LOC: stablehlo.add {{.*}} loc(#loc
// ELIDE: dense_resource<__elided__>
// JSON: "schema_version": 1
// JSON: "pipeline": "builtin.module()"
// JSON: "ops": 2
// FOLDER: jxc: error: {{.*}}folder.mlir: cannot write: No such file or directory
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = stablehlo.add %x, %c : tensor<4xf32>
  return %0 : tensor<4xf32>
}
