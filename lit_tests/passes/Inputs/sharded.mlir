module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @rows = <["data"=4]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@rows, [{"data"}]>}, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
}
