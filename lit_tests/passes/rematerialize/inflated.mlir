// Loops compute values themselves that are larger than what they are computed from, such as masks.

// RUN: %jxc opt %s -p 'rematerialize{values=none}' --split-input-file | FileCheck %s

// Both loops read the mask, so that it would be kept from the one to the other. The first one carried
// it.

// CHECK-LABEL: @jit_mask
// CHECK-NOT:   stablehlo.iota
// CHECK:       stablehlo.while(%{{[a-zA-Z0-9_]+}} = %{{[a-zA-Z0-9_]+}}, %[[X:[a-zA-Z0-9_]+]] = %{{[a-zA-Z0-9_]+}}) :
// CHECK:       } do {
// CHECK:       %[[ROW:.*]] = stablehlo.iota dim = 0
// CHECK:       %[[COLUMN:.*]] = stablehlo.iota dim = 1
// CHECK:       %[[SMALL:.*]] = stablehlo.compare GE, %[[ROW]], %[[COLUMN]]
// CHECK:       %[[MASK:.*]] = stablehlo.broadcast_in_dim %[[SMALL]]
// CHECK:       stablehlo.select %[[MASK]], %[[X]],
// CHECK:       stablehlo.while
// CHECK:       } do {
// CHECK:       %[[AGAIN:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1, 2]
// CHECK:       stablehlo.select %[[AGAIN]],

module @jit_mask {
  func.func public @main(%x: tensor<4x8x8xf32>, %y: tensor<4x8x8xf32>) -> tensor<4x8x8xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %row = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %column = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %small = stablehlo.compare GE, %row, %column : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %mask = stablehlo.broadcast_in_dim %small, dims = [1, 2] : (tensor<8x8xi1>) -> tensor<4x8x8xi1>
    %one:3 = stablehlo.while(%i = %zero, %h = %x, %m = %mask) : tensor<i32>, tensor<4x8x8xf32>, tensor<4x8x8xi1>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %step = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %step : tensor<i32>
      %a = stablehlo.select %m, %h, %y : tensor<4x8x8xi1>, tensor<4x8x8xf32>
      %b = stablehlo.dot_general %a, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
      stablehlo.return %next, %b, %m : tensor<i32>, tensor<4x8x8xf32>, tensor<4x8x8xi1>
    }
    %other:2 = stablehlo.while(%i = %zero, %h = %one#1) : tensor<i32>, tensor<4x8x8xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %step = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %step : tensor<i32>
      %a = stablehlo.select %mask, %y, %h : tensor<4x8x8xi1>, tensor<4x8x8xf32>
      stablehlo.return %next, %a : tensor<i32>, tensor<4x8x8xf32>
    }
    return %other#1 : tensor<4x8x8xf32>
  }
}

// -----

// The mask is no larger than the argument from which it is computed: that would be kept instead.

// CHECK-LABEL: @jit_no_larger
// CHECK:       %[[MASK:.*]] = stablehlo.compare GE
// CHECK:       stablehlo.while
// CHECK:       } do {
// CHECK-NOT:   stablehlo.compare
// CHECK:       stablehlo.select %[[MASK]],

module @jit_no_larger {
  func.func public @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %mask = stablehlo.compare GE, %x, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
    %loop:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<8x8xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %step = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %step : tensor<i32>
      %a = stablehlo.select %mask, %h, %y : tensor<8x8xi1>, tensor<8x8xf32>
      %b = stablehlo.dot_general %a, %y, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      stablehlo.return %next, %b : tensor<i32>, tensor<8x8xf32>
    }
    return %loop#1 : tensor<8x8xf32>
  }
}

// -----

// The mask is a result too: it stays in memory anyway.

// CHECK-LABEL: @jit_result
// CHECK:       %[[MASK:.*]] = stablehlo.broadcast_in_dim
// CHECK:       stablehlo.while
// CHECK:       } do {
// CHECK-NOT:   stablehlo.broadcast_in_dim
// CHECK:       stablehlo.select %[[MASK]],
// CHECK:       return %{{.*}}, %[[MASK]]

module @jit_result {
  func.func public @main(%x: tensor<4x8xf32>, %bits: tensor<8xi1>) -> (tensor<4x8xf32>, tensor<4x8xi1>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %mask = stablehlo.broadcast_in_dim %bits, dims = [1] : (tensor<8xi1>) -> tensor<4x8xi1>
    %loop:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<4x8xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %step = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %step : tensor<i32>
      %a = stablehlo.select %mask, %h, %x : tensor<4x8xi1>, tensor<4x8xf32>
      stablehlo.return %next, %a : tensor<i32>, tensor<4x8xf32>
    }
    return %loop#1, %mask : tensor<4x8xf32>, tensor<4x8xi1>
  }
}
