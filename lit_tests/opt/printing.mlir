// MLIR's flags that choose how and where the IR is printed.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %jxc opt %s --mlir-use-nameloc-as-prefix | FileCheck %s --check-prefix=PREFIX
// RUN: %jxc opt %s --mlir-print-local-scope --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCAL
// RUN: %jxc opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=ALIAS
// RUN: %jxc opt %s -p 'func.func(cse)' --mlir-print-ir-after-all 2>&1 >/dev/null | FileCheck %s --check-prefix=SCOPE
// RUN: %jxc opt %s -p 'cse,symbol-dce' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t/tree -o %t/first.mlir
// RUN: %jxc opt %s -p 'cse,symbol-dce' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t/tree 2>&1 >/dev/null | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: FileCheck %s --check-prefix=TREE --input-file %t/tree/builtin_module_named/1_symbol-dce.mlir
// RUN: FileCheck %s --check-prefix=FIRST --input-file %t/tree/builtin_module_named/0_cse.mlir
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p 'cse,raising,symbol-dce' --mlir-print-ir-after-failure --mlir-pass-pipeline-crash-reproducer=%t/r.mlir 2>&1 >/dev/null | FileCheck %s --check-prefix=FAILURE
// RUN: %jxc opt %s -p cse --mlir-print-ir-after-failure 2>&1 >/dev/null | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: not %jxc opt %s --mlir-print-ir-tree-dir=%t 2>&1 | FileCheck %s --check-prefix=TREENEEDS
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p subtract-of-add | FileCheck %s --check-prefix=APPLIED

// PREFIX: %sum = stablehlo.add %left, %right
// LOCAL: stablehlo.add {{.*}} loc("sum")
// ALIAS: stablehlo.add {{.*}} loc(#loc
// SCOPE: // -----// IR Dump After func.func(cse) //----- //
// SCOPE-NEXT: module @named
// SILENT-NOT: IR Dump
// TREE: // -----// IR Dump After symbol-dce //----- //
// TREE-NEXT: module @named
// TREE-NOT: IR Dump
// FIRST: // -----// IR Dump After cse //----- //
// FAILURE-NOT: After cse
// FAILURE: // -----// IR Dump After raising Failed //----- //
// FAILURE: stablehlo.add
// FAILURE: jxc: error: pass 'raising' failed
// TREENEEDS: --mlir-print-ir-tree-dir needs an option such as --mlir-print-ir-after-all
// APPLIED-NOT: stablehlo.subtract
module @named {
  func.func public @main(%x: tensor<4xi32> loc("left"), %y: tensor<4xi32> loc("right")) -> tensor<4xi32> {
    %0 = stablehlo.add %x, %y : tensor<4xi32> loc("sum")
    %1 = stablehlo.subtract %0, %y : tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}
