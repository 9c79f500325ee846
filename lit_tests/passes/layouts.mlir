// RUN: %jxc opt %s -p layouts{always=true} --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @store_transpose(
// CHECK-SAME: %[[X:.*]]: tensor<40x24xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[X]], dims = [1, 0]
// CHECK: %[[S:.*]] = stablehlo.custom_call @LayoutConstraint(%[[T]]) {{.*}}dense<[1, 0]>
// CHECK: stablehlo.add %[[S]],
func.func @store_transpose(%x: tensor<40x24xf32>) -> tensor<24x40xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<24x40xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.add %t, %one : tensor<24x40xf32>
  return %y : tensor<24x40xf32>
}

// -----

// The operand is computed with a constant, so it is stored as well.
// CHECK-LABEL: func.func @store_transpose_of_computed(
// CHECK: %[[Y:.*]] = stablehlo.add
// CHECK: %[[S:.*]] = stablehlo.custom_call @LayoutConstraint(%[[Y]])
// CHECK: %[[T:.*]] = stablehlo.transpose %[[S]]
// CHECK: stablehlo.custom_call @LayoutConstraint(%[[T]])
func.func @store_transpose_of_computed(%x: tensor<4x40x24xi32>) -> tensor<24x40x4xi32> {
  %one = stablehlo.constant dense<1> : tensor<4x40x24xi32>
  %y = stablehlo.add %x, %one : tensor<4x40x24xi32>
  %t = stablehlo.transpose %y, dims = [2, 1, 0] : (tensor<4x40x24xi32>) -> tensor<24x40x4xi32>
  return %t : tensor<24x40x4xi32>
}

// -----

// The second transpose undoes the first, and XLA computes the addition in the order of the operand.
// CHECK-LABEL: func.func @store_transpose_not_of_undone(
// CHECK: %[[T:.*]] = stablehlo.transpose
// CHECK-NEXT: stablehlo.add %[[T]],
func.func @store_transpose_not_of_undone(%x: tensor<40x24xf32>) -> tensor<40x24xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<24x40xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.add %t, %one : tensor<24x40xf32>
  %u = stablehlo.transpose %y, dims = [1, 0] : (tensor<24x40xf32>) -> tensor<40x24xf32>
  %z = stablehlo.custom_call @LayoutConstraint(%u) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<40x24xf32>) -> tensor<40x24xf32>
  return %z : tensor<40x24xf32>
}

// -----

// XLA reverses in the order of the operand as well.
// CHECK-LABEL: func.func @store_transpose_not_of_reversed(
// CHECK-NOT: LayoutConstraint
// CHECK: return
func.func @store_transpose_not_of_reversed(%x: tensor<40x24xf32>) -> tensor<24xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<24x40xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.multiply %t, %one : tensor<24x40xf32>
  %v = stablehlo.reverse %y, dims = [1] : tensor<24x40xf32>
  %u = stablehlo.transpose %v, dims = [1, 0] : (tensor<24x40xf32>) -> tensor<40x24xf32>
  %r = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<40x24xf32>, tensor<f32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// -----

// No operand of that size has an order: XLA computes the transpose at once.
// CHECK-LABEL: func.func @store_transpose_not_of_smaller(
// CHECK-NOT: LayoutConstraint
// CHECK: return
func.func @store_transpose_not_of_smaller(%x: tensor<40x1xf32>, %y: tensor<24xf32>) -> tensor<24x40xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %x, %zero, low = [0, 23], high = [0, 0], interior = [0, 0] : (tensor<40x1xf32>, tensor<f32>) -> tensor<40x24xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<24xf32>) -> tensor<40x24xf32>
  %s = stablehlo.add %p, %b : tensor<40x24xf32>
  %t = stablehlo.transpose %s, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  return %t : tensor<24x40xf32>
}

// -----

// The product reads its right operand in any order.
// CHECK-LABEL: func.func @store_transpose_not_before_product(
// CHECK-NOT: LayoutConstraint
// CHECK: return
func.func @store_transpose_not_before_product(%x: tensor<40x24xf32>, %w: tensor<8x40xf32>) -> tensor<8x24xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.exponential %t : tensor<24x40xf32>
  %z = stablehlo.dot_general %w, %y, contracting_dims = [1] x [1] : (tensor<8x40xf32>, tensor<24x40xf32>) -> tensor<8x24xf32>
  return %z : tensor<8x24xf32>
}

