func.func @first(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @second(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
