// RUN: %jxc opt %s -p simplify,convolution,elementary,pooling,small-matrices,sorting,reductions,layouts --split-input-file | FileCheck %s

// What the gate decides by the shipped prices, a rewrite that pays and one that does not.

// CHECK-LABEL: func.func @sine_of_many(
// CHECK-NOT: stablehlo.sine
// CHECK: return
func.func @sine_of_many(%x: tensor<1000000xf32>) -> tensor<1000000xf32> {
  %y = stablehlo.sine %x : tensor<1000000xf32>
  return %y : tensor<1000000xf32>
}

// -----

// CHECK-LABEL: func.func @sine_of_few(
// CHECK: stablehlo.sine
func.func @sine_of_few(%x: tensor<1100xf32>) -> tensor<1100xf32> {
  %y = stablehlo.sine %x : tensor<1100xf32>
  return %y : tensor<1100xf32>
}

// -----

// In a loop of 1000 iterations it pays to compile the formula.
// CHECK-LABEL: func.func @tangent_in_a_loop(
// CHECK-NOT: stablehlo.tan
// CHECK: return
func.func @tangent_in_a_loop(%x: tensor<1100xf32>) -> tensor<1100xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<1000> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<1100xf32>
  cond {
    %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.tan %y : tensor<1100xf32>
    stablehlo.return %next, %z : tensor<i32>, tensor<1100xf32>
  }
  return %0#1 : tensor<1100xf32>
}

// -----

// CHECK-LABEL: func.func @tangent_alone(
// CHECK: stablehlo.tan
func.func @tangent_alone(%x: tensor<1100xf32>) -> tensor<1100xf32> {
  %y = stablehlo.tan %x : tensor<1100xf32>
  return %y : tensor<1100xf32>
}

// -----

// CHECK-LABEL: func.func @many_small_products(
// CHECK-NOT: stablehlo.dot_general
// CHECK: return
func.func @many_small_products(%x: tensor<1000x4x4xf32>, %y: tensor<1000x4x4xf32>) -> tensor<1000x4x4xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1000x4x4xf32>, tensor<1000x4x4xf32>) -> tensor<1000x4x4xf32>
  return %r : tensor<1000x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @small_product_alone(
// CHECK: stablehlo.dot_general
func.func @small_product_alone(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @window_of_few(
// CHECK: stablehlo.reduce_window
func.func @window_of_few(%x: tensor<9x3xf32>) -> tensor<5x3xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 5, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<9x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}

// -----

// XLA's library computes the convolution, the bias, the maximum and the window in one kernel.
// CHECK-LABEL: func.func @window_after_convolution(
// CHECK: stablehlo.reduce_window
// CHECK: return
func.func @window_after_convolution(%x: tensor<8x56x56x32xf32>, %w: tensor<3x3x32x32xf32>, %b: tensor<8x56x56x32xf32>) -> tensor<8x28x28x32xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<8x56x56x32xf32>
  %c = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x32xf32>, tensor<3x3x32x32xf32>) -> tensor<8x56x56x32xf32>
  %s = stablehlo.add %c, %b : tensor<8x56x56x32xf32>
  %r = stablehlo.maximum %s, %zero : tensor<8x56x56x32xf32>
  %y = "stablehlo.reduce_window"(%r, %least) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %m = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x56x56x32xf32>, tensor<f32>) -> tensor<8x28x28x32xf32>
  return %y : tensor<8x28x28x32xf32>
}

// -----

// Not so where the operand of the window is kept, as in training.
// CHECK-LABEL: func.func @window_after_convolution_that_is_kept(
// CHECK-NOT: stablehlo.reduce_window
// CHECK: return
func.func @window_after_convolution_that_is_kept(%x: tensor<8x56x56x32xf32>, %w: tensor<3x3x32x32xf32>, %b: tensor<8x56x56x32xf32>) -> (tensor<8x28x28x32xf32>, tensor<8x56x56x32xf32>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<8x56x56x32xf32>
  %c = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x32xf32>, tensor<3x3x32x32xf32>) -> tensor<8x56x56x32xf32>
  %s = stablehlo.add %c, %b : tensor<8x56x56x32xf32>
  %r = stablehlo.maximum %s, %zero : tensor<8x56x56x32xf32>
  %y = "stablehlo.reduce_window"(%r, %least) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %m = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x56x56x32xf32>, tensor<f32>) -> tensor<8x28x28x32xf32>
  return %y, %r : tensor<8x28x28x32xf32>, tensor<8x56x56x32xf32>
}

