module {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %x : tensor<8xf32>
    %1 = stablehlo.add %0, %y : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
