// RUN: %jxc opt %s -p 'products{always=true}' --split-input-file | FileCheck %s

// 60 rows are multiplied instead of 400.
// CHECK-LABEL: func.func @product_of_rows(
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.dot_general %arg0, %arg2, contracting_dims = [1] x [0]{{.*}} -> tensor<60x32xf32>
// CHECK: stablehlo.gather"(%[[P]], %arg1) {{.*}}offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>{{.*}}slice_sizes = array<i64: 1, 32>
func.func @product_of_rows(%e: tensor<60x40xf32>, %i: tensor<4x100x1xi32>, %w: tensor<40x32xf32>) -> tensor<4x100x32xf32> {
  %g = "stablehlo.gather"(%e, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 40>}> : (tensor<60x40xf32>, tensor<4x100x1xi32>) -> tensor<4x100x40xf32>
  %r = stablehlo.dot_general %g, %w, contracting_dims = [2] x [0] : (tensor<4x100x40xf32>, tensor<40x32xf32>) -> tensor<4x100x32xf32>
  return %r : tensor<4x100x32xf32>
}

// -----

// As jnp.take writes it: rows outside of the table are NaN. The rows are on the right.
// CHECK-LABEL: func.func @product_of_rows_of_take(
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.dot_general %arg2, %arg0, contracting_dims = [0] x [1]{{.*}} -> tensor<32x60xf32>
// CHECK: %[[G:[a-z0-9_]+]] = "stablehlo.gather"(%[[P]], %arg1) {{.*}}offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]{{.*}}slice_sizes = array<i64: 32, 1>
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %arg3, dims = [1]
// CHECK: stablehlo.select %[[M]], %[[G]], %{{.*}} : tensor<32x400xi1>, tensor<32x400xf32>
func.func @product_of_rows_of_take(%e: tensor<60x40xf32>, %i: tensor<400x1xi32>, %w: tensor<40x32xf32>, %in: tensor<400xi1>) -> tensor<32x400xf32> {
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<400x40xf32>
  %g = "stablehlo.gather"(%e, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 40>}> : (tensor<60x40xf32>, tensor<400x1xi32>) -> tensor<400x40xf32>
  %m = stablehlo.broadcast_in_dim %in, dims = [0] : (tensor<400xi1>) -> tensor<400x40xi1>
  %s = stablehlo.select %m, %g, %nan : tensor<400x40xi1>, tensor<400x40xf32>
  %r = stablehlo.dot_general %w, %s, contracting_dims = [0] x [1] : (tensor<40x32xf32>, tensor<400x40xf32>) -> tensor<32x400xf32>
  return %r : tensor<32x400xf32>
}

// -----

// The table has more rows than are gathered; a sum over the rows; rows outside of the table are 0.
// CHECK-LABEL: func.func @product_of_rows_not_of_a_large_table(
// CHECK-COUNT-3: stablehlo.gather"(%arg0
func.func @product_of_rows_not_of_a_large_table(%e: tensor<600x40xf32>, %i: tensor<400x1xi32>, %w: tensor<40x32xf32>, %v: tensor<400x32xf32>, %j: tensor<8000x1xi32>, %in: tensor<8000xi1>) -> (tensor<400x32xf32>, tensor<40x32xf32>, tensor<8000x32xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<8000x40xf32>
  %g = "stablehlo.gather"(%e, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 40>}> : (tensor<600x40xf32>, tensor<400x1xi32>) -> tensor<400x40xf32>
  %h = "stablehlo.gather"(%e, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 40>}> : (tensor<600x40xf32>, tensor<400x1xi32>) -> tensor<400x40xf32>
  %k = "stablehlo.gather"(%e, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 40>}> : (tensor<600x40xf32>, tensor<8000x1xi32>) -> tensor<8000x40xf32>
  %m = stablehlo.broadcast_in_dim %in, dims = [0] : (tensor<8000xi1>) -> tensor<8000x40xi1>
  %s = stablehlo.select %m, %k, %zero : tensor<8000x40xi1>, tensor<8000x40xf32>
  %r = stablehlo.dot_general %g, %w, contracting_dims = [1] x [0] : (tensor<400x40xf32>, tensor<40x32xf32>) -> tensor<400x32xf32>
  %t = stablehlo.dot_general %h, %v, contracting_dims = [0] x [0] : (tensor<400x40xf32>, tensor<400x32xf32>) -> tensor<40x32xf32>
  %u = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<8000x40xf32>, tensor<40x32xf32>) -> tensor<8000x32xf32>
  return %r, %t, %u : tensor<400x32xf32>, tensor<40x32xf32>, tensor<8000x32xf32>
}

// -----

// The last token of each sequence.
// CHECK-LABEL: func.func @rows_of_product(
// CHECK: %[[G:[a-z0-9_]+]] = "stablehlo.gather"(%arg0, %arg2) {{.*}}offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]{{.*}}slice_sizes = array<i64: 1, 1, 8>
// CHECK: stablehlo.dot_general %[[G]], %arg1, contracting_dims = [1] x [0]{{.*}} -> tensor<4x50xf32>
func.func @rows_of_product(%x: tensor<4x20x8xf32>, %w: tensor<8x50xf32>, %i: tensor<4x2xi32>) -> tensor<4x50xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<4x20x8xf32>, tensor<8x50xf32>) -> tensor<4x20x50xf32>
  %r = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 50>}> : (tensor<4x20x50xf32>, tensor<4x2xi32>) -> tensor<4x50xf32>
  return %r : tensor<4x50xf32>
}

// -----

