// Rules and passes of the user run by name, in one pipeline with MLIR's passes.
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py -p 'subtract-of-add,count-adds{attribute=left},cse' | FileCheck %s
// RUN: %jxc opt %s --load-pass %S/Inputs/user_rules.py:count_adds -p count-adds | FileCheck %s --check-prefix=ONE
// RUN: %jxc opt --list-passes --load-pass %S/Inputs/user_rules.py | FileCheck %s --check-prefix=LIST
// RUN: %jxc opt --help-pass count-adds --load-pass %S/Inputs/user_rules.py | FileCheck %s --check-prefix=HELP
// RUN: %jxc opt --help-pass subtract-of-add --load-pass %S/Inputs/user_rules.py | FileCheck %s --check-prefix=RULE
// RUN: not %jxc opt %s --load-pass %S/Inputs/user_rules.py:nothing -p cse 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not %jxc opt %s --load-pass %S/Inputs/no_rules.py -p cse 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %jxc opt %s --load-pass %S/Inputs/broken.py -p cse 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: not %jxc opt %s --load-pass %S/Inputs/absent.py -p cse 2>&1 | FileCheck %s --check-prefix=ABSENT

// CHECK: module attributes {jxc.left = 0 : i64}
// CHECK: func.func public @main(%[[X:.+]]: tensor<4xi32>, %{{.+}}: tensor<4xi32>)
// CHECK-NEXT: return %[[X]]

// ONE: module attributes {jxc.adds = 1 : i64}

// LIST: Loaded:
// LIST: count-adds {{ *}}Write the number of adds as attribute
// LIST: Passes of jxc:
// LIST: Native passes:
// LIST: cse {{ *}}one op for equal ops

// HELP: count-adds: Write the number of adds as attribute `jxc.<attribute>` of the
// HELP: Options:
// HELP: attribute=STR, default 'adds'

// RULE: subtract-of-add (exact)
// RULE-NEXT: (x + y) - y -> x, on integers: floats round.

// NAME: user_rules.py: no pass or rule 'nothing'; it has break-types, count-adds
// NONE: no_rules.py has no pass and no rule: decorate a function on the module with @jxc.module_pass
// BROKEN: broken.py:5: cannot be imported: NameError: name 'undefined_name' is not defined
// BROKEN-NOT: Traceback
// ABSENT: --load-pass: no file '{{.*}}absent.py'; expected FILE.py or FILE.py:NAME
func.func public @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.add %x, %y : tensor<4xi32>
  %1 = stablehlo.subtract %0, %y : tensor<4xi32>
  return %1 : tensor<4xi32>
}
