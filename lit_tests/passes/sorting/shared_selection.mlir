// RUN: %jxc opt %s -p 'sorting{enable-patterns=sort-to-shared-selection}' --split-input-file | FileCheck %s

// A loop finds the key of one element, and the loop after it is for zeros. The next element is the
// same or the least one above.
// CHECK-LABEL: func.func @sort_to_shared_selection(
// CHECK-NOT: "stablehlo.sort"
// CHECK-COUNT-2: stablehlo.while
// CHECK-NOT: stablehlo.while
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[R:[a-z0-9_]+]] [0:60, 30:31]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[R]] [0:60, 31:32]
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @sort_to_shared_selection(%x: tensor<60x64xf32>) -> (tensor<60x1xf32>, tensor<60x1xf32>) {
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
  }) : (tensor<60x64xf32>) -> tensor<60x64xf32>
  %a = stablehlo.slice %s [0:60, 30:31] : (tensor<60x64xf32>) -> tensor<60x1xf32>
  %b = stablehlo.slice %s [0:60, 31:32] : (tensor<60x64xf32>) -> tensor<60x1xf32>
  return %a, %b : tensor<60x1xf32>, tensor<60x1xf32>
}

// -----

// The least element above another is slow to find in one row.
// CHECK-LABEL: func.func @sort_to_shared_selection_not_one_row(
// CHECK: "stablehlo.sort"
// CHECK-NOT: stablehlo.while
func.func @sort_to_shared_selection_not_one_row(%x: tensor<64xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
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
  %a = stablehlo.slice %s [30:31] : (tensor<64xf32>) -> tensor<1xf32>
  %b = stablehlo.slice %s [31:32] : (tensor<64xf32>) -> tensor<1xf32>
  return %a, %b : tensor<1xf32>, tensor<1xf32>
}
