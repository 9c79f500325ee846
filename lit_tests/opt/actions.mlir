// Single applications of a rule are counted and skipped.
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p subtract-of-add --mlir-debug-counter=subtract-of-add-skip=1 --mlir-debug-counter=subtract-of-add-count=1 | FileCheck %s --check-prefix=SECOND
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p subtract-of-add --mlir-debug-counter=subtract-of-add-skip=1,subtract-of-add-count=1 | FileCheck %s --check-prefix=SECOND
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py -p subtract-of-add --mlir-debug-counter=subtract-of-ad-skip=1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %jxc opt %s -p cse --mlir-debug-counter=cse 2>&1 | FileCheck %s --check-prefix=MALFORMED

// SECOND: @main(%[[X:.+]]: tensor<4xi32>, %[[Y:.+]]: tensor<4xi32>,
// SECOND: %[[A:.+]] = stablehlo.subtract
// SECOND: %[[C:.+]] = stablehlo.subtract
// SECOND-NEXT: return %[[A]], %[[Y]], %[[C]]
// UNKNOWN: --mlir-debug-counter: the pipeline has no rule 'subtract-of-ad'. Did you mean 'subtract-of-add'?
// MALFORMED: --mlir-debug-counter cse: expected RULE-skip=N or RULE-count=N, separated by commas
func.func public @main(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.add %x, %y : tensor<4xi32>
  %1 = stablehlo.subtract %0, %y : tensor<4xi32>
  %2 = stablehlo.add %y, %z : tensor<4xi32>
  %3 = stablehlo.subtract %2, %z : tensor<4xi32>
  %4 = stablehlo.add %z, %x : tensor<4xi32>
  %5 = stablehlo.subtract %4, %x : tensor<4xi32>
  return %1, %3, %5 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
