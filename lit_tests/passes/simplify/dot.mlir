// RUN: %jxc opt %s -p 'simplify{always=true}' --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @dot_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<5x3x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[X]], %[[Y]], contracting_dims = [0] x [2], precision = [DEFAULT, HIGHEST]
// CHECK-NEXT: return %[[R]]
func.func @dot_of_transpose(%x: tensor<8x4xf32>, %y: tensor<5x3x8xf32>) -> tensor<4x5x3xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %b = stablehlo.transpose %y, dims = [0, 2, 1] : (tensor<5x3x8xf32>) -> tensor<5x8x3xf32>
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<4x8xf32>, tensor<5x8x3xf32>) -> tensor<4x5x3xf32>
  return %r : tensor<4x5x3xf32>
}

// CHECK-LABEL: func.func @batched_dot_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x2x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x8x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[X]], %[[Y]], batching_dims = [1] x [0], contracting_dims = [2] x [1]
// CHECK-NEXT: return %[[R]]
func.func @batched_dot_of_transpose(%x: tensor<4x2x8xf32>, %y: tensor<2x8x3xf32>) -> tensor<2x4x3xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
  %r = stablehlo.dot_general %a, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}

// The result has the free dimensions in the order of the transpose.
// CHECK-LABEL: func.func @dot_of_transpose_not_of_the_result(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x2x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x3xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.dot_general
func.func @dot_of_transpose_not_of_the_result(%x: tensor<4x2x8xf32>, %y: tensor<8x3xf32>) -> tensor<2x4x3xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
  %r = stablehlo.dot_general %a, %y, contracting_dims = [2] x [0] : (tensor<2x4x8xf32>, tensor<8x3xf32>) -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}

// The form of gradients of weights.
// CHECK-LABEL: func.func @transpose_of_dot(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x8x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[Y]], %[[X]], batching_dims = [0] x [0], contracting_dims = [1] x [2], precision = [HIGHEST, DEFAULT]
// CHECK-NEXT: return %[[R]]
func.func @transpose_of_dot(%x: tensor<2x4x8xf32>, %y: tensor<2x8x3xf32>) -> tensor<2x3x4xf32> {
  %a = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  %r = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  return %r : tensor<2x3x4xf32>
}

// The transpose swaps two dimensions of x.
// CHECK-LABEL: func.func @transpose_of_dot_not_of_one_side(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5x4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x3xf32>
// CHECK: stablehlo.dot_general
// CHECK-NEXT: stablehlo.transpose
func.func @transpose_of_dot_not_of_one_side(%x: tensor<5x4x8xf32>, %y: tensor<8x3xf32>) -> tensor<4x5x3xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [2] x [0] : (tensor<5x4x8xf32>, tensor<8x3xf32>) -> tensor<5x4x3xf32>
  %r = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<5x4x3xf32>) -> tensor<4x5x3xf32>
  return %r : tensor<4x5x3xf32>
}

// A product of one term fuses with a transpose.
// CHECK-LABEL: func.func @transpose_of_dot_not_of_one_term(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<1x3xf32>
// CHECK: stablehlo.dot_general
// CHECK-NEXT: stablehlo.transpose
func.func @transpose_of_dot_not_of_one_term(%x: tensor<4x1xf32>, %y: tensor<1x3xf32>) -> tensor<3x4xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x1xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// The two transposes become none.
// CHECK-LABEL: func.func @transpose_of_dot_not_of_undone(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32>, %[[Y:[a-z0-9]+]]: tensor<8x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @transpose_of_dot_not_of_undone(%x: tensor<8x4xf32>, %y: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %b = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %c = stablehlo.transpose %b, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return %c : tensor<4x3xf32>
}

// The order of complex factors affects rounding.
// CHECK-LABEL: func.func @transpose_of_dot_not_of_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xcomplex<f32>>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x3xcomplex<f32>>
// CHECK: stablehlo.dot_general
// CHECK-NEXT: stablehlo.transpose
func.func @transpose_of_dot_not_of_complex(%x: tensor<4x8xcomplex<f32>>, %y: tensor<8x3xcomplex<f32>>) -> tensor<3x4xcomplex<f32>> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xcomplex<f32>>, tensor<8x3xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xcomplex<f32>>) -> tensor<3x4xcomplex<f32>>
  return %r : tensor<3x4xcomplex<f32>>
}

