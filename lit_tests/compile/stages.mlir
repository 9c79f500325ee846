// The stages of XLA and the numbers that XLA reports.
// RUN: %jxc compile %s --emit hlo | FileCheck %s --check-prefix=HLO
// RUN: %jxc compile %s --emit hlo-before | FileCheck %s --check-prefix=BEFORE
// RUN: %jxc compile %s --emit llvm | FileCheck %s --check-prefix=LLVM
// RUN: %jxc compile %s --emit cost | FileCheck %s --check-prefix=COST
// RUN: %jxc compile %s --emit memory | FileCheck %s --check-prefix=MEMORY
// RUN: %jxc compile %s --emit hlo --xla-option xla_disable_hlo_passes=fusion -o %t && FileCheck %s --check-prefix=OPTION --input-file %t
// RUN: not %jxc compile %s --xla-option xla_no_such_option=1 2>&1 | FileCheck %s --check-prefix=NOOPTION
// RUN: not %jxc compile %s --xla-option xla_cpu 2>&1 | FileCheck %s --check-prefix=NOVALUE
// RUN: not %jxc compile %s --emit hlo --run 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not %jxc compile %s --emit hlo --json 2>&1 | FileCheck %s --check-prefix=JSON

// HLO: HloModule stages, is_scheduled=true
// HLO-NOT: wrapped_exponential
// HLO: fusion(
// BEFORE: HloModule stages
// BEFORE: exponential(
// LLVM: define {{.*}}ptr @
// COST: "flops":
// MEMORY: "argument": 4096
// OPTION: wrapped_exponential
// NOOPTION: jxc: error: XLA does not compile it: {{.*}}xla_no_such_option
// NOOPTION-NOT: Traceback
// NOVALUE: --xla-option xla_cpu: expected NAME=VALUE
// BOTH: --emit prints a stage; --run, --bench, --diff-plain run: give one of them
// JSON: --emit hlo prints a text, not JSON: leave out --json
module @stages {
  func.func public @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
    %0 = stablehlo.exponential %x : tensor<1024xf32>
    %1 = stablehlo.multiply %0, %x : tensor<1024xf32>
    %2 = stablehlo.add %1, %x : tensor<1024xf32>
    return %2 : tensor<1024xf32>
  }
}
