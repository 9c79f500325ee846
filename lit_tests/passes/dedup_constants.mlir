// RUN: %jxc opt %s -p dedup-constants | FileCheck %s
// RUN: %jxc opt %s -p 'dedup-constants{max-elements=3}' | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: func.func @dedup_constants(
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: return %[[C]], %[[C]]
func.func @dedup_constants() -> (tensor<f32>, tensor<f32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %d = stablehlo.constant dense<1.0> : tensor<f32>
  return %c, %d : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @dedup_constants_complex(
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = stablehlo.constant dense<(0.000000e+00,-0.000000e+00)>
// CHECK-NEXT: return %[[C]], %[[C]], %[[D]]
func.func @dedup_constants_complex() -> (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) {
  %c = stablehlo.constant dense<(0.0, 0.0)> : tensor<2xcomplex<f32>>
  %d = stablehlo.constant dense<(0.0, 0.0)> : tensor<2xcomplex<f32>>
  %e = stablehlo.constant dense<(0.0, -0.0)> : tensor<2xcomplex<f32>>
  return %c, %d, %e : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
}

// 0.0 and -0.0 compare equal and differ in bits. 0 and 0.0 have the same bits and differ in type.
// CHECK-LABEL: func.func @dedup_constants_not_of_other_bits(
// CHECK-COUNT-3: stablehlo.constant
func.func @dedup_constants_not_of_other_bits() -> (tensor<f32>, tensor<f32>, tensor<i32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<-0.0> : tensor<f32>
  %e = stablehlo.constant dense<0> : tensor<i32>
  return %c, %d, %e : tensor<f32>, tensor<f32>, tensor<i32>
}

// An annotated constant is kept: the attribute may carry meaning.
// CHECK-LABEL: func.func @dedup_constants_not_annotated(
// CHECK: stablehlo.constant {mhlo.sharding
// CHECK: stablehlo.constant
func.func @dedup_constants_not_annotated() -> (tensor<f32>, tensor<f32>) {
  %c = stablehlo.constant {mhlo.sharding = "{replicated}"} dense<1.0> : tensor<f32>
  %d = stablehlo.constant dense<1.0> : tensor<f32>
  return %c, %d : tensor<f32>, tensor<f32>
}

// Each block keeps its own constants, so that a loop need not carry one from outside.
// CHECK-LABEL: func.func @dedup_constants_not_across_blocks(
// CHECK: stablehlo.constant
// CHECK: stablehlo.if
// CHECK: stablehlo.constant
// CHECK: }, {
func.func @dedup_constants_not_across_blocks(%p: tensor<i1>) -> (tensor<f32>, tensor<f32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %r = "stablehlo.if"(%p) ({
    %d = stablehlo.constant dense<1.0> : tensor<f32>
    stablehlo.return %d : tensor<f32>
  }, {
    stablehlo.return %c : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %c, %r : tensor<f32>, tensor<f32>
}

// SMALL-LABEL: func.func @dedup_constants_up_to_max_elements(
// SMALL-COUNT-2: stablehlo.constant
// CHECK-LABEL: func.func @dedup_constants_up_to_max_elements(
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: return %[[C]], %[[C]]
func.func @dedup_constants_up_to_max_elements() -> (tensor<4xbf16>, tensor<4xbf16>) {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xbf16>
  %d = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xbf16>
  return %c, %d : tensor<4xbf16>, tensor<4xbf16>
}
