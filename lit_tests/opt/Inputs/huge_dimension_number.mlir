func.func @main(%x: tensor<1x4x1xf32>, %w: tensor<1x1x1xf32>) -> tensor<1x4x1xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 4294967296, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, tensor<1x1x1xf32>) -> tensor<1x4x1xf32>
  return %r : tensor<1x4x1xf32>
}
