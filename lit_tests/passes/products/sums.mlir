// RUN: %jxc opt %s -p 'products{always=true}' --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sum_of_product(
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[S]], %arg1, contracting_dims = [0] x [0]{{.*}} -> tensor<40xf32>
// CHECK-NEXT: return %[[R]]
func.func @sum_of_product(%a: tensor<4x30x64xf32>, %b: tensor<64x40xf32>) -> tensor<40xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<4x30x64xf32>, tensor<64x40xf32>) -> tensor<4x30x40xf32>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x30x40xf32>, tensor<f32>) -> tensor<40xf32>
  return %r : tensor<40xf32>
}

// -----

// Over free dimensions of both operands, in a batch.
// CHECK-LABEL: func.func @sum_of_product_over_both(
// CHECK-DAG: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK-DAG: stablehlo.reduce(%arg1 init: %{{.*}}) applies stablehlo.add across dimensions = [2]
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [1] x [1]{{.*}} -> tensor<4xf64>
func.func @sum_of_product_over_both(%a: tensor<4x60x64xf64>, %b: tensor<4x64x50xf64>) -> tensor<4xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x60x64xf64>, tensor<4x64x50xf64>) -> tensor<4x60x50xf64>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1, 2] : (tensor<4x60x50xf64>, tensor<f64>) -> tensor<4xf64>
  return %r : tensor<4xf64>
}

// -----

// Another use; the sum of a batch; 16 bits; a maximum; from 1.0 on.
// CHECK-LABEL: func.func @sum_of_product_not_of_others(
// CHECK-COUNT-5: stablehlo.reduce(%{{[0-9]+}}
func.func @sum_of_product_not_of_others(%a: tensor<4x64x64xf32>, %b: tensor<4x64x64xf32>, %c: tensor<4x64x64xbf16>, %d: tensor<4x64x64xbf16>) -> (tensor<4x64x64xf32>, tensor<4x64xf32>, tensor<64x64xf32>, tensor<4x64xbf16>, tensor<4x64xf32>, tensor<4x64xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.constant dense<0.0> : tensor<bf16>
  %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %q = stablehlo.dot_general %b, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %s = stablehlo.dot_general %c, %d, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x64x64xbf16>, tensor<4x64x64xbf16>) -> tensor<4x64x64xbf16>
  %t = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %u = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  %1 = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %2 = stablehlo.reduce(%s init: %y) applies stablehlo.add across dimensions = [1] : (tensor<4x64x64xbf16>, tensor<bf16>) -> tensor<4x64xbf16>
  %3 = stablehlo.reduce(%t init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  %4 = stablehlo.reduce(%u init: %one) applies stablehlo.add across dimensions = [1] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  return %p, %0, %1, %2, %3, %4 : tensor<4x64x64xf32>, tensor<4x64xf32>, tensor<64x64xf32>, tensor<4x64xbf16>, tensor<4x64xf32>, tensor<4x64xf32>
}

// -----

// As jnp.trace writes it.
// CHECK-LABEL: func.func @trace_of_product(
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.transpose %arg1, dims = [1, 0]
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.multiply %arg0, %[[T]]
// CHECK: stablehlo.reduce(%[[P]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1]
func.func @trace_of_product(%a: tensor<80x120xf32>, %b: tensor<120x80xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<80x80xf32>
  %i = stablehlo.iota dim = 0 : tensor<80x80xi32>
  %j = stablehlo.iota dim = 1 : tensor<80x80xi32>
  %m = stablehlo.compare EQ, %i, %j : (tensor<80x80xi32>, tensor<80x80xi32>) -> tensor<80x80xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<80x120xf32>, tensor<120x80xf32>) -> tensor<80x80xf32>
  %s = stablehlo.select %m, %p, %zeros : tensor<80x80xi1>, tensor<80x80xf32>
  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<80x80xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// The traces of a batch. The transposed operand has its terms in the middle.
// CHECK-LABEL: func.func @trace_of_product_in_a_batch(
// CHECK: stablehlo.multiply %arg0, %{{.*}} : tensor<3x80x120xf32>
// CHECK: stablehlo.reduce({{.*}} across dimensions = [1, 2]
func.func @trace_of_product_in_a_batch(%a: tensor<3x80x120xf32>, %b: tensor<3x120x80xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<3x80x80xf32>
  %i = stablehlo.iota dim = 0 : tensor<80x80xi32>
  %j = stablehlo.iota dim = 1 : tensor<80x80xi32>
  %m = stablehlo.compare EQ, %i, %j : (tensor<80x80xi32>, tensor<80x80xi32>) -> tensor<80x80xi1>
  %n = stablehlo.broadcast_in_dim %m, dims = [1, 2] : (tensor<80x80xi1>) -> tensor<3x80x80xi1>
  %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x80x120xf32>, tensor<3x120x80xf32>) -> tensor<3x80x80xf32>
  %s = stablehlo.select %n, %p, %zeros : tensor<3x80x80xi1>, tensor<3x80x80xf32>
  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1, 2] : (tensor<3x80x80xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// -----

// What is below the diagonal, and the diagonal plus ones elsewhere.
// CHECK-LABEL: func.func @trace_of_product_not_of_a_triangle(
// CHECK-COUNT-2: stablehlo.dot_general
func.func @trace_of_product_not_of_a_triangle(%a: tensor<80x120xf32>, %b: tensor<120x80xf32>) -> (tensor<f32>, tensor<f32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<80x80xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<80x80xf32>
  %i = stablehlo.iota dim = 0 : tensor<80x80xi32>
  %j = stablehlo.iota dim = 1 : tensor<80x80xi32>
  %m = stablehlo.compare GE, %i, %j : (tensor<80x80xi32>, tensor<80x80xi32>) -> tensor<80x80xi1>
  %n = stablehlo.compare EQ, %i, %j : (tensor<80x80xi32>, tensor<80x80xi32>) -> tensor<80x80xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<80x120xf32>, tensor<120x80xf32>) -> tensor<80x80xf32>
  %q = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<80x120xf32>, tensor<80x120xf32>) -> tensor<80x80xf32>
  %s = stablehlo.select %m, %p, %zeros : tensor<80x80xi1>, tensor<80x80xf32>
  %t = stablehlo.select %n, %q, %ones : tensor<80x80xi1>, tensor<80x80xf32>
  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<80x80xf32>, tensor<f32>) -> tensor<f32>
  %u = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<80x80xf32>, tensor<f32>) -> tensor<f32>
  return %r, %u : tensor<f32>, tensor<f32>
}

