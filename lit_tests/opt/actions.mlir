// Single applications of a rule are logged, counted and skipped.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %jxc-process opt %s --load-pass %S/Inputs/user_rules.py -p 'cse,subtract-of-add' --log-actions-to=%t/log | FileCheck %s --check-prefix=ALL
// RUN: FileCheck %s --check-prefix=LOG --input-file %t/log
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p subtract-of-add --mlir-debug-counter=subtract-of-add-skip=1,subtract-of-add-count=1 | FileCheck %s --check-prefix=SECOND
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p subtract-of-add --log-actions-to=- --mlir-debug-counter=subtract-of-add-skip=1 --mlir-debug-counter=subtract-of-add-count=1 --mlir-print-debug-counter 2>&1 >/dev/null | FileCheck %s --check-prefix=COUNT
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p subtract-of-add --mlir-debug-counter=subtract-of-ad-skip=1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %jxc opt %s -p cse --mlir-debug-counter=cse 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not %jxc opt %s -p cse --log-actions-to=%t/no/folder 2>&1 | FileCheck %s --check-prefix=FOLDER

// ALL-NOT: stablehlo.subtract
// LOG: [thread jxc] begins (no breakpoint) Action `pass-execution` running `cse` on Operation `builtin.module`
// LOG-NEXT: [thread jxc] completed `pass-execution`
// LOG-NEXT: [thread jxc] begins (no breakpoint) Action `pass-execution` running `subtract-of-add` on Operation `builtin.module`
// LOG-NEXT: begins (no breakpoint) Action `subtract-of-add` number 1 on Operation `stablehlo.subtract` at {{.*}}actions.mlir:[[# @LINE + 19]]:8
// LOG-NEXT: completed `subtract-of-add`
// LOG-NEXT: begins (no breakpoint) Action `subtract-of-add` number 2 on Operation `stablehlo.subtract`
// LOG-NEXT: completed `subtract-of-add`
// LOG-NEXT: begins (no breakpoint) Action `subtract-of-add` number 3 on Operation `stablehlo.subtract`
// SECOND: @main(%[[X:.+]]: tensor<4xi32>, %[[Y:.+]]: tensor<4xi32>,
// SECOND: %[[A:.+]] = stablehlo.subtract
// SECOND: %[[C:.+]] = stablehlo.subtract
// SECOND-NEXT: return %[[A]], %[[Y]], %[[C]]
// COUNT: skips Action `subtract-of-add` number 1
// COUNT: begins (no breakpoint) Action `subtract-of-add` number 2
// COUNT: skips Action `subtract-of-add` number 3
// COUNT: DebugCounter counters:
// COUNT-NEXT: subtract-of-add {{ *}}: {3,1,1}
// UNKNOWN: --mlir-debug-counter: the pipeline has no rule 'subtract-of-ad'. Did you mean 'subtract-of-add'?
// MALFORMED: --mlir-debug-counter cse: expected RULE-skip=N or RULE-count=N, separated by commas
// FOLDER: folder: cannot write: there is no folder
func.func public @main(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.add %x, %y : tensor<4xi32>
  %1 = stablehlo.subtract %0, %y : tensor<4xi32>
  %2 = stablehlo.add %y, %z : tensor<4xi32>
  %3 = stablehlo.subtract %2, %z : tensor<4xi32>
  %4 = stablehlo.add %z, %x : tensor<4xi32>
  %5 = stablehlo.subtract %4, %x : tensor<4xi32>
  return %1, %3, %5 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