// -----

// CHECK-LABEL: func.func @store_transposed_factor(
// CHECK-SAME: %[[X:.*]]: tensor<40x24xf32>, %[[Y:.*]]: tensor<40x8xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[X]], dims = [1, 0]
// CHECK: %[[S:.*]] = stablehlo.custom_call @LayoutConstraint(%[[T]])
// CHECK: stablehlo.dot_general %[[S]], %[[Y]], contracting_dims = [1] x [0]
func.func @store_transposed_factor(%x: tensor<40x24xf32>, %y: tensor<40x8xf32>) -> tensor<24x8xf32> {
  %z = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<40x24xf32>, tensor<40x8xf32>) -> tensor<24x8xf32>
  return %z : tensor<24x8xf32>
}

// -----

// XLA copies the operands of a batch of products itself.
// CHECK-LABEL: func.func @store_transposed_factor_not_of_a_batch(
// CHECK-NEXT: stablehlo.dot_general
func.func @store_transposed_factor_not_of_a_batch(%x: tensor<4x40x24xf32>, %y: tensor<4x40x8xf32>) -> tensor<4x24x8xf32> {
  %z = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x40x24xf32>, tensor<4x40x8xf32>) -> tensor<4x24x8xf32>
  return %z : tensor<4x24x8xf32>
}

// -----

// The addition of a constant lies between a transpose and the one that undoes it.
// CHECK-LABEL: func.func @store_transpose_not_of_undoing(
// CHECK-NOT: LayoutConstraint
func.func @store_transpose_not_of_undoing(%x: tensor<40x24xf32>) -> tensor<40x24xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<24x40xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.add %t, %one : tensor<24x40xf32>
  %u = stablehlo.transpose %y, dims = [1, 0] : (tensor<24x40xf32>) -> tensor<40x24xf32>
  return %u : tensor<40x24xf32>
}

// -----

// Rows become columns, so that the factor of the upper triangle is the transpose of the result.
// CHECK-LABEL: func.func @cholesky_by_rows(
// CHECK: stablehlo.custom_call @lapack_spotrf_ffi(
// CHECK-SAME: uplo = 85 : ui8
// CHECK-SAME: num_batch_dims = "1"
// CHECK-SAME: operand_layouts = [dense<[2, 1, 0]>
// CHECK-SAME: output_operand_aliases
// CHECK-SAME: result_layouts = [dense<[2, 1, 0]> : tensor<3xindex>, dense<0>
func.func @cholesky_by_rows(%d: tensor<64x1x1xf32>, %o: tensor<64x1x1xf32>) -> (tensor<64x2x2xf32>, tensor<64xi32>) {
  %size = stablehlo.abs %d : tensor<64x1x1xf32>
  %more = stablehlo.exponential %size : tensor<64x1x1xf32>
  %most = stablehlo.exponential %more : tensor<64x1x1xf32>
  %small = stablehlo.tanh %o : tensor<64x1x1xf32>
  %first = stablehlo.concatenate %most, %small, dim = 2 : (tensor<64x1x1xf32>, tensor<64x1x1xf32>) -> tensor<64x1x2xf32>
  %second = stablehlo.concatenate %small, %most, dim = 2 : (tensor<64x1x1xf32>, tensor<64x1x1xf32>) -> tensor<64x1x2xf32>
  %x = stablehlo.concatenate %first, %second, dim = 1 : (tensor<64x1x2xf32>, tensor<64x1x2xf32>) -> tensor<64x2x2xf32>
  %l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {backend_config = "", mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<64x2x2xf32>) -> (tensor<64x2x2xf32>, tensor<64xi32>)
  %zero = stablehlo.constant dense<0> : tensor<64xi32>
  %done = stablehlo.compare EQ, %l#1, %zero : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %all = stablehlo.broadcast_in_dim %done, dims = [0] : (tensor<64xi1>) -> tensor<64x2x2xi1>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<64x2x2xf32>
  %r = stablehlo.select %all, %l#0, %nan : tensor<64x2x2xi1>, tensor<64x2x2xf32>
  return %r, %l#1 : tensor<64x2x2xf32>, tensor<64xi32>
}

