// Remarks: what a rule replaced, and why it left an op alone.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %jxc opt %s --load-pass %S/Inputs/explaining.py -p difference-of-sum --remarks-filter=difference 2>&1 >/dev/null | FileCheck %s
// RUN: %jxc opt %s --load-pass %S/Inputs/explaining.py -p difference-of-sum --why 2>&1 >/dev/null | FileCheck %s --check-prefix=MISSED
// RUN: %jxc opt %s --load-pass %S/Inputs/explaining.py -p difference-of-sum --remarks-filter=other 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: %jxc opt %s --load-pass %S/Inputs/explaining.py -p difference-of-sum --remarks-filter=. --remarks-output-file=%t/r.yaml 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: FileCheck %s --check-prefix=YAML --input-file %t/r.yaml
// RUN: %jxc opt %s --load-pass %S/Inputs/explaining.py -p difference-of-sum --remarks-filter=. --verify-diagnostics
// RUN: not %jxc opt %s -p cse --verify-diagnostics --remarks-filter=. 2>&1 | FileCheck %s --check-prefix=EXPECTED
// RUN: not %jxc opt %s --remarks-output-file=%t/r.yaml 2>&1 | FileCheck %s --check-prefix=NEEDS
// RUN: not %jxc opt %s --remarks-filter='[' 2>&1 | FileCheck %s --check-prefix=REGEX

// CHECK: remarks.mlir:[[# @LINE + 19]]:8: remark: [Passed] difference-of-sum | Remark="replaced stablehlo.subtract"
// CHECK: remarks.mlir:[[# @LINE + 20]]:8: remark: [Missed] difference-of-sum | Reason="the minuend isn't a sum"
// MISSED-NOT: Passed
// MISSED: [Missed] difference-of-sum
// NONE-NOT: remark:
// YAML: --- !Missed
// YAML-NEXT: Pass:            jxc
// YAML-NEXT: Name:            difference-of-sum
// YAML-NEXT: DebugLoc:        { File: '{{.*}}remarks.mlir', Line: {{[0-9]+}}, Column: 8 }
// YAML-NEXT: Function:        '<unknown function>'
// YAML-NEXT: Args:
// YAML-NEXT:   - Reason:          'the minuend isn''t a sum'
// YAML-NEXT: ...
// EXPECTED: error: expected remark "[Passed] difference-of-sum {{.*}} was not produced
// NEEDS: --remarks-output-file needs --remarks-filter REGEX or --why
// REGEX: --remarks-filter: invalid regular expression: unterminated character set
func.func public @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.add %x, %y : tensor<4xi32>
  // expected-remark@below {{[Passed] difference-of-sum | Remark="replaced stablehlo.subtract"}}
  %1 = stablehlo.subtract %0, %y : tensor<4xi32>
  // expected-remark@below {{[Missed] difference-of-sum | Reason="the minuend isn't a sum"}}
  %2 = stablehlo.subtract %x, %y : tensor<4xi32>
  return %1, %2 : tensor<4xi32>, tensor<4xi32>
}
