// RUN: %jxc opt %s -p 'pooling{always=true}' --split-input-file | FileCheck %s

// Max pooling as flax and keras write it: two slices along each dimension, and no other ops.
// CHECK-LABEL: func.func @window_of_any_order_to_slices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x4x6x3xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:1, 0:3:2, 0:6, 0:3]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:1, 1:4:2, 0:6, 0:3]
// CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.maximum %[[A]], %[[B]] : tensor<1x2x6x3xf32>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.slice %[[ROWS]] [0:1, 0:2, 0:5:2, 0:3]
// CHECK: %[[D:[a-z0-9_]+]] = stablehlo.slice %[[ROWS]] [0:1, 0:2, 1:6:2, 0:3]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[C]], %[[D]] : tensor<1x2x3x3xf32>
// CHECK-NEXT: return %[[R]]
func.func @window_of_any_order_to_slices(%x: tensor<1x4x6x3xf32>) -> tensor<1x2x3x3xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x4x6x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

// An initial value that is not neutral: for a maximum it may be taken several times.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_initial_value(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5xi32>, %[[INIT:[a-z0-9]+]]: tensor<i32>
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.pad %[[X]], %[[INIT]], low = [2], high = [1], interior = [1]
// CHECK: stablehlo.slice %[[P]] [0:9:2]
// CHECK: stablehlo.slice %[[P]] [3:12:2]
// CHECK: %[[MOST:[a-z0-9_]+]] = stablehlo.maximum
// CHECK: %[[START:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[INIT]], dims = [] : (tensor<i32>) -> tensor<5xi32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[START]], %[[MOST]]
// CHECK-NEXT: return %[[R]]
func.func @window_of_any_order_to_slices_initial_value(%x: tensor<5xi32>, %init: tensor<i32>) -> tensor<5xi32> {
  %y = "stablehlo.reduce_window"(%x, %init) <{base_dilations = array<i64: 2>, padding = dense<[[2, 1]]> : tensor<1x2xi64>, window_dilations = array<i64: 3>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
  return %y : tensor<5xi32>
}

// The longest overlapping window of two dimensions.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_longest_overlapping(
// CHECK-COUNT-62: stablehlo.maximum
// CHECK-NOT: reduce_window
// CHECK: return
func.func @window_of_any_order_to_slices_longest_overlapping(%x: tensor<33x33xf32>) -> tensor<2x2xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 32, 32>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<33x33xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// The longest overlapping window of one dimension.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_longest_one_dimensional(
// CHECK-COUNT-3: stablehlo.maximum
// CHECK-NOT: reduce_window
// CHECK: return
func.func @window_of_any_order_to_slices_longest_one_dimensional(%x: tensor<9x3xf32>) -> tensor<6x3xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 4, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<9x3xf32>, tensor<f32>) -> tensor<6x3xf32>
  return %y : tensor<6x3xf32>
}

// The longest window that does not overlap its neighbors.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_longest_adjacent(
// CHECK-COUNT-7: stablehlo.maximum
// CHECK-NOT: reduce_window
// CHECK: return
func.func @window_of_any_order_to_slices_longest_adjacent(%x: tensor<16x3xf32>) -> tensor<2x3xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 8, 1>, window_strides = array<i64: 8, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<16x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// Average pooling. 0.0 is added once to each window: a sum of only negative zeros is positive zero.
// CHECK-LABEL: func.func @window_sum_to_slices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x5x2xf32>
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.pad %[[X]], %[[ZERO]], low = [0, 1, 0], high = [0, 1, 0]
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[P]] [0:1, 0:5:2, 0:2]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[P]] [0:1, 1:6:2, 0:2]
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.slice %[[P]] [0:1, 2:7:2, 0:2]
// CHECK: %[[A1:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %{{.*}}, %[[A]]
// CHECK: %[[B1:[a-z0-9_]+]] = stablehlo.add %[[A1]], %[[B]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.add %[[B1]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @window_sum_to_slices(%x: tensor<1x5x2xf32>) -> tensor<1x3x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [1, 1], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x5x2xf32>, tensor<f32>) -> tensor<1x3x2xf32>
  return %y : tensor<1x3x2xf32>
}

