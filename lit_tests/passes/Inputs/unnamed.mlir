func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<6xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