// -----

// In f64, of batches in two dimensions.
// CHECK-LABEL: func.func @cholesky_by_rows_batches(
// CHECK: stablehlo.custom_call @lapack_dpotrf_ffi(
// CHECK-SAME: operand_layouts = [dense<[3, 2, 1, 0]>
func.func @cholesky_by_rows_batches(%d: tensor<8x9x1x1xf64>, %o: tensor<8x9x1x1xf64>) -> (tensor<8x9x2x2xf64>, tensor<8x9xi32>) {
  %size = stablehlo.abs %d : tensor<8x9x1x1xf64>
  %more = stablehlo.exponential %size : tensor<8x9x1x1xf64>
  %most = stablehlo.exponential %more : tensor<8x9x1x1xf64>
  %small = stablehlo.tanh %o : tensor<8x9x1x1xf64>
  %first = stablehlo.concatenate %most, %small, dim = 3 : (tensor<8x9x1x1xf64>, tensor<8x9x1x1xf64>) -> tensor<8x9x1x2xf64>
  %second = stablehlo.concatenate %small, %most, dim = 3 : (tensor<8x9x1x1xf64>, tensor<8x9x1x1xf64>) -> tensor<8x9x1x2xf64>
  %x = stablehlo.concatenate %first, %second, dim = 2 : (tensor<8x9x1x2xf64>, tensor<8x9x1x2xf64>) -> tensor<8x9x2x2xf64>
  %l:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<8x9x2x2xf64>) -> (tensor<8x9x2x2xf64>, tensor<8x9xi32>)
  %zeros = stablehlo.constant dense<0> : tensor<8x9xi32>
  %done = stablehlo.compare EQ, %l#1, %zeros : (tensor<8x9xi32>, tensor<8x9xi32>) -> tensor<8x9xi1>
  %all = stablehlo.broadcast_in_dim %done, dims = [0, 1] : (tensor<8x9xi1>) -> tensor<8x9x2x2xi1>
  %nan = stablehlo.constant dense<0x7FF8000000000000> : tensor<8x9x2x2xf64>
  %r = stablehlo.select %all, %l#0, %nan : tensor<8x9x2x2xi1>, tensor<8x9x2x2xf64>
  return %r, %l#1 : tensor<8x9x2x2xf64>, tensor<8x9xi32>
}

// -----

// CHECK-LABEL: func.func @cholesky_by_rows_in_loop(
// CHECK: stablehlo.custom_call @lapack_dpotrf_ffi(
// CHECK-SAME: operand_layouts = [dense<[1, 0]>
func.func @cholesky_by_rows_in_loop(%d: tensor<1x1xf64>, %o: tensor<1x1xf64>) -> tensor<2x2xf64> {
  %size = stablehlo.abs %d : tensor<1x1xf64>
  %more = stablehlo.exponential %size : tensor<1x1xf64>
  %most = stablehlo.exponential %more : tensor<1x1xf64>
  %small = stablehlo.tanh %o : tensor<1x1xf64>
  %first = stablehlo.concatenate %most, %small, dim = 1 : (tensor<1x1xf64>, tensor<1x1xf64>) -> tensor<1x2xf64>
  %second = stablehlo.concatenate %small, %most, dim = 1 : (tensor<1x1xf64>, tensor<1x1xf64>) -> tensor<1x2xf64>
  %x = stablehlo.concatenate %first, %second, dim = 0 : (tensor<1x2xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %end = stablehlo.constant dense<3> : tensor<i64>
  %loop:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<2x2xf64>
   cond {
    %go = stablehlo.compare LT, %i, %end : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %l:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%y) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[]> : tensor<0xindex>]} : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<i32>)
    %zeros = stablehlo.constant dense<0> : tensor<i32>
    %done = stablehlo.compare EQ, %l#1, %zeros : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %all = stablehlo.broadcast_in_dim %done, dims = [] : (tensor<i1>) -> tensor<2x2xi1>
    %nan = stablehlo.constant dense<0x7FF8000000000000> : tensor<2x2xf64>
    %r = stablehlo.select %all, %l#0, %nan : tensor<2x2xi1>, tensor<2x2xf64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %r : tensor<i64>, tensor<2x2xf64>
  }
  return %loop#1 : tensor<2x2xf64>
}

