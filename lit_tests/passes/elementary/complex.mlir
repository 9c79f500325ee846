// RUN: %jxc opt %s -p 'elementary{always=true}' --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @complex_exponential_to_polynomials(
// CHECK-DAG: stablehlo.real %{{.*}} : (tensor<1024xcomplex<f32>>) -> tensor<1024xf32>
// CHECK-DAG: stablehlo.imag %{{.*}} : (tensor<1024xcomplex<f32>>) -> tensor<1024xf32>
// CHECK-NOT: stablehlo.exponential
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.complex %{{.*}} : tensor<1024xcomplex<f32>>
// CHECK-NEXT: return %[[R]]
func.func @complex_exponential_to_polynomials(%x: tensor<1024xcomplex<f32>>) -> tensor<1024xcomplex<f32>> {
  %y = stablehlo.exponential %x : tensor<1024xcomplex<f32>>
  return %y : tensor<1024xcomplex<f32>>
}

// -----

// XLA has a fast exponential for real numbers.
// CHECK-LABEL: func.func @complex_exponential_to_polynomials_not_real(
// CHECK: stablehlo.exponential
func.func @complex_exponential_to_polynomials_not_real(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %y = stablehlo.exponential %x : tensor<1024xf32>
  return %y : tensor<1024xf32>
}
