// `jxc reduce` prints the smallest module found on which a command still fails.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %jxc-process reduce %s --check 'sh %S/Inputs/fails.sh {}' > %t/out.mlir 2> %t/told
// RUN: FileCheck %s < %t/out.mlir
// RUN: FileCheck %s --check-prefix=TOLD < %t/told
// Without {}, the path is appended. - reads stdin. -o writes the module, and stdout has the JSON.
// RUN: cat %s | %jxc reduce - --check 'sh %S/Inputs/fails.sh' --expect i32 -o %t/saved.mlir --json > %t/object
// RUN: FileCheck %s --check-prefix=EXPECT < %t/saved.mlir
// RUN: FileCheck %s --check-prefix=JSON < %t/object
// A command that is killed by a signal fails, too.
// RUN: %jxc reduce %s --check 'kill -SEGV $$ #' | FileCheck %s --check-prefix=NOTHING
// The time limit always allows one run of the command on the original module.
// RUN: %jxc reduce %s --check 'sh %S/Inputs/fails.sh' --seconds 0.000001 2>&1 | FileCheck %s --check-prefix=TIME

// CHECK: func.func public @main(%[[X:.+]]: tensor<1xf32>)
// CHECK-NEXT: stablehlo.multiply %[[X]], %[[X]]
// CHECK-NEXT: return
// CHECK-NOT: func.func
// TOLD: 14 ops -> 1 ops, {{[0-9]+}} candidates, {{[0-9.]+}} s
// EXPECT: stablehlo.multiply %[[X:.+]], %[[X]] : tensor<i32>
// JSON: "schema_version": 1
// JSON-NEXT: "module": "module {{.*}}stablehlo.multiply
// JSON-NEXT: "ops_before": 14
// JSON-NEXT: "ops": 1
// JSON: "ended": "done"
// NOTHING: func.func public @main() {
// NOTHING-NEXT: return
// TIME: 14 ops -> 14 ops, 1 candidate, {{[0-9.]+}} s, stopped at the time limit
func.func public @main(%x: tensor<16xf32>, %n: tensor<i32>) -> (tensor<16xf32>, tensor<i32>) {
  %0 = stablehlo.exponential %x : tensor<16xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %carried = %0) : tensor<i32>, tensor<16xf32> cond {
    %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %2 = func.call @square(%carried) : (tensor<16xf32>) -> tensor<16xf32>
    stablehlo.return %next, %2 : tensor<i32>, tensor<16xf32>
  }
  %3 = stablehlo.sine %1#1 : tensor<16xf32>
  %4 = stablehlo.tanh %3 : tensor<16xf32>
  %5 = stablehlo.add %4, %0 : tensor<16xf32>
  %6 = stablehlo.multiply %n, %n : tensor<i32>
  return %5, %6 : tensor<16xf32>, tensor<i32>
}

func.func private @square(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = stablehlo.negate %x : tensor<16xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<16xf32>
  %2 = stablehlo.abs %1 : tensor<16xf32>
  return %2 : tensor<16xf32>
}
