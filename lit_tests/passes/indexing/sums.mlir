// RUN: %jxc opt %s -p 'indexing{always=true}' | FileCheck %s

// Rows of zeros with one update each, negated: the sum of a row is the negated update.
// CHECK-LABEL: func.func @sum_of_one_hot(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<4x1xi32>
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[N:[a-z0-9_]+]] = stablehlo.negate %{{.*}} : tensor<4xf32>
// CHECK: %[[IN:[a-z0-9_]+]] = stablehlo.and
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select %[[IN]]
// CHECK-NEXT: return %[[R]]
func.func @sum_of_one_hot(%i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<4xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<4x16xf32>
  %n = stablehlo.negate %s : tensor<4x16xf32>
  %r = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// x[jnp.arange(4), i], as indexing by two arrays writes it.
// CHECK-LABEL: func.func @sum_of_one_hot_indexed(
// CHECK-NOT: stablehlo.reduce
// CHECK: return
func.func @sum_of_one_hot_indexed(%i: tensor<4xi32>, %u: tensor<4xf32>) -> tensor<4xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %columns = stablehlo.reshape %i : (tensor<4xi32>) -> tensor<4x1xi32>
  %both = stablehlo.concatenate %rows, %columns, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %s = "stablehlo.scatter"(%zeros, %both, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<4x2xi32>, tensor<4xf32>) -> tensor<4x16xf32>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Smoothed labels, weighted: elsewhere is not zero. All of it is summed.
// CHECK-LABEL: func.func @sum_of_one_hot_smoothed(
// CHECK: stablehlo.multiply %{{.*}} : tensor<4xf32>
// CHECK: stablehlo.select %{{.*}} : tensor<4xi1>, tensor<4xf32>
// CHECK: stablehlo.reduce(%{{.*}} across dimensions = [0] : (tensor<4xf32>
func.func @sum_of_one_hot_smoothed(%i: tensor<4xi32>, %w: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %small = stablehlo.constant dense<0.01> : tensor<4x16xf32>
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x16xi32>
  %weights = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<4xf32>) -> tensor<4x16xf32>
  %places = stablehlo.iota dim = 1 : tensor<4x16xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi1>
  %hot = stablehlo.convert %hits : (tensor<4x16xi1>) -> tensor<4x16xf32>
  %soft = stablehlo.add %hot, %small : tensor<4x16xf32>
  %x = stablehlo.multiply %soft, %weights : tensor<4x16xf32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// x differs along the summed dimension: 0 times infinity is NaN.
// CHECK-LABEL: func.func @sum_of_one_hot_not_product(
// CHECK: stablehlo.reduce
func.func @sum_of_one_hot_not_product(%i: tensor<4xi32>, %x: tensor<4x16xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x16xi32>
  %places = stablehlo.iota dim = 1 : tensor<4x16xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi1>
  %hot = stablehlo.convert %hits : (tensor<4x16xi1>) -> tensor<4x16xf32>
  %p = stablehlo.multiply %hot, %x : tensor<4x16xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Several updates in a row.
// CHECK-LABEL: func.func @sum_of_one_hot_not_several(
// CHECK: stablehlo.reduce
func.func @sum_of_one_hot_not_several(%i: tensor<8x1xi32>, %u: tensor<4x8xf32>) -> tensor<4xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<8x1xi32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Cross entropy with one-hot labels: x is not multiplied, its extremes are NaN or infinite if a
// product is NaN.
// CHECK-LABEL: func.func @sum_of_one_hot_product(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x32768xf32>
// CHECK: "stablehlo.gather"(%[[X]], %[[I]])
// CHECK: stablehlo.reduce(%[[X]] {{.*}}stablehlo.minimum across dimensions = [1]
// CHECK-NOT: stablehlo.add across dimensions = [1]
// CHECK: return
func.func @sum_of_one_hot_product(%i: tensor<4xi32>, %x: tensor<4x32768xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x32768xf32>, tensor<f32>) -> tensor<4xf32>
  %most = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x32768xf32>
  %d = stablehlo.subtract %x, %most : tensor<4x32768xf32>
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x32768xi32>
  %places = stablehlo.iota dim = 1 : tensor<4x32768xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x32768xi32>, tensor<4x32768xi32>) -> tensor<4x32768xi1>
  %hot = stablehlo.convert %hits : (tensor<4x32768xi1>) -> tensor<4x32768xf32>
  %p = stablehlo.multiply %hot, %d : tensor<4x32768xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x32768xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The maximum of x is not computed.
// CHECK-LABEL: func.func @sum_of_one_hot_product_not_without_maximum(
// CHECK: stablehlo.add across dimensions = [1]
func.func @sum_of_one_hot_product_not_without_maximum(%i: tensor<4xi32>, %x: tensor<4x32768xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x32768xi32>
  %places = stablehlo.iota dim = 1 : tensor<4x32768xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x32768xi32>, tensor<4x32768xi32>) -> tensor<4x32768xi1>
  %hot = stablehlo.convert %hits : (tensor<4x32768xi1>) -> tensor<4x32768xf32>
  %p = stablehlo.multiply %hot, %x : tensor<4x32768xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x32768xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
