// RUN: %jxc opt %s -p collectives --target gpu --split-input-file | FileCheck %s
// RUN: %jxc opt %s -p collectives --target tpu --split-input-file | FileCheck %s --check-prefix=TPU

// XLA:TPU itself moves all-reduces out, but no gathers.
// CHECK-LABEL: func.func @collective_before_loop(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[S:[a-z0-9]+]] = stablehlo.sine %[[W]]
// CHECK-NEXT: %[[R:[a-z0-9]+]] = "stablehlo.all_reduce"(%[[S]])
// CHECK: stablehlo.while
// CHECK: stablehlo.add %{{.*}}, %[[R]]
// CHECK-NOT: all_reduce
// TPU-LABEL: func.func @collective_before_loop(
// TPU: stablehlo.while
// TPU: "stablehlo.all_reduce"
func.func @collective_before_loop(%w: tensor<4xf32>, %c0: tensor<4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.sine %w : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%s) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %d = stablehlo.add %c, %g : tensor<4xf32>
    %c1 = stablehlo.tanh %d : tensor<4xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<4xf32>
  }
  return %l#1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @collective_before_loop_gather(
// CHECK: all_gather
// CHECK: stablehlo.while
// TPU-LABEL: func.func @collective_before_loop_gather(
// TPU: all_gather
// TPU: stablehlo.while
func.func @collective_before_loop_gather(%w: tensor<262144xf32>, %c0: tensor<262144xf32>) -> (tensor<262144xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<262144xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %g = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<262144xf32>) -> tensor<262144xf32>
    %d = stablehlo.add %c, %g : tensor<262144xf32>
    %c1 = stablehlo.tanh %d : tensor<262144xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<262144xf32>
  }
  return %l#1 : tensor<262144xf32>
}

// -----

// CHECK-LABEL: func.func @collective_before_loop_gather_not_large(
// CHECK: stablehlo.while
// CHECK: all_gather
// TPU-LABEL: func.func @collective_before_loop_gather_not_large(
// TPU: stablehlo.while
// TPU: all_gather
func.func @collective_before_loop_gather_not_large(%w: tensor<262145xf32>, %c0: tensor<262145xf32>) -> (tensor<262145xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<262145xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %g = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<262145xf32>) -> tensor<262145xf32>
    %d = stablehlo.add %c, %g : tensor<262145xf32>
    %c1 = stablehlo.tanh %d : tensor<262145xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<262145xf32>
  }
  return %l#1 : tensor<262145xf32>
}

// -----

// CHECK-LABEL: func.func @collective_before_loop_not_of_carried_values(
// CHECK: stablehlo.while
// CHECK: "stablehlo.all_reduce"
func.func @collective_before_loop_not_of_carried_values(%w: tensor<4xf32>, %c0: tensor<4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %c = %c0) : tensor<i32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.multiply %w, %c : tensor<4xf32>
    %g = "stablehlo.all_reduce"(%s) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%g_a: tensor<f32>, %g_b: tensor<f32>):
      %g_s = stablehlo.add %g_a, %g_b : tensor<f32>
      stablehlo.return %g_s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %c1 = stablehlo.tanh %g : tensor<4xf32>
    stablehlo.return %next, %c1 : tensor<i32>, tensor<4xf32>
  }
  return %l#1 : tensor<4xf32>
}