// -----

// As jnp.diagonal writes it.
// CHECK-LABEL: func.func @diagonal_of_product(
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.multiply %arg0, %arg1
// CHECK: stablehlo.reduce(%[[P]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
func.func @diagonal_of_product(%a: tensor<80x120xf32>, %b: tensor<80x120xf32>) -> tensor<80xf32> {
  %i = stablehlo.iota dim = 0 : tensor<80x2xi32>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<80x120xf32>, tensor<80x120xf32>) -> tensor<80x80xf32>
  %r = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<80x80xf32>, tensor<80x2xi32>) -> tensor<80xf32>
  return %r : tensor<80xf32>
}

// -----

// Other indices; the product is not square.
// CHECK-LABEL: func.func @diagonal_of_product_not_of_other_indices(
// CHECK-COUNT-2: stablehlo.gather
func.func @diagonal_of_product_not_of_other_indices(%a: tensor<80x120xf32>, %b: tensor<80x120xf32>, %i: tensor<80x2xi32>, %c: tensor<90x120xf32>) -> (tensor<80xf32>, tensor<80xf32>) {
  %j = stablehlo.iota dim = 0 : tensor<80x2xi32>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<80x120xf32>, tensor<80x120xf32>) -> tensor<80x80xf32>
  %q = stablehlo.dot_general %a, %c, contracting_dims = [1] x [1] : (tensor<80x120xf32>, tensor<90x120xf32>) -> tensor<80x90xf32>
  %r = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<80x80xf32>, tensor<80x2xi32>) -> tensor<80xf32>
  %s = "stablehlo.gather"(%q, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<80x90xf32>, tensor<80x2xi32>) -> tensor<80xf32>
  return %r, %s : tensor<80xf32>, tensor<80xf32>
}

// -----

// CHECK-LABEL: func.func @sum_of_products_with_common_factor(
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.add %arg1, %arg2
// CHECK: stablehlo.dot_general %arg0, %[[S]], contracting_dims = [1] x [0], precision = [HIGH, HIGH]
func.func @sum_of_products_with_common_factor(%a: tensor<100x80xf32>, %b: tensor<80x90xf32>, %c: tensor<80x90xf32>) -> tensor<100x90xf32> {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGH, HIGH] : (tensor<100x80xf32>, tensor<80x90xf32>) -> tensor<100x90xf32>
  %q = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0], precision = [HIGH, HIGH] : (tensor<100x80xf32>, tensor<80x90xf32>) -> tensor<100x90xf32>
  %r = stablehlo.add %p, %q : tensor<100x90xf32>
  return %r : tensor<100x90xf32>
}

// -----

// CHECK-LABEL: func.func @sum_of_products_with_common_factor_on_the_right(
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.subtract %arg1, %arg2
// CHECK: stablehlo.dot_general %[[S]], %arg0, contracting_dims = [0] x [1]
func.func @sum_of_products_with_common_factor_on_the_right(%a: tensor<100x80xf32>, %b: tensor<80x90xf32>, %c: tensor<80x90xf32>) -> tensor<90x100xf32> {
  %p = stablehlo.dot_general %b, %a, contracting_dims = [0] x [1] : (tensor<80x90xf32>, tensor<100x80xf32>) -> tensor<90x100xf32>
  %q = stablehlo.dot_general %c, %a, contracting_dims = [0] x [1] : (tensor<80x90xf32>, tensor<100x80xf32>) -> tensor<90x100xf32>
  %r = stablehlo.subtract %p, %q : tensor<90x100xf32>
  return %r : tensor<90x100xf32>
}

// -----

// No common factor; a second use.
// CHECK-LABEL: func.func @sum_of_products_with_common_factor_not_of_others(
// CHECK-COUNT-4: stablehlo.dot_general
func.func @sum_of_products_with_common_factor_not_of_others(%a: tensor<100x80xf32>, %b: tensor<80x90xf32>, %c: tensor<80x90xf32>, %d: tensor<100x80xf32>) -> (tensor<100x90xf32>, tensor<100x90xf32>, tensor<100x90xf32>) {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<100x80xf32>, tensor<80x90xf32>) -> tensor<100x90xf32>
  %q = stablehlo.dot_general %d, %c, contracting_dims = [1] x [0] : (tensor<100x80xf32>, tensor<80x90xf32>) -> tensor<100x90xf32>
  %r = stablehlo.add %p, %q : tensor<100x90xf32>
  %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<100x80xf32>, tensor<80x90xf32>) -> tensor<100x90xf32>
  %t = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : (tensor<100x80xf32>, tensor<80x90xf32>) -> tensor<100x90xf32>
  %u = stablehlo.add %s, %t : tensor<100x90xf32>
  return %r, %s, %u : tensor<100x90xf32>, tensor<100x90xf32>, tensor<100x90xf32>
}
