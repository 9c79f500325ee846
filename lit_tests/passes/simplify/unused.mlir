// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sort_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x1xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3x1xi32>
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @sort_of_one(%x: tensor<3x1xf32>, %y: tensor<3x1xi32>) -> (tensor<3x1xf32>, tensor<3x1xi32>) {
  %r:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<3x1xf32>, tensor<3x1xi32>) -> (tensor<3x1xf32>, tensor<3x1xi32>)
  return %r#0, %r#1 : tensor<3x1xf32>, tensor<3x1xi32>
}

// CHECK-LABEL: func.func @sort_of_one_not_along_others(
// CHECK: stablehlo.sort
func.func @sort_of_one_not_along_others(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<3x1xf32>) -> tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}

// The comparator looks at what is dropped, and does nothing with it.
// CHECK-LABEL: func.func @sort_unused(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<5xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = "stablehlo.sort"(%[[X]])
// CHECK-SAME: is_stable = true
// CHECK: (tensor<5xf32>) -> tensor<5xf32>
// CHECK-NEXT: return %[[R]]
func.func @sort_unused(%x: tensor<5xf32>, %y: tensor<5xi32>) -> tensor<5xf32> {
  %r:2 = "stablehlo.sort"(%y, %x) ({
  ^bb0(%c: tensor<i32>, %d: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xi32>, tensor<5xf32>) -> (tensor<5xi32>, tensor<5xf32>)
  return %r#1 : tensor<5xf32>
}

// It is sorted by what is not used itself.
// CHECK-LABEL: func.func @sort_unused_not_keys(
// CHECK: (tensor<5xi32>, tensor<5xf32>) -> (tensor<5xi32>, tensor<5xf32>)
func.func @sort_unused_not_keys(%x: tensor<5xf32>, %y: tensor<5xi32>) -> tensor<5xf32> {
  %r:2 = "stablehlo.sort"(%y, %x) ({
  ^bb0(%c: tensor<i32>, %d: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xi32>, tensor<5xf32>) -> (tensor<5xi32>, tensor<5xf32>)
  return %r#1 : tensor<5xf32>
}

// The greatest, and not where it is.
// CHECK-LABEL: func.func @reduce_unused(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5xf32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %[[C]]) applies stablehlo.maximum
// CHECK-NEXT: return %[[R]]
func.func @reduce_unused(%x: tensor<5xf32>, %y: tensor<5xi32>, %c: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  %r:2 = stablehlo.reduce(%x init: %c), (%y init: %i) across dimensions = [0] : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.maximum %a, %b : tensor<f32>
    %l = stablehlo.select %p, %k, %j : tensor<i1>, tensor<i32>
    stablehlo.return %m, %l : tensor<f32>, tensor<i32>
  }
  return %r#0 : tensor<f32>
}

// Where the greatest is depends on how great it is.
// CHECK-LABEL: func.func @reduce_unused_not_asked_for(
// CHECK: stablehlo.reduce
// CHECK-SAME: (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
func.func @reduce_unused_not_asked_for(%x: tensor<5xf32>, %y: tensor<5xi32>, %c: tensor<f32>, %i: tensor<i32>) -> tensor<i32> {
  %r:2 = stablehlo.reduce(%x init: %c), (%y init: %i) across dimensions = [0] : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.maximum %a, %b : tensor<f32>
    %l = stablehlo.select %p, %k, %j : tensor<i1>, tensor<i32>
    stablehlo.return %m, %l : tensor<f32>, tensor<i32>
  }
  return %r#1 : tensor<i32>
}
