// MLIR's flags that choose how and where the IR is printed.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %jxc opt %s --mlir-use-nameloc-as-prefix | FileCheck %s --check-prefix=PREFIX
// RUN: %jxc opt %s --mlir-print-local-scope --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCAL
// RUN: %jxc opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=ALIAS
// RUN: %jxc opt %s --mlir-pretty-debuginfo | FileCheck %s --check-prefix=PRETTY
// RUN: %jxc opt %s --mlir-print-skip-regions | FileCheck %s --check-prefix=SKIP
// RUN: %jxc opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: %jxc opt %s -p 'func.func(cse)' --mlir-print-ir-after-all --mlir-print-ir-module-scope 2>&1 >/dev/null | FileCheck %s --check-prefix=SCOPE
// RUN: %jxc opt %s -p 'cse,symbol-dce' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t/tree -o %t/first.mlir
// RUN: %jxc opt %s -p 'cse,symbol-dce' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t/tree 2>&1 >/dev/null | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: FileCheck %s --check-prefix=TREE --input-file %t/tree/builtin_module_named/1_symbol-dce.mlir
// RUN: FileCheck %s --check-prefix=FIRST --input-file %t/tree/builtin_module_named/0_cse.mlir
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p 'cse,raising,symbol-dce' --mlir-print-ir-after-failure --mlir-pass-pipeline-crash-reproducer=%t/r.mlir 2>&1 >/dev/null | FileCheck %s --check-prefix=FAILURE
// RUN: %jxc opt %s -p cse --mlir-print-ir-after-failure 2>&1 >/dev/null | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p 'cse,subtract-of-add' --mlir-timing --mlir-output-format=json 2>%t/time.json >/dev/null
// RUN: %python -c "import json; rows = json.load(open('%t/time.json')); print([r['name'] for r in rows], rows[1]['passes'][0]['name'], rows[2]['wall']['percentage'])" | FileCheck %s --check-prefix=TIME
// RUN: not %jxc opt %s --mlir-output-format=json 2>&1 | FileCheck %s --check-prefix=NEEDS
// RUN: not %jxc opt %s --mlir-print-ir-tree-dir=%t 2>&1 | FileCheck %s --check-prefix=TREENEEDS
// RUN: %jxc opt %s --verify-roundtrip | FileCheck %s --check-prefix=SAME
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p subtract-of-add | FileCheck %s --check-prefix=APPLIED

// PREFIX: %sum = stablehlo.add %left, %right
// LOCAL: stablehlo.add {{.*}} loc("sum")
// ALIAS: stablehlo.add {{.*}} loc(#loc
// PRETTY: stablehlo.add {{.*}} "sum"
// SKIP: module @named {...}
// DIALECTS: Available Dialects: {{.*}}builtin,{{.*}}chlo,{{.*}}func,{{.*}}stablehlo,
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
// TIME: ['cse', 'subtract-of-add', 'Total'] subtract-of-add 100.0
// NEEDS: --mlir-output-format needs --mlir-timing
// TREENEEDS: --mlir-print-ir-tree-dir needs an option such as --mlir-print-ir-after-all
// SAME: stablehlo.subtract
// APPLIED-NOT: stablehlo.subtract
module @named {
  func.func public @main(%x: tensor<4xi32> loc("left"), %y: tensor<4xi32> loc("right")) -> tensor<4xi32> {
    %0 = stablehlo.add %x, %y : tensor<4xi32> loc("sum")
    %1 = stablehlo.subtract %0, %y : tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}
