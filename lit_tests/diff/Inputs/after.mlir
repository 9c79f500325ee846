module {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %wave = stablehlo.cosine %x : tensor<8xf32>
    %1 = stablehlo.add %wave, %y : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
