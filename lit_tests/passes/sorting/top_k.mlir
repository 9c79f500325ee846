// RUN: %jxc opt %s -p sorting --split-input-file | FileCheck %s

// The first elements in ascending order: top_k of the negated keys.
// CHECK-LABEL: func.func @slice_of_sort_to_top_k(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x64xf32>
// CHECK-NOT: stablehlo.sort
// CHECK: stablehlo.xor
// CHECK: %[[K:[a-z0-9_]+]] = stablehlo.bitcast_convert %{{.*}} -> tensor<2x64xf32>
// CHECK: %{{.*}}, %[[I:[a-z0-9_]+]] = chlo.top_k(%[[K]], k = 3)
// CHECK: %[[J:[a-z0-9_]+]] = stablehlo.reshape %[[I]]
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.gather"(%[[X]], %[[J]])
// CHECK: return %[[R]]
func.func @slice_of_sort_to_top_k(%x: tensor<2x64xf32>) -> tensor<2x3xf32> {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<2x64xf32>) -> tensor<2x64xf32>
  %r = stablehlo.slice %s [0:2, 0:3] : (tensor<2x64xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// The element before the last, in three dimensions. Ties take the last, so the index counts from
// the end.
// CHECK-LABEL: func.func @slice_of_sort_to_top_k_last_places(
// CHECK-NOT: stablehlo.sort
// CHECK: stablehlo.reverse %{{.*}}, dims = [2]
// CHECK: %[[K:[a-z0-9_]+]] = stablehlo.reshape %{{.*}} -> tensor<2x64xf32>
// CHECK: %{{.*}}, %[[I:[a-z0-9_]+]] = chlo.top_k(%[[K]], k = 2)
// CHECK: %[[J:[a-z0-9_]+]] = stablehlo.subtract
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.reverse %[[J]], dims = [2]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[T]] [0:1, 0:2, 0:1]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_sort_to_top_k_last_places(%x: tensor<1x2x64xf32>) -> tensor<1x2x1xi32> {
  %i = stablehlo.iota dim = 2 : tensor<1x2x64xi32>
  %s:2 = "stablehlo.sort"(%x, %i) <{dimension = 2 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c1: tensor<i32>, %d1: tensor<i32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<1x2x64xf32>, tensor<1x2x64xi32>) -> (tensor<1x2x64xf32>, tensor<1x2x64xi32>)
  %r = stablehlo.slice %s#1 [0:1, 0:2, 62:63] : (tensor<1x2x64xi32>) -> tensor<1x2x1xi32>
  return %r : tensor<1x2x1xi32>
}

// Elements from both ends: from the sorted array and from the reversed one.
// CHECK-LABEL: func.func @slice_of_sort_to_top_k_both_ends(
// CHECK-NOT: stablehlo.sort
// CHECK: chlo.top_k(%{{.*}}, k = 1)
// CHECK: chlo.top_k(%{{.*}}, k = 2)
// CHECK-NOT: stablehlo.sort
// CHECK: return
func.func @slice_of_sort_to_top_k_both_ends(%x: tensor<64xf32>) -> (tensor<1xf32>, tensor<2xf32>) {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  %a = stablehlo.slice %s [0:1] : (tensor<64xf32>) -> tensor<1xf32>
  %t = stablehlo.reverse %s, dims = [0] : tensor<64xf32>
  %b = stablehlo.slice %t [0:2] : (tensor<64xf32>) -> tensor<2xf32>
  return %a, %b : tensor<1xf32>, tensor<2xf32>
}

// So many elements (almost half of the axis) that the sort is as fast.
// CHECK-LABEL: func.func @slice_of_sort_to_top_k_not_many(
// CHECK-NOT: chlo.top_k
// CHECK: "stablehlo.sort"
// CHECK-NOT: chlo.top_k
// CHECK: return
func.func @slice_of_sort_to_top_k_not_many(%x: tensor<64xf32>) -> tensor<28xf32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  %a = stablehlo.slice %s [0:28] : (tensor<64xf32>) -> tensor<28xf32>
  return %a : tensor<28xf32>
}

// The median is far from both ends.
// CHECK-LABEL: func.func @slice_of_sort_to_top_k_not_middle(
// CHECK-NOT: chlo.top_k
// CHECK: "stablehlo.sort"
// CHECK-NOT: chlo.top_k
// CHECK: return
func.func @slice_of_sort_to_top_k_not_middle(%x: tensor<64xf32>) -> tensor<1xf32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  %a = stablehlo.slice %s [31:32] : (tensor<64xf32>) -> tensor<1xf32>
  return %a : tensor<1xf32>
}

// The whole sorted array is used elsewhere.
// CHECK-LABEL: func.func @slice_of_sort_to_top_k_not_all_used(
// CHECK-NOT: chlo.top_k
// CHECK: "stablehlo.sort"
// CHECK-NOT: chlo.top_k
// CHECK: return
func.func @slice_of_sort_to_top_k_not_all_used(%x: tensor<64xf32>) -> (tensor<1xf32>, tensor<64xf32>) {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  %a = stablehlo.slice %s [0:1] : (tensor<64xf32>) -> tensor<1xf32>
  return %a, %s : tensor<1xf32>, tensor<64xf32>
}

// top_k selects along the last axis only.
// CHECK-LABEL: func.func @slice_of_sort_to_top_k_not_another_axis(
// CHECK-NOT: chlo.top_k
// CHECK: "stablehlo.sort"
// CHECK-NOT: chlo.top_k
// CHECK: return
func.func @slice_of_sort_to_top_k_not_another_axis(%x: tensor<64x2xf32>) -> tensor<1x2xf32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<64x2xf32>) -> tensor<64x2xf32>
  %a = stablehlo.slice %s [0:1, 0:2] : (tensor<64x2xf32>) -> tensor<1x2xf32>
  return %a : tensor<1x2xf32>
}

// -----

// The smallest elements: top_k of the negated keys.
// CHECK-LABEL: func.func @approx_min_k_to_top_k(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5x40xf32>
// CHECK-NOT: stablehlo.custom_call
// CHECK: %{{.*}}, %[[I:[a-z0-9_]+]] = chlo.top_k(%{{.*}}, k = 4)
// CHECK: %[[J:[a-z0-9_]+]] = stablehlo.reshape %[[I]]
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.gather"(%[[X]], %[[J]])
// CHECK: return %[[R]], %[[I]]
func.func private @lt_approx_min_k_to_top_k(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %p = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %p : tensor<i1>
}
func.func @approx_min_k_to_top_k(%x: tensor<5x40xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<5x40xi32>
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %r:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %inf, %none) {called_computations = [@lt_approx_min_k_to_top_k], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 4 : i64}} : (tensor<5x40xf32>, tensor<5x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<5x4xf32>, tensor<5x4xi32>)
  return %r#0, %r#1 : tensor<5x4xf32>, tensor<5x4xi32>
}

// -----

// XLA finds the largest elements by top-k itself.
// CHECK-LABEL: func.func @approx_min_k_to_top_k_not_max(
// CHECK: stablehlo.custom_call @ApproxTopK
func.func private @gt_approx_min_k_to_top_k_not_max(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %p = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %p : tensor<i1>
}
func.func @approx_min_k_to_top_k_not_max(%x: tensor<5x40xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<5x40xi32>
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %r:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %inf, %none) {called_computations = [@gt_approx_min_k_to_top_k_not_max], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 4 : i64}} : (tensor<5x40xf32>, tensor<5x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<5x4xf32>, tensor<5x4xi32>)
  return %r#0, %r#1 : tensor<5x4xf32>, tensor<5x4xi32>
}
