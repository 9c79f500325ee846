// RUN: %jxc opt %s -p materialize | FileCheck %s
// RUN: %jxc opt %s -p materialize --target tpu | FileCheck %s --check-prefix=TPU

// TPU-NOT: call

// The mask has the fewest bytes. Two kernels read it: a library computes the sum.
// CHECK-LABEL: func.func @mask_of_two_kernels(
// CHECK: stablehlo.while
// CHECK: %[[MASK:[a-z0-9_]+]] = stablehlo.compare {{.*}} UNSIGNED
// CHECK-NEXT: %[[STORED:[a-z0-9_]+]] = call @stored_{{[a-z0-9_]+}}(%[[MASK]])
// CHECK-SAME: inlineable = "false"
// CHECK: stablehlo.select %[[STORED]]
// CHECK: stablehlo.select %[[STORED]]
func.func @mask_of_two_kernels(%words: tensor<4x40xui32>, %v: tensor<4x40xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %words) : tensor<i32>, tensor<4x40xui32>
  cond {
    %p = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %by = stablehlo.constant dense<13> : tensor<4x40xui32>
    %l0 = stablehlo.shift_left %x, %by : tensor<4x40xui32>
    %h0 = stablehlo.shift_right_logical %x, %by : tensor<4x40xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<4x40xui32>
    %x0 = stablehlo.xor %x, %o0 : tensor<4x40xui32>
    %l1 = stablehlo.shift_left %x0, %by : tensor<4x40xui32>
    %h1 = stablehlo.shift_right_logical %x0, %by : tensor<4x40xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<4x40xui32>
    %x1 = stablehlo.xor %x0, %o1 : tensor<4x40xui32>
    %l2 = stablehlo.shift_left %x1, %by : tensor<4x40xui32>
    %h2 = stablehlo.shift_right_logical %x1, %by : tensor<4x40xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<4x40xui32>
    %x2 = stablehlo.xor %x1, %o2 : tensor<4x40xui32>
    %l3 = stablehlo.shift_left %x2, %by : tensor<4x40xui32>
    %h3 = stablehlo.shift_right_logical %x2, %by : tensor<4x40xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<4x40xui32>
    %x3 = stablehlo.xor %x2, %o3 : tensor<4x40xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %x3 : tensor<i32>, tensor<4x40xui32>
  }
  %half = stablehlo.constant dense<2147483648> : tensor<4x40xui32>
  %none = stablehlo.constant dense<0.0> : tensor<4x40xf32>
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %mask = stablehlo.compare LT, %w#1, %half, UNSIGNED : (tensor<4x40xui32>, tensor<4x40xui32>) -> tensor<4x40xi1>
  %a = stablehlo.select %mask, %v, %none : tensor<4x40xi1>, tensor<4x40xf32>
  %sum = stablehlo.reduce(%a init: %start) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x40xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.select %mask, %none, %v : tensor<4x40xi1>, tensor<4x40xf32>
  %most = stablehlo.reduce(%b init: %start) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x40xf32>, tensor<f32>) -> tensor<f32>
  return %sum, %most : tensor<f32>, tensor<f32>
}

// One kernel computes each number once.
// CHECK-LABEL: func.func @mask_of_two_kernels_not_one(
// CHECK-NOT: call
func.func @mask_of_two_kernels_not_one(%words: tensor<4x40xui32>, %v: tensor<4x40xf32>) -> tensor<4x40xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %words) : tensor<i32>, tensor<4x40xui32>
  cond {
    %p = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %by = stablehlo.constant dense<13> : tensor<4x40xui32>
    %l0 = stablehlo.shift_left %x, %by : tensor<4x40xui32>
    %h0 = stablehlo.shift_right_logical %x, %by : tensor<4x40xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<4x40xui32>
    %x0 = stablehlo.xor %x, %o0 : tensor<4x40xui32>
    %l1 = stablehlo.shift_left %x0, %by : tensor<4x40xui32>
    %h1 = stablehlo.shift_right_logical %x0, %by : tensor<4x40xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<4x40xui32>
    %x1 = stablehlo.xor %x0, %o1 : tensor<4x40xui32>
    %l2 = stablehlo.shift_left %x1, %by : tensor<4x40xui32>
    %h2 = stablehlo.shift_right_logical %x1, %by : tensor<4x40xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<4x40xui32>
    %x2 = stablehlo.xor %x1, %o2 : tensor<4x40xui32>
    %l3 = stablehlo.shift_left %x2, %by : tensor<4x40xui32>
    %h3 = stablehlo.shift_right_logical %x2, %by : tensor<4x40xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<4x40xui32>
    %x3 = stablehlo.xor %x2, %o3 : tensor<4x40xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %x3 : tensor<i32>, tensor<4x40xui32>
  }
  %half = stablehlo.constant dense<2147483648> : tensor<4x40xui32>
  %none = stablehlo.constant dense<0.0> : tensor<4x40xf32>
  %mask = stablehlo.compare LT, %w#1, %half, UNSIGNED : (tensor<4x40xui32>, tensor<4x40xui32>) -> tensor<4x40xi1>
  %a = stablehlo.select %mask, %v, %none : tensor<4x40xi1>, tensor<4x40xf32>
  return %a : tensor<4x40xf32>
}

