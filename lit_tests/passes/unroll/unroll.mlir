// RUN: %jxc opt %s -p unroll --target gpu | FileCheck %s
// RUN: %jxc opt %s -p unroll --target tpu | FileCheck %s --check-prefix=TPU

// Eight iterations, four at a time. A row is read and written at each value of the counter.
// CHECK-LABEL: func.func @unroll_loop(
// CHECK: stablehlo.while(%[[I:[a-z0-9_A-Z]+]] = %{{.*}}, %[[H:[a-z0-9_A-Z]+]] = %{{.*}}, %[[Y:[a-z0-9_A-Z]+]] = %{{.*}})
// CHECK: stablehlo.constant dense<8> : tensor<i32>
// CHECK: stablehlo.dynamic_slice %{{.*}}, %[[I]], %{{.*}}, sizes = [1, 4]
// CHECK: %[[FIRST:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[Y]], %{{.*}}, %[[I]],
// CHECK: %[[J:[a-z0-9_]+]] = stablehlo.add %[[I]], %{{.*}} : tensor<i32>
// CHECK: stablehlo.dynamic_slice %{{.*}}, %[[J]], %{{.*}}, sizes = [1, 4]
// CHECK: stablehlo.dynamic_update_slice %[[FIRST]], %{{.*}}, %[[J]],
// CHECK-COUNT-2: stablehlo.tanh
// CHECK: %[[LAST:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
// CHECK: %[[FOUR:[a-z0-9_]+]] = stablehlo.constant dense<4> : tensor<i32>
// CHECK: %[[NEXT:[a-z0-9_]+]] = stablehlo.add %[[I]], %[[FOUR]] : tensor<i32>
// CHECK: stablehlo.return %[[NEXT]], %{{.*}}, %[[LAST]] :
func.func @unroll_loop(%xs: tensor<8x4xf32>, %h0: tensor<4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %w:3 = stablehlo.while(%i = %zero, %h = %h0, %y = %none) : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
  cond {
    %limit = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %first = stablehlo.constant dense<0> : tensor<i32>
    %row = stablehlo.dynamic_slice %xs, %i, %first, sizes = [1, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x = stablehlo.reshape %row : (tensor<1x4xf32>) -> tensor<4xf32>
    %s = stablehlo.add %h, %x : tensor<4xf32>
    %t = stablehlo.tanh %s : tensor<4xf32>
    %new = stablehlo.reshape %t : (tensor<4xf32>) -> tensor<1x4xf32>
    %z = stablehlo.dynamic_update_slice %y, %new, %i, %first : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %t, %z : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
  }
  return %w#1, %w#2 : tensor<4xf32>, tensor<8x4xf32>
}

// Seven iterations: one before the loop, then three at a time.
// CHECK-LABEL: func.func @unroll_loop_remainder(
// CHECK-COUNT-1: stablehlo.sine
// CHECK: stablehlo.while
// CHECK-COUNT-3: stablehlo.sine
// CHECK: stablehlo.constant dense<3> : tensor<i32>
// CHECK-NOT: stablehlo.sine
func.func @unroll_loop_remainder(%x0: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<2> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<9> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = stablehlo.sine %x : tensor<4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
  }
  return %w#0, %w#1 : tensor<i32>, tensor<4xf32>
}

// Three iterations need no loop.
// CHECK-LABEL: func.func @unroll_loop_all(
// CHECK-NOT: stablehlo.while
// CHECK-COUNT-3: stablehlo.sine
// CHECK-NOT: stablehlo.sine
// CHECK: return
func.func @unroll_loop_all(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = stablehlo.sine %x : tensor<4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
  }
  return %w#1 : tensor<4xf32>
}

// The body shifts elements: a kernel for four iterations would compute neighbours repeatedly.
// TPU-LABEL: func.func @unroll_loop_twice(
// TPU-COUNT-1: stablehlo.concatenate
// TPU-NOT: stablehlo.concatenate
// CHECK-LABEL: func.func @unroll_loop_twice(
// CHECK: stablehlo.while
// CHECK-COUNT-2: stablehlo.concatenate
// CHECK-NOT: stablehlo.concatenate
func.func @unroll_loop_twice(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a = stablehlo.slice %x [3:4] : (tensor<4xf32>) -> tensor<1xf32>
    %b = stablehlo.slice %x [0:3] : (tensor<4xf32>) -> tensor<3xf32>
    %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
    %y = stablehlo.add %x, %r : tensor<4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
  }
  return %w#1 : tensor<4xf32>
}