// -----

// Along a short axis, the single reduction is faster.
// CHECK-LABEL: func.func @argmax_of_short_rows(
// CHECK: reducer
// CHECK: return
func.func @argmax_of_short_rows(%x: tensor<500x5xf32>) -> tensor<500xi32> {
  %places = stablehlo.iota dim = 1 : tensor<500x5xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [1] : (tensor<500x5xf32>, tensor<500x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<500xf32>, tensor<500xi32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %0 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.or %0, %1 : tensor<i1>
    %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.and %3, %4 : tensor<i1>
    %6 = stablehlo.or %2, %5 : tensor<i1>
    %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %8 = stablehlo.select %6, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
  }
  return %r#1 : tensor<500xi32>
}

// -----

// So few elements that both take a few microseconds.
// CHECK-LABEL: func.func @sum_of_few_rows(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @sum_of_few_rows(%x: tensor<20x3xf32>) -> tensor<20xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<20x3xf32>, tensor<f32>) -> tensor<20xf32>
  return %r : tensor<20xf32>
}

// -----

// So few elements that both take a few microseconds.
// CHECK-LABEL: func.func @sort_of_few(
// CHECK-NOT: i64>
// CHECK: "stablehlo.sort"
// CHECK-NOT: i64>
// CHECK: return
func.func @sort_of_few(%x: tensor<20xf32>) -> tensor<20xf32> {
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
  }) : (tensor<20xf32>) -> tensor<20xf32>
  return %s : tensor<20xf32>
}

// -----

// XLA has no library for a depthwise convolution.
// CHECK-LABEL: func.func @depthwise_convolution(
// CHECK-NOT: stablehlo.convolution
// CHECK: return
func.func @depthwise_convolution(%x: tensor<8x32x32x64xf32>, %w: tensor<3x3x1x64xf32>) -> tensor<8x30x30x64xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 64 : i64} : (tensor<8x32x32x64xf32>, tensor<3x3x1x64xf32>) -> tensor<8x30x30x64xf32>
  return %y : tensor<8x30x30x64xf32>
}

// -----

// Few channels: XLA multiplies all with all others, by a library.
// CHECK-LABEL: func.func @weight_gradient_of_few_channels(
// CHECK-NEXT: stablehlo.convolution
func.func @weight_gradient_of_few_channels(%x: tensor<2x6x2xf32>, %dy: tensor<2x4x2xf32>) -> tensor<3x1x2xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x6x2xf32>, tensor<2x4x2xf32>) -> tensor<3x1x2xf32>
  return %dw : tensor<3x1x2xf32>
}

// -----

// The transpose of a product is a kernel; a product of one term fuses with it.
// CHECK-LABEL: func.func @transpose_of_dot(
// CHECK-NEXT: stablehlo.dot_general %{{.*}} -> tensor<70x60xf32>
// CHECK-NEXT: stablehlo.dot_general %{{.*}} -> tensor<60x70xf32>
// CHECK-NEXT: stablehlo.transpose
func.func @transpose_of_dot(%x: tensor<60x80xf32>, %y: tensor<80x70xf32>, %u: tensor<60x1xf32>, %v: tensor<1x70xf32>) -> (tensor<70x60xf32>, tensor<70x60xf32>) {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<60x80xf32>, tensor<80x70xf32>) -> tensor<60x70xf32>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<60x70xf32>) -> tensor<70x60xf32>
  %b = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] : (tensor<60x1xf32>, tensor<1x70xf32>) -> tensor<60x70xf32>
  %s = stablehlo.transpose %b, dims = [1, 0] : (tensor<60x70xf32>) -> tensor<70x60xf32>
  return %r, %s : tensor<70x60xf32>, tensor<70x60xf32>
}

// -----