// A broadcast repeats each number.
// CHECK-LABEL: func.func @numbers_of_rows(
// CHECK: %[[W:[a-z0-9_]+]]:2 = stablehlo.while
// CHECK: %[[STORED:[a-z0-9_]+]] = call @stored_{{[a-z0-9_]+}}(%[[W]]#1)
// CHECK: stablehlo.broadcast_in_dim %[[STORED]]
func.func @numbers_of_rows(%words: tensor<40xui32>, %v: tensor<4x40xui32>) -> tensor<4x40xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %words) : tensor<i32>, tensor<40xui32>
  cond {
    %p = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %by = stablehlo.constant dense<13> : tensor<40xui32>
    %l0 = stablehlo.shift_left %x, %by : tensor<40xui32>
    %h0 = stablehlo.shift_right_logical %x, %by : tensor<40xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<40xui32>
    %x0 = stablehlo.xor %x, %o0 : tensor<40xui32>
    %l1 = stablehlo.shift_left %x0, %by : tensor<40xui32>
    %h1 = stablehlo.shift_right_logical %x0, %by : tensor<40xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<40xui32>
    %x1 = stablehlo.xor %x0, %o1 : tensor<40xui32>
    %l2 = stablehlo.shift_left %x1, %by : tensor<40xui32>
    %h2 = stablehlo.shift_right_logical %x1, %by : tensor<40xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<40xui32>
    %x2 = stablehlo.xor %x1, %o2 : tensor<40xui32>
    %l3 = stablehlo.shift_left %x2, %by : tensor<40xui32>
    %h3 = stablehlo.shift_right_logical %x2, %by : tensor<40xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<40xui32>
    %x3 = stablehlo.xor %x2, %o3 : tensor<40xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %x3 : tensor<i32>, tensor<40xui32>
  }
  %rows = stablehlo.broadcast_in_dim %w#1, dims = [1] : (tensor<40xui32>) -> tensor<4x40xui32>
  %r = stablehlo.add %rows, %v : tensor<4x40xui32>
  return %r : tensor<4x40xui32>
}

