// RUN: %jxc opt %s -p indexing | FileCheck %s

// What the gate decides by the shipped prices, a rewrite that pays and one that does not.

// A quarter of the exponentials is read.
// CHECK-LABEL: func.func @few_rows_of_elementwise(
// CHECK: stablehlo.exponential %{{.*}} : tensor<4x8192xf32>
func.func @few_rows_of_elementwise(%x: tensor<16x8192xf32>, %i: tensor<4x1xi32>) -> tensor<4x8192xf32> {
  %e = stablehlo.exponential %x : tensor<16x8192xf32>
  %r = "stablehlo.gather"(%e, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8192>}> : (tensor<16x8192xf32>, tensor<4x1xi32>) -> tensor<4x8192xf32>
  return %r : tensor<4x8192xf32>
}

// All are read.
// CHECK-LABEL: func.func @all_rows_of_elementwise(
// CHECK: stablehlo.exponential
// CHECK-NEXT: stablehlo.gather
func.func @all_rows_of_elementwise(%x: tensor<4x64xf32>, %i: tensor<4x1xi32>) -> tensor<4x64xf32> {
  %e = stablehlo.exponential %x : tensor<4x64xf32>
  %r = "stablehlo.gather"(%e, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<4x64xf32>, tensor<4x1xi32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// CHECK-LABEL: func.func @large_product_with_one_hot(
// CHECK: stablehlo.if
func.func @large_product_with_one_hot(%i: tensor<64xi32>, %e: tensor<512x32xf32>) -> tensor<64x32xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x512xi32>
  %places = stablehlo.iota dim = 1 : tensor<64x512xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<64x512xi32>, tensor<64x512xi32>) -> tensor<64x512xi1>
  %hot = stablehlo.convert %hits : (tensor<64x512xi1>) -> tensor<64x512xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512xf32>, tensor<512x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}

// The product takes as long as the test.
// CHECK-LABEL: func.func @small_product_with_one_hot(
// CHECK-NOT: stablehlo.if
// CHECK: stablehlo.dot_general
func.func @small_product_with_one_hot(%i: tensor<64xi32>, %e: tensor<256x16xf32>) -> tensor<64x16xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x256xi32>
  %places = stablehlo.iota dim = 1 : tensor<64x256xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<64x256xi32>, tensor<64x256xi32>) -> tensor<64x256xi1>
  %hot = stablehlo.convert %hits : (tensor<64x256xi1>) -> tensor<64x256xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x16xf32>) -> tensor<64x16xf32>
  return %r : tensor<64x16xf32>
}

// A product with a vector over the rows of a matrix takes longer than the scatter.
// CHECK-LABEL: func.func @scatter_into_few(
// CHECK: stablehlo.if
func.func @scatter_into_few(%i: tensor<16384xi32>, %x: tensor<16384x1xf32>) -> tensor<32x1xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<16384xi32>) -> tensor<16384x32xi32>
  %places = stablehlo.iota dim = 1 : tensor<16384x32xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<16384x32xi32>, tensor<16384x32xi32>) -> tensor<16384x32xi1>
  %hot = stablehlo.convert %hits : (tensor<16384x32xi1>) -> tensor<16384x32xf32>
  %r = stablehlo.dot_general %hot, %x, contracting_dims = [0] x [0] : (tensor<16384x32xf32>, tensor<16384x1xf32>) -> tensor<32x1xf32>
  return %r : tensor<32x1xf32>
}

// Every second column.
// CHECK-LABEL: func.func @scattered_columns(
// CHECK: stablehlo.pad
func.func @scattered_columns(%x: tensor<32x1024xf32>, %u: tensor<32x512xf32>) -> tensor<32x1024xf32> {
  %iota = stablehlo.iota dim = 0 : tensor<512x1xi32>
  %two = stablehlo.constant dense<2> : tensor<512x1xi32>
  %i = stablehlo.multiply %iota, %two : tensor<512x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<32x1024xf32>, tensor<512x1xi32>, tensor<32x512xf32>) -> tensor<32x1024xf32>
  return %r : tensor<32x1024xf32>
}

// Every 4th row: a scatter does not touch the other rows.
// CHECK-LABEL: func.func @scattered_rows(
// CHECK: stablehlo.scatter
func.func @scattered_rows(%x: tensor<16x4096xf32>, %u: tensor<4x4096xf32>) -> tensor<16x4096xf32> {
  %i = stablehlo.constant dense<[0, 4, 8, 12]> : tensor<4xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<16x4096xf32>, tensor<4xi32>, tensor<4x4096xf32>) -> tensor<16x4096xf32>
  return %r : tensor<16x4096xf32>
}

// Rows of 7 are summed as fast as they are read.
// CHECK-LABEL: func.func @sum_of_short_one_hot(
// CHECK: stablehlo.reduce
func.func @sum_of_short_one_hot(%i: tensor<4xi32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x7xi32>
  %places = stablehlo.iota dim = 1 : tensor<4x7xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x7xi32>, tensor<4x7xi32>) -> tensor<4x7xi1>
  %hot = stablehlo.convert %hits : (tensor<4x7xi1>) -> tensor<4x7xf32>
  %r = stablehlo.reduce(%hot init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
