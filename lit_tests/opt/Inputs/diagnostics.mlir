func.func public @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error@+1 {{nothing adds up}}
  %0 = stablehlo.add %x, %y : tensor<4xi32>
  return %0 : tensor<4xi32>
}