// The trip count is only known at run time.
// CHECK-LABEL: func.func @unroll_loop_not_unknown_trips(
// CHECK-COUNT-1: stablehlo.sine
// CHECK-NOT: stablehlo.sine
func.func @unroll_loop_not_unknown_trips(%x0: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = stablehlo.sine %x : tensor<4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
  }
  return %w#1 : tensor<4xf32>
}

// Large values: the work of an iteration takes longer than its launches.
// CHECK-LABEL: func.func @unroll_loop_not_large(
// CHECK-COUNT-1: stablehlo.sine
// CHECK-NOT: stablehlo.sine
func.func @unroll_loop_not_large(%x0: tensor<1048577xf32>) -> tensor<1048577xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, tensor<1048577xf32>
  cond {
    %limit = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = stablehlo.sine %x : tensor<1048577xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y : tensor<i32>, tensor<1048577xf32>
  }
  return %w#1 : tensor<1048577xf32>
}

// A sort is a kernel of its own, which unrolling does not fuse.
// CHECK-LABEL: func.func @unroll_loop_not_sort(
// CHECK-COUNT-1: stablehlo.sort
// CHECK-NOT: stablehlo.sort
func.func @unroll_loop_not_sort(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.negate %x : tensor<4xf32>
    %y = "stablehlo.sort"(%n) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
  }
  return %w#1 : tensor<4xf32>
}

// The counter increases by two: it may be an unrolled loop.
// CHECK-LABEL: func.func @unroll_loop_not_step_of_two(
// CHECK-COUNT-1: stablehlo.sine
// CHECK-NOT: stablehlo.sine
func.func @unroll_loop_not_step_of_two(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:3 = stablehlo.while(%i = %zero, %k = %zero, %x = %x0) : tensor<i32>, tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = stablehlo.sine %x : tensor<4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %j = stablehlo.add %i, %two : tensor<i32>
    %m = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %j, %m, %y : tensor<i32>, tensor<i32>, tensor<4xf32>
  }
  return %w#2 : tensor<4xf32>
}

// Another counter: XLA would make one of both and not know the trip count if it did not find one
// that counts by 1 from 0.
// CHECK-LABEL: func.func @unroll_loop_two_counters(
// CHECK: stablehlo.while({{.*}}, %[[N:[a-z0-9_A-Z]+]] = %{{[a-z0-9_]+}})
// CHECK: %[[TRIPS:[a-z0-9_]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: stablehlo.compare LT, %[[N]], %[[TRIPS]]
// CHECK-COUNT-4: stablehlo.sine
// CHECK-NOT: stablehlo.sine
// CHECK: %[[NEXT:[a-z0-9_]+]] = stablehlo.add %[[N]], %{{.*}} : tensor<i32>
// CHECK: stablehlo.return {{.*}}, %[[NEXT]] :
func.func @unroll_loop_two_counters(%x0: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<11> : tensor<i32>
  %w:3 = stablehlo.while(%i = %zero, %k = %last, %x = %x0) : tensor<i32>, tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<12> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %f = stablehlo.convert %k : (tensor<i32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %s = stablehlo.add %x, %b : tensor<4xf32>
    %y = stablehlo.sine %s : tensor<4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %down = stablehlo.constant dense<-1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %m = stablehlo.add %k, %down : tensor<i32>
    stablehlo.return %j, %m, %y : tensor<i32>, tensor<i32>, tensor<4xf32>
  }
  return %w#1, %w#2 : tensor<i32>, tensor<4xf32>
}

// The body reads a carried value at other positions, as with slices: twice on GPU, not on TPU.
// TPU-LABEL: func.func @unroll_loop_twice_where_parts_are_read(
// TPU-COUNT-1: stablehlo.dynamic_slice
// TPU-NOT: stablehlo.dynamic_slice
// CHECK-LABEL: func.func @unroll_loop_twice_where_parts_are_read(
// CHECK: stablehlo.while
// CHECK-COUNT-2: stablehlo.dynamic_slice
// CHECK-NOT: stablehlo.dynamic_slice
func.func @unroll_loop_twice_where_parts_are_read(%x0: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, tensor<8xf32>
  cond {
    %limit = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %part = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    %b = stablehlo.broadcast_in_dim %part, dims = [0] : (tensor<1xf32>) -> tensor<8xf32>
    %y = stablehlo.minimum %x, %b : tensor<8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y : tensor<i32>, tensor<8xf32>
  }
  return %w#1 : tensor<8xf32>
}