// Products over windows of 3x2, with channels before space.
// CHECK-LABEL: func.func @window_sum_to_slices_product(
// CHECK-COUNT-6: stablehlo.multiply %{{.*}} : tensor<2x2x4xf32>
// CHECK-NOT: reduce_window
func.func @window_sum_to_slices_product(%x: tensor<2x4x5xf32>) -> tensor<2x2x4xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 1, 3, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<2x2x4xf32>
  return %y : tensor<2x2x4xf32>
}

// 36 elements in a window: one dimension after the other takes fewer ops than all at once.
// CHECK-LABEL: func.func @large_window_sum_to_slices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK: stablehlo.slice %[[X]] [0:3, 0:8]
// CHECK-COUNT-5: stablehlo.add %{{.*}} : tensor<3x8xf32>
// CHECK-COUNT-5: stablehlo.add %{{.*}} : tensor<3x3xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select
// CHECK-NEXT: return %[[R]]
func.func @large_window_sum_to_slices(%x: tensor<8x8xf32>) -> tensor<3x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 6, 6>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x8xf32>, tensor<f32>) -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}

// -----

// The gradient of an average over disjoint windows of 2. The operand had 5 elements.
// CHECK-LABEL: func.func @window_of_dilated_to_broadcast(
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<3x2xf32>
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %{{.*}}, %[[DY]]
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[SUM]], dims = [0, 1] : (tensor<3x2xf32>) -> tensor<3x2x2xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.reshape %[[WIDE]] : (tensor<3x2x2xf32>) -> tensor<3x4xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[IMAGE]], %[[ZERO]], low = [0, 0], high = [0, 1]
// CHECK-NEXT: return %[[R]]
func.func @window_of_dilated_to_broadcast(%dy: tensor<3x2xf32>) -> tensor<3x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %dy, %zero, low = [0, 1], high = [0, 2], interior = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x6xf32>
  %r = "stablehlo.reduce_window"(%p, %zero) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<3x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// The derivative of max pooling along a direction, as `jax.jvp` writes it.
// CHECK-LABEL: func.func @general_window_to_slices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x3xf32>, %[[T:[a-z0-9]+]]: tensor<4x3xf32>
// CHECK: %[[LEAST:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %{{.*}} -> tensor<2x3xf32>
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %{{.*}} -> tensor<2x3xf32>
// CHECK: %[[X0:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:3:2, 0:3]
// CHECK: %[[T0:[a-z0-9_]+]] = stablehlo.slice %[[T]] [0:3:2, 0:3]
// CHECK: %[[KEEPS:[a-z0-9_]+]] = stablehlo.compare GE, %[[LEAST]], %[[X0]], FLOAT
// CHECK: %[[X1:[a-z0-9_]+]] = stablehlo.select %[[KEEPS]], %[[LEAST]], %[[X0]]
// CHECK: %[[T1:[a-z0-9_]+]] = stablehlo.select %[[KEEPS]], %[[ZERO]], %[[T0]]
// CHECK: %[[AGAIN:[a-z0-9_]+]] = stablehlo.compare GE, %[[X1]],
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select %[[AGAIN]], %[[T1]],
// CHECK-NEXT: return %[[R]]
func.func @general_window_to_slices(%x: tensor<4x3xf32>, %t: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = "stablehlo.reduce_window"(%x, %t, %least, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %s: tensor<f32>, %b: tensor<f32>, %u: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %d = stablehlo.select %c, %a, %b : tensor<i1>, tensor<f32>
    %e = stablehlo.select %c, %s, %u : tensor<i1>, tensor<f32>
    stablehlo.return %d, %e : tensor<f32>, tensor<f32>
  }) : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return %r#1 : tensor<2x3xf32>
}

