// RUN: %jxc opt %s -p 'pooling{always=true}' --split-input-file | FileCheck %s

// The gradient of max pooling over disjoint windows: in each block, one element is selected.
// CHECK-LABEL: func.func @disjoint_select_and_scatter_to_compare(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x3xf32>, %[[DY:[a-z0-9]+]]: tensor<2x2x3xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:2, 0:3:2, 0:3]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:2, 1:4:2, 0:3]
// CHECK: %[[KEEPS:[a-z0-9_]+]] = stablehlo.compare GE, %[[A]], %[[B]], FLOAT
// CHECK: %[[CHOSEN:[a-z0-9_]+]] = stablehlo.select %[[KEEPS]], %{{.*}}, %{{.*}} : tensor<2x2x3xi1>, tensor<2x2x3xi8>
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[CHOSEN]], dims = [0, 1, 3] : (tensor<2x2x3xi8>) -> tensor<2x2x2x3xi8>
// CHECK: stablehlo.iota dim = 2 : tensor<2x2x2x3xi8>
// CHECK: %[[HERE:[a-z0-9_]+]] = stablehlo.compare EQ, %[[WIDE]],
// CHECK: %[[DYS:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[DY]], dims = [0, 1, 3]
// CHECK: stablehlo.select %[[HERE]], %[[DYS]],
// CHECK: stablehlo.reshape %{{.*}} : (tensor<2x2x2x3xf32>) -> tensor<2x4x3xf32>
// CHECK-NOT: select_and_scatter
func.func @disjoint_select_and_scatter_to_compare(%x: tensor<2x4x3xf32>, %dy: tensor<2x2x3xf32>) -> tensor<2x4x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{padding = dense<0> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4x3xf32>, tensor<2x2x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
  return %dx : tensor<2x4x3xf32>
}

// The windows leave out the last element.
// CHECK-LABEL: func.func @disjoint_select_and_scatter_to_compare_not_of_a_part(
// CHECK-NOT: stablehlo.iota
// CHECK: return
func.func @disjoint_select_and_scatter_to_compare_not_of_a_part(%x: tensor<2x7xf32>, %dy: tensor<2x2xf32>) -> tensor<2x7xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x7xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x7xf32>
  return %dx : tensor<2x7xf32>
}

// -----

// Windows of 3 at stride 2 overlap: two windows may select the same element. Here they select the
// least: `<=` has the operands in the other order.
// CHECK-LABEL: func.func @select_and_scatter_to_compare(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5x3xf32>, %[[DY:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:3:2, 0:3]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:4:2, 0:3]
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.slice %[[X]] [2:5:2, 0:3]
// CHECK: %[[FIRST:[a-z0-9_]+]] = stablehlo.compare LE, %[[B]], %[[A]], FLOAT
// CHECK: %[[BEST:[a-z0-9_]+]] = stablehlo.select %[[FIRST]], %[[A]], %[[B]]
// CHECK: stablehlo.compare LE, %[[C]], %[[BEST]], FLOAT
// CHECK: %[[CHOSEN:[a-z0-9_]+]] = stablehlo.pad %{{.*}}, low = [2, 0], high = [2, 0], interior = [1, 0] : (tensor<2x3xi8>, tensor<i8>) -> tensor<7x3xi8>
// CHECK: %[[DYS:[a-z0-9_]+]] = stablehlo.pad %[[DY]], %{{.*}}, low = [2, 0], high = [2, 0], interior = [1, 0]
// CHECK: stablehlo.slice %[[CHOSEN]] [2:7, 0:3]
// CHECK: stablehlo.slice %[[DYS]] [2:7, 0:3]
// CHECK: stablehlo.slice %[[CHOSEN]] [1:6, 0:3]
// CHECK: stablehlo.slice %[[CHOSEN]] [0:5, 0:3]
// CHECK-NOT: select_and_scatter
func.func @select_and_scatter_to_compare(%x: tensor<5x3xf32>, %dy: tensor<2x3xf32>) -> tensor<5x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LE, %b, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  return %dx : tensor<5x3xf32>
}

// Padding is never selected, whatever its value would be. JAX pads in an op before this one.
// CHECK-LABEL: func.func @select_and_scatter_to_compare_not_padded(
// CHECK: stablehlo.select_and_scatter
func.func @select_and_scatter_to_compare_not_padded(%x: tensor<4x3xf32>, %dy: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return %dx : tensor<4x3xf32>
}

// The scatter starts from a value that is not zero, which no known program writes.
// CHECK-LABEL: func.func @select_and_scatter_to_compare_not_from_one(
// CHECK: stablehlo.select_and_scatter
func.func @select_and_scatter_to_compare_not_from_one(%x: tensor<5x3xf32>, %dy: tensor<2x3xf32>) -> tensor<5x3xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %one) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  return %dx : tensor<5x3xf32>
}

// -----

// Overlapping 2x2 windows of bf16; then windows of integers that leave out the last row.
// CHECK-LABEL: func.func @select_and_scatter_to_compare_overlapping(
// CHECK: stablehlo.compare GE, %{{.*}}, FLOAT : (tensor<2x3x2xbf16>, tensor<2x3x2xbf16>) -> tensor<2x3x2xi1>
// CHECK: stablehlo.pad %{{.*}}, low = [1, 1, 0], high = [1, 1, 0], interior = [0, 0, 0] : (tensor<2x3x2xi8>, tensor<i8>)
// CHECK: stablehlo.add %{{.*}} : tensor<3x4x2xbf16>
// CHECK-NOT: select_and_scatter
func.func @select_and_scatter_to_compare_overlapping(%x: tensor<3x4x2xbf16>, %dy: tensor<2x3x2xbf16>) -> tensor<3x4x2xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 2, 2, 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = stablehlo.add %b, %a : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<3x4x2xbf16>, tensor<2x3x2xbf16>, tensor<bf16>) -> tensor<3x4x2xbf16>
  return %dx : tensor<3x4x2xbf16>
}

// CHECK-LABEL: func.func @select_and_scatter_to_compare_integers(
// CHECK: stablehlo.compare GT, %{{.*}}, SIGNED
// CHECK-NOT: select_and_scatter
func.func @select_and_scatter_to_compare_integers(%x: tensor<5x3xi32>, %dy: tensor<2x3xi32>) -> tensor<5x3xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<5x3xi32>, tensor<2x3xi32>, tensor<i32>) -> tensor<5x3xi32>
  return %dx : tensor<5x3xi32>
}

// -----

// Each of so many elements would have code of its own.
// CHECK-LABEL: func.func @select_and_scatter_to_compare_not_of_long_windows(
// CHECK: select_and_scatter
func.func @select_and_scatter_to_compare_not_of_long_windows(%x: tensor<80xf32>, %dy: tensor<16xf32>) -> tensor<80xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 65>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<80xf32>, tensor<16xf32>, tensor<f32>) -> tensor<80xf32>
  return %dx : tensor<80xf32>
}