// The gradient of max pooling: XLA walks through each window on its own.
// CHECK-LABEL: func.func @select_and_scatter_of_many(
// CHECK-NOT: select_and_scatter
// CHECK: return
func.func @select_and_scatter_of_many(%x: tensor<1x57x57x16xf32>, %dy: tensor<1x28x28x16xf32>) -> tensor<1x57x57x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1x57x57x16xf32>, tensor<1x28x28x16xf32>, tensor<f32>) -> tensor<1x57x57x16xf32>
  return %dx : tensor<1x57x57x16xf32>
}

// -----

// CHECK-LABEL: func.func @select_and_scatter_not_of_few(
// CHECK: select_and_scatter
func.func @select_and_scatter_not_of_few(%x: tensor<7xf32>, %dy: tensor<3xf32>) -> tensor<7xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<7xf32>, tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  return %dx : tensor<7xf32>
}

// -----

// CHECK-LABEL: func.func @transposed_matrix_by_vector_of_many_columns(
// CHECK-NEXT: stablehlo.dot_general %arg1, %arg0
func.func @transposed_matrix_by_vector_of_many_columns(%x: tensor<1000x512xf32>, %y: tensor<1000xf32>) -> tensor<512xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<1000x512xf32>, tensor<1000xf32>) -> tensor<512xf32>
  return %r : tensor<512xf32>
}

// -----

// CHECK-LABEL: func.func @transposed_matrix_by_vector_not_of_few_columns(
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1
func.func @transposed_matrix_by_vector_not_of_few_columns(%x: tensor<20000x2xf32>, %y: tensor<20000xf32>) -> tensor<2xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<20000x2xf32>, tensor<20000xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @transpose_of_large_rows_with_a_constant(
// CHECK: stablehlo.custom_call @LayoutConstraint
func.func @transpose_of_large_rows_with_a_constant(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<1024x1024xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = stablehlo.add %t, %one : tensor<1024x1024xf32>
  return %y : tensor<1024x1024xf32>
}

// -----

// XLA transposes tiles in a kernel without constants.
// CHECK-LABEL: func.func @transpose_of_large_rows_not_between_elementwise_ops(
// CHECK-NOT: LayoutConstraint
// CHECK: return
func.func @transpose_of_large_rows_not_between_elementwise_ops(%x: tensor<1024x1024xf32>, %y: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = stablehlo.add %t, %y : tensor<1024x1024xf32>
  return %z : tensor<1024x1024xf32>
}

// -----

// CHECK-LABEL: func.func @columns_in_the_same_places_of_the_cache(
// CHECK: stablehlo.custom_call @LayoutConstraint
func.func @columns_in_the_same_places_of_the_cache(%x: tensor<512x1024xf32>, %y: tensor<512x256xf32>) -> tensor<1024x256xf32> {
  %z = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<512x1024xf32>, tensor<512x256xf32>) -> tensor<1024x256xf32>
  return %z : tensor<1024x256xf32>
}

// -----

// CHECK-LABEL: func.func @columns_not_in_other_places_of_the_cache(
// CHECK-NOT: LayoutConstraint
// CHECK: return
func.func @columns_not_in_other_places_of_the_cache(%x: tensor<512x1000xf32>, %y: tensor<512x256xf32>) -> tensor<1000x256xf32> {
  %z = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<512x1000xf32>, tensor<512x256xf32>) -> tensor<1000x256xf32>
  return %z : tensor<1000x256xf32>
}

// -----

// CHECK-LABEL: func.func @large_triangular_system_by_rows(
// CHECK-NEXT: operand_layouts = [dense<[1, 0]>
func.func @large_triangular_system_by_rows(%a: tensor<500x500xf32>, %b: tensor<500x1xf32>) -> tensor<500x1xf32> {
  %x = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<500x500xf32>, tensor<500x1xf32>) -> tensor<500x1xf32>
  return %x : tensor<500x1xf32>
}

// -----

