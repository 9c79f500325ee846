// RUN: %jxc opt %s -p scans --split-input-file | FileCheck %s

// A running maximum along the first dimension: each iteration computes a row from the one before.
// CHECK-LABEL: func.func @running_reduction_to_loop(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<16x600xf32>
// CHECK: %[[LEAST:[a-z0-9_]+]] = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[START:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[LEAST]], dims = [] : (tensor<f32>) -> tensor<1x600xf32>
// CHECK: %[[LOOP:[a-z0-9_]+]]:3 = stablehlo.while(%[[ITERATION:[a-z0-9_A-Z]+]] = %{{.*}}, %[[TOTAL:[a-z0-9_A-Z]+]] = %[[START]], %[[DONE:[a-z0-9_A-Z]+]] = %{{.*}})
// CHECK: stablehlo.constant dense<16> : tensor<i32>
// CHECK: %[[ROW:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %[[ITERATION]], %{{.*}}, sizes = [1, 600]
// CHECK: %[[MOST:[a-z0-9_]+]] = stablehlo.maximum %[[TOTAL]], %[[ROW]]
// CHECK: stablehlo.dynamic_update_slice %[[DONE]], %[[MOST]], %[[ITERATION]], %{{.*}}
// CHECK: return %[[LOOP]]#2
func.func @running_reduction_to_loop(%x: tensor<16x600xf32>) -> tensor<16x600xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<16x600xf32>, tensor<f32>) -> tensor<16x600xf32>
  return %y : tensor<16x600xf32>
}

// A running sum of integers in reverse, along the middle one of three dimensions.
// CHECK-LABEL: func.func @running_reduction_to_loop_reverse(
// CHECK: stablehlo.while
// CHECK: %[[LAST:[a-z0-9_]+]] = stablehlo.constant dense<15> : tensor<i32>
// CHECK: %[[PLACE:[a-z0-9_]+]] = stablehlo.subtract %[[LAST]],
// CHECK: stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %[[PLACE]], %{{.*}}, sizes = [2, 1, 300]
// CHECK-NOT: reduce_window
func.func @running_reduction_to_loop_reverse(%x: tensor<2x16x300xi32>) -> tensor<2x16x300xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [0, 15], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 16, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2x16x300xi32>, tensor<i32>) -> tensor<2x16x300xi32>
  return %y : tensor<2x16x300xi32>
}

// The initial value is not neutral: the loop would combine it once, and the windows several times.
// CHECK-LABEL: func.func @running_reduction_to_loop_not_from_one(
// CHECK: stablehlo.reduce_window
func.func @running_reduction_to_loop_not_from_one(%x: tensor<16x600xi32>) -> tensor<16x600xi32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<16x600xi32>, tensor<i32>) -> tensor<16x600xi32>
  return %y : tensor<16x600xi32>
}

// A window of 15 elements on an axis of 16.
// CHECK-LABEL: func.func @running_reduction_to_loop_not_shorter(
// CHECK: stablehlo.reduce_window
func.func @running_reduction_to_loop_not_shorter(%x: tensor<16x600xi32>) -> tensor<16x600xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[14, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 15, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<16x600xi32>, tensor<i32>) -> tensor<16x600xi32>
  return %y : tensor<16x600xi32>
}

// -----

// `cumsum` of bf16: the sum is in f32, because errors would accumulate.
// CHECK-LABEL: func.func @running_sum_to_loop(
// CHECK: stablehlo.convert %{{.*}} : (tensor<bf16>) -> tensor<f32>
// CHECK: stablehlo.while
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<1x600xbf16>) -> tensor<1x600xf32>
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.add %{{.*}}, %[[WIDE]]
// CHECK: stablehlo.convert %[[SUM]] : (tensor<1x600xf32>) -> tensor<1x600xbf16>
// CHECK-NOT: reduce_window
func.func @running_sum_to_loop(%x: tensor<16x600xbf16>) -> tensor<16x600xbf16> {
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %zero = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<bf16>) -> tensor<bf16>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %m = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %m : tensor<bf16>
  }) : (tensor<16x600xbf16>, tensor<bf16>) -> tensor<16x600xbf16>
  return %y : tensor<16x600xbf16>
}