// -----

// The factor is used without a mask, so the values that LAPACK leaves after a failure are visible.
// CHECK-LABEL: func.func @cholesky_by_rows_not_unmasked(
// CHECK-NEXT: uplo = 76 : ui8
func.func @cholesky_by_rows_not_unmasked(%x: tensor<9x9xf32>) -> tensor<9x9xf32> {
  %l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[]> : tensor<0xindex>]} : (tensor<9x9xf32>) -> (tensor<9x9xf32>, tensor<i32>)
  return %l#0 : tensor<9x9xf32>
}

// -----

// The right-hand sides stay as they are.
// CHECK-LABEL: func.func @triangular_solve_by_rows(
// CHECK: stablehlo.custom_call @lapack_strsm_ffi(
// CHECK-SAME: diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8
// CHECK-SAME: operand_layouts = [dense<[2, 1, 0]> : tensor<3xindex>, dense<[1, 2, 0]>
// CHECK-SAME: result_layouts = [dense<[1, 2, 0]>
func.func @triangular_solve_by_rows(%a: tensor<64x2x2xf32>, %b: tensor<64x2x3xf32>) -> tensor<64x2x3xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<64x2x2xf32>
  %regular = stablehlo.maximum %a, %one : tensor<64x2x2xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%regular, %b) {backend_config = "", mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<64x2x2xf32>, tensor<64x2x3xf32>) -> tensor<64x2x3xf32>
  return %x : tensor<64x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @triangular_solve_by_rows_letters(
// CHECK: stablehlo.custom_call @lapack_dtrsm_ffi(
// CHECK-SAME: diag = 85 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8
// CHECK-SAME: operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0, 1]>
func.func @triangular_solve_by_rows_letters(%a: tensor<3x3xf64>, %b: tensor<5x3xf64>) -> tensor<5x3xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<3x3xf64>
  %regular = stablehlo.maximum %a, %one : tensor<3x3xf64>
  %x = stablehlo.custom_call @lapack_dtrsm_ffi(%regular, %b) {mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, trans_x = 67 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<3x3xf64>, tensor<5x3xf64>) -> tensor<5x3xf64>
  return %x : tensor<5x3xf64>
}

// -----

// BLAS takes the rows of %a for columns, and so reads the transpose.
// CHECK-LABEL: func.func @triangular_solve_by_rows_of_transpose(
// CHECK-SAME: %[[A:[a-z0-9_]+]]: tensor<3x3xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[A]],
// CHECK: stablehlo.custom_call @lapack_strsm_ffi(%[[R]], 
// CHECK-SAME: diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8
// CHECK-SAME: operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0, 1]>
func.func @triangular_solve_by_rows_of_transpose(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<3x3xf32>
  %regular = stablehlo.maximum %a, %one : tensor<3x3xf32>
  %t = stablehlo.transpose %regular, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%t, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %x : tensor<3x2xf32>
}

// -----

// Complex matrices, and a flag that BLAS does not define.
// CHECK-LABEL: func.func @triangular_solve_by_rows_not_unknown(
// CHECK-NEXT: operand_layouts = [dense<[1, 2, 0]>
// CHECK-NEXT: operand_layouts = [dense<[1, 2, 0]>
func.func @triangular_solve_by_rows_not_unknown(%a: tensor<64x2x2xf32>, %b: tensor<64x2x3xf32>, %c: tensor<64x2x2xcomplex<f32>>) -> (tensor<64x2x2xcomplex<f32>>, tensor<64x2x3xf32>) {
  %x = stablehlo.custom_call @lapack_ctrsm_ffi(%c, %c) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<64x2x2xcomplex<f32>>, tensor<64x2x2xcomplex<f32>>) -> tensor<64x2x2xcomplex<f32>>
  %y = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 65 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<64x2x2xf32>, tensor<64x2x3xf32>) -> tensor<64x2x3xf32>
  return %x, %y : tensor<64x2x2xcomplex<f32>>, tensor<64x2x3xf32>
}
