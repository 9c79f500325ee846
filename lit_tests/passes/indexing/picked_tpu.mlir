// RUN: %jxc opt %s -p indexing --target tpu | FileCheck %s

// CHECK-LABEL: func.func @gather_of_elementwise_on_tpu(
// CHECK: stablehlo.subtract %{{.*}} : tensor<256xf32>
func.func @gather_of_elementwise_on_tpu(%x: tensor<256x32000xf32>, %m: tensor<256xf32>, %i: tensor<256x1xi32>) -> tensor<256xf32> {
  %all = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<256xf32>) -> tensor<256x32000xf32>
  %d = stablehlo.subtract %x, %all : tensor<256x32000xf32>
  %r = "stablehlo.gather"(%d, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<256x32000xf32>, tensor<256x1xi32>) -> tensor<256xf32>
  return %r : tensor<256xf32>
}

// Rows are too short.
// CHECK-LABEL: func.func @gather_of_elementwise_not_short_rows_on_tpu(
// CHECK: stablehlo.subtract %{{.*}} : tensor<1024x31999xf32>
func.func @gather_of_elementwise_not_short_rows_on_tpu(%x: tensor<1024x31999xf32>, %m: tensor<1024xf32>, %i: tensor<1024x1xi32>) -> tensor<1024xf32> {
  %all = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1024xf32>) -> tensor<1024x31999xf32>
  %d = stablehlo.subtract %x, %all : tensor<1024x31999xf32>
  %r = "stablehlo.gather"(%d, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<1024x31999xf32>, tensor<1024x1xi32>) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}

// The array is small.
// CHECK-LABEL: func.func @gather_of_elementwise_not_small_on_tpu(
// CHECK: stablehlo.subtract %{{.*}} : tensor<255x32000xf32>
func.func @gather_of_elementwise_not_small_on_tpu(%x: tensor<255x32000xf32>, %m: tensor<255xf32>, %i: tensor<255x1xi32>) -> tensor<255xf32> {
  %all = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<255xf32>) -> tensor<255x32000xf32>
  %d = stablehlo.subtract %x, %all : tensor<255x32000xf32>
  %r = "stablehlo.gather"(%d, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<255x32000xf32>, tensor<255x1xi32>) -> tensor<255xf32>
  return %r : tensor<255xf32>
}