// Logits of the last token: (x @ y + b)[:, -1].
// CHECK-LABEL: func.func @slice_of_dot(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x16x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x12xf32>
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<12xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:2, 15:16, 0:8]
// CHECK: stablehlo.dot_general %[[A]], %[[Y]], contracting_dims = [2] x [0], precision = [DEFAULT, HIGHEST] : (tensor<2x1x8xf32>, tensor<8x12xf32>) -> tensor<2x1x12xf32>
func.func @slice_of_dot(%x: tensor<2x16x8xf32>, %y: tensor<8x12xf32>, %b: tensor<12xf32>) -> tensor<2x12xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [2] x [0], precision = [DEFAULT, HIGHEST] : (tensor<2x16x8xf32>, tensor<8x12xf32>) -> tensor<2x16x12xf32>
  %b2 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<12xf32>) -> tensor<2x16x12xf32>
  %c = stablehlo.add %a, %b2 : tensor<2x16x12xf32>
  %d = stablehlo.slice %c [0:2, 15:16, 0:12] : (tensor<2x16x12xf32>) -> tensor<2x1x12xf32>
  %r = stablehlo.reshape %d : (tensor<2x1x12xf32>) -> tensor<2x12xf32>
  return %r : tensor<2x12xf32>
}

// CHECK-LABEL: func.func @slice_of_dot_of_a_batch(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4x16xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x16x3xf32>
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [5:6, 0:4, 0:16]
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[Y]] [5:6, 0:16, 0:3]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[A]], %[[B]], batching_dims = [0] x [0]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_dot_of_a_batch(%x: tensor<8x4x16xf32>, %y: tensor<8x16x3xf32>) -> tensor<1x4x3xf32> {
  %a = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x4x16xf32>, tensor<8x16x3xf32>) -> tensor<8x4x3xf32>
  %r = stablehlo.slice %a [5:6, 0:4, 0:3] : (tensor<8x4x3xf32>) -> tensor<1x4x3xf32>
  return %r : tensor<1x4x3xf32>
}

// The product has another use.
// CHECK-LABEL: func.func @slice_of_dot_not_with_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x12xf32>
// CHECK: stablehlo.dot_general
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_dot_not_with_others(%x: tensor<4x8xf32>, %y: tensor<8x12xf32>) -> (tensor<1x12xf32>, tensor<4x12xf32>) {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %r = stablehlo.slice %a [0:1, 0:12] : (tensor<4x12xf32>) -> tensor<1x12xf32>
  return %r, %a : tensor<1x12xf32>, tensor<4x12xf32>
}

// CHECK-LABEL: func.func @dot_of_broadcast_batch(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[X]], %[[Y]], contracting_dims = [2] x [0], precision = [DEFAULT, HIGHEST]
// CHECK-NEXT: return %[[R]]
func.func @dot_of_broadcast_batch(%x: tensor<2x4x8xf32>, %y: tensor<8x3xf32>) -> tensor<2x4x3xf32> {
  %a = stablehlo.broadcast_in_dim %y, dims = [1, 2] : (tensor<8x3xf32>) -> tensor<2x8x3xf32>
  %r = stablehlo.dot_general %x, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}

// CHECK-LABEL: func.func @dot_of_broadcast_batch_along_one_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5x2x4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<5x8x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dot_general %[[X]], %[[Y]], batching_dims = [0] x [0], contracting_dims = [3] x [1]
// CHECK-NEXT: return %[[R]]
func.func @dot_of_broadcast_batch_along_one_of_two(%x: tensor<5x2x4x8xf32>, %y: tensor<5x8x3xf32>) -> tensor<5x2x4x3xf32> {
  %a = stablehlo.broadcast_in_dim %y, dims = [0, 2, 3] : (tensor<5x8x3xf32>) -> tensor<5x2x8x3xf32>
  %r = stablehlo.dot_general %x, %a, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<5x2x4x8xf32>, tensor<5x2x8x3xf32>) -> tensor<5x2x4x3xf32>
  return %r : tensor<5x2x4x3xf32>
}