// The numbers of one loop are the keys of the next.
// CHECK-LABEL: func.func @keys_of_keys(
// CHECK: %[[W:[a-z0-9_]+]]:2 = stablehlo.while
// CHECK: %[[STORED:[a-z0-9_]+]] = call @stored_{{[a-z0-9_]+}}(%[[W]]#1)
// CHECK: %[[KEY:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[STORED]]
// CHECK: stablehlo.while({{.*}} = %[[KEY]])
// CHECK-NOT: call
func.func @keys_of_keys(%words: tensor<ui32>) -> tensor<40xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %words) : tensor<i32>, tensor<ui32>
  cond {
    %p = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %by = stablehlo.constant dense<13> : tensor<ui32>
    %l0 = stablehlo.shift_left %x, %by : tensor<ui32>
    %h0 = stablehlo.shift_right_logical %x, %by : tensor<ui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<ui32>
    %x0 = stablehlo.xor %x, %o0 : tensor<ui32>
    %l1 = stablehlo.shift_left %x0, %by : tensor<ui32>
    %h1 = stablehlo.shift_right_logical %x0, %by : tensor<ui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<ui32>
    %x1 = stablehlo.xor %x0, %o1 : tensor<ui32>
    %l2 = stablehlo.shift_left %x1, %by : tensor<ui32>
    %h2 = stablehlo.shift_right_logical %x1, %by : tensor<ui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<ui32>
    %x2 = stablehlo.xor %x1, %o2 : tensor<ui32>
    %l3 = stablehlo.shift_left %x2, %by : tensor<ui32>
    %h3 = stablehlo.shift_right_logical %x2, %by : tensor<ui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<ui32>
    %x3 = stablehlo.xor %x2, %o3 : tensor<ui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %x3 : tensor<i32>, tensor<ui32>
  }
  %keys = stablehlo.broadcast_in_dim %w#1, dims = [] : (tensor<ui32>) -> tensor<40xui32>
  %n:2 = stablehlo.while(%i = %zero, %x = %keys) : tensor<i32>, tensor<40xui32>
  cond {
    %p = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %by = stablehlo.constant dense<13> : tensor<40xui32>
    %l0 = stablehlo.shift_left %x, %by : tensor<40xui32>
    %h0 = stablehlo.shift_right_logical %x, %by : tensor<40xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<40xui32>
    %x0 = stablehlo.xor %x, %o0 : tensor<40xui32>
    %l1 = stablehlo.shift_left %x0, %by : tensor<40xui32>
    %h1 = stablehlo.shift_right_logical %x0, %by : tensor<40xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<40xui32>
    %x1 = stablehlo.xor %x0, %o1 : tensor<40xui32>
    %l2 = stablehlo.shift_left %x1, %by : tensor<40xui32>
    %h2 = stablehlo.shift_right_logical %x1, %by : tensor<40xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<40xui32>
    %x2 = stablehlo.xor %x1, %o2 : tensor<40xui32>
    %l3 = stablehlo.shift_left %x2, %by : tensor<40xui32>
    %h3 = stablehlo.shift_right_logical %x2, %by : tensor<40xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<40xui32>
    %x3 = stablehlo.xor %x2, %o3 : tensor<40xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %x3 : tensor<i32>, tensor<40xui32>
  }
  return %n#1 : tensor<40xui32>
}

// A loop of more than a few iterations is not unrolled.
// CHECK-LABEL: func.func @numbers_of_rows_not_long_loop(
// CHECK-NOT: call
func.func @numbers_of_rows_not_long_loop(%words: tensor<40xui32>, %v: tensor<4x40xui32>) -> tensor<4x40xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<9> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %words) : tensor<i32>, tensor<40xui32>
  cond {
    %p = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %by = stablehlo.constant dense<13> : tensor<40xui32>
    %l0 = stablehlo.shift_left %x, %by : tensor<40xui32>
    %h0 = stablehlo.shift_right_logical %x, %by : tensor<40xui32>
    %o0 = stablehlo.or %l0, %h0 : tensor<40xui32>
    %x0 = stablehlo.xor %x, %o0 : tensor<40xui32>
    %l1 = stablehlo.shift_left %x0, %by : tensor<40xui32>
    %h1 = stablehlo.shift_right_logical %x0, %by : tensor<40xui32>
    %o1 = stablehlo.or %l1, %h1 : tensor<40xui32>
    %x1 = stablehlo.xor %x0, %o1 : tensor<40xui32>
    %l2 = stablehlo.shift_left %x1, %by : tensor<40xui32>
    %h2 = stablehlo.shift_right_logical %x1, %by : tensor<40xui32>
    %o2 = stablehlo.or %l2, %h2 : tensor<40xui32>
    %x2 = stablehlo.xor %x1, %o2 : tensor<40xui32>
    %l3 = stablehlo.shift_left %x2, %by : tensor<40xui32>
    %h3 = stablehlo.shift_right_logical %x2, %by : tensor<40xui32>
    %o3 = stablehlo.or %l3, %h3 : tensor<40xui32>
    %x3 = stablehlo.xor %x2, %o3 : tensor<40xui32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %x3 : tensor<i32>, tensor<40xui32>
  }
  %rows = stablehlo.broadcast_in_dim %w#1, dims = [1] : (tensor<40xui32>) -> tensor<4x40xui32>
  %r = stablehlo.add %rows, %v : tensor<4x40xui32>
  return %r : tensor<4x40xui32>
}
