// A failing pass prints the pass, the rule, the op with its location, and a reproducer.
// RUN: rm -rf %t && mkdir -p %t
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p 'cse,raising' --mlir-pass-pipeline-crash-reproducer=%t/r.mlir 2>&1 | FileCheck %s --check-prefix=RAISE
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p mistyped --mlir-pass-pipeline-crash-reproducer=%t/m.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p swap-add --mlir-pass-pipeline-crash-reproducer=%t/s.mlir 2>&1 | FileCheck %s --check-prefix=CHASE
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p drop-main --mlir-pass-pipeline-crash-reproducer=%t/d.mlir 2>&1 | FileCheck %s --check-prefix=MAIN
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p break-types --mlir-pass-pipeline-crash-reproducer=%t/b.mlir 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p drop-donation --mlir-pass-pipeline-crash-reproducer=%t/n.mlir 2>&1 | FileCheck %s --check-prefix=DONATE
// RUN: FileCheck %s --check-prefix=REPRO --input-file %t/r.mlir
// The reproducer contains the module before any pass, and fails in the same way:
// RUN: not %jxc opt %t/r.mlir --load-pass %S/Inputs/user_rules.py -p 'cse,raising' --mlir-pass-pipeline-crash-reproducer=%t/again.mlir 2>&1 | FileCheck %s --check-prefix=AGAIN

// RAISE: jxc: error: pass 'raising' failed: ValueError: nothing adds up
// RAISE-NEXT: in rule raising, on stablehlo.add at {{.*}}failing_passes.mlir:36:8
// RAISE-NEXT: raised at user_rules.py:{{[0-9]+}}: raise ValueError("nothing adds up")
// RAISE-NEXT: reproducer: {{.*}}r.mlir
// RAISE-NOT: Traceback

// TYPE: pass 'mistyped' failed: the replacement has type tensor<4xi1>; stablehlo.multiply has tensor<4xi32>
// TYPE-NEXT: in rule mistyped, on stablehlo.multiply at {{.*}}failing_passes.mlir:

// CHASE: pass 'swap-add' failed: rules do not converge: stopped after 1000 rewrites. The last 50 were by swap-add (50)
// CHASE-NEXT: last: rule swap-add, on stablehlo.add at

// MAIN: pass 'drop-main' failed: @main was removed
// INVALID: pass 'break-types' failed: invalid IR: {{.*}}'stablehlo.add' op
// DONATE: pass 'drop-donation' failed: @main's argument 0 had tf.aliasing_output = 0 : i32, now none

// REPRO: // jxc opt {{.*}}--pass-pipeline=builtin.module(cse,raising){{.*}}r.mlir
// REPRO-NEXT: // pass 'raising' failed: ValueError: nothing adds up
// REPRO: func.func public @main
// REPRO: stablehlo.add

// AGAIN: pass 'raising' failed: ValueError: nothing adds up
func.func public @main(%x: tensor<4xi32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.add %x, %y : tensor<4xi32>
  %1 = stablehlo.multiply %0, %y : tensor<4xi32>
  return %1 : tensor<4xi32>
}