// Along the last dimension: the loop reads the columns as rows of the transpose.
// CHECK-LABEL: func.func @running_sum_to_loop_columns(
// CHECK: %[[TURNED:[a-z0-9_]+]] = stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<2000x16xf32>) -> tensor<16x2000xf32>
// CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.custom_call @LayoutConstraint(%[[TURNED]])
// CHECK: %[[LOOP:[a-z0-9_]+]]:3 = stablehlo.while
// CHECK: stablehlo.dynamic_slice %[[ROWS]], %{{.*}}, sizes = [1, 2000]
// CHECK: stablehlo.add %{{.*}} : tensor<1x2000xf32>
// CHECK: %[[DONE:[a-z0-9_]+]] = stablehlo.custom_call @LayoutConstraint(%[[LOOP]]#2)
// CHECK: stablehlo.transpose %[[DONE]], dims = [1, 0] : (tensor<16x2000xf32>) -> tensor<2000x16xf32>
// CHECK-NOT: reduce_window
func.func @running_sum_to_loop_columns(%x: tensor<2000x16xf32>) -> tensor<2000x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [15, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 16>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2000x16xf32>, tensor<f32>) -> tensor<2000x16xf32>
  return %y : tensor<2000x16xf32>
}

// `cumprod`, multiplied in its own order.
// CHECK-LABEL: func.func @running_sum_to_loop_product(
// CHECK: stablehlo.while
// CHECK: stablehlo.multiply %{{.*}} : tensor<2x1x300xf64>
// CHECK-NOT: reduce_window
func.func @running_sum_to_loop_product(%x: tensor<2x16x300xf64>) -> tensor<2x16x300xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %y = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[0, 0], [15, 0], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 16, 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %m = stablehlo.multiply %a, %b : tensor<f64>
    stablehlo.return %m : tensor<f64>
  }) : (tensor<2x16x300xf64>, tensor<f64>) -> tensor<2x16x300xf64>
  return %y : tensor<2x16x300xf64>
}

// A product of one row keeps its order: eight elements are multiplied in an iteration.
// CHECK-LABEL: func.func @running_sum_to_loop_product_of_a_row(
// CHECK: %[[L:[a-z0-9_]+]]:3 = stablehlo.while(
// CHECK: stablehlo.dynamic_slice %arg0, %{{.*}}, sizes = [8]
// CHECK-COUNT-8: stablehlo.multiply %{{.*}} : tensor<1xf32>
// CHECK: stablehlo.dynamic_slice %arg0, %{{.*}}, sizes = [3]
// CHECK-COUNT-3: stablehlo.multiply %{{.*}} : tensor<1xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[L]]#2,
// CHECK-NEXT: return %[[R]]
func.func @running_sum_to_loop_product_of_a_row(%x: tensor<40003xf32>) -> tensor<40003xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[40002, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 40003>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<40003xf32>, tensor<f32>) -> tensor<40003xf32>
  return %y : tensor<40003xf32>
}

// In reverse, a product that underflows may meet an infinity earlier or later.
// CHECK-LABEL: func.func @running_sum_to_loop_not_product_backwards(
// CHECK: stablehlo.reduce_window
func.func @running_sum_to_loop_not_product_backwards(%x: tensor<2x16x300xf64>) -> tensor<2x16x300xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %y = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[0, 0], [0, 15], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 16, 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %m = stablehlo.multiply %a, %b : tensor<f64>
    stablehlo.return %m : tensor<f64>
  }) : (tensor<2x16x300xf64>, tensor<f64>) -> tensor<2x16x300xf64>
  return %y : tensor<2x16x300xf64>
}

