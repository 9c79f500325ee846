// RUN: %jxc opt %s -p 'small-matrices{always=true}' | FileCheck %s

// As `lax.linalg.cholesky` writes it. The second column is reduced by the product of the first.
// CHECK-LABEL: func.func @small_cholesky_to_columns(
// CHECK: %[[X:[a-z0-9_]+]] = stablehlo.concatenate {{.*}} -> tensor<64x2x2xf32>
// CHECK: stablehlo.slice %[[X]] [0:64, 0:2, 0:1]
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.reshape %{{.*}} -> tensor<64x2xf32>
// CHECK: stablehlo.slice %[[C]] [0:64, 0:1]
// CHECK: stablehlo.maximum
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.sqrt %{{.*}} : tensor<64xf32>
// CHECK: %[[FIRST:[a-z0-9_]+]] = stablehlo.divide %[[C]],
// CHECK: stablehlo.slice %[[X]] [0:64, 0:2, 1:2]
// CHECK: %[[D:[a-z0-9_]+]] = stablehlo.reshape %{{.*}} -> tensor<64x2xf32>
// CHECK: stablehlo.slice %[[FIRST]] [0:64, 1:2]
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.multiply %[[FIRST]],
// CHECK: %[[E:[a-z0-9_]+]] = stablehlo.subtract %[[D]], %[[P]]
// CHECK: stablehlo.slice %[[E]] [0:64, 1:2]
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.sqrt %{{.*}} : tensor<64xf32>
// CHECK: stablehlo.divide %[[E]],
// CHECK: %[[DIAGONAL:[a-z0-9_]+]] = stablehlo.compare EQ
// CHECK: %[[REST:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %{{.*}}, %[[X]]
// CHECK: stablehlo.select %[[DIAGONAL]], %{{.*}}, %[[REST]]
// CHECK: stablehlo.compare LE, %[[S]],
// CHECK: %[[SECOND:[a-z0-9_]+]] = stablehlo.select %{{.*}} : tensor<64xi1>, tensor<64xi32>
// CHECK: stablehlo.compare LE, %[[R]],
// CHECK: %[[INFO:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %{{.*}}, %[[SECOND]]
// CHECK: return %{{.*}}, %[[INFO]]
func.func @small_cholesky_to_columns(%d: tensor<64x1x1xf32>, %o: tensor<64x1x1xf32>) -> (tensor<64x2x2xf32>, tensor<64xi32>) {
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

// A single matrix is rewritten if it is in a loop.
// CHECK-LABEL: func.func @small_cholesky_to_columns_in_loop(
// CHECK-NOT: lapack
// CHECK: return
func.func @small_cholesky_to_columns_in_loop(%d: tensor<1x1xf64>, %o: tensor<1x1xf64>) -> tensor<2x2xf64> {
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

// Batches in two dimensions, in f64.
// CHECK-LABEL: func.func @small_cholesky_to_columns_batches(
// CHECK-NOT: lapack
// CHECK: return
func.func @small_cholesky_to_columns_batches(%d: tensor<8x9x1x1xf64>, %o: tensor<8x9x1x1xf64>) -> (tensor<8x9x2x2xf64>, tensor<8x9xi32>) {
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

// As `jax.vmap` writes it.
// CHECK-LABEL: func.func @small_cholesky_to_columns_pairs(
// CHECK-NOT: lapack
// CHECK: return
func.func @small_cholesky_to_columns_pairs(%d: tensor<200x1x1xf32>, %o: tensor<200x1x1xf32>) -> (tensor<200x2x2xf32>, tensor<200xi32>) {
  %size = stablehlo.abs %d : tensor<200x1x1xf32>
  %more = stablehlo.exponential %size : tensor<200x1x1xf32>
  %most = stablehlo.exponential %more : tensor<200x1x1xf32>
  %small = stablehlo.tanh %o : tensor<200x1x1xf32>
  %first = stablehlo.concatenate %most, %small, dim = 2 : (tensor<200x1x1xf32>, tensor<200x1x1xf32>) -> tensor<200x1x2xf32>
  %second = stablehlo.concatenate %small, %most, dim = 2 : (tensor<200x1x1xf32>, tensor<200x1x1xf32>) -> tensor<200x1x2xf32>
  %x = stablehlo.concatenate %first, %second, dim = 1 : (tensor<200x1x2xf32>, tensor<200x1x2xf32>) -> tensor<200x2x2xf32>
  %l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[0]> : tensor<1xindex>]} : (tensor<200x2x2xf32>) -> (tensor<200x2x2xf32>, tensor<200xi32>)
  %zeros = stablehlo.constant dense<0> : tensor<200xi32>
  %done = stablehlo.compare EQ, %l#1, %zeros : (tensor<200xi32>, tensor<200xi32>) -> tensor<200xi1>
  %all = stablehlo.broadcast_in_dim %done, dims = [0] : (tensor<200xi1>) -> tensor<200x2x2xi1>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<200x2x2xf32>
  %r = stablehlo.select %all, %l#0, %nan : tensor<200x2x2xi1>, tensor<200x2x2xf32>
  return %r, %l#1 : tensor<200x2x2xf32>, tensor<200xi32>
}

// As `jax.vmap` writes it, in f64.
// CHECK-LABEL: func.func @small_cholesky_to_columns_more_pairs(
// CHECK-NOT: lapack
// CHECK: return
func.func @small_cholesky_to_columns_more_pairs(%d: tensor<999x1x1xf64>, %o: tensor<999x1x1xf64>) -> (tensor<999x2x2xf64>, tensor<999xi32>) {
  %size = stablehlo.abs %d : tensor<999x1x1xf64>
  %more = stablehlo.exponential %size : tensor<999x1x1xf64>
  %most = stablehlo.exponential %more : tensor<999x1x1xf64>
  %small = stablehlo.tanh %o : tensor<999x1x1xf64>
  %first = stablehlo.concatenate %most, %small, dim = 2 : (tensor<999x1x1xf64>, tensor<999x1x1xf64>) -> tensor<999x1x2xf64>
  %second = stablehlo.concatenate %small, %most, dim = 2 : (tensor<999x1x1xf64>, tensor<999x1x1xf64>) -> tensor<999x1x2xf64>
  %x = stablehlo.concatenate %first, %second, dim = 1 : (tensor<999x1x2xf64>, tensor<999x1x2xf64>) -> tensor<999x2x2xf64>
  %l:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[0]> : tensor<1xindex>]} : (tensor<999x2x2xf64>) -> (tensor<999x2x2xf64>, tensor<999xi32>)
  %zeros = stablehlo.constant dense<0> : tensor<999xi32>
  %done = stablehlo.compare EQ, %l#1, %zeros : (tensor<999xi32>, tensor<999xi32>) -> tensor<999xi1>
  %all = stablehlo.broadcast_in_dim %done, dims = [0] : (tensor<999xi1>) -> tensor<999x2x2xi1>
  %nan = stablehlo.constant dense<0x7FF8000000000000> : tensor<999x2x2xf64>
  %r = stablehlo.select %all, %l#0, %nan : tensor<999x2x2xi1>, tensor<999x2x2xf64>
  return %r, %l#1 : tensor<999x2x2xf64>, tensor<999xi32>
}