// The batching dimension would come after the free dimension of x.
// CHECK-LABEL: func.func @dot_of_broadcast_batch_not_on_the_left(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x8x3xf32>
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.dot_general
func.func @dot_of_broadcast_batch_not_on_the_left(%x: tensor<4x8xf32>, %y: tensor<2x8x3xf32>) -> tensor<2x4x3xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
  %r = stablehlo.dot_general %a, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}

// CHECK-LABEL: func.func @dot_of_broadcast_free(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.dot_general %[[X]], %[[Y]], contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @dot_of_broadcast_free(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>
  %r = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// The form of gradients of sums.
// CHECK-LABEL: func.func @dot_of_broadcast_free_constant(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x8x3xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<2.500000e-01> : tensor<2x8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.dot_general %[[C]], %[[Y]], batching_dims = [0] x [0], contracting_dims = [1] x [1]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [0, 2]
// CHECK-NEXT: return %[[R]]
func.func @dot_of_broadcast_free_constant(%y: tensor<2x8x3xf32>) -> tensor<2x4x3xf32> {
  %c = stablehlo.constant dense<0.25> : tensor<2x4x8xf32>
  %r = stablehlo.dot_general %c, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}

// The broadcast dimension is summed, and each addition rounds.
// CHECK-LABEL: func.func @dot_of_broadcast_free_not_summed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3xf32>
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.dot_general
func.func @dot_of_broadcast_free_not_summed(%x: tensor<4x8xf32>, %y: tensor<3xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<3xf32>) -> tensor<8x3xf32>
  %r = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// The rows of x that are needed start where those of the product do; i is clamped alike.
// CHECK-LABEL: func.func @dynamic_slice_of_dot(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x16x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x12xf32>
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %{{.*}}, %[[I]], %{{.*}}, sizes = [2, 1, 8]
// CHECK: stablehlo.dot_general %[[A]], %[[Y]], contracting_dims = [2] x [0] : (tensor<2x1x8xf32>, tensor<8x12xf32>) -> tensor<2x1x12xf32>
func.func @dynamic_slice_of_dot(%x: tensor<2x16x8xf32>, %y: tensor<8x12xf32>, %i: tensor<i32>) -> tensor<2x1x12xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.dot_general %x, %y, contracting_dims = [2] x [0] : (tensor<2x16x8xf32>, tensor<8x12xf32>) -> tensor<2x16x12xf32>
  %r = stablehlo.dynamic_slice %a, %z, %i, %z, sizes = [2, 1, 12] : (tensor<2x16x12xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x12xf32>
  return %r : tensor<2x1x12xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_dot_of_a_batch(
// CHECK-DAG: stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, sizes = [1, 4, 16]
// CHECK-DAG: stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, sizes = [1, 16, 2]
// CHECK: stablehlo.dot_general %{{.*}} -> tensor<1x4x2xf32>
func.func @dynamic_slice_of_dot_of_a_batch(%x: tensor<8x4x16xf32>, %y: tensor<8x16x3xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<1x4x2xf32> {
  %a = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x4x16xf32>, tensor<8x16x3xf32>) -> tensor<8x4x3xf32>
  %r = stablehlo.dynamic_slice %a, %i, %j, %j, sizes = [1, 4, 2] : (tensor<8x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x2xf32>
  return %r : tensor<1x4x2xf32>
}

// The product has another use.
// CHECK-LABEL: func.func @dynamic_slice_of_dot_not_with_others(
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.dynamic_slice
func.func @dynamic_slice_of_dot_not_with_others(%x: tensor<4x8xf32>, %y: tensor<8x12xf32>, %i: tensor<i32>) -> (tensor<1x12xf32>, tensor<4x12xf32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %r = stablehlo.dynamic_slice %a, %i, %z, sizes = [1, 12] : (tensor<4x12xf32>, tensor<i32>, tensor<i32>) -> tensor<1x12xf32>
  return %r, %a : tensor<1x12xf32>, tensor<4x12xf32>
}
