// `--interpret` runs a function on StableHLO's reference interpreter.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python -c "import numpy as np; np.save('%t/x.npy', np.float32([1, 2])); np.savez('%t/x.npz', np.float32([1, 2]))"
// RUN: %jxc translate %s --interpret --args %t/x.npy | FileCheck %s
// RUN: %jxc translate %s --interpret --args %t/x.npz | FileCheck %s
// RUN: %jxc translate %s --interpret --args '[dense<[1.0, 2.0]> : tensor<2xf32>]' | FileCheck %s
// RUN: %jxc translate %s --to bytecode | %jxc translate --interpret --args %t/x.npy | FileCheck %s
// Arguments made from a seed are the same on every run:
// RUN: %jxc translate %s --interpret --input normal:3 -o %t/a.npz && %jxc translate %s --interpret --input normal:3 -o %t/b.npz
// RUN: %python -c "import numpy as np; a, b = np.load('%t/a.npz'), np.load('%t/b.npz'); assert (a['arr_0'] == b['arr_0']).all() and a['arr_0'].dtype == np.complex64"
// RUN: %jxc translate %s --interpret --input zeros | FileCheck %s --check-prefix=ZEROS
// RUN: %jxc translate %s --interpret --entry types --args '[dense<1.5> : tensor<bf16>, dense<-3> : tensor<2xi4>, dense<> : tensor<0xi1>]' | FileCheck %s --check-prefix=TYPES
// Files of numpy have no name for bfloat16 and i4:
// RUN: %jxc translate %s --interpret --entry types --input small:1 -o %t/types.npz
// RUN: %jxc translate %s --interpret --entry types --args %t/types.npz | FileCheck %s --check-prefix=AGAIN
// RUN: not %jxc translate %s --interpret --args %t/x.npy --args %t/x.npy 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not %jxc translate %s --interpret --args %t/none.npy 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %jxc translate %s --interpret --args '[dense<1.0> tensor<f32>]' 2>&1 | FileCheck %s --check-prefix=LITERAL
// RUN: not %jxc translate %s --interpret --entry nothing 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not %jxc translate %s --interpret --entry calls_out 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK: [0] tensor<2xcomplex<f32>>
// CHECK-NEXT: [1.+2.j, 2.+4.j]
// CHECK-NEXT: [1] tensor<i64>
// CHECK-NEXT: 7
// ZEROS: [0.+0.j, 0.+0.j]
// TYPES: [0] tensor<bf16>
// TYPES-NEXT: 1.5
// TYPES-NEXT: [1] tensor<2xi4>
// TYPES-NEXT: [-3, -3]
// TYPES-NEXT: [2] tensor<0xi1>
// TYPES-NEXT: []
// AGAIN: [0] tensor<bf16>
// COUNT: expected arguments float32[2]; found float32[2], float32[2]
// NONE: none.npy: no such file; expected FILE.npy, FILE.npz or '[dense<1.0> : tensor<4xf32>, ...]'
// LITERAL: --args: expected '[dense<1.0> : tensor<4xf32>, ...]', got [dense<1.0> tensor<f32>]
// ENTRY: expected a public function @nothing; the module has: @main, @types, @calls_out
// REFUSED: jxc: error: the interpreter {{died|refused}}: {{.*}}custom_call
func.func public @main(%x: tensor<2xf32>) -> (tensor<2xcomplex<f32>>, tensor<i64>) {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  %1 = stablehlo.complex %x, %0 : tensor<2xcomplex<f32>>
  %c = stablehlo.constant dense<7> : tensor<i64>
  return %1, %c : tensor<2xcomplex<f32>>, tensor<i64>
}
func.func public @types(%x: tensor<bf16>, %y: tensor<2xi4>, %z: tensor<0xi1>) -> (tensor<bf16>, tensor<2xi4>, tensor<0xi1>) {
  return %x, %y, %z : tensor<bf16>, tensor<2xi4>, tensor<0xi1>
}
func.func public @calls_out(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.custom_call @elsewhere(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
