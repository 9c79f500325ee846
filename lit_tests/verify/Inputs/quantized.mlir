func.func public @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>> {
  return %x : tensor<4x!quant.uniform<i8:f32, 0.5>>
}
