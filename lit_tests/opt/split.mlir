// `--split-input-file`: each piece is a module; line numbers count from the top of the file.
// RUN: %jxc opt %s --split-input-file -p cse | FileCheck %s
// RUN: not %jxc opt %S/Inputs/second_is_bad.mlir --split-input-file 2>&1 | FileCheck %s --check-prefix=LINE
// RUN: not %jxc opt %s --split-input-file --emit-bytecode 2>&1 | FileCheck %s --check-prefix=BYTES

// LINE: second_is_bad.mlir:6:10: use of undeclared SSA value name
// BYTES: bytecode holds one module: give --split-input-file or it, not both

// CHECK: @first
// CHECK: // -----
// CHECK: @second
func.func @first(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
// -----
func.func @second(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