// As vmap writes it: the index of the columns, which is clamped to 0, becomes one of the terms.
// CHECK-LABEL: func.func @rows_of_product_in_a_batch(
// CHECK: %[[G:[a-z0-9_]+]] = "stablehlo.gather"(%arg0, %arg2) {{.*}}offset_dims = [1, 2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2]{{.*}}slice_sizes = array<i64: 1, 1, 8>
// CHECK: stablehlo.dot_general %[[G]], %arg1, contracting_dims = [2] x [0]{{.*}} -> tensor<4x1x50xf32>
func.func @rows_of_product_in_a_batch(%x: tensor<4x20x8xf32>, %w: tensor<8x50xf32>, %i: tensor<4x2xi32>) -> tensor<4x1x50xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<4x20x8xf32>, tensor<8x50xf32>) -> tensor<4x20x50xf32>
  %r = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 50>}> : (tensor<4x20x50xf32>, tensor<4x2xi32>) -> tensor<4x1x50xf32>
  return %r : tensor<4x1x50xf32>
}

// -----

// Some columns of each row; more rows than x has; another use.
// CHECK-LABEL: func.func @rows_of_product_not_of_columns(
// CHECK-COUNT-3: stablehlo.gather"(%{{[0-9]+}}
func.func @rows_of_product_not_of_columns(%x: tensor<4x20x8xf32>, %w: tensor<8x50xf32>, %i: tensor<4x2xi32>, %j: tensor<200x2xi32>) -> (tensor<4x30xf32>, tensor<200x50xf32>, tensor<4x50xf32>, tensor<4x20x50xf32>) {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<4x20x8xf32>, tensor<8x50xf32>) -> tensor<4x20x50xf32>
  %q = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<4x20x8xf32>, tensor<8x50xf32>) -> tensor<4x20x50xf32>
  %o = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<4x20x8xf32>, tensor<8x50xf32>) -> tensor<4x20x50xf32>
  %r = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 30>}> : (tensor<4x20x50xf32>, tensor<4x2xi32>) -> tensor<4x30xf32>
  %s = "stablehlo.gather"(%q, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 50>}> : (tensor<4x20x50xf32>, tensor<200x2xi32>) -> tensor<200x50xf32>
  %t = "stablehlo.gather"(%o, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 50>}> : (tensor<4x20x50xf32>, tensor<4x2xi32>) -> tensor<4x50xf32>
  return %r, %s, %t, %o : tensor<4x30xf32>, tensor<200x50xf32>, tensor<4x50xf32>, tensor<4x20x50xf32>
}

// -----

// Two ends of each edge of a graph, and its own features.
// CHECK-LABEL: func.func @product_of_concatenated_rows(
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %arg4 [0:24, 0:32]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.dot_general %arg0, %[[A]]{{.*}} -> tensor<50x32xf32>
// CHECK: stablehlo.gather"(%[[B]], %arg2)
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.slice %arg4 [24:48, 0:32]
// CHECK: %[[D:[a-z0-9_]+]] = stablehlo.dot_general %arg0, %[[C]]{{.*}} -> tensor<50x32xf32>
// CHECK: stablehlo.gather"(%[[D]], %arg3)
// CHECK: %[[E:[a-z0-9_]+]] = stablehlo.slice %arg4 [48:56, 0:32]
// CHECK: stablehlo.dot_general %arg1, %[[E]]
// CHECK-NEXT: stablehlo.add
func.func @product_of_concatenated_rows(%n: tensor<50x24xf32>, %e: tensor<1200x8xf32>, %i: tensor<1200x1xi32>, %j: tensor<1200x1xi32>, %w: tensor<56x32xf32>) -> tensor<1200x32xf32> {
  %a = "stablehlo.gather"(%n, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 24>}> : (tensor<50x24xf32>, tensor<1200x1xi32>) -> tensor<1200x24xf32>
  %b = "stablehlo.gather"(%n, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 24>}> : (tensor<50x24xf32>, tensor<1200x1xi32>) -> tensor<1200x24xf32>
  %c = stablehlo.concatenate %a, %b, %e, dim = 1 : (tensor<1200x24xf32>, tensor<1200x24xf32>, tensor<1200x8xf32>) -> tensor<1200x56xf32>
  %r = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<1200x56xf32>, tensor<56x32xf32>) -> tensor<1200x32xf32>
  return %r : tensor<1200x32xf32>
}

// -----

// No rows of a table; and as many rows in the table as are gathered.
// CHECK-LABEL: func.func @product_of_concatenated_rows_not_of_others(
// CHECK-COUNT-2: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
func.func @product_of_concatenated_rows_not_of_others(%n: tensor<900x24xf32>, %e: tensor<900x8xf32>, %i: tensor<900x1xi32>, %w: tensor<32x32xf32>) -> (tensor<900x32xf32>, tensor<900x32xf32>) {
  %a = "stablehlo.gather"(%n, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 24>}> : (tensor<900x24xf32>, tensor<900x1xi32>) -> tensor<900x24xf32>
  %b = stablehlo.concatenate %n, %e, dim = 1 : (tensor<900x24xf32>, tensor<900x8xf32>) -> tensor<900x32xf32>
  %c = stablehlo.concatenate %a, %e, dim = 1 : (tensor<900x24xf32>, tensor<900x8xf32>) -> tensor<900x32xf32>
  %r = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<900x32xf32>, tensor<32x32xf32>) -> tensor<900x32xf32>
  %s = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<900x32xf32>, tensor<32x32xf32>) -> tensor<900x32xf32>
  return %r, %s : tensor<900x32xf32>, tensor<900x32xf32>
}