// A lower triangle and two right-hand sides.
// CHECK-LABEL: func.func @small_triangular_solve_to_substitution(
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<64x2x3xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.maximum
// CHECK: stablehlo.slice %[[B]] [0:64, 0:1, 0:3]
// CHECK: stablehlo.slice %[[A]] [0:64, 0:1, 0:1]
// CHECK: %[[I:[a-z0-9_]+]] = stablehlo.divide %{{.*}} : tensor<64xf32>
// CHECK: stablehlo.broadcast_in_dim %[[I]], dims = [0]
// CHECK: %[[X:[a-z0-9_]+]] = stablehlo.multiply
// CHECK: stablehlo.slice %[[B]] [0:64, 1:2, 0:3]
// CHECK: %[[LINE:[a-z0-9_]+]] = stablehlo.reshape %{{.*}} -> tensor<64x3xf32>
// CHECK: stablehlo.slice %[[A]] [0:64, 1:2, 0:1]
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.multiply %{{.*}}, %[[X]]
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.subtract %[[LINE]], %[[P]]
// CHECK: stablehlo.slice %[[A]] [0:64, 1:2, 1:2]
// CHECK: stablehlo.multiply %[[S]],
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.concatenate %{{.*}}, dim = 1
// CHECK-NEXT: return %[[R]]
func.func @small_triangular_solve_to_substitution(%a: tensor<64x2x2xf32>, %b: tensor<64x2x3xf32>) -> tensor<64x2x3xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<64x2x2xf32>
  %regular = stablehlo.maximum %a, %one : tensor<64x2x2xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%regular, %b) {backend_config = "", mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<64x2x2xf32>, tensor<64x2x3xf32>) -> tensor<64x2x3xf32>
  return %x : tensor<64x2x3xf32>
}

