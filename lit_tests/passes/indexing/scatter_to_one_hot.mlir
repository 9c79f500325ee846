// RUN: %jxc opt %s -p 'indexing{always=true}' --target tpu | FileCheck %s
// RUN: %jxc opt %s -p 'indexing{always=true}' --target gpu | FileCheck %s

// The gradient of x[row, i] for each row, added to another array.
// CHECK-LABEL: func.func @scatter_to_one_hot(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x16xf32>
// CHECK-NOT: stablehlo.scatter
// CHECK: %[[MASK:[a-z0-9_]+]] = stablehlo.compare EQ, %{{.*}} : (tensor<4x16xi32>, tensor<4x16xi32>)
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.select %[[MASK]]
// CHECK: stablehlo.add %[[X]], %[[S]]
func.func @scatter_to_one_hot(%x: tensor<4x16xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<4x16xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %s = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<4x16xf32>
  %r = stablehlo.add %x, %s : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// A product needs the array in memory.
// CHECK-LABEL: func.func @scatter_to_one_hot_not_product(
// CHECK: stablehlo.scatter
func.func @scatter_to_one_hot_not_product(%w: tensor<16x3xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<4x3xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %s = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<4x16xf32>
  %r = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}
