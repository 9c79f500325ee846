// RUN: %jxc opt %s -p collectives --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sum_of_all_reduces(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>, %[[Y:[a-z0-9]+]]: tensor<2x4xf32>)
// CHECK-NEXT: %[[S:[a-z0-9]+]] = stablehlo.add %[[X]], %[[Y]]
// CHECK-NEXT: %[[R:[a-z0-9]+]] = "stablehlo.all_reduce"(%[[S]])
// CHECK-NOT: all_reduce
// CHECK: return %[[R]]
func.func @sum_of_all_reduces(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %p = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%p_a: tensor<f32>, %p_b: tensor<f32>):
    %p_s = stablehlo.add %p_a, %p_b : tensor<f32>
    stablehlo.return %p_s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = "stablehlo.all_reduce"(%y) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%q_a: tensor<f32>, %q_b: tensor<f32>):
    %q_s = stablehlo.add %q_a, %q_b : tensor<f32>
    stablehlo.return %q_s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %sum = stablehlo.add %p, %q : tensor<2x4xf32>
  return %sum : tensor<2x4xf32>
}

// -----

// Three terms and another one, multiplied and divided by constants, transposed.
// CHECK-LABEL: func.func @sum_of_all_reduces_scaled(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>, %[[Y:[a-z0-9]+]]: tensor<4x2xf32>, %[[Z:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-DAG: %[[A:[a-z0-9]+]] = stablehlo.multiply %[[X]],
// CHECK-DAG: %[[B:[a-z0-9]+]] = stablehlo.transpose %[[Y]],
// CHECK-DAG: %[[C:[a-z0-9]+]] = stablehlo.subtract %[[A]], %[[B]]
// CHECK: %[[R:[a-z0-9]+]] = "stablehlo.all_reduce"(%[[C]])
// CHECK: stablehlo.add %[[R]], %[[Z]]
// CHECK-NOT: all_reduce
func.func @sum_of_all_reduces_scaled(%x: tensor<2x4xf32>, %y: tensor<4x2xf32>, %z: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<2x4xf32>
  %p = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%p_a: tensor<f32>, %p_b: tensor<f32>):
    %p_s = stablehlo.add %p_a, %p_b : tensor<f32>
    stablehlo.return %p_s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = "stablehlo.all_reduce"(%y) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%q_a: tensor<f32>, %q_b: tensor<f32>):
    %q_s = stablehlo.add %q_a, %q_b : tensor<f32>
    stablehlo.return %q_s : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %scaled = stablehlo.multiply %p, %c : tensor<2x4xf32>
  %t = stablehlo.transpose %q, dims = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %first = stablehlo.add %scaled, %z : tensor<2x4xf32>
  %sum = stablehlo.subtract %first, %t : tensor<2x4xf32>
  return %sum : tensor<2x4xf32>
}

// -----

// The first result is needed itself.
// CHECK-LABEL: func.func @sum_of_all_reduces_not_used_elsewhere(
// CHECK-COUNT-2: stablehlo.all_reduce
func.func @sum_of_all_reduces_not_used_elsewhere(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %p = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%p_a: tensor<f32>, %p_b: tensor<f32>):
    %p_s = stablehlo.add %p_a, %p_b : tensor<f32>
    stablehlo.return %p_s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = "stablehlo.all_reduce"(%y) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%q_a: tensor<f32>, %q_b: tensor<f32>):
    %q_s = stablehlo.add %q_a, %q_b : tensor<f32>
    stablehlo.return %q_s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %sum = stablehlo.add %p, %q : tensor<2x4xf32>
  return %sum, %p : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Maxima over devices are not sums.
// CHECK-LABEL: func.func @sum_of_all_reduces_not_of_maxima(
// CHECK-COUNT-2: stablehlo.all_reduce
func.func @sum_of_all_reduces_not_of_maxima(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %p = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%p_a: tensor<f32>, %p_b: tensor<f32>):
    %p_s = stablehlo.maximum %p_a, %p_b : tensor<f32>
    stablehlo.return %p_s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = "stablehlo.all_reduce"(%y) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%q_a: tensor<f32>, %q_b: tensor<f32>):
    %q_s = stablehlo.maximum %q_a, %q_b : tensor<f32>
    stablehlo.return %q_s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %sum = stablehlo.add %p, %q : tensor<2x4xf32>
  return %sum : tensor<2x4xf32>
}

// -----

