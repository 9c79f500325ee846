func.func public @main(%x: tensor<32xf32>) -> tensor<32xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<32xf32>
  %0 = stablehlo.add %x, %z : tensor<32xf32>
  return %0 : tensor<32xf32>
}
