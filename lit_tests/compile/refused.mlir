// Modules that `jxc compile` cannot run are rejected with the reason and a remedy.
// RUN: not %jxc compile %S/Inputs/no_main.mlir 2>&1 | FileCheck %s --check-prefix=MAIN
// RUN: not env JAX_NUM_CPU_DEVICES=1 %jxc compile %S/Inputs/two_devices.mlir 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: %jxc compile %S/Inputs/two_devices.mlir | FileCheck %s --check-prefix=KEPT
// RUN: not %jxc compile %S/Inputs/dynamic.mlir 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// RUN: %jxc lower %S/Inputs/programs.py:printing 'f32[2]' -o %t
// RUN: not %jxc compile %t 2>&1 | FileCheck %s --check-prefix=CALLBACK
// RUN: %jxc opt %S/run.mlir --mlir-elide-elementsattrs-if-larger=1 | %jxc compile -O0 | FileCheck %s --check-prefix=KEPT
// RUN: %jxc opt %S/Inputs/constant.mlir --mlir-elide-elementsattrs-if-larger=1 -o %t.elided
// RUN: not %jxc compile %t.elided 2>&1 | FileCheck %s --check-prefix=ELIDED

// MAIN: the module has no function @main to compile; it has: @first, @second. Rename the entry to @main.
// DEVICES: the mesh devices=2 has 2 devices; here is 1 of kind cpu.
// DEVICES: JAX_NUM_CPU_DEVICES=2 splits the CPU into as many.
// DYNAMIC: @main's argument 0 has type tensor<?xf32>: expected static dimensions and numbers
// CALLBACK: the module calls back into Python (custom_call @{{.*}}callback
// KEPT: ops
// ELIDED: a constant of the module was elided when it was printed (dense_resource<__elided__>)
