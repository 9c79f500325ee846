// RUN: %jxc opt %s -p collectives --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @all_reduce_after_loop(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x4xf32>, %[[C0:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[Z:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[L:[a-z0-9_]+]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %[[S:[a-zA-Z0-9_]+]] = %[[Z]])
// CHECK: %[[V:[a-z0-9]+]] = stablehlo.sine
// CHECK-NOT: all_reduce
// CHECK: stablehlo.add %[[S]], %[[V]]
// CHECK: stablehlo.return
// CHECK: %[[R:[a-z0-9]+]] = "stablehlo.all_reduce"(%[[L]]#1)
// CHECK: stablehlo.add %[[C0]], %[[R]]
func.func @all_reduce_after_loop(%x: tensor<3x4xf32>, %c0: tensor<4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%v) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %c1 = stablehlo.add %c, %g : tensor<4xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<4xf32>
  }
  return %l#1 : tensor<4xf32>
}

// -----

// Two sums over the same devices, one of them divided and reshaped, the other subtracted.
// CHECK-LABEL: func.func @all_reduce_after_loop_of_two_sums(
// CHECK: stablehlo.while
// CHECK-NOT: all_reduce
// CHECK: stablehlo.divide
// CHECK: stablehlo.reshape
// CHECK: stablehlo.subtract
// CHECK: stablehlo.return
// CHECK: "stablehlo.all_reduce"(%{{.*}}#1)
// CHECK-NOT: all_reduce
func.func @all_reduce_after_loop_of_two_sums(%x: tensor<3x4xf32>, %c0: tensor<4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%s) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %h = "stablehlo.all_reduce"(%v) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%h_a: tensor<f32>, %h_b: tensor<f32>):
      %h_s = stablehlo.add %h_a, %h_b : tensor<f32>
      stablehlo.return %h_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %four = stablehlo.constant dense<4.0> : tensor<1x4xf32>
    %mean = stablehlo.divide %g, %four : tensor<1x4xf32>
    %m = stablehlo.reshape %mean : (tensor<1x4xf32>) -> tensor<4xf32>
    %c1 = stablehlo.add %c, %m : tensor<4xf32>
    %c2 = stablehlo.subtract %c1, %h : tensor<4xf32>
    stablehlo.return %next, %c2 : tensor<i32>, tensor<4xf32>
  }
  return %l#1 : tensor<4xf32>
}

// -----

// Devices exchange bf16 in each iteration, and f32 once.
// CHECK-LABEL: func.func @all_reduce_after_loop_widened(
// CHECK: stablehlo.while
// CHECK-NOT: all_reduce
// CHECK: stablehlo.return
// CHECK: "stablehlo.all_reduce"(%{{.*}}#1)
// CHECK: (tensor<4xf32>) -> tensor<4xf32>
func.func @all_reduce_after_loop_widened(%x: tensor<3x4xf32>, %c0: tensor<4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %n = stablehlo.convert %v : (tensor<4xf32>) -> tensor<4xbf16>
    %g = "stablehlo.all_reduce"(%n) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<bf16>, %g_b: tensor<bf16>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<bf16>
      stablehlo.return %g_s : tensor<bf16>
    }) : (tensor<4xbf16>) -> tensor<4xbf16>
    %w = stablehlo.convert %g : (tensor<4xbf16>) -> tensor<4xf32>
    %c1 = stablehlo.add %c, %w : tensor<4xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<4xf32>
  }
  return %l#1 : tensor<4xf32>
}

// -----

// Each iteration reads the sum so far.
// CHECK-LABEL: func.func @all_reduce_after_loop_not_if_read(
// CHECK: stablehlo.while
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.return
// CHECK-NOT: all_reduce
func.func @all_reduce_after_loop_not_if_read(%x: tensor<3x4xf32>, %c0: tensor<4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %y = stablehlo.multiply %v, %c : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%y) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %c1 = stablehlo.add %c, %g : tensor<4xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<4xf32>
  }
  return %l#1 : tensor<4xf32>
}

// -----

// A maximum is no sum, and the carried value would need another start.
// CHECK-LABEL: func.func @all_reduce_after_loop_not_of_maxima(
// CHECK: stablehlo.while
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.return
// CHECK-NOT: all_reduce
func.func @all_reduce_after_loop_not_of_maxima(%x: tensor<3x4xf32>, %c0: tensor<4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%v) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.maximum %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %c1 = stablehlo.add %c, %g : tensor<4xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<4xf32>
  }
  return %l#1 : tensor<4xf32>
}

// -----

