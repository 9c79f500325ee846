// expected-error@+2 {{another text}}
func.func @wrong(%x: tensor<f32>) -> tensor<f32> {
  return %y : tensor<f32>
}
// -----
func.func @right(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
// expected-warning@above {{nothing}}
}
