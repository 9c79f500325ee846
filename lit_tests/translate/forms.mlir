// Each form is written, and read back as the same module.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %jxc translate %s -o %t/m.mlir
// RUN: FileCheck %s --input-file %t/m.mlir
// RUN: %jxc translate %s --to bytecode | %jxc translate -o %t/b.mlir && cmp %t/b.mlir %t/m.mlir
// RUN: %jxc translate %s --to portable --target current | %jxc translate -o %t/p.mlir && cmp %t/p.mlir %t/m.mlir
// RUN: %jxc translate %s --to portable --target-version 1.0.0 -o %t/old.mlirbc
// RUN: %jxc translate %t/old.mlirbc -o %t/o.mlir && cmp %t/o.mlir %t/m.mlir
// RUN: %python -c "import sys; print(open(sys.argv[1], 'rb').read()[4:21])" %t/old.mlirbc | FileCheck %s --check-prefix=VERSION
// RUN: %jxc translate %s --to hlo -o %t/m.hlo && FileCheck %s --check-prefix=HLO --input-file %t/m.hlo
// RUN: %jxc translate %s --to hlo-proto -o %t/m.pb
// RUN: %jxc translate %t/m.pb --to hlo -o %t/pb.hlo && cmp %t/pb.hlo %t/m.hlo
// RUN: %jxc translate %t/m.hlo --to hlo-proto | %jxc translate | FileCheck %s --check-prefix=BACK
// RUN: %jxc opt %t/m.pb | FileCheck %s --check-prefix=BACK
// RUN: %python %S/Inputs/wrap_proto.py %t/m.pb %t/dumped.pb
// RUN: %jxc translate %t/dumped.pb | FileCheck %s --check-prefix=BACK
// RUN: %jxc translate %s --to export | %jxc translate -o %t/e.mlir && FileCheck %s --input-file %t/e.mlir
// Printing:
// RUN: %jxc translate %s --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// RUN: %jxc translate %s --strip-debuginfo --mlir-print-debuginfo | FileCheck %s --check-prefix=STRIP

// CHECK: func.func public @main(%[[X:.+]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[C:.+]] = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK: stablehlo.add %[[X]], %[[C]] : tensor<4xf32>

// VERSION: StableHLO_v1.0.0
// HLO: HloModule
// HLO: ENTRY
// HLO: constant({1, 2, 3, 4})
// HLO: add(
// BACK: @main(%[[X:.+]]: tensor<4xf32>) -> tensor<4xf32>
// BACK: stablehlo.add
// LOC: stablehlo.add %{{.+}}, %{{.+}} : tensor<4xf32> loc(#loc
// STRIP-NOT: sum
func.func public @main(%x: tensor<4xf32> loc("x")) -> tensor<4xf32> {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = stablehlo.add %x, %c : tensor<4xf32> loc("sum")
  return %0 : tensor<4xf32>
}
