module @train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x8xf32> {tf.aliasing_output = 1 : i32} loc("params['layers'][0]['w']"), %arg1: tensor<8x8xf32> loc("params['layers'][1]['w']"), %arg2: tensor<8xf32> {jax.buffer_donor = true} loc("params['b']"), %arg3: tensor<4x8xf32> loc("x"), %arg4: !stablehlo.token loc("token")) -> (tensor<4x8xf32> {jax.result_info = "result[0]"}, tensor<8x8xf32> {jax.result_info = "result[1]['w']"}) {
    return %arg3, %arg0 : tensor<4x8xf32>, tensor<8x8xf32>
  }
}
