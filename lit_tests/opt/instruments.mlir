// MLIR's flags that print the IR around passes, timing and statistics; their output goes to stderr.
// RUN: %jxc opt %s -p 'cse,symbol-dce' --mlir-print-ir-before-all 2>&1 >/dev/null | FileCheck %s --check-prefix=BEFORE
// RUN: %jxc opt %s -p 'cse,symbol-dce' --mlir-print-ir-after-all 2>&1 >/dev/null | FileCheck %s --check-prefix=AFTER
// RUN: %jxc opt %s -p 'cse,symbol-dce,cse' --mlir-print-ir-after-change 2>&1 >/dev/null | FileCheck %s --check-prefix=CHANGE
// RUN: %jxc opt %s -p 'cse,symbol-dce' --mlir-print-ir-before=symbol-dce --mlir-print-ir-after=cse 2>&1 >/dev/null | FileCheck %s --check-prefix=NAMED
// RUN: %jxc opt %s -p 'cse,symbol-dce' --mlir-timing 2>&1 >/dev/null | FileCheck %s --check-prefix=TIME
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p 'subtract-of-add' --mlir-pass-statistics 2>&1 >/dev/null | FileCheck %s --check-prefix=STATS
// RUN: %jxc opt %s -p 'func.func(cse),symbol-dce,inline{max-iterations=3}' --dump-pass-pipeline --no-verify-each 2>&1 >/dev/null | FileCheck %s --check-prefix=DUMP

// BEFORE: // -----// IR Dump Before cse //----- //
// BEFORE: // -----// IR Dump Before symbol-dce //----- //
// AFTER: // -----// IR Dump After cse //----- //
// AFTER: // -----// IR Dump After symbol-dce //----- //
// CHANGE: // -----// IR Dump After cse //----- //
// CHANGE-NOT: IR Dump
// NAMED-NOT: Before cse
// NAMED: // -----// IR Dump After cse //----- //
// NAMED: // -----// IR Dump Before symbol-dce //----- //
// NAMED-NOT: After symbol-dce
// TIME: ===--- Pass execution timing report ---===
// TIME: {{[0-9.]+}}  {{ *[0-9.]+}}%  cse
// TIME: {{[0-9.]+}}  {{ *[0-9.]+}}%  symbol-dce
// TIME: 100.0%  Total
// STATS: ===--- Pass statistics report ---===
// STATS: 1         1  {{ *[0-9.]+}}  subtract-of-add: subtract-of-add
// DUMP: builtin.module(func.func(cse),symbol-dce,inline{max-iterations=3})
func.func public @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.add %x, %y : tensor<4xi32>
  %1 = stablehlo.add %x, %y : tensor<4xi32>
  %2 = stablehlo.subtract %1, %y : tensor<4xi32>
  return %0, %2 : tensor<4xi32>, tensor<4xi32>
}
