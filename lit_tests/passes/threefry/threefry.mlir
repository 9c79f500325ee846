// RUN: %jxc opt %s -p threefry --split-input-file | FileCheck %s

// The loop carries the rotations and swaps them: each iteration uses its own.
// CHECK-LABEL: func.func @unroll_integer_loop(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xui32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x3xui32>
// CHECK-NOT: stablehlo.while
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.add %[[X]], %[[Y]]
// CHECK: %[[BY:[a-z0-9_]+]] = stablehlo.constant dense<13> : tensor<2x3xui32>
// CHECK: stablehlo.shift_left %[[Y]], %[[BY]]
// CHECK: stablehlo.shift_right_logical %[[Y]], %[[BY]]
// CHECK: stablehlo.constant dense<6> : tensor<2x3xui32>
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.xor
// CHECK: stablehlo.add %{{.*}}, %[[T]]
// CHECK: %[[AGAIN:[a-z0-9_]+]] = stablehlo.constant dense<17> : tensor<2x3xui32>
// CHECK: stablehlo.shift_left %[[T]], %[[AGAIN]]
// CHECK: stablehlo.constant dense<24> : tensor<2x3xui32>
// CHECK-NOT: stablehlo.slice
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.xor
// CHECK-NEXT: return %[[R]]
func.func @unroll_integer_loop(%key: tensor<2x3xui32>, %words: tensor<2x3xui32>) -> tensor<2x3xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %first = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
  %second = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
  %w:5 = stablehlo.while(%i = %zero, %x = %key, %y = %words, %rot = %first, %next = %second) : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  cond {
    %limit = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a0 = stablehlo.slice %rot [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %r0 = stablehlo.reshape %a0 : (tensor<1xui32>) -> tensor<ui32>
    %b0 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s0 = stablehlo.add %x, %y : tensor<2x3xui32>
    %l0 = stablehlo.shift_left %y, %b0 : tensor<2x3xui32>
    %h0 = stablehlo.shift_right_logical %y, %b0 : tensor<2x3xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<2x3xui32>
    %t0 = stablehlo.xor %s0, %o0 : tensor<2x3xui32>
    %a1 = stablehlo.slice %rot [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %r1 = stablehlo.reshape %a1 : (tensor<1xui32>) -> tensor<ui32>
    %b1 = stablehlo.broadcast_in_dim %r1, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s1 = stablehlo.add %s0, %t0 : tensor<2x3xui32>
    %l1 = stablehlo.shift_left %t0, %b1 : tensor<2x3xui32>
    %h1 = stablehlo.shift_right_logical %t0, %b1 : tensor<2x3xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<2x3xui32>
    %t1 = stablehlo.xor %s1, %o1 : tensor<2x3xui32>
    %a2 = stablehlo.slice %rot [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %r2 = stablehlo.reshape %a2 : (tensor<1xui32>) -> tensor<ui32>
    %b2 = stablehlo.broadcast_in_dim %r2, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s2 = stablehlo.add %s1, %t1 : tensor<2x3xui32>
    %l2 = stablehlo.shift_left %t1, %b2 : tensor<2x3xui32>
    %h2 = stablehlo.shift_right_logical %t1, %b2 : tensor<2x3xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<2x3xui32>
    %t2 = stablehlo.xor %s2, %o2 : tensor<2x3xui32>
    %a3 = stablehlo.slice %rot [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %r3 = stablehlo.reshape %a3 : (tensor<1xui32>) -> tensor<ui32>
    %b3 = stablehlo.broadcast_in_dim %r3, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s3 = stablehlo.add %s2, %t2 : tensor<2x3xui32>
    %l3 = stablehlo.shift_left %t2, %b3 : tensor<2x3xui32>
    %h3 = stablehlo.shift_right_logical %t2, %b3 : tensor<2x3xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<2x3xui32>
    %t3 = stablehlo.xor %s3, %o3 : tensor<2x3xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %s3, %t3, %next, %rot : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  }
  return %w#2 : tensor<2x3xui32>
}

// The trip count is only known at run time.
// CHECK-LABEL: func.func @unroll_integer_loop_not_unknown_turns(
// CHECK: stablehlo.while
func.func @unroll_integer_loop_not_unknown_turns(%key: tensor<2x3xui32>, %words: tensor<2x3xui32>, %n: tensor<i32>) -> tensor<2x3xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %first = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
  %second = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
  %w:5 = stablehlo.while(%i = %zero, %x = %key, %y = %words, %rot = %first, %next = %second) : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a0 = stablehlo.slice %rot [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %r0 = stablehlo.reshape %a0 : (tensor<1xui32>) -> tensor<ui32>
    %b0 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s0 = stablehlo.add %x, %y : tensor<2x3xui32>
    %l0 = stablehlo.shift_left %y, %b0 : tensor<2x3xui32>
    %h0 = stablehlo.shift_right_logical %y, %b0 : tensor<2x3xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<2x3xui32>
    %t0 = stablehlo.xor %s0, %o0 : tensor<2x3xui32>
    %a1 = stablehlo.slice %rot [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %r1 = stablehlo.reshape %a1 : (tensor<1xui32>) -> tensor<ui32>
    %b1 = stablehlo.broadcast_in_dim %r1, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s1 = stablehlo.add %s0, %t0 : tensor<2x3xui32>
    %l1 = stablehlo.shift_left %t0, %b1 : tensor<2x3xui32>
    %h1 = stablehlo.shift_right_logical %t0, %b1 : tensor<2x3xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<2x3xui32>
    %t1 = stablehlo.xor %s1, %o1 : tensor<2x3xui32>
    %a2 = stablehlo.slice %rot [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %r2 = stablehlo.reshape %a2 : (tensor<1xui32>) -> tensor<ui32>
    %b2 = stablehlo.broadcast_in_dim %r2, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s2 = stablehlo.add %s1, %t1 : tensor<2x3xui32>
    %l2 = stablehlo.shift_left %t1, %b2 : tensor<2x3xui32>
    %h2 = stablehlo.shift_right_logical %t1, %b2 : tensor<2x3xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<2x3xui32>
    %t2 = stablehlo.xor %s2, %o2 : tensor<2x3xui32>
    %a3 = stablehlo.slice %rot [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %r3 = stablehlo.reshape %a3 : (tensor<1xui32>) -> tensor<ui32>
    %b3 = stablehlo.broadcast_in_dim %r3, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s3 = stablehlo.add %s2, %t2 : tensor<2x3xui32>
    %l3 = stablehlo.shift_left %t2, %b3 : tensor<2x3xui32>
    %h3 = stablehlo.shift_right_logical %t2, %b3 : tensor<2x3xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<2x3xui32>
    %t3 = stablehlo.xor %s3, %o3 : tensor<2x3xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %s3, %t3, %next, %rot : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  }
  return %w#2 : tensor<2x3xui32>
}

// Many iterations: unrolling would copy the body for each.
// CHECK-LABEL: func.func @unroll_integer_loop_not_many_turns(
// CHECK: stablehlo.while
func.func @unroll_integer_loop_not_many_turns(%key: tensor<2x3xui32>, %words: tensor<2x3xui32>) -> tensor<2x3xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %first = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
  %second = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
  %w:5 = stablehlo.while(%i = %zero, %x = %key, %y = %words, %rot = %first, %next = %second) : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  cond {
    %limit = stablehlo.constant dense<9> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a0 = stablehlo.slice %rot [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %r0 = stablehlo.reshape %a0 : (tensor<1xui32>) -> tensor<ui32>
    %b0 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s0 = stablehlo.add %x, %y : tensor<2x3xui32>
    %l0 = stablehlo.shift_left %y, %b0 : tensor<2x3xui32>
    %h0 = stablehlo.shift_right_logical %y, %b0 : tensor<2x3xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<2x3xui32>
    %t0 = stablehlo.xor %s0, %o0 : tensor<2x3xui32>
    %a1 = stablehlo.slice %rot [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %r1 = stablehlo.reshape %a1 : (tensor<1xui32>) -> tensor<ui32>
    %b1 = stablehlo.broadcast_in_dim %r1, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s1 = stablehlo.add %s0, %t0 : tensor<2x3xui32>
    %l1 = stablehlo.shift_left %t0, %b1 : tensor<2x3xui32>
    %h1 = stablehlo.shift_right_logical %t0, %b1 : tensor<2x3xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<2x3xui32>
    %t1 = stablehlo.xor %s1, %o1 : tensor<2x3xui32>
    %a2 = stablehlo.slice %rot [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %r2 = stablehlo.reshape %a2 : (tensor<1xui32>) -> tensor<ui32>
    %b2 = stablehlo.broadcast_in_dim %r2, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s2 = stablehlo.add %s1, %t1 : tensor<2x3xui32>
    %l2 = stablehlo.shift_left %t1, %b2 : tensor<2x3xui32>
    %h2 = stablehlo.shift_right_logical %t1, %b2 : tensor<2x3xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<2x3xui32>
    %t2 = stablehlo.xor %s2, %o2 : tensor<2x3xui32>
    %a3 = stablehlo.slice %rot [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %r3 = stablehlo.reshape %a3 : (tensor<1xui32>) -> tensor<ui32>
    %b3 = stablehlo.broadcast_in_dim %r3, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s3 = stablehlo.add %s2, %t2 : tensor<2x3xui32>
    %l3 = stablehlo.shift_left %t2, %b3 : tensor<2x3xui32>
    %h3 = stablehlo.shift_right_logical %t2, %b3 : tensor<2x3xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<2x3xui32>
    %t3 = stablehlo.xor %s3, %o3 : tensor<2x3xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %s3, %t3, %next, %rot : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  }
  return %w#2 : tensor<2x3xui32>
}

// An iteration has few arithmetic ops: the loop is as fast.
// CHECK-LABEL: func.func @unroll_integer_loop_not_little_work(
// CHECK: stablehlo.while
func.func @unroll_integer_loop_not_little_work(%key: tensor<2x3xui32>, %words: tensor<2x3xui32>) -> tensor<2x3xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %first = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
  %second = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
  %w:5 = stablehlo.while(%i = %zero, %x = %key, %y = %words, %rot = %first, %next = %second) : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  cond {
    %limit = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a0 = stablehlo.slice %rot [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %r0 = stablehlo.reshape %a0 : (tensor<1xui32>) -> tensor<ui32>
    %b0 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s0 = stablehlo.add %x, %y : tensor<2x3xui32>
    %l0 = stablehlo.shift_left %y, %b0 : tensor<2x3xui32>
    %h0 = stablehlo.shift_right_logical %y, %b0 : tensor<2x3xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<2x3xui32>
    %t0 = stablehlo.xor %s0, %o0 : tensor<2x3xui32>
    %a1 = stablehlo.slice %rot [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %r1 = stablehlo.reshape %a1 : (tensor<1xui32>) -> tensor<ui32>
    %b1 = stablehlo.broadcast_in_dim %r1, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s1 = stablehlo.add %s0, %t0 : tensor<2x3xui32>
    %l1 = stablehlo.shift_left %t0, %b1 : tensor<2x3xui32>
    %h1 = stablehlo.shift_right_logical %t0, %b1 : tensor<2x3xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<2x3xui32>
    %t1 = stablehlo.xor %s1, %o1 : tensor<2x3xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %s1, %t1, %next, %rot : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  }
  return %w#2 : tensor<2x3xui32>
}

// Floating-point work is faster in a loop.
// CHECK-LABEL: func.func @unroll_integer_loop_not_floats(
// CHECK: stablehlo.while
func.func @unroll_integer_loop_not_floats(%key: tensor<2x3xui32>, %words: tensor<2x3xui32>) -> tensor<2x3xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %first = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
  %second = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
  %w:5 = stablehlo.while(%i = %zero, %x = %key, %y = %words, %rot = %first, %next = %second) : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  cond {
    %limit = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a0 = stablehlo.slice %rot [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %r0 = stablehlo.reshape %a0 : (tensor<1xui32>) -> tensor<ui32>
    %b0 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s0 = stablehlo.add %x, %y : tensor<2x3xui32>
    %l0 = stablehlo.shift_left %y, %b0 : tensor<2x3xui32>
    %h0 = stablehlo.shift_right_logical %y, %b0 : tensor<2x3xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<2x3xui32>
    %t0 = stablehlo.xor %s0, %o0 : tensor<2x3xui32>
    %a1 = stablehlo.slice %rot [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %r1 = stablehlo.reshape %a1 : (tensor<1xui32>) -> tensor<ui32>
    %b1 = stablehlo.broadcast_in_dim %r1, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s1 = stablehlo.add %s0, %t0 : tensor<2x3xui32>
    %l1 = stablehlo.shift_left %t0, %b1 : tensor<2x3xui32>
    %h1 = stablehlo.shift_right_logical %t0, %b1 : tensor<2x3xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<2x3xui32>
    %t1 = stablehlo.xor %s1, %o1 : tensor<2x3xui32>
    %a2 = stablehlo.slice %rot [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %r2 = stablehlo.reshape %a2 : (tensor<1xui32>) -> tensor<ui32>
    %b2 = stablehlo.broadcast_in_dim %r2, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s2 = stablehlo.add %s1, %t1 : tensor<2x3xui32>
    %l2 = stablehlo.shift_left %t1, %b2 : tensor<2x3xui32>
    %h2 = stablehlo.shift_right_logical %t1, %b2 : tensor<2x3xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<2x3xui32>
    %t2 = stablehlo.xor %s2, %o2 : tensor<2x3xui32>
    %a3 = stablehlo.slice %rot [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %r3 = stablehlo.reshape %a3 : (tensor<1xui32>) -> tensor<ui32>
    %b3 = stablehlo.broadcast_in_dim %r3, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %s3 = stablehlo.add %s2, %t2 : tensor<2x3xui32>
    %l3 = stablehlo.shift_left %t2, %b3 : tensor<2x3xui32>
    %h3 = stablehlo.shift_right_logical %t2, %b3 : tensor<2x3xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<2x3xui32>
    %t3 = stablehlo.xor %s3, %o3 : tensor<2x3xui32>
    %f = stablehlo.bitcast_convert %t3 : (tensor<2x3xui32>) -> tensor<2x3xf32>
    %e = stablehlo.exponential %f : tensor<2x3xf32>
    %g = stablehlo.bitcast_convert %e : (tensor<2x3xf32>) -> tensor<2x3xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %s3, %g, %next, %rot : tensor<i32>, tensor<2x3xui32>, tensor<2x3xui32>, tensor<4xui32>, tensor<4xui32>
  }
  return %w#2 : tensor<2x3xui32>
}

// -----

// Numbers over devices are not stored, and the concatenation would compute these several times.
// CHECK-LABEL: func.func @unroll_integer_loop_not_over_devices(
// CHECK: stablehlo.while
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @unroll_integer_loop_not_over_devices(%key: tensor<2x300xui32>, %words: tensor<2x300xui32>) -> tensor<4x300xui32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %first = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %second = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %w:5 = stablehlo.while(%i = %zero, %x = %key, %y = %words, %rot = %first, %next = %second) : tensor<i32>, tensor<2x300xui32>, tensor<2x300xui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %limit = stablehlo.constant dense<2> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %a0 = stablehlo.slice %rot [0:1] : (tensor<4xui32>) -> tensor<1xui32>
      %r0 = stablehlo.reshape %a0 : (tensor<1xui32>) -> tensor<ui32>
      %b0 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<ui32>) -> tensor<2x300xui32>
      %s0 = stablehlo.add %x, %y : tensor<2x300xui32>
      %l0 = stablehlo.shift_left %y, %b0 : tensor<2x300xui32>
      %h0 = stablehlo.shift_right_logical %y, %b0 : tensor<2x300xui32>
      %o0 = stablehlo.or %l0, %h0 : tensor<2x300xui32>
      %t0 = stablehlo.xor %s0, %o0 : tensor<2x300xui32>
      %a1 = stablehlo.slice %rot [1:2] : (tensor<4xui32>) -> tensor<1xui32>
      %r1 = stablehlo.reshape %a1 : (tensor<1xui32>) -> tensor<ui32>
      %b1 = stablehlo.broadcast_in_dim %r1, dims = [] : (tensor<ui32>) -> tensor<2x300xui32>
      %s1 = stablehlo.add %s0, %t0 : tensor<2x300xui32>
      %l1 = stablehlo.shift_left %t0, %b1 : tensor<2x300xui32>
      %h1 = stablehlo.shift_right_logical %t0, %b1 : tensor<2x300xui32>
      %o1 = stablehlo.or %l1, %h1 : tensor<2x300xui32>
      %t1 = stablehlo.xor %s1, %o1 : tensor<2x300xui32>
      %a2 = stablehlo.slice %rot [2:3] : (tensor<4xui32>) -> tensor<1xui32>
      %r2 = stablehlo.reshape %a2 : (tensor<1xui32>) -> tensor<ui32>
      %b2 = stablehlo.broadcast_in_dim %r2, dims = [] : (tensor<ui32>) -> tensor<2x300xui32>
      %s2 = stablehlo.add %s1, %t1 : tensor<2x300xui32>
      %l2 = stablehlo.shift_left %t1, %b2 : tensor<2x300xui32>
      %h2 = stablehlo.shift_right_logical %t1, %b2 : tensor<2x300xui32>
      %o2 = stablehlo.or %l2, %h2 : tensor<2x300xui32>
      %t2 = stablehlo.xor %s2, %o2 : tensor<2x300xui32>
      %a3 = stablehlo.slice %rot [3:4] : (tensor<4xui32>) -> tensor<1xui32>
      %r3 = stablehlo.reshape %a3 : (tensor<1xui32>) -> tensor<ui32>
      %b3 = stablehlo.broadcast_in_dim %r3, dims = [] : (tensor<ui32>) -> tensor<2x300xui32>
      %s3 = stablehlo.add %s2, %t2 : tensor<2x300xui32>
      %l3 = stablehlo.shift_left %t2, %b3 : tensor<2x300xui32>
      %h3 = stablehlo.shift_right_logical %t2, %b3 : tensor<2x300xui32>
      %o3 = stablehlo.or %l3, %h3 : tensor<2x300xui32>
      %t3 = stablehlo.xor %s3, %o3 : tensor<2x300xui32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s3, %t3, %next, %rot : tensor<i32>, tensor<2x300xui32>, tensor<2x300xui32>, tensor<4xui32>, tensor<4xui32>
    }
    %both = stablehlo.concatenate %w#1, %w#2, dim = 0 : (tensor<2x300xui32>, tensor<2x300xui32>) -> tensor<4x300xui32>
    return %both : tensor<4x300xui32>
  }
}
