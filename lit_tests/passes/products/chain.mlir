// RUN: %jxc opt %s -p products --split-input-file | FileCheck %s

// A matrix times a vector, twice, instead of a product of matrices.
// CHECK-LABEL: func.func @chain_of_products(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<80x64xf32>
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<64x72xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<72xf32>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.dot_general %[[B]], %[[V]], contracting_dims = [1] x [0]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[A]], %[[C]], contracting_dims = [1] x [0]
// CHECK-NEXT: return %[[R]]
func.func @chain_of_products(%a: tensor<80x64xf32>, %b: tensor<64x72xf32>, %v: tensor<72xf32>) -> tensor<80xf32> {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<80x64xf32>, tensor<64x72xf32>) -> tensor<80x72xf32>
  %r = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<80x72xf32>, tensor<72xf32>) -> tensor<80xf32>
  return %r : tensor<80xf32>
}

// -----

// The vector is on the left, and is multiplied with the left factor first.
// CHECK-LABEL: func.func @chain_of_products_from_the_left(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<80x64xf32>
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<64x72xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<80xf32>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.dot_general %[[V]], %[[A]], contracting_dims = [0] x [0]
// CHECK-NEXT: stablehlo.dot_general %[[C]], %[[B]], contracting_dims = [0] x [0]
func.func @chain_of_products_from_the_left(%a: tensor<80x64xf32>, %b: tensor<64x72xf32>, %v: tensor<80xf32>) -> tensor<72xf32> {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<80x64xf32>, tensor<64x72xf32>) -> tensor<80x72xf32>
  %r = stablehlo.dot_general %v, %p, contracting_dims = [0] x [0] : (tensor<80xf32>, tensor<80x72xf32>) -> tensor<72xf32>
  return %r : tensor<72xf32>
}

// -----

// Linear attention: K^T V has fewer elements than Q K^T. The result keeps the order of dimensions.
// CHECK-LABEL: func.func @chain_of_products_in_a_batch(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x96x3x16xf32>
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<2x96x3x16xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<2x96x3x24xf32>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.dot_general %[[V]], %[[K]], batching_dims = [0, 2] x [0, 2], contracting_dims = [1] x [1]{{.*}} -> tensor<2x3x24x16xf32>
// CHECK-NEXT: stablehlo.dot_general %[[C]], %[[Q]], batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [3]{{.*}} -> tensor<2x3x24x96xf32>
func.func @chain_of_products_in_a_batch(%q: tensor<2x96x3x16xf32>, %k: tensor<2x96x3x16xf32>, %v: tensor<2x96x3x24xf32>) -> tensor<2x3x24x96xf32> {
  %p = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x96x3x16xf32>, tensor<2x96x3x16xf32>) -> tensor<2x3x96x96xf32>
  %r = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x96x3x24xf32>, tensor<2x3x96x96xf32>) -> tensor<2x3x24x96xf32>
  return %r : tensor<2x3x24x96xf32>
}

// -----

// The left factor is summed whole, so that the right one comes last.
// CHECK-LABEL: func.func @chain_of_products_over_the_left_factor(
// CHECK: stablehlo.dot_general %arg0, %arg2, contracting_dims = [0] x [0]{{.*}} -> tensor<320xf32>
// CHECK-NEXT: stablehlo.dot_general %arg1, %{{.*}}, contracting_dims = [0] x [0]
func.func @chain_of_products_over_the_left_factor(%a: tensor<400x320xf32>, %b: tensor<320x360xf32>, %v: tensor<400xf32>) -> tensor<360xf32> {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<400x320xf32>, tensor<320x360xf32>) -> tensor<400x360xf32>
  %r = stablehlo.dot_general %p, %v, contracting_dims = [0] x [0] : (tensor<400x360xf32>, tensor<400xf32>) -> tensor<360xf32>
  return %r : tensor<360xf32>
}

// -----

// The order is good; the product has another use; precisions differ.
// CHECK-LABEL: func.func @chain_of_products_not_if_it_takes_longer(
// CHECK: stablehlo.dot_general %arg0, %arg1
// CHECK: stablehlo.dot_general %{{.*}}, %arg2
// CHECK: stablehlo.dot_general %arg0, %arg1
// CHECK: stablehlo.dot_general %{{.*}}, %arg3
// CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST]
// CHECK: stablehlo.dot_general %{{.*}}, %arg3
func.func @chain_of_products_not_if_it_takes_longer(%a: tensor<80x64xf32>, %b: tensor<64x72xf32>, %c: tensor<72x90xf32>, %v: tensor<72xf32>) -> (tensor<80x90xf32>, tensor<80x72xf32>, tensor<80xf32>, tensor<80xf32>) {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<80x64xf32>, tensor<64x72xf32>) -> tensor<80x72xf32>
  %r = stablehlo.dot_general %p, %c, contracting_dims = [1] x [0] : (tensor<80x72xf32>, tensor<72x90xf32>) -> tensor<80x90xf32>
  %q = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<80x64xf32>, tensor<64x72xf32>) -> tensor<80x72xf32>
  %s = stablehlo.dot_general %q, %v, contracting_dims = [1] x [0] : (tensor<80x72xf32>, tensor<72xf32>) -> tensor<80xf32>
  %o = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<80x64xf32>, tensor<64x72xf32>) -> tensor<80x72xf32>
  %t = stablehlo.dot_general %o, %v, contracting_dims = [1] x [0] : (tensor<80x72xf32>, tensor<72xf32>) -> tensor<80xf32>
  return %r, %q, %s, %t : tensor<80x90xf32>, tensor<80x72xf32>, tensor<80xf32>, tensor<80xf32>
}

// -----

// The columns of both factors would be in another order; and in a loop the product may be hoisted.
// CHECK-LABEL: func.func @chain_of_products_not_in_a_loop(
// CHECK: stablehlo.dot_general %arg3, %arg1
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general %arg0, %arg1
func.func @chain_of_products_not_in_a_loop(%a: tensor<80x80xf32>, %b: tensor<80x80xf32>, %v: tensor<80xf32>, %w: tensor<4x80x80xf32>, %u: tensor<80xf32>) -> (tensor<80xf32>, tensor<4x80xf32>) {
  %p = stablehlo.dot_general %w, %b, contracting_dims = [2] x [0] : (tensor<4x80x80xf32>, tensor<80x80xf32>) -> tensor<4x80x80xf32>
  %q = stablehlo.dot_general %p, %u, contracting_dims = [1] x [0] : (tensor<4x80x80xf32>, tensor<80xf32>) -> tensor<4x80xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%j = %i, %x = %v) : tensor<i32>, tensor<80xf32>
  cond {
    %c = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %k = stablehlo.add %j, %one : tensor<i32>
    %m = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<80x80xf32>, tensor<80x80xf32>) -> tensor<80x80xf32>
    %y = stablehlo.dot_general %m, %x, contracting_dims = [1] x [0] : (tensor<80x80xf32>, tensor<80xf32>) -> tensor<80xf32>
    stablehlo.return %k, %y : tensor<i32>, tensor<80xf32>
  }
  return %r#1, %q : tensor<80xf32>, tensor<4x80xf32>
}
