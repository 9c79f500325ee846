// RUN: %jxc opt %s -p 'sorting{always=true enable-patterns=sort-to-network}' --split-input-file | FileCheck %s

// Three distances sort four elements. The sort in the branch finds the order of zeros.
// CHECK-LABEL: func.func @sort_to_network(
// CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<6x4xi32>) -> tensor<4x6xi32>
// CHECK: stablehlo.constant dense<[1, 3, 1]> : tensor<3xi32>
// CHECK: stablehlo.while
// CHECK: "stablehlo.gather"
// CHECK: stablehlo.maximum
// CHECK: stablehlo.minimum
// CHECK: "stablehlo.if"
// CHECK: "stablehlo.sort"
func.func @sort_to_network(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
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
  }) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return %s : tensor<6x4xf32>
}

// -----

// The greatest integer makes the axis, which is the outermost already, a power of two.
// CHECK-LABEL: func.func @sort_to_network_padded(
// CHECK-NOT: stablehlo.transpose
// CHECK: stablehlo.constant dense<32767> : tensor<i16>
// CHECK: stablehlo.pad {{.*}} -> tensor<8x6xi16>
// CHECK-NOT: stablehlo.sort
// CHECK: stablehlo.slice %{{.*}} [0:5, 0:6]
func.func @sort_to_network_padded(%x: tensor<5x6xi16>) -> tensor<5x6xi16> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<5x6xi16>) -> tensor<5x6xi16>
  return %s : tensor<5x6xi16>
}

// -----

// Equal elements would not keep their order, which the second operand shows.
// CHECK-LABEL: func.func @sort_to_network_not_two_operands(
// CHECK: "stablehlo.sort"
// CHECK-NOT: stablehlo.while
func.func @sort_to_network_not_two_operands(%x: tensor<6x4xi32>, %y: tensor<6x4xi32>) -> tensor<6x4xi32> {
  %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6x4xi32>, tensor<6x4xi32>) -> (tensor<6x4xi32>, tensor<6x4xi32>)
  return %s#1 : tensor<6x4xi32>
}

// -----

// In descending order.
// CHECK-LABEL: func.func @sort_to_network_not_descending(
// CHECK: "stablehlo.sort"
// CHECK-NOT: stablehlo.while
func.func @sort_to_network_not_descending(%x: tensor<6x4xi32>) -> tensor<6x4xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6x4xi32>) -> tensor<6x4xi32>
  return %s : tensor<6x4xi32>
}