// The factors of `getrf` are in column-major layout.
// CHECK-LABEL: func.func @factors_not_by_rows(
// CHECK: @lapack_strsm_ffi
// CHECK-SAME: operand_layouts = [dense<[0, 1]>
func.func @factors_not_by_rows(%a: tensor<500x500xf32>, %b: tensor<500x1xf32>) -> tensor<500x1xf32> {
  %l:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[]> : tensor<0xindex>]} : (tensor<500x500xf32>) -> (tensor<500x500xf32>, tensor<500xi32>, tensor<i32>)
  %n = stablehlo.abs %l#0 : tensor<500x500xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%n, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<500x500xf32>, tensor<500x1xf32>) -> tensor<500x1xf32>
  return %x : tensor<500x1xf32>
}

// -----

// BLAS takes the rows of the absolute values of %a for the columns of the transpose.
// CHECK-LABEL: func.func @columns_of_transpose_by_rows(
// CHECK-NOT: transpose
// CHECK: @lapack_strsm_ffi
// CHECK-SAME: trans_x = 78 : ui8, uplo = 76 : ui8
// CHECK-SAME: operand_layouts = [dense<[1, 0]>
func.func @columns_of_transpose_by_rows(%a: tensor<500x500xf32>, %b: tensor<500x1xf32>) -> tensor<500x1xf32> {
  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<500x500xf32>) -> tensor<500x500xf32>
  %n = stablehlo.abs %t : tensor<500x500xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%n, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<500x500xf32>, tensor<500x1xf32>) -> tensor<500x1xf32>
  return %x : tensor<500x1xf32>
}

// -----

// CHECK-LABEL: func.func @sort_read_at_one_position_of_many(
// CHECK-NOT: "stablehlo.sort"
// CHECK: stablehlo.while
func.func @sort_read_at_one_position_of_many(%x: tensor<100000xf32>) -> tensor<1xf32> {
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
  }) : (tensor<100000xf32>) -> tensor<100000xf32>
  %r = stablehlo.slice %s [30000:30001] : (tensor<100000xf32>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @sort_read_at_one_position_of_few(
// CHECK-NOT: stablehlo.while
// CHECK: "stablehlo.sort"
func.func @sort_read_at_one_position_of_few(%x: tensor<600xf32>) -> tensor<1xf32> {
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
  }) : (tensor<600xf32>) -> tensor<600xf32>
  %r = stablehlo.slice %s [300:301] : (tensor<600xf32>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}

// -----

// Half of a row is found by a sort, and a few elements are not.
// CHECK-LABEL: func.func @top_k_of_many(
// CHECK-NOT: chlo.top_k
// CHECK: "stablehlo.sort"
// CHECK: return
func.func @top_k_of_many(%x: tensor<10000xf32>) -> (tensor<5000xf32>, tensor<5000xi32>) {
  %v, %i = chlo.top_k(%x, k = 5000) : tensor<10000xf32> -> (tensor<5000xf32>, tensor<5000xi32>)
  return %v, %i : tensor<5000xf32>, tensor<5000xi32>
}

// -----

// CHECK-LABEL: func.func @top_k_of_few(
// CHECK: chlo.top_k
// CHECK-NOT: "stablehlo.sort"
// CHECK: return
func.func @top_k_of_few(%x: tensor<10000xf32>) -> (tensor<10xf32>, tensor<10xi32>) {
  %v, %i = chlo.top_k(%x, k = 10) : tensor<10000xf32> -> (tensor<10xf32>, tensor<10xi32>)
  return %v, %i : tensor<10xf32>, tensor<10xi32>
}

// -----

// A network compares the elements of all rows at once.
// CHECK-LABEL: func.func @sort_of_many_rows(
// CHECK-NOT: "stablehlo.sort"
// CHECK: stablehlo.while
// CHECK: return
func.func @sort_of_many_rows(%x: tensor<10000x16xi32>) -> tensor<10000x16xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<10000x16xi32>) -> tensor<10000x16xi32>
  return %s : tensor<10000x16xi32>
}

// -----

// Of one row, it has nothing to vectorize.
// CHECK-LABEL: func.func @sort_of_one_row(
// CHECK: "stablehlo.sort"
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @sort_of_one_row(%x: tensor<1000xi32>) -> tensor<1000xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<1000xi32>) -> tensor<1000xi32>
  return %s : tensor<1000xi32>
}