// A transposed solve from the right with a unit diagonal: the last column of the transpose comes
// first.
// CHECK-LABEL: func.func @small_triangular_solve_to_substitution_letters(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<64x2x2xf64>
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<64x3x2xf64>
// CHECK: stablehlo.slice %[[B]] [0:64, 0:3, 1:2]
// CHECK: stablehlo.slice %[[B]] [0:64, 0:3, 0:1]
// CHECK: stablehlo.slice %[[A]] [0:64, 0:1, 1:2]
// CHECK: stablehlo.multiply
// CHECK-NOT: stablehlo.divide
// CHECK: stablehlo.concatenate %{{.*}}, dim = 2
func.func @small_triangular_solve_to_substitution_letters(%a: tensor<64x2x2xf64>, %b: tensor<64x3x2xf64>) -> tensor<64x3x2xf64> {
  %x = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<64x2x2xf64>, tensor<64x3x2xf64>) -> tensor<64x3x2xf64>
  return %x : tensor<64x3x2xf64>
}

// Calls that JAX never writes: the upper triangle, row-major layout, a 64-bit result for the
// failure.
// CHECK-LABEL: func.func @small_cholesky_to_columns_not_as_jax_calls(
// CHECK-NEXT: stablehlo.custom_call
// CHECK-NEXT: stablehlo.custom_call
// CHECK-NEXT: stablehlo.custom_call
func.func @small_cholesky_to_columns_not_as_jax_calls(%x: tensor<64x2x2xf32>) -> (tensor<64xi32>, tensor<64xi32>, tensor<64xi64>) {
  %l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[0]> : tensor<1xindex>]} : (tensor<64x2x2xf32>) -> (tensor<64x2x2xf32>, tensor<64xi32>)
  %m:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[2, 1, 0]> : tensor<3xindex>], result_layouts = [dense<[2, 1, 0]> : tensor<3xindex>, dense<[0]> : tensor<1xindex>]} : (tensor<64x2x2xf32>) -> (tensor<64x2x2xf32>, tensor<64xi32>)
  %n:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[0]> : tensor<1xindex>]} : (tensor<64x2x2xf32>) -> (tensor<64x2x2xf32>, tensor<64xi64>)
  return %l#1, %m#1, %n#1 : tensor<64xi32>, tensor<64xi32>, tensor<64xi64>
}

// The factor is used without a mask, so the values that LAPACK leaves after a failure are visible.
// CHECK-LABEL: func.func @small_cholesky_to_columns_not_unmasked(
// CHECK-NEXT: stablehlo.custom_call
func.func @small_cholesky_to_columns_not_unmasked(%x: tensor<64x2x2xf32>) -> tensor<64x2x2xf32> {
  %l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[0]> : tensor<1xindex>]} : (tensor<64x2x2xf32>) -> (tensor<64x2x2xf32>, tensor<64xi32>)
  return %l#0 : tensor<64x2x2xf32>
}

// A call with an annotation is kept.
// CHECK-LABEL: func.func @small_cholesky_to_columns_not_annotated(
// CHECK-NEXT: stablehlo.custom_call
func.func @small_cholesky_to_columns_not_annotated(%x: tensor<64x2x2xf32>) -> tensor<64xi32> {
  %l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, mhlo.sharding = "{replicated}", operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<64x2x2xf32>) -> (tensor<64x2x2xf32>, tensor<64xi32>)
  return %l#1 : tensor<64xi32>
}

// Complex matrices, and a flag that BLAS does not define.
// CHECK-LABEL: func.func @small_triangular_solve_to_substitution_not_unknown(
// CHECK-NEXT: stablehlo.custom_call @lapack_ctrsm_ffi
// CHECK-NEXT: stablehlo.custom_call @lapack_strsm_ffi
func.func @small_triangular_solve_to_substitution_not_unknown(%a: tensor<64x2x2xf32>, %b: tensor<64x2x3xf32>, %c: tensor<64x2x2xcomplex<f32>>) -> (tensor<64x2x2xcomplex<f32>>, tensor<64x2x3xf32>) {
  %x = stablehlo.custom_call @lapack_ctrsm_ffi(%c, %c) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<64x2x2xcomplex<f32>>, tensor<64x2x2xcomplex<f32>>) -> tensor<64x2x2xcomplex<f32>>
  %y = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 65 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<64x2x2xf32>, tensor<64x2x3xf32>) -> tensor<64x2x3xf32>
  return %x, %y : tensor<64x2x2xcomplex<f32>>, tensor<64x2x3xf32>
}
