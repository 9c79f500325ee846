// RUN: %jxc opt %s -p 'reductions{always=true}' --split-input-file | FileCheck %s

// Each matrix of x is multiplied by its own row of v.
// CHECK-LABEL: func.func @product_to_dot(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<32x3x348xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<32x348xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[X]], %[[V]], batching_dims = [0] x [0], contracting_dims = [2] x [1]
// CHECK-NEXT: return %[[R]]
func.func @product_to_dot(%x: tensor<32x3x348xf32>, %v: tensor<32x348xf32>) -> tensor<32x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %v, dims = [0, 2] : (tensor<32x348xf32>) -> tensor<32x3x348xf32>
  %p = stablehlo.multiply %b, %x : tensor<32x3x348xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<32x3x348xf32>, tensor<f32>) -> tensor<32x3xf32>
  return %r : tensor<32x3xf32>
}

// -----

// The sum is over two dimensions, which are transposed in v.
// CHECK-LABEL: func.func @product_to_dot_of_images(
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1, 2] x [1, 0]
func.func @product_to_dot_of_images(%x: tensor<32x16x20xf64>, %v: tensor<20x16xf64>) -> tensor<32xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %b = stablehlo.broadcast_in_dim %v, dims = [2, 1] : (tensor<20x16xf64>) -> tensor<32x16x20xf64>
  %p = stablehlo.multiply %x, %b : tensor<32x16x20xf64>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<32x16x20xf64>, tensor<f64>) -> tensor<32xf64>
  return %r : tensor<32xf64>
}

// -----

// x is computed: the fused sum needs no copy of it in memory.
// CHECK-LABEL: func.func @product_to_dot_not_of_what_is_computed(
// CHECK: stablehlo.reduce
func.func @product_to_dot_not_of_what_is_computed(%x: tensor<64x256xf32>, %v: tensor<256xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.abs %x : tensor<64x256xf32>
  %b = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
  %p = stablehlo.multiply %e, %b : tensor<64x256xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// A sum over columns, and one over a dimension that v lacks: the reduction is as fast.
// CHECK-LABEL: func.func @product_to_dot_not_over_columns(
// CHECK-COUNT-2: stablehlo.reduce
func.func @product_to_dot_not_over_columns(%x: tensor<64x256xf32>, %v: tensor<64xf32>) -> (tensor<256xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<64xf32>) -> tensor<64x256xf32>
  %p = stablehlo.multiply %x, %b : tensor<64x256xf32>
  %q = stablehlo.multiply %b, %x : tensor<64x256xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
  %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  return %r, %s : tensor<256xf32>, tensor<64xf32>
}

// -----

// An initial value of 1.0; 16 bits, which XLA sums in f32; a product with two users.
// CHECK-LABEL: func.func @product_to_dot_not_of_other_sums(
// CHECK-COUNT-3: stablehlo.reduce
func.func @product_to_dot_not_of_other_sums(%x: tensor<64x256xf32>, %v: tensor<256xf32>, %y: tensor<64x16xf32>, %w: tensor<16xf32>, %z: tensor<64x256xbf16>, %u: tensor<256xbf16>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xbf16>, tensor<64x256xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zero16 = stablehlo.constant dense<0.0> : tensor<bf16>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
  %b = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<16xf32>) -> tensor<64x16xf32>
  %c = stablehlo.broadcast_in_dim %u, dims = [1] : (tensor<256xbf16>) -> tensor<64x256xbf16>
  %p = stablehlo.multiply %x, %a : tensor<64x256xf32>
  %q = stablehlo.multiply %y, %b : tensor<64x16xf32>
  %o = stablehlo.multiply %z, %c : tensor<64x256xbf16>
  %m = stablehlo.multiply %a, %x : tensor<64x256xf32>
  %r = stablehlo.reduce(%p init: %one) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x16xf32>, tensor<f32>) -> tensor<64xf32>
  %t = stablehlo.reduce(%o init: %zero16) applies stablehlo.add across dimensions = [1] : (tensor<64x256xbf16>, tensor<bf16>) -> tensor<64xbf16>
  %n = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  return %r, %s, %t, %m, %n : tensor<64xf32>, tensor<64xf32>, tensor<64xbf16>, tensor<64x256xf32>, tensor<64xf32>
}

// -----

// One dimension of extent 1 is kept, in front of the others or among them.
// CHECK-LABEL: func.func @sum_of_product_without_units(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x64x256xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<1x64x256xf32>
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[X]] : (tensor<1x64x256xf32>) -> tensor<64x256xf32>
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.reshape %[[Y]] : (tensor<1x64x256xf32>) -> tensor<64x256xf32>
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.multiply %[[A]], %[[B]] : tensor<64x256xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[P]] init: {{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.reshape %[[R]] : (tensor<64xf32>) -> tensor<1x64xf32>
// CHECK-NEXT: return %[[S]]
func.func @sum_of_product_without_units(%x: tensor<1x64x256xf32>, %y: tensor<1x64x256xf32>) -> tensor<1x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.multiply %x, %y : tensor<1x64x256xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x64x256xf32>, tensor<f32>) -> tensor<1x64xf32>
  return %r : tensor<1x64xf32>
}

// -----

// CHECK-LABEL: func.func @sum_of_product_without_units_over_columns(
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
// CHECK-NEXT: stablehlo.reshape {{.*}} -> tensor<1x256x1xf32>
func.func @sum_of_product_without_units_over_columns(%x: tensor<64x1x256x1xf32>, %y: tensor<64x1x256x1xf32>) -> tensor<1x256x1xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.multiply %x, %y : tensor<64x1x256x1xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x1x256x1xf32>, tensor<f32>) -> tensor<1x256x1xf32>
  return %r : tensor<1x256x1xf32>
}

// -----

// A square, a sum over two dimensions, one without extents of 1, a maximum, a computed column.
// CHECK-LABEL: func.func @sum_of_product_without_units_not_of_others(
// CHECK-NOT: stablehlo.reshape
// CHECK: return
func.func @sum_of_product_without_units_not_of_others(%x: tensor<1x64x256xf32>, %y: tensor<1x64x256xf32>, %z: tensor<64x256xf32>, %w: tensor<64x256xf32>, %c: tensor<8192x1xf32>, %d: tensor<8192x1xf32>) -> (tensor<1x64xf32>, tensor<1xf32>, tensor<64xf32>, tensor<1x64xf32>, tensor<1xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %c : tensor<8192x1xf32>
  %f = stablehlo.multiply %e, %d : tensor<8192x1xf32>
  %u = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8192x1xf32>, tensor<f32>) -> tensor<1xf32>
  %p = stablehlo.multiply %x, %x : tensor<1x64x256xf32>
  %q = stablehlo.multiply %x, %y : tensor<1x64x256xf32>
  %o = stablehlo.multiply %z, %w : tensor<64x256xf32>
  %m = stablehlo.multiply %y, %x : tensor<1x64x256xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x64x256xf32>, tensor<f32>) -> tensor<1x64xf32>
  %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x64x256xf32>, tensor<f32>) -> tensor<1xf32>
  %t = stablehlo.reduce(%o init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  %n = stablehlo.reduce(%m init: %zero) applies stablehlo.maximum across dimensions = [2] : (tensor<1x64x256xf32>, tensor<f32>) -> tensor<1x64xf32>
  return %r, %s, %t, %n, %u : tensor<1x64xf32>, tensor<1xf32>, tensor<64xf32>, tensor<1x64xf32>, tensor<1xf32>
}