// One operand, several ops.
// CHECK-LABEL: func.func @general_window_to_slices_one_operand(
// CHECK: stablehlo.abs
// CHECK: stablehlo.add
// CHECK: stablehlo.abs
// CHECK-NOT: reduce_window
func.func @general_window_to_slices_one_operand(%x: tensor<5xi32>, %init: tensor<i32>) -> tensor<4xi32> {
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.abs %b : tensor<i32>
    %d = stablehlo.add %a, %c : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// -----

// XLA skips padding, and StableHLO adds the initial value for each element of it.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_not_padded_sum(
// CHECK: stablehlo.reduce_window
func.func @window_of_any_order_to_slices_not_padded_sum(%x: tensor<5xi32>, %init: tensor<i32>) -> tensor<5xi32> {
  %y = "stablehlo.reduce_window"(%x, %init) <{base_dilations = array<i64: 2>, padding = dense<[[2, 1]]> : tensor<1x2xi64>, window_dilations = array<i64: 3>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
  return %y : tensor<5xi32>
}

// -----

// One longer in each dimension: more ops to compile.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_not_longer_overlapping(
// CHECK: stablehlo.reduce_window
func.func @window_of_any_order_to_slices_not_longer_overlapping(%x: tensor<34x34xf32>) -> tensor<2x2xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 33, 33>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<34x34xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// Complex numbers may be unordered, so the order of the operands matters.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_not_complex(
// CHECK: stablehlo.reduce_window
func.func @window_of_any_order_to_slices_not_complex(%x: tensor<6xcomplex<f32>>, %init: tensor<complex<f32>>) -> tensor<5xcomplex<f32>> {
  %y = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %m = stablehlo.maximum %a, %b : tensor<complex<f32>>
    stablehlo.return %m : tensor<complex<f32>>
  }) : (tensor<6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
  return %y : tensor<5xcomplex<f32>>
}

// -----

// A running maximum is rewritten by `scans`.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_not_running(
// CHECK: stablehlo.reduce_window
func.func @window_of_any_order_to_slices_not_running(%x: tensor<6xf32>) -> tensor<6xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{padding = dense<[[5, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 6>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// The batch size is unknown, so no static slice of it can be written.
// CHECK-LABEL: func.func @window_of_any_order_to_slices_not_dynamic(
// CHECK: stablehlo.reduce_window
func.func @window_of_any_order_to_slices_not_dynamic(%x: tensor<?x6xf32>) -> tensor<?x3xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<?x6xf32>, tensor<f32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// -----

// The windows are long in both dimensions: XLA's loop compiles faster and is kept.
// CHECK-LABEL: func.func @large_window_sum_to_slices_not_very_large(
// CHECK: stablehlo.reduce_window
func.func @large_window_sum_to_slices_not_very_large(%x: tensor<40x40xf32>) -> tensor<2x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 39, 39>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<40x40xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// The gradient of a sum over an image: padding broadcasts one element, which XLA recognizes.
// CHECK-LABEL: func.func @window_sum_to_slices_not_one_element(
// CHECK: stablehlo.reduce_window
func.func @window_sum_to_slices_not_one_element(%y: tensor<2x1xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %p = stablehlo.pad %y, %one, low = [0, 3], high = [0, 3], interior = [0, 0] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x7xf32>
  %r = "stablehlo.reduce_window"(%p, %zero) <{window_dimensions = array<i64: 1, 4>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x7xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// -----

// Windows of 3 at stride 2 overlap: some elements are sums of two.
// CHECK-LABEL: func.func @window_of_dilated_to_broadcast_not_overlapping(
// CHECK-NOT: stablehlo.reshape
// CHECK: stablehlo.add
// CHECK: return
func.func @window_of_dilated_to_broadcast_not_overlapping(%dy: tensor<3x2xf32>) -> tensor<3x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %dy, %zero, low = [0, 2], high = [0, 2], interior = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x7xf32>
  %r = "stablehlo.reduce_window"(%p, %zero) <{window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// -----

// XLA skips padding, and StableHLO gives the initial value to the body for each element of it.
// CHECK-LABEL: func.func @general_window_to_slices_not_padded(
// CHECK: stablehlo.reduce_window
func.func @general_window_to_slices_not_padded(%x: tensor<5xi32>, %init: tensor<i32>) -> tensor<5xi32> {
  %r = "stablehlo.reduce_window"(%x, %init) <{padding = dense<[[1, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.abs %b : tensor<i32>
    %d = stablehlo.add %a, %c : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// -----

// 26 positions: the body would be compiled as many times.
// CHECK-LABEL: func.func @general_window_to_slices_not_many(
// CHECK: stablehlo.reduce_window
func.func @general_window_to_slices_not_many(%x: tensor<30xi32>, %init: tensor<i32>) -> tensor<5xi32> {
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 26>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.abs %b : tensor<i32>
    %d = stablehlo.add %a, %c : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) : (tensor<30xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}
