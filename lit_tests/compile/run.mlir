// A module from a file or a pipe is compiled, run, timed and compared.
// RUN: %jxc compile %s --run --input zeros | FileCheck %s --check-prefix=ZEROS
// RUN: %jxc opt %s --emit-bytecode | %jxc compile --run --input random:3 | FileCheck %s --check-prefix=RANDOM
// RUN: %python -c "import numpy as np; np.savez('%t.npz', np.arange(4, dtype='f4'), np.float64(2))"
// RUN: %jxc compile %s --run --input @%t.npz | FileCheck %s --check-prefix=FILE
// RUN: %jxc compile %s --bench 2 | FileCheck %s --check-prefix=BENCH
// RUN: %jxc compile %s --diff-plain --bench 2 | FileCheck %s --check-prefix=DIFF
// RUN: %jxc compile %s --json --run --bench 2 --diff-plain --input zeros | FileCheck %s --check-prefix=JSON
// RUN: %jxc compile %s -O1 | FileCheck %s --check-prefix=SUMMARY
// RUN: not %jxc compile %s --diff-plain --bench 1 --load-pass %S/Inputs/wrong.py -p wrong-sine 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not %jxc compile %s --run --input @%t.nothing 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: not %jxc compile %s --run --input ones 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not %jxc compile %s --run --input random:x 2>&1 | FileCheck %s --check-prefix=SEED
// RUN: %python -c "import numpy as np; np.save('%t.npy', np.arange(5.0))"
// RUN: not %jxc compile %s --run --input @%t.npy 2>&1 | FileCheck %s --check-prefix=FIT

// ZEROS: [0]: float32[4]  [0., 0., 0., 0.]
// ZEROS: [1]: float64[]  0.
// RANDOM: [0]: float32[4] [
// FILE: [0]: float32[4]  [0. {{ *}}, 0.841{{[0-9]+ *}}, 0.909{{[0-9]+ *}}, 0.141{{[0-9]+ *}}]
// FILE: [1]: float64[] 4.
// BENCH: jxc {{ *[0-9.e-]+}} ms ({{.*}}) a call
// BENCH-NEXT: medians (and quartiles) of 2 interleaved rounds
// DIFF: jax.jit {{ *[0-9.e-]+}} ms ({{.*}}) a call
// DIFF-NEXT: jxc {{ *[0-9.e-]+}} ms ({{.*}}) a call
// DIFF-NEXT: ratio {{.*}}, 95 % interval {{[0-9.]+}} to {{[0-9.]+}} (above 1: jxc is faster)
// DIFF: results agree bit for bit
// JSON: "schema_version": 1
// JSON: "passes":
// JSON: "type": "float32[4]"
// JSON: "rounds": 2
// JSON: "agrees": true
// SUMMARY: ops {{ *}}2 -> 2
// SUMMARY: rules {{ *}}none fired
// SUMMARY: passes {{ *[0-9.]+}} ms
// SUMMARY: XLA {{ *[0-9]+}} ms
// SUMMARY: flops
// SUMMARY: bytes {{.*}} moved
// SUMMARY: memory {{ *}}argument 24 B, output 40 B
// WRONG: results DIFFER within {{.*}} (output 0)
// NOFILE: jxc: error: --input @{{.*}}: No such file
// KIND: jxc: error: --input ones: expected random, random:SEED, zeros or @FILE.npz
// SEED: jxc: error: --input random:x: expected a seed of at most 18 digits
// FIT: expected arrays float32[4], float64[], found float64[5]
func.func public @main(%x: tensor<4xf32>, %y: tensor<f64>) -> (tensor<4xf32>, tensor<f64>) {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.add %y, %y : tensor<f64>
  return %0, %1 : tensor<4xf32>, tensor<f64>
}
