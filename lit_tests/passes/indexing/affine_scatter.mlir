// RUN: %jxc opt %s -p 'indexing{always=true}' | FileCheck %s

// x.at[:, ::2].set(u)
// CHECK-LABEL: func.func @affine_scatter_to_pad(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<32x1024xf32>
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<32x512xf32>
// CHECK: %[[ALL:[a-z0-9_]+]] = stablehlo.constant dense<true> : tensor<32x512xi1>
// CHECK: %[[SPREAD:[a-z0-9_]+]] = stablehlo.pad %[[U]], %{{.*}}, low = [0, 0], high = [0, 1], interior = [0, 1]
// CHECK: %[[MASK:[a-z0-9_]+]] = stablehlo.pad %[[ALL]], %{{.*}}, low = [0, 0], high = [0, 1], interior = [0, 1]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select %[[MASK]], %[[SPREAD]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @affine_scatter_to_pad(%x: tensor<32x1024xf32>, %u: tensor<32x512xf32>) -> tensor<32x1024xf32> {
  %iota = stablehlo.iota dim = 0 : tensor<512x1xi32>
  %two = stablehlo.constant dense<2> : tensor<512x1xi32>
  %i = stablehlo.multiply %iota, %two : tensor<512x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<32x1024xf32>, tensor<512x1xi32>, tensor<32x512xf32>) -> tensor<32x1024xf32>
  return %r : tensor<32x1024xf32>
}

// Columns 29, 20, 11 and 2 of an array of 32 columns are reduced by the rows of u.
// CHECK-LABEL: func.func @affine_scatter_to_pad_backwards(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1024x32xi32>
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<4x1024xi32>
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.transpose %[[U]], dims = [1, 0]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.reverse %[[T]], dims = [1]
// CHECK: %[[SPREAD:[a-z0-9_]+]] = stablehlo.pad %[[B]], %{{.*}}, low = [0, 2], high = [0, 2], interior = [0, 8]
// CHECK: %[[D:[a-z0-9_]+]] = stablehlo.subtract %[[X]], %[[SPREAD]]
// CHECK: stablehlo.select %{{.*}}, %[[D]], %[[X]]
func.func @affine_scatter_to_pad_backwards(%x: tensor<1024x32xi32>, %u: tensor<4x1024xi32>) -> tensor<1024x32xi32> {
  %i = stablehlo.constant dense<[[29], [20], [11], [2]]> : tensor<4x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.subtract %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<1024x32xi32>, tensor<4x1xi32>, tensor<4x1024xi32>) -> tensor<1024x32xi32>
  return %r : tensor<1024x32xi32>
}

// What is written is read: the rest of x is not needed.
// CHECK-LABEL: func.func @slice_of_affine_scatter(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64xf32>, %[[U:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[THERE:[a-z0-9_]+]] = stablehlo.slice %[[X]] [3:60:8]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.add %[[THERE]], %[[U]]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_affine_scatter(%x: tensor<64xf32>, %u: tensor<8xf32>) -> tensor<8xf32> {
  %i = stablehlo.constant dense<[[3], [11], [19], [27], [35], [43], [51], [59]]> : tensor<8x1xi32>
  %s = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<64xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<64xf32>
  %r = stablehlo.slice %s [3:60:8] : (tensor<64xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// Element 7 is read, which is not written.
// CHECK-LABEL: func.func @slice_of_affine_scatter_not_others(
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.slice %{{.*}} [3:64:4] : (tensor<64xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %[[R]]
func.func @slice_of_affine_scatter_not_others(%x: tensor<64xf32>, %u: tensor<8xf32>) -> tensor<16xf32> {
  %i = stablehlo.constant dense<[[3], [11], [19], [27], [35], [43], [51], [59]]> : tensor<8x1xi32>
  %s = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<64xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<64xf32>
  %r = stablehlo.slice %s [3:64:4] : (tensor<64xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// All elements of the operand are 2: no mask is needed.
// CHECK-LABEL: func.func @affine_scatter_to_pad_of_equal(
// CHECK: %[[TWO:[a-z0-9_]+]] = stablehlo.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.multiply %[[TWO]], %arg0
// CHECK: %[[V:[a-z0-9_]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[S]], %[[V]], low = [3], high = [4], interior = [7]
// CHECK-NEXT: return %[[R]]
func.func @affine_scatter_to_pad_of_equal(%u: tensor<8xf32>) -> tensor<64xf32> {
  %x = stablehlo.constant dense<2.0> : tensor<64xf32>
  %i = stablehlo.constant dense<[[3], [11], [19], [27], [35], [43], [51], [59]]> : tensor<8x1xi32>
  %s = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<64xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// x.at[1:3, 2:5].add(u): one block.
// CHECK-LABEL: func.func @block_scatter_to_update(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK: %[[THERE:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:3, 2:5]
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.add %[[THERE]], %[[U]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[X]], %[[SUM]],
// CHECK-NEXT: return %[[R]]
func.func @block_scatter_to_update(%x: tensor<4x8xf32>, %u: tensor<2x3xf32>) -> tensor<4x8xf32> {
  %i = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// x.at[jnp.arange(3, 6)].set(u)
// CHECK-LABEL: func.func @block_scatter_to_update_rows(
// CHECK: stablehlo.dynamic_update_slice %arg0, %arg1,
func.func @block_scatter_to_update_rows(%x: tensor<8x4xf32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  %i = stablehlo.constant dense<[3, 4, 5]> : tensor<3xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// The last row of the update is outside of x, so it is dropped.
// CHECK-LABEL: func.func @block_scatter_to_update_not_beyond(
// CHECK: stablehlo.scatter
func.func @block_scatter_to_update_not_beyond(%x: tensor<8x4xf32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  %i = stablehlo.constant dense<[6, 7, 8]> : tensor<3xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// All updates go to one row, in order.
// CHECK-LABEL: func.func @block_scatter_to_update_not_repeated(
// CHECK: stablehlo.scatter
func.func @block_scatter_to_update_not_repeated(%x: tensor<8x4xf32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  %i = stablehlo.constant dense<3> : tensor<3xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// A diagonal: the indices of both dimensions of x depend on one dimension of the updates.
// CHECK-LABEL: func.func @affine_scatter_to_pad_not_diagonal(
// CHECK: stablehlo.scatter
func.func @affine_scatter_to_pad_not_diagonal(%x: tensor<4x4xf32>, %u: tensor<4xf32>) -> tensor<4x4xf32> {
  %i = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<4x2xi32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// The combiner consists of several ops.
// CHECK-LABEL: func.func @block_scatter_to_update_not_complicated(
// CHECK: stablehlo.scatter
func.func @block_scatter_to_update_not_complicated(%x: tensor<8x4xf32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  %i = stablehlo.constant dense<[3, 4, 5]> : tensor<3xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.multiply %a, %b : tensor<f32>
    %d = stablehlo.add %c, %b : tensor<f32>
    stablehlo.return %d : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
