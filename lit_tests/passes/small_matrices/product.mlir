// RUN: %jxc opt %s -p 'small-matrices{always=true}' | FileCheck %s

// As `jnp.matmul` writes it: four columns of x times rows of y, added up from 0.0.
// CHECK-LABEL: func.func @small_product_to_multiply_add(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x2x4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3x4x5xf32>
// CHECK: stablehlo.slice %[[X]] [0:3, 0:2, 0:1]
// CHECK: %[[COLUMN:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [0, 1] : (tensor<3x2xf32>) -> tensor<3x2x5xf32>
// CHECK: stablehlo.slice %[[Y]] [0:3, 0:1, 0:5]
// CHECK: %[[ROW:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [0, 2] : (tensor<3x5xf32>) -> tensor<3x2x5xf32>
// CHECK: stablehlo.slice %[[X]] [0:3, 0:2, 1:2]
// CHECK: stablehlo.slice %[[Y]] [0:3, 1:2, 0:5]
// CHECK: stablehlo.slice %[[Y]] [0:3, 3:4, 0:5]
// CHECK: %[[MINUS:[a-z0-9_]+]] = stablehlo.negate %[[COLUMN]]
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.multiply %[[MINUS]], %[[ROW]]
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.subtract %{{[a-z0-9_]+}}, %[[M]]
// CHECK: %[[Q:[a-z0-9_]+]] = stablehlo.multiply
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.add %[[P]], %[[Q]]
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.add %[[S]],
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.add %[[T]],
// CHECK-NEXT: return %[[R]]
func.func @small_product_to_multiply_add(%x: tensor<3x2x4xf32>, %y: tensor<3x4x5xf32>) -> tensor<3x2x5xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x2x4xf32>, tensor<3x4x5xf32>) -> tensor<3x2x5xf32>
  return %r : tensor<3x2x5xf32>
}

// Any dimension numbers: two batch dimensions in another order, and two contracting dimensions.
// CHECK-LABEL: func.func @small_product_to_multiply_add_any_dimensions(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x2x3x2xf64>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x2x3x2x3xf64>
// CHECK: stablehlo.slice %[[X]] [0:1, 0:4, 0:1, 0:3, 0:2]
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [2, 1, 0] : (tensor<4x3x2xf64>) -> tensor<2x3x4x3xf64>
// CHECK: stablehlo.slice %[[Y]] [0:2, 0:1, 0:3, 0:1, 0:3]
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [0, 1, 3] : (tensor<2x3x3xf64>) -> tensor<2x3x4x3xf64>
// CHECK: stablehlo.slice %[[X]] [0:1, 0:4, 1:2, 0:3, 0:2]
// CHECK: stablehlo.slice %[[Y]] [0:2, 1:2, 0:3, 0:1, 0:3]
// CHECK: stablehlo.slice %[[X]] [1:2, 0:4, 0:1, 0:3, 0:2]
// CHECK: stablehlo.slice %[[Y]] [0:2, 0:1, 0:3, 1:2, 0:3]
// CHECK-NOT: stablehlo.dot_general
func.func @small_product_to_multiply_add_any_dimensions(%x: tensor<2x4x2x3x2xf64>, %y: tensor<2x2x3x2x3xf64>) -> tensor<2x3x4x3xf64> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [4, 3] x [0, 2], contracting_dims = [0, 2] x [3, 1] : (tensor<2x4x2x3x2xf64>, tensor<2x2x3x2x3xf64>) -> tensor<2x3x4x3xf64>
  return %r : tensor<2x3x4x3xf64>
}

// XLA is fast for eight rows, but not for a batch of many such products.
// CHECK-LABEL: func.func @small_product_to_multiply_add_short(
// CHECK-NOT: stablehlo.dot_general
// CHECK: return
func.func @small_product_to_multiply_add_short(%x: tensor<64x8x2xf32>, %y: tensor<64x2x2xf32>) -> tensor<64x8x2xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<64x8x2xf32>, tensor<64x2x2xf32>) -> tensor<64x8x2xf32>
  return %r : tensor<64x8x2xf32>
}

// A rotation of points with three coordinates.
// CHECK-LABEL: func.func @tall_product_to_multiply_add(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1000x3xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK: stablehlo.slice %[[X]] [0:1000, 0:1]
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<1000xf32>) -> tensor<1000x2xf32>
// CHECK: stablehlo.slice %[[Y]] [0:2, 0:1]
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<2xf32>) -> tensor<1000x2xf32>
// CHECK-NOT: stablehlo.dot_general
// CHECK: return
func.func @tall_product_to_multiply_add(%x: tensor<1000x3xf32>, %y: tensor<2x3xf32>) -> tensor<1000x2xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<1000x3xf32>, tensor<2x3xf32>) -> tensor<1000x2xf32>
  return %r : tensor<1000x2xf32>
}

