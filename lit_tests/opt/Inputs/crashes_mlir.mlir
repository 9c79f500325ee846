func.func @main(%x: tensor<?x!quant.uniform<i8:f32, 0.1>, #stablehlo.bounds<4>>) -> tensor<?x!quant.uniform<i8:f32, 0.1>, #stablehlo.bounds<4>> {
  return %x : tensor<?x!quant.uniform<i8:f32, 0.1>, #stablehlo.bounds<4>>
}
