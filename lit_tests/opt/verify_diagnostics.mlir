// Comments say which diagnostics are expected; a failing pass in Python counts as an error.
// RUN: %jxc opt --verify-diagnostics --split-input-file %s | FileCheck %s
// RUN: %jxc opt %S/Inputs/diagnostics.mlir --verify-diagnostics --load-pass %S/Inputs/user_rules.py -p raising,cse
// RUN: not %jxc opt %S/Inputs/diagnostics.mlir --verify-diagnostics -p cse 2>&1 | FileCheck %s --check-prefix=RULE
// RUN: not %jxc opt %S/Inputs/wrong_diagnostics.mlir --split-input-file --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not %jxc opt %S/Inputs/wrong_diagnostics.mlir --split-input-file --verify-diagnostics=only-expected 2>&1 | FileCheck %s --check-prefix=ONLY
// RUN: not %jxc opt %S/Inputs/bad_regex.mlir --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not %jxc opt %s --verify-diagnostics=some 2>&1 | FileCheck %s --check-prefix=VALUE

// CHECK: @right
// CHECK-NOT: @wrong
// RULE: diagnostics.mlir:2:6: error: expected error "nothing adds up" was not produced
// WRONG: wrong_diagnostics.mlir:3:{{[0-9]+}}: error: unexpected error: use of undeclared SSA value name
// WRONG: wrong_diagnostics.mlir:1:4: error: expected error "another text" was not produced
// WRONG: wrong_diagnostics.mlir:8:4: error: expected warning "nothing" was not produced
// ONLY-NOT: unexpected error
// ONLY: error: expected error "another text" was not produced
// REGEX: bad_regex.mlir:1:4: invalid regular expression in {{.*}}[a-z
// VALUE: 'some' is not one of 'all', 'only-expected'
func.func @right(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
// -----
func.func @wrong(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{use of undeclared SSA value name}}
  return %y : tensor<f32>
}
// -----
// expected-note@+1 {{see existing symbol definition here}}
func.func @twice() {
  return
}
// expected-error-re@below {{redefinition of symbol {{[a-z]+}} 'twice'}}
func.func @twice() {
  return
}