// A term that is not reduced over the devices would be added once for each.
// CHECK-LABEL: func.func @all_reduce_after_loop_not_with_local_terms(
// CHECK: stablehlo.while
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.return
// CHECK-NOT: all_reduce
func.func @all_reduce_after_loop_not_with_local_terms(%x: tensor<3x4xf32>, %c0: tensor<4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%v) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %c1 = stablehlo.add %c, %g : tensor<4xf32>
    %c2 = stablehlo.add %c1, %r : tensor<4xf32>
    stablehlo.return %next, %c2 : tensor<i32>, tensor<4xf32>
  }
  return %l#1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @all_reduced_rows_after_loop(
// CHECK: %[[L:[a-z0-9_]+]]:2 = stablehlo.while
// CHECK: %[[V:[a-z0-9]+]] = stablehlo.sine
// CHECK-NEXT: %[[U:[a-z0-9]+]] = stablehlo.reshape %[[V]]
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[U]]
// CHECK: stablehlo.return
// CHECK: "stablehlo.all_reduce"(%[[L]]#1)
// CHECK: stablehlo.maximum
func.func @all_reduced_rows_after_loop(%x: tensor<3x4xf32>, %c0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<3x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%v) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.maximum %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %u = stablehlo.reshape %g : (tensor<4xf32>) -> tensor<1x4xf32>
    %c1 = stablehlo.dynamic_update_slice %c, %u, %i, %zero : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<3x4xf32>
  }
  return %l#1 : tensor<3x4xf32>
}

// -----

// The loop leaves the last rows as they are.
// CHECK-LABEL: func.func @all_reduced_rows_after_loop_not_if_rows_are_left(
// CHECK: stablehlo.while
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.return
// CHECK-NOT: all_reduce
func.func @all_reduced_rows_after_loop_not_if_rows_are_left(%x: tensor<3x4xf32>, %c0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<3x4xf32>
  cond {
    %limit = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%v) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %u = stablehlo.reshape %g : (tensor<4xf32>) -> tensor<1x4xf32>
    %c1 = stablehlo.dynamic_update_slice %c, %u, %i, %zero : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<3x4xf32>
  }
  return %l#1 : tensor<3x4xf32>
}

// -----

// The reduced row is the next carried value too.
// CHECK-LABEL: func.func @all_reduced_rows_after_loop_not_if_read(
// CHECK: stablehlo.while
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.return
// CHECK-NOT: all_reduce
func.func @all_reduced_rows_after_loop_not_if_read(%x: tensor<3x4xf32>, %c0: tensor<3x4xf32>, %h0: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:3 = stablehlo.while(%i = %zero, %c = %c0, %h = %h0) : tensor<i32>, tensor<3x4xf32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %v = stablehlo.sine %r : tensor<4xf32>
    %y = stablehlo.add %v, %h : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%y) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %u = stablehlo.reshape %g : (tensor<4xf32>) -> tensor<1x4xf32>
    %c1 = stablehlo.dynamic_update_slice %c, %u, %i, %zero : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    stablehlo.return %next, %c1, %g : tensor<i32>, tensor<3x4xf32>, tensor<4xf32>
  }
  return %l#1, %l#2 : tensor<3x4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @all_reduced_rows_after_loop_at_limit(
// CHECK: stablehlo.while
// CHECK-NOT: all_reduce
// CHECK: stablehlo.return %{{.*}} : tensor<i32>
// CHECK: "stablehlo.all_reduce"
func.func @all_reduced_rows_after_loop_at_limit(%x: tensor<3x16384xf32>, %c0: tensor<3x16384xf32>) -> (tensor<3x16384xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<3x16384xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 16384] : (tensor<3x16384xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16384xf32>
    %g = "stablehlo.all_reduce"(%s) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<1x16384xf32>) -> tensor<1x16384xf32>
    %c1 = stablehlo.dynamic_update_slice %c, %g, %i, %zero : (tensor<3x16384xf32>, tensor<1x16384xf32>, tensor<i32>, tensor<i32>) -> tensor<3x16384xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<3x16384xf32>
  }
  return %l#1 : tensor<3x16384xf32>
}

// -----

// CHECK-LABEL: func.func @all_reduced_rows_after_loop_not_of_large_rows(
// CHECK: stablehlo.while
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.return %{{.*}} : tensor<i32>
// CHECK-NOT: all_reduce
func.func @all_reduced_rows_after_loop_not_of_large_rows(%x: tensor<3x16385xf32>, %c0: tensor<3x16385xf32>) -> (tensor<3x16385xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<3x16385xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 16385] : (tensor<3x16385xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16385xf32>
    %g = "stablehlo.all_reduce"(%s) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<1x16385xf32>) -> tensor<1x16385xf32>
    %c1 = stablehlo.dynamic_update_slice %c, %g, %i, %zero : (tensor<3x16385xf32>, tensor<1x16385xf32>, tensor<i32>, tensor<i32>) -> tensor<3x16385xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<3x16385xf32>
  }
  return %l#1 : tensor<3x16385xf32>
}
