// RUN: %jxc opt %s -p 'reductions{always=true}' --split-input-file | FileCheck %s

// The argmax of JAX: the least index of the maximum; NaN counts as the maximum.
// CHECK-LABEL: func.func @argument_to_two_reductions(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x100xf32>
// CHECK: %[[BEST:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.maximum across dimensions = [1]
// CHECK: %[[ALL:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[BEST]], dims = [0]
// CHECK: %[[PLACE:[a-z0-9_]+]] = stablehlo.iota dim = 1 : tensor<64x100xf32>
// CHECK: %[[BELOW:[a-z0-9_]+]] = stablehlo.subtract %[[PLACE]], %{{.*}}
// CHECK: %[[IS:[a-z0-9_]+]] = stablehlo.compare EQ, %[[X]], %[[ALL]]
// CHECK: %[[OF:[a-z0-9_]+]] = stablehlo.select %[[IS]], %[[PLACE]], %{{.*}}
// CHECK: %[[NAN:[a-z0-9_]+]] = stablehlo.compare NE, %[[X]], %[[X]]
// CHECK: %[[HITS:[a-z0-9_]+]] = stablehlo.select %[[NAN]], %[[BELOW]], %[[OF]]
// CHECK: %[[FIRST:[a-z0-9_]+]] = stablehlo.reduce(%[[HITS]] init: %{{.*}}) applies stablehlo.minimum across dimensions = [1]
// CHECK: %[[ABOVE:[a-z0-9_]+]] = stablehlo.add %[[FIRST]], %{{.*}}
// CHECK: %[[COUNT:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %[[ABOVE]], %[[FIRST]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.convert %[[COUNT]] : (tensor<64xf32>) -> tensor<64xi32>
// CHECK-NEXT: return %[[R]]
func.func @argument_to_two_reductions(%x: tensor<64x100xf32>) -> tensor<64xi32> {
  %places = stablehlo.iota dim = 1 : tensor<64x100xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [1] : (tensor<64x100xf32>, tensor<64x100xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
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
  return %r#1 : tensor<64xi32>
}

// The argmin of JAX, along the first axis.
// CHECK-LABEL: func.func @argument_to_two_reductions_argmin(
// CHECK: stablehlo.reduce({{.*}} applies stablehlo.minimum across dimensions = [0]
// CHECK: stablehlo.reduce({{.*}} applies stablehlo.minimum across dimensions = [0]
// CHECK-NOT: reducer
// CHECK: return
func.func @argument_to_two_reductions_argmin(%x: tensor<64x100xf32>) -> tensor<100xi32> {
  %places = stablehlo.iota dim = 0 : tensor<64x100xi32>
  %least = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [0] : (tensor<64x100xf32>, tensor<64x100xi32>, tensor<f32>, tensor<i32>) -> (tensor<100xf32>, tensor<100xi32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %0 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
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
  return %r#1 : tensor<100xi32>
}

// The maximum is a result too. If it is a zero, it must be the first one, with its sign.
// CHECK-LABEL: func.func @argument_to_two_reductions_not_value(
// CHECK: reducer
// CHECK: return
func.func @argument_to_two_reductions_not_value(%x: tensor<64x100xf32>) -> (tensor<64xf32>, tensor<64xi32>) {
  %places = stablehlo.iota dim = 1 : tensor<64x100xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [1] : (tensor<64x100xf32>, tensor<64x100xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
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
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xi32>
}

// Elements below 0 would lose against the initial value.
// CHECK-LABEL: func.func @argument_to_two_reductions_not_from_zero(
// CHECK: reducer
// CHECK: return
func.func @argument_to_two_reductions_not_from_zero(%x: tensor<64x100xf32>) -> tensor<64xi32> {
  %places = stablehlo.iota dim = 1 : tensor<64x100xi32>
  %least = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [1] : (tensor<64x100xf32>, tensor<64x100xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
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
  return %r#1 : tensor<64xi32>
}

// Among equal elements, this body selects the last.
// CHECK-LABEL: func.func @argument_to_two_reductions_not_last(
// CHECK: reducer
// CHECK: return
func.func @argument_to_two_reductions_not_last(%x: tensor<64x100xf32>) -> tensor<64xi32> {
  %places = stablehlo.iota dim = 1 : tensor<64x100xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [1] : (tensor<64x100xf32>, tensor<64x100xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %0 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.or %0, %1 : tensor<i1>
    %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.compare GT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.and %3, %4 : tensor<i1>
    %6 = stablehlo.or %2, %5 : tensor<i1>
    %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %8 = stablehlo.select %6, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
  }
  return %r#1 : tensor<64xi32>
}

// This body ignores NaN.
// CHECK-LABEL: func.func @argument_to_two_reductions_not_other_nan(
// CHECK: reducer
// CHECK: return
func.func @argument_to_two_reductions_not_other_nan(%x: tensor<64x100xf32>) -> tensor<64xi32> {
  %places = stablehlo.iota dim = 1 : tensor<64x100xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [1] : (tensor<64x100xf32>, tensor<64x100xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %0 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.or %0, %1 : tensor<i1>
    %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.and %3, %4 : tensor<i1>
    %6 = stablehlo.or %2, %5 : tensor<i1>
    %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %8 = stablehlo.select %6, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
  }
  return %r#1 : tensor<64xi32>
}

// The second operand does not count along the reduced axis.
// CHECK-LABEL: func.func @argument_to_two_reductions_not_other_places(
// CHECK: reducer
// CHECK: return
func.func @argument_to_two_reductions_not_other_places(%x: tensor<64x100xf32>) -> tensor<64xi32> {
  %places = stablehlo.iota dim = 0 : tensor<64x100xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [1] : (tensor<64x100xf32>, tensor<64x100xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
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
  return %r#1 : tensor<64xi32>
}

// Only f32 was measured.
// CHECK-LABEL: func.func @argument_to_two_reductions_not_half(
// CHECK: reducer
// CHECK: return
func.func @argument_to_two_reductions_not_half(%x: tensor<64x100xf16>) -> tensor<64xi32> {
  %places = stablehlo.iota dim = 1 : tensor<64x100xi32>
  %least = stablehlo.constant dense<0xFC00> : tensor<f16>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [1] : (tensor<64x100xf16>, tensor<64x100xi32>, tensor<f16>, tensor<i32>) -> (tensor<64xf16>, tensor<64xi32>)
  reducer(%a: tensor<f16>, %b: tensor<f16>) (%i: tensor<i32>, %j: tensor<i32>) {
    %0 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %2 = stablehlo.or %0, %1 : tensor<i1>
    %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %4 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.and %3, %4 : tensor<i1>
    %6 = stablehlo.or %2, %5 : tensor<i1>
    %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f16>
    %8 = stablehlo.select %6, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %7, %8 : tensor<f16>, tensor<i32>
  }
  return %r#1 : tensor<64xi32>
}
