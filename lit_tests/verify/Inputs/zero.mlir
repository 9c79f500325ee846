func.func public @main(%x: tensor<32xf32>) -> tensor<32xf32> {
  return %x : tensor<32xf32>
}
