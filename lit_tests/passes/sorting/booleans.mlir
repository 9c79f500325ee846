// RUN: %jxc opt %s -p 'sorting{always=true}' --split-input-file | FileCheck %s

// `argsort` of a mask: False ones first, each at the number of False ones before it.
// CHECK-LABEL: func.func @sort_of_booleans_to_partition(
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: tensor<300xi1>, %[[Y:[a-z0-9]+]]: tensor<300xf32>
// CHECK: %[[AT:[a-z0-9_]+]] = stablehlo.iota dim = 0 : tensor<300xi32>
// CHECK: %[[TRUES:[a-z0-9_]+]] = "stablehlo.reduce_window"
// CHECK: %[[BEHIND:[a-z0-9_]+]] = stablehlo.subtract
// CHECK: %[[MOVED:[a-z0-9_]+]] = stablehlo.select %[[MASK]],
// CHECK: %[[FROM:[a-z0-9_]+]] = "stablehlo.scatter"(%{{.*}}) <{{.*}}unique_indices = true
// CHECK: %[[KEYS:[a-z0-9_]+]] = stablehlo.compare GE, %[[AT]],
// CHECK: %[[ROWS:[a-z0-9_]+]] = "stablehlo.gather"(%[[Y]],
// CHECK: return %[[KEYS]], %[[FROM]], %[[ROWS]]
func.func @sort_of_booleans_to_partition(%mask: tensor<300xi1>, %y: tensor<300xf32>) -> (tensor<300xi1>, tensor<300xi32>, tensor<300xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<300xi32>
  %s:3 = "stablehlo.sort"(%mask, %i, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>, %c1: tensor<i32>, %d1: tensor<i32>, %c2: tensor<f32>, %d2: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<300xi1>, tensor<300xi32>, tensor<300xf32>) -> (tensor<300xi1>, tensor<300xi32>, tensor<300xf32>)
  return %s#0, %s#1, %s#2 : tensor<300xi1>, tensor<300xi32>, tensor<300xf32>
}

// The first of two dimensions.
// CHECK-LABEL: func.func @sort_of_booleans_to_partition_columns(
// CHECK-NOT: stablehlo.sort
// CHECK: return
func.func @sort_of_booleans_to_partition_columns(%mask: tensor<30x4xi1>, %y: tensor<30x4xf32>) -> tensor<30x4xf32> {
  %s:2 = "stablehlo.sort"(%mask, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<30x4xi1>, tensor<30x4xf32>) -> (tensor<30x4xi1>, tensor<30x4xf32>)
  return %s#1 : tensor<30x4xf32>
}

// -----

// True ones first: JAX reverses the operands instead.
// CHECK-LABEL: func.func @sort_of_booleans_to_partition_not_descending(
// CHECK: "stablehlo.sort"
func.func @sort_of_booleans_to_partition_not_descending(%mask: tensor<300xi1>, %y: tensor<300xf32>) -> tensor<300xf32> {
  %s:2 = "stablehlo.sort"(%mask, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<300xi1>, tensor<300xf32>) -> (tensor<300xi1>, tensor<300xf32>)
  return %s#1 : tensor<300xf32>
}

// -----

// XLA may give equal elements another order.
// CHECK-LABEL: func.func @sort_of_booleans_to_partition_not_unstable(
// CHECK: "stablehlo.sort"
func.func @sort_of_booleans_to_partition_not_unstable(%mask: tensor<300xi1>, %y: tensor<300xf32>) -> tensor<300xf32> {
  %s:2 = "stablehlo.sort"(%mask, %y) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<300xi1>, tensor<300xf32>) -> (tensor<300xi1>, tensor<300xf32>)
  return %s#1 : tensor<300xf32>
}