// `cumlogsumexp` of one long row: the totals of blocks of 64 are scanned first, and combined with the
// blocks after them.
// CHECK-LABEL: func.func @running_sum_to_loop_blocks(
// CHECK: %[[PADDED:[a-z0-9_]+]] = stablehlo.pad %{{.*}}, low = [0], high = [60]
// CHECK: %[[BLOCKS:[a-z0-9_]+]] = stablehlo.reshape %[[PADDED]] : (tensor<4160xf32>) -> tensor<65x64xf32>
// CHECK: %[[STORED:[a-z0-9_]+]] = stablehlo.custom_call @LayoutConstraint(%[[BLOCKS]])
// CHECK: %[[TURNED:[a-z0-9_]+]] = stablehlo.transpose %[[STORED]], dims = [1, 0]
// CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.custom_call @LayoutConstraint(%[[TURNED]])
// CHECK: %[[TOTAL:[a-z0-9_]+]]:2 = stablehlo.while
// CHECK: stablehlo.log_plus_one
// CHECK: stablehlo.reshape %[[TOTAL]]#1 : (tensor<1x65xf32>) -> tensor<65xf32>
// CHECK: %[[OVER:[a-z0-9_]+]]:3 = stablehlo.while
// CHECK: %[[BEFORE:[a-z0-9_]+]] = stablehlo.pad %[[OVER]]#2, %{{.*}}, low = [1], high = [-1]
// CHECK: %[[PREVIOUS:[a-z0-9_]+]] = stablehlo.reshape %[[BEFORE]] : (tensor<65xf32>) -> tensor<1x65xf32>
// CHECK: %[[WITHIN:[a-z0-9_]+]]:3 = stablehlo.while
// CHECK: stablehlo.dynamic_slice %[[ROWS]], %{{.*}}, sizes = [1, 65]
// CHECK: stablehlo.maximum %[[PREVIOUS]],
// CHECK: %[[DONE:[a-z0-9_]+]] = stablehlo.custom_call @LayoutConstraint(%[[WITHIN]]#2)
// CHECK: stablehlo.transpose %[[DONE]], dims = [1, 0]
// CHECK: stablehlo.slice %{{.*}} [0:4100]
// CHECK-NOT: reduce_window
func.func @running_sum_to_loop_blocks(%x: tensor<4100xf32>) -> tensor<4100xf32> {
  %none = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %none) <{padding = dense<[[4099, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4100>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    %2 = stablehlo.subtract %a, %b : tensor<f32>
    %3 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.add %a, %b : tensor<f32>
    %5 = stablehlo.abs %2 : tensor<f32>
    %6 = stablehlo.negate %5 : tensor<f32>
    %7 = stablehlo.exponential %6 : tensor<f32>
    %8 = stablehlo.log_plus_one %7 : tensor<f32>
    %9 = stablehlo.add %1, %8 : tensor<f32>
    %10 = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f32>
    stablehlo.return %10 : tensor<f32>
  }) : (tensor<4100xf32>, tensor<f32>) -> tensor<4100xf32>
  return %y : tensor<4100xf32>
}

// So few elements that compiling a loop is not worth it.
// CHECK-LABEL: func.func @running_sum_to_loop_not_few(
// CHECK: stablehlo.reduce_window
func.func @running_sum_to_loop_not_few(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  return %y : tensor<16x8xf32>
}

// 16 MiB: the transposes would not stay in the cache.
// CHECK-LABEL: func.func @running_sum_to_loop_not_large(
// CHECK: stablehlo.reduce_window
func.func @running_sum_to_loop_not_large(%x: tensor<65536x64xf32>) -> tensor<65536x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [63, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<65536x64xf32>, tensor<f32>) -> tensor<65536x64xf32>
  return %y : tensor<65536x64xf32>
}

// The body lacks one op of `logaddexp`.
// CHECK-LABEL: func.func @running_sum_to_loop_not_another_body(
// CHECK: stablehlo.reduce_window
func.func @running_sum_to_loop_not_another_body(%x: tensor<16x600xf32>) -> tensor<16x600xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    %2 = stablehlo.subtract %a, %b : tensor<f32>
    %3 = stablehlo.add %1, %2 : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<16x600xf32>, tensor<f32>) -> tensor<16x600xf32>
  return %y : tensor<16x600xf32>
}