// CHECK-LABEL: func.func @tall_product_to_multiply_add_f64(
// CHECK-NOT: stablehlo.dot_general
// CHECK: return
func.func @tall_product_to_multiply_add_f64(%x: tensor<1024x2xf64>, %y: tensor<2x4xf64>) -> tensor<1024x4xf64> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1024x2xf64>, tensor<2x4xf64>) -> tensor<1024x4xf64>
  return %r : tensor<1024x4xf64>
}

// `x.T @ y`: the rows of x are added, each multiplied by an element of y.
// CHECK-LABEL: func.func @transposed_matrix_by_vector(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1000x16xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<1000xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[Y]], %[[X]], contracting_dims = [0] x [0], precision = [HIGHEST, DEFAULT]
// CHECK-NEXT: return %[[R]]
func.func @transposed_matrix_by_vector(%x: tensor<1000x16xf32>, %y: tensor<1000xf32>) -> tensor<16xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<1000x16xf32>) -> tensor<16x1000xf32>
  %r = stablehlo.dot_general %t, %y, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<16x1000xf32>, tensor<1000xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// Products of a matrix and a vector: no gain.
// CHECK-LABEL: func.func @small_product_to_multiply_add_not_vectors(
// CHECK-NEXT: stablehlo.dot_general
func.func @small_product_to_multiply_add_not_vectors(%x: tensor<3x6x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x6xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x6x4xf32>, tensor<3x4xf32>) -> tensor<3x6xf32>
  return %r : tensor<3x6xf32>
}

// 16-bit products are summed in f32, which costs more than it saves.
// CHECK-LABEL: func.func @small_product_to_multiply_add_not_16_bit(
// CHECK-NEXT: stablehlo.dot_general
func.func @small_product_to_multiply_add_not_16_bit(%x: tensor<3x4x4xbf16>, %y: tensor<3x4x4xbf16>) -> tensor<3x4x4xbf16> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x4x4xbf16>, tensor<3x4x4xbf16>) -> tensor<3x4x4xbf16>
  return %r : tensor<3x4x4xbf16>
}

// The product asks for an algorithm.
// CHECK-LABEL: func.func @small_product_to_multiply_add_not_as_asked(
// CHECK-NEXT: stablehlo.dot_general
func.func @small_product_to_multiply_add_not_as_asked(%x: tensor<3x4x4xf32>, %y: tensor<3x4x4xf32>) -> tensor<3x4x4xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4x4xf32>, tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  return %r : tensor<3x4x4xf32>
}

// CHECK-LABEL: func.func @small_product_to_multiply_add_not_dynamic(
// CHECK-NEXT: stablehlo.dot_general
func.func @small_product_to_multiply_add_not_dynamic(%x: tensor<?x4x4xf32>, %y: tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<?x4x4xf32>, tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return %r : tensor<?x4x4xf32>
}

// Each column of x is contiguous, and XLA vectorizes along it.
// CHECK-LABEL: func.func @tall_product_to_multiply_add_not_columns(
// CHECK-NEXT: stablehlo.dot_general
func.func @tall_product_to_multiply_add_not_columns(%x: tensor<3x1000xf32>, %y: tensor<3x2xf32>) -> tensor<1000x2xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3x1000xf32>, tensor<3x2xf32>) -> tensor<1000x2xf32>
  return %r : tensor<1000x2xf32>
}

// The matrix has the layout that XLA handles well.
// CHECK-LABEL: func.func @transposed_matrix_by_vector_not_rows(
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1
func.func @transposed_matrix_by_vector_not_rows(%x: tensor<16x1000xf32>, %y: tensor<1000xf32>) -> tensor<16xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x1000xf32>, tensor<1000xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// XLA would fuse the whole product into the reduction, which is slower.
// CHECK-LABEL: func.func @small_product_to_multiply_add_not_reduced(
// CHECK-NEXT: stablehlo.dot_general
func.func @small_product_to_multiply_add_not_reduced(%x: tensor<64x8x2xf32>, %y: tensor<64x2x2xf32>) -> tensor<64x8xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<64x8x2xf32>, tensor<64x2x2xf32>) -> tensor<64x8x2xf32>
  %e = stablehlo.tanh %r : tensor<64x8x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<64x8x2xf32>, tensor<f32>) -> tensor<64x8xf32>
  return %s : tensor<64x8xf32>
}
