// The Python bindings cannot represent the attribute of a complex constant.
// RUN: %jxc compile %s --run --input zeros | FileCheck %s
// CHECK: [0]: complex64[]  0.+1.j
func.func public @main(%x: tensor<complex<f32>>) -> tensor<complex<f32>> {
  %c = stablehlo.constant dense<(0.0, 1.0)> : tensor<complex<f32>>
  %0 = stablehlo.add %x, %c : tensor<complex<f32>>
  return %0 : tensor<complex<f32>>
}