// A sum over the devices is not linear in a quotient of integers.
// CHECK-LABEL: func.func @sum_of_all_reduces_not_divided_integers(
// CHECK-COUNT-2: stablehlo.all_reduce
func.func @sum_of_all_reduces_not_divided_integers(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %p = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%p_a: tensor<i32>, %p_b: tensor<i32>):
    %p_s = stablehlo.add %p_a, %p_b : tensor<i32>
    stablehlo.return %p_s : tensor<i32>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  %q = "stablehlo.all_reduce"(%y) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%q_a: tensor<i32>, %q_b: tensor<i32>):
    %q_s = stablehlo.add %q_a, %q_b : tensor<i32>
    stablehlo.return %q_s : tensor<i32>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  %d = stablehlo.divide %p, %c : tensor<4xi32>
  %sum = stablehlo.add %d, %q : tensor<4xi32>
  return %sum : tensor<4xi32>
}

// -----

// CHECK-LABEL: func.func @reduce_of_all_gather(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x3xf32>
// CHECK: %[[L:[a-z0-9]+]] = stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<1x3xf32>
// CHECK-NEXT: "stablehlo.all_reduce"(%[[L]])
// CHECK: stablehlo.add
// CHECK-NOT: all_gather
func.func @reduce_of_all_gather(%x: tensor<1x3xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %sum = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %sum : tensor<3xf32>
}

// -----

// A maximum of integers from any value, also over another dimension.
// CHECK-LABEL: func.func @reduce_of_all_gather_maximum(
// CHECK: stablehlo.reduce({{.*}} across dimensions = [0, 1]
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.maximum
func.func @reduce_of_all_gather_maximum(%x: tensor<2x3xi32>, %init: tensor<i32>) -> tensor<i32> {
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %max = stablehlo.reduce(%g init: %init) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<i32>
  return %max : tensor<i32>
}

// An all-reduce on XLA:CPU may lose a NaN.
// CHECK-LABEL: func.func @reduce_of_all_gather_not_maximum_of_floats(
// CHECK: stablehlo.all_gather
// CHECK-NOT: stablehlo.all_reduce
func.func @reduce_of_all_gather_not_maximum_of_floats(%x: tensor<2x3xf32>, %init: tensor<f32>) -> tensor<f32> {
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %max = stablehlo.reduce(%g init: %init) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  return %max : tensor<f32>
}

// -----

// The sum of each device would start from the initial value.
// CHECK-LABEL: func.func @reduce_of_all_gather_not_from_a_start(
// CHECK: all_gather
// CHECK-NOT: all_reduce
func.func @reduce_of_all_gather_not_from_a_start(%x: tensor<1x3xf32>, %init: tensor<f32>) -> tensor<3xf32> {
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %sum = stablehlo.reduce(%g init: %init) applies stablehlo.add across dimensions = [0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %sum : tensor<3xf32>
}

// -----

// The gathered dimension is kept.
// CHECK-LABEL: func.func @reduce_of_all_gather_not_over_another_dimension(
// CHECK: all_gather
// CHECK-NOT: all_reduce
func.func @reduce_of_all_gather_not_over_another_dimension(%x: tensor<1x3xf32>) -> tensor<1xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %sum = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1xf32>
  return %sum : tensor<1xf32>
}

// -----

// XLA:CPU has no all-reduce of booleans.
// CHECK-LABEL: func.func @reduce_of_all_gather_not_of_booleans(
// CHECK: all_gather
// CHECK-NOT: all_reduce
func.func @reduce_of_all_gather_not_of_booleans(%x: tensor<1x3xi1>) -> tensor<3xi1> {
  %false = stablehlo.constant dense<false> : tensor<i1>
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<1x3xi1>) -> tensor<1x3xi1>
  %any = stablehlo.reduce(%g init: %false) applies stablehlo.or across dimensions = [0] : (tensor<1x3xi1>, tensor<i1>) -> tensor<3xi1>
  return %any : tensor<3xi1>
}

// -----

// XLA:CPU has no all-reduce by `and` of integers.
// CHECK-LABEL: func.func @reduce_of_all_gather_not_by_and(
// CHECK: all_gather
// CHECK-NOT: all_reduce
func.func @reduce_of_all_gather_not_by_and(%x: tensor<1x3xi32>) -> tensor<3xi32> {
  %ones = stablehlo.constant dense<-1> : tensor<i32>
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<1x3xi32>) -> tensor<1x3xi32>
  %all = stablehlo.reduce(%g init: %ones) applies stablehlo.and across dimensions = [0] : (tensor<1x3xi32>, tensor<i32>) -> tensor<3xi32>
  return %all : tensor<3xi32>
}
