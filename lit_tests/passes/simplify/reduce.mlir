// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// StableHLO combines the initial value; XLA does not.
// CHECK-LABEL: func.func @reduce_over_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<1> : tensor<2xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.add %[[C]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @reduce_over_nothing(%x: tensor<2xi32>) -> tensor<2xi32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [] : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// The body uses a constant and a value from outside, and there are two operands.
// CHECK-LABEL: func.func @reduce_over_nothing_of_two(
// CHECK-NOT: stablehlo.reduce
// CHECK: return
func.func @reduce_over_nothing_of_two(%x: tensor<2xf32>, %y: tensor<2xi32>, %s: tensor<f32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %c), (%y init: %i) across dimensions = [] : (tensor<2xf32>, tensor<2xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %d = stablehlo.multiply %b, %two : tensor<f32>
    %e = stablehlo.subtract %a, %d : tensor<f32>
    %f = stablehlo.add %e, %s : tensor<f32>
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.select %p, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %f, %l : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<2xf32>, tensor<2xi32>
}

// The body has a region of its own.
// CHECK-LABEL: func.func @reduce_over_nothing_not_with_regions(
// CHECK: stablehlo.reduce
func.func @reduce_over_nothing_not_with_regions(%x: tensor<2xi32>, %c: tensor<i32>) -> tensor<2xi32> {
  %r = stablehlo.reduce(%x init: %c) across dimensions = [] : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = "stablehlo.if"(%p) ({
      %e = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %e : tensor<i32>
    }, {
      stablehlo.return %b : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    stablehlo.return %d : tensor<i32>
  }
  return %r : tensor<2xi32>
}

// 0.0 is not neutral: -0.0 + 0.0 is 0.0.
// CHECK-LABEL: func.func @reduce_over_ones(
// CHECK-NOT: stablehlo.reduce
// CHECK: stablehlo.constant dense<0.000000e+00>
// CHECK: stablehlo.add
// CHECK: return
func.func @reduce_over_ones(%x: tensor<1x3x1xf32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 2] : (tensor<1x3x1xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @reduce_over_ones_of_neutral(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x1xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @reduce_over_ones_of_neutral(%x: tensor<3x1xf32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// One of the extents is 2.
// CHECK-LABEL: func.func @reduce_over_ones_not_twos(
// CHECK: stablehlo.reduce
func.func @reduce_over_ones_not_twos(%x: tensor<1x3x2xf32>, %c: tensor<f32>) -> tensor<3xf32> {
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 2] : (tensor<1x3x2xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// The body is never executed.
// CHECK-LABEL: func.func @reduce_over_empty(
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<0xi32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: return %[[C]]
func.func @reduce_over_empty(%x: tensor<0xi32>, %c: tensor<i32>) -> tensor<i32> {
  %r = stablehlo.reduce(%x init: %c) across dimensions = [0] : (tensor<0xi32>, tensor<i32>) -> tensor<i32>
  reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %d = stablehlo.constant dense<42> : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }
  return %r : tensor<i32>
}

// CHECK-LABEL: func.func @reduce_over_empty_of_many(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x0xf32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[C]], dims = []
// CHECK-NEXT: return %[[R]]
func.func @reduce_over_empty_of_many(%x: tensor<3x0xf32>, %c: tensor<f32>) -> tensor<3xf32> {
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<3x0xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// The extent is dynamic, and may be 0.
// CHECK-LABEL: func.func @reduce_over_empty_not_of_dynamic(
// CHECK: stablehlo.reduce
func.func @reduce_over_empty_not_of_dynamic(%x: tensor<?xf32>, %c: tensor<f32>) -> tensor<f32> {
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @reduce_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x4xf32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %[[C]]) applies stablehlo.maximum across dimensions = [1]
// CHECK-NEXT: return %[[R]]
func.func @reduce_of_broadcast(%x: tensor<3x4xf32>, %c: tensor<f32>) -> tensor<3xf32> {
  %b = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<3x4xf32>) -> tensor<5x3x4xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<5x3x4xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @reduce_of_broadcast_of_scalar(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<i1>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<i1>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.or %[[C]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @reduce_of_broadcast_of_scalar(%x: tensor<i1>, %c: tensor<i1>) -> tensor<i1> {
  %b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i1>) -> tensor<5xi1>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.or across dimensions = [0] : (tensor<5xi1>, tensor<i1>) -> tensor<i1>
  return %r : tensor<i1>
}

// The sum of five x is not x.
// CHECK-LABEL: func.func @reduce_of_broadcast_not_of_sums(
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.reduce
func.func @reduce_of_broadcast_not_of_sums(%x: tensor<3xf32>, %c: tensor<f32>) -> tensor<3xf32> {
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0] : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @reduce_of_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x1x3x4xf32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %[[C]]) applies stablehlo.add across dimensions = [1, 2]
// CHECK-NEXT: return %[[R]]
func.func @reduce_of_reshape(%x: tensor<2x1x3x4xf32>, %c: tensor<f32>) -> tensor<2x4xf32> {
  %b = stablehlo.reshape %x : (tensor<2x1x3x4xf32>) -> tensor<2x3x1x4xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x3x1x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// The result has the extent of 1 that the reshape adds.
// CHECK-LABEL: func.func @reduce_of_reshape_not_adding(
// CHECK: stablehlo.reshape
// CHECK: stablehlo.reduce
func.func @reduce_of_reshape_not_adding(%x: tensor<2x3x4xf32>, %c: tensor<f32>) -> tensor<2x1x4xf32> {
  %b = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3x1x4xf32>, tensor<f32>) -> tensor<2x1x4xf32>
  return %r : tensor<2x1x4xf32>
}

// Also for sums of floats: the order of the elements stays the same.
// CHECK-LABEL: func.func @reduce_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %[[C]]) applies stablehlo.add across dimensions = [1]
// CHECK-NEXT: return %[[R]]
func.func @reduce_of_transpose(%x: tensor<2x3x4xf32>, %c: tensor<f32>) -> tensor<2x4xf32> {
  %b = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [2] : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @reduce_of_transpose_in_any_order(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xi32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %[[C]]) applies stablehlo.add across dimensions = [0, 1]
// CHECK-NEXT: return %[[R]]
func.func @reduce_of_transpose_in_any_order(%x: tensor<2x3xi32>, %c: tensor<i32>) -> tensor<i32> {
  %b = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x2xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// Floats would be added in another order.
// CHECK-LABEL: func.func @reduce_of_transpose_not_of_float_sums(
// CHECK: stablehlo.transpose
func.func @reduce_of_transpose_not_of_float_sums(%x: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<f32> {
  %b = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @reduce_of_reduce(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %[[C]]) applies stablehlo.minimum across dimensions = [1, 2]
// CHECK-NEXT: return %[[R]]
func.func @reduce_of_reduce(%x: tensor<2x3x4xf32>, %c: tensor<f32>) -> tensor<2xf32> {
  %b = stablehlo.reduce(%x init: %c) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.minimum across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @reduce_of_reduce_of_integers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xi8>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<i8>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %[[C]]) applies stablehlo.add across dimensions = [0, 1]
// CHECK-NEXT: return %[[R]]
func.func @reduce_of_reduce_of_integers(%x: tensor<2x3xi8>, %c: tensor<i8>) -> tensor<i8> {
  %z = stablehlo.constant dense<0> : tensor<i8>
  %b = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi8>, tensor<i8>) -> tensor<2xi8>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2xi8>, tensor<i8>) -> tensor<i8>
  return %r : tensor<i8>
}

// The inner initial value is added twice.
// CHECK-LABEL: func.func @reduce_of_reduce_not_from_any_value(
// CHECK: stablehlo.reduce
// CHECK: stablehlo.reduce
func.func @reduce_of_reduce_not_from_any_value(%x: tensor<2x3xi8>, %c: tensor<i8>) -> tensor<i8> {
  %b = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi8>, tensor<i8>) -> tensor<2xi8>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2xi8>, tensor<i8>) -> tensor<i8>
  return %r : tensor<i8>
}

// The rounding of sums of floats depends on the order.
// CHECK-LABEL: func.func @reduce_of_reduce_not_of_float_sums(
// CHECK: stablehlo.reduce
// CHECK: stablehlo.reduce
func.func @reduce_of_reduce_not_of_float_sums(%x: tensor<2x3xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %r = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// If a part is NaN, the maximum depends on the order of the operands.
// CHECK-LABEL: func.func @reduce_of_reduce_not_of_complex(
// CHECK: stablehlo.reduce
// CHECK: stablehlo.reduce
func.func @reduce_of_reduce_not_of_complex(%x: tensor<2x3xcomplex<f32>>, %c: tensor<complex<f32>>) -> tensor<complex<f32>> {
  %b = stablehlo.reduce(%x init: %c) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.minimum across dimensions = [0] : (tensor<2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  return %r : tensor<complex<f32>>
}

// 3 + 100 * 7, in eight bits.
// CHECK-LABEL: func.func @fold_reduce(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<-65> : tensor<2xi8>
// CHECK-NEXT: return %[[R]]
func.func @fold_reduce() -> tensor<2xi8> {
  %x = stablehlo.constant dense<7> : tensor<2x100xi8>
  %c = stablehlo.constant dense<3> : tensor<i8>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x100xi8>, tensor<i8>) -> tensor<2xi8>
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @fold_reduce_elements(
// CHECK-DAG: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[6, 120]> : tensor<2xi32>
// CHECK-DAG: %[[S:[a-z0-9_]+]] = stablehlo.constant dense<[4.000000e+00, 5.000000e+00, 6.000000e+00]> : tensor<3xbf16>
// CHECK: return %[[R]], %[[S]]
func.func @fold_reduce_elements() -> (tensor<2xi32>, tensor<3xbf16>) {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %c = stablehlo.constant dense<1> : tensor<i32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.multiply across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  %y = stablehlo.constant dense<[[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]> : tensor<2x3xbf16>
  %d = stablehlo.constant dense<-3.0> : tensor<bf16>
  %s = stablehlo.reduce(%y init: %d) applies stablehlo.maximum across dimensions = [0] : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %r, %s : tensor<2xi32>, tensor<3xbf16>
}

// 0 + 1 + 2 + 3 + 4.
// CHECK-LABEL: func.func @fold_reduce_of_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<10> : tensor<i32>
// CHECK-NEXT: return %[[R]]
func.func @fold_reduce_of_iota() -> tensor<i32> {
  %x = stablehlo.iota dim = 0 : tensor<5xi32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// Every partial sum is exact, so the order does not matter.
// CHECK-LABEL: func.func @fold_reduce_of_counted(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<1.500000e+03> : tensor<f32>
// CHECK-NEXT: return %[[R]]
func.func @fold_reduce_of_counted() -> tensor<f32> {
  %x = stablehlo.constant dense<1.5> : tensor<1000xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// Sums of 0.1 are rounded, bf16 counts to 256 only, and sums of other floats depend on the order.
// CHECK-LABEL: func.func @fold_reduce_not_where_it_rounds(
// CHECK: stablehlo.reduce
// CHECK: stablehlo.reduce
// CHECK: stablehlo.reduce
func.func @fold_reduce_not_where_it_rounds() -> (tensor<f32>, tensor<bf16>, tensor<f32>) {
  %x = stablehlo.constant dense<0.1> : tensor<1000xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  %y = stablehlo.constant dense<1.0> : tensor<300xbf16>
  %d = stablehlo.constant dense<0.0> : tensor<bf16>
  %s = stablehlo.reduce(%y init: %d) applies stablehlo.add across dimensions = [0] : (tensor<300xbf16>, tensor<bf16>) -> tensor<bf16>
  %z = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %t = stablehlo.reduce(%z init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %r, %s, %t : tensor<f32>, tensor<bf16>, tensor<f32>
}

// CHECK-LABEL: func.func @reduce_window_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x6xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:4, 0:{{[56]}}:2]
// CHECK-NEXT: return %[[R]]
func.func @reduce_window_of_one(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %c) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1, 2>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// The result is the initial value at the padding.
// Outside of the window, XLA folds the product with the one, and does not round the sum.
// CHECK-LABEL: func.func @reduce_window_of_one_not_of_complex_or_narrow(
// CHECK-COUNT-2: stablehlo.reduce_window
func.func @reduce_window_of_one_not_of_complex_or_narrow(%x: tensor<4xcomplex<f32>>, %one: tensor<complex<f32>>, %y: tensor<4xbf16>, %c: tensor<bf16>) -> (tensor<2xcomplex<f32>>, tensor<2xbf16>) {
  %0 = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 1>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %p = stablehlo.multiply %a, %b : tensor<complex<f32>>
    stablehlo.return %p : tensor<complex<f32>>
  }) : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %1 = "stablehlo.reduce_window"(%y, %c) <{window_dimensions = array<i64: 1>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<4xbf16>, tensor<bf16>) -> tensor<2xbf16>
  return %0, %1 : tensor<2xcomplex<f32>>, tensor<2xbf16>
}

// CHECK-LABEL: func.func @reduce_window_of_one_not_padded(
// CHECK: stablehlo.reduce_window
func.func @reduce_window_of_one_not_padded(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<6xf32> {
  %r = "stablehlo.reduce_window"(%x, %c) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// -----

// The divisor of average pooling: 2 elements at the edges, 3 between them.
// CHECK-LABEL: func.func @window_sum_of_splat(
// CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.constant dense<[2.000000e+00, 3.000000e+00, 2.000000e+00]>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[ROWS]], dims = [1]
// CHECK: %[[COLUMNS:[a-z0-9_]+]] = stablehlo.constant dense<[2.000000e+00, 3.000000e+00, 3.000000e+00, 2.000000e+00]>
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[COLUMNS]], dims = [2]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[A]], %[[B]]
// CHECK-NEXT: return %[[R]]
func.func @window_sum_of_splat() -> tensor<2x3x4x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ones = stablehlo.constant dense<1.0> : tensor<2x3x4x5xf32>
  %y = "stablehlo.reduce_window"(%ones, %zero) <{window_dimensions = array<i64: 1, 3, 3, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x3x4x5xf32>, tensor<f32>) -> tensor<2x3x4x5xf32>
  return %y : tensor<2x3x4x5xf32>
}

// 0.1 is rounded when it is added.
// CHECK-LABEL: func.func @window_sum_of_splat_not_of_fractions(
// CHECK: stablehlo.reduce_window
func.func @window_sum_of_splat_not_of_fractions() -> tensor<6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %x = stablehlo.constant dense<0.1> : tensor<8xf32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// The count of numbers in a sorted array with NaNs, as in `jnp.nanmedian`.
// CHECK-LABEL: func.func @reduce_of_sort(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x8xf32>
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.compare EQ, %[[X]], %[[X]], FLOAT
// CHECK: %[[N:[a-z0-9_]+]] = stablehlo.convert %[[P]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[N]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK-NEXT: return %[[R]]
func.func @reduce_of_sort(%x: tensor<3x8xf32>) -> tensor<3xf32> {
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
  }) : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.compare EQ, %s, %s, FLOAT : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xi1>
  %n = stablehlo.convert %m : (tensor<3x8xi1>) -> tensor<3x8xf32>
  %r = stablehlo.reduce(%n init: %c) applies stablehlo.add across dimensions = [1] : (tensor<3x8xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// How many sorted elements are greater than a constant in each column.
// CHECK-LABEL: func.func @reduce_of_sort_not_along_another_dimension(
// CHECK: "stablehlo.sort"
// CHECK: return
func.func @reduce_of_sort_not_along_another_dimension(%x: tensor<3x8xi32>) -> tensor<8xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<3x8xi32>) -> tensor<3x8xi32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<3x8xi32>
  %m = stablehlo.compare GT, %s, %two : (tensor<3x8xi32>, tensor<3x8xi32>) -> tensor<3x8xi1>
  %n = stablehlo.convert %m : (tensor<3x8xi1>) -> tensor<3x8xi32>
  %r = stablehlo.reduce(%n init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3x8xi32>, tensor<i32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// The sum of so many bf16 is rounded.
// CHECK-LABEL: func.func @reduce_of_sort_not_rounded(
// CHECK: "stablehlo.sort"
// CHECK: return
func.func @reduce_of_sort_not_rounded(%x: tensor<300xi32>) -> tensor<bf16> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<300xi32>) -> tensor<300xi32>
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %two = stablehlo.constant dense<2> : tensor<300xi32>
  %m = stablehlo.compare GT, %s, %two : (tensor<300xi32>, tensor<300xi32>) -> tensor<300xi1>
  %n = stablehlo.convert %m : (tensor<300xi1>) -> tensor<300xbf16>
  %r = stablehlo.reduce(%n init: %c) applies stablehlo.add across dimensions = [0] : (tensor<300xbf16>, tensor<bf16>) -> tensor<bf16>
  return %r : tensor<bf16>
}
