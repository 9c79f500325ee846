// RUN: %jxc opt %s -p kernels --target tpu:v5e --split-input-file | FileCheck %s --check-prefixes=CHECK,TPU
// RUN: %jxc opt %s -p kernels --target gpu:h100 --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: %jxc opt %s -p kernels --split-input-file | FileCheck %s --check-prefix=CPU

// There is no kernel for CPU.
// CPU-NOT: custom_call

// CHECK-LABEL: func.func @attention(
// CHECK-NOT: 1024x1024
// CHECK: %[[R:[a-z0-9_]+]] = call @[[KERNEL:[a-z_]+]](
// TPU: func.func private @[[KERNEL]](
// TPU: stablehlo.custom_call @tpu_custom_call(
// GPU: func.func private @[[KERNEL]](
// GPU: stablehlo.custom_call @__gpu$xla.gpu.triton(
func.func @attention(%q: tensor<1x1024x2x64xf32>, %k: tensor<1x1024x2x64xf32>, %v: tensor<1x1024x2x64xf32>) -> tensor<1x2x64x1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<1.250000e-01> : tensor<1x2x1024x1024xf32>
  %product = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x2x64xf32>, tensor<1x1024x2x64xf32>) -> tensor<1x2x1024x1024xf32>
  %scores = stablehlo.multiply %product, %scale : tensor<1x2x1024x1024xf32>
  %most = stablehlo.reduce(%scores init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x1024x1024xf32>, tensor<f32>) -> tensor<1x2x1024xf32>
  %b = stablehlo.broadcast_in_dim %most, dims = [0, 1, 2] : (tensor<1x2x1024xf32>) -> tensor<1x2x1024x1024xf32>
  %less = stablehlo.subtract %scores, %b : tensor<1x2x1024x1024xf32>
  %e = stablehlo.exponential %less : tensor<1x2x1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<1x2x1024x1024xf32>, tensor<f32>) -> tensor<1x2x1024xf32>
  %c = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<1x2x1024xf32>) -> tensor<1x2x1024x1024xf32>
  %p = stablehlo.divide %e, %c : tensor<1x2x1024x1024xf32>
  %r = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x2x64xf32>, tensor<1x2x1024x1024xf32>) -> tensor<1x2x64x1024xf32>
  return %r : tensor<1x2x64x1024xf32>
}

// -----

// CHECK-LABEL: func.func @causal_attention(
// CHECK-NOT: 1024x1024
// CHECK: %[[R:[a-z0-9_]+]] = call @[[KERNEL:[a-z_]+]](
// TPU: func.func private @[[KERNEL]](
// TPU: stablehlo.custom_call @tpu_custom_call(
// GPU: func.func private @[[KERNEL]](
// GPU: stablehlo.custom_call @__gpu$xla.gpu.triton(
func.func @causal_attention(%q: tensor<1x1024x2x64xf32>, %k: tensor<1x1024x2x64xf32>, %v: tensor<1x1024x2x64xf32>) -> tensor<1x2x64x1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<1.250000e-01> : tensor<1x2x1024x1024xf32>
  %product = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x2x64xf32>, tensor<1x1024x2x64xf32>) -> tensor<1x2x1024x1024xf32>
  %scores = stablehlo.multiply %product, %scale : tensor<1x2x1024x1024xf32>
  %i = stablehlo.iota dim = 0 : tensor<1024x1024xi32>
  %j = stablehlo.iota dim = 1 : tensor<1024x1024xi32>
  %seen = stablehlo.compare GE, %i, %j, SIGNED : (tensor<1024x1024xi32>, tensor<1024x1024xi32>) -> tensor<1024x1024xi1>
  %mask = stablehlo.broadcast_in_dim %seen, dims = [2, 3] : (tensor<1024x1024xi1>) -> tensor<1x2x1024x1024xi1>
  %low = stablehlo.constant dense<0xFF800000> : tensor<1x2x1024x1024xf32>
  %masked = stablehlo.select %mask, %scores, %low : tensor<1x2x1024x1024xi1>, tensor<1x2x1024x1024xf32>
  %most = stablehlo.reduce(%masked init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x1024x1024xf32>, tensor<f32>) -> tensor<1x2x1024xf32>
  %b = stablehlo.broadcast_in_dim %most, dims = [0, 1, 2] : (tensor<1x2x1024xf32>) -> tensor<1x2x1024x1024xf32>
  %less = stablehlo.subtract %masked, %b : tensor<1x2x1024x1024xf32>
  %e = stablehlo.exponential %less : tensor<1x2x1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<1x2x1024x1024xf32>, tensor<f32>) -> tensor<1x2x1024xf32>
  %c = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<1x2x1024xf32>) -> tensor<1x2x1024x1024xf32>
  %p = stablehlo.divide %e, %c : tensor<1x2x1024x1024xf32>
  %r = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x2x64xf32>, tensor<1x2x1024x1024xf32>) -> tensor<1x2x64x1024xf32>
  return %r : tensor<1x2x64x1024xf32>
}

// -----

// The weights are a result.
// CHECK-LABEL: func.func @attention_not_with_weights(
// CHECK-NOT: custom_call
// CHECK: stablehlo.exponential
func.func @attention_not_with_weights(%q: tensor<1x1024x2x64xf32>, %k: tensor<1x1024x2x64xf32>, %v: tensor<1x1024x2x64xf32>) -> (tensor<1x2x64x1024xf32>, tensor<1x2x1024x1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<1.250000e-01> : tensor<1x2x1024x1024xf32>
  %product = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x2x64xf32>, tensor<1x1024x2x64xf32>) -> tensor<1x2x1024x1024xf32>
  %scores = stablehlo.multiply %product, %scale : tensor<1x2x1024x1024xf32>
  %most = stablehlo.reduce(%scores init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x1024x1024xf32>, tensor<f32>) -> tensor<1x2x1024xf32>
  %b = stablehlo.broadcast_in_dim %most, dims = [0, 1, 2] : (tensor<1x2x1024xf32>) -> tensor<1x2x1024x1024xf32>
  %less = stablehlo.subtract %scores, %b : tensor<1x2x1024x1024xf32>
  %e = stablehlo.exponential %less : tensor<1x2x1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<1x2x1024x1024xf32>, tensor<f32>) -> tensor<1x2x1024xf32>
  %c = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<1x2x1024xf32>) -> tensor<1x2x1024x1024xf32>
  %p = stablehlo.divide %e, %c : tensor<1x2x1024x1024xf32>
  %r = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x2x64xf32>, tensor<1x2x1024x1024xf32>) -> tensor<1x2x64x1024xf32>
  return %r, %p : tensor<1x2x64x1024xf32>, tensor<1x2x1024x1024xf32>
}

// -----

// Scores below -100 would get a weight.
// CHECK-LABEL: func.func @causal_attention_not_with_small_mask(
// CHECK-NOT: custom_call
// CHECK: stablehlo.exponential
func.func @causal_attention_not_with_small_mask(%q: tensor<1x1024x2x64xf32>, %k: tensor<1x1024x2x64xf32>, %v: tensor<1x1024x2x64xf32>) -> tensor<1x2x64x1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<1.250000e-01> : tensor<1x2x1024x1024xf32>
  %product = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x2x64xf32>, tensor<1x1024x2x64xf32>) -> tensor<1x2x1024x1024xf32>
  %scores = stablehlo.multiply %product, %scale : tensor<1x2x1024x1024xf32>
  %i = stablehlo.iota dim = 0 : tensor<1024x1024xi32>
  %j = stablehlo.iota dim = 1 : tensor<1024x1024xi32>
  %seen = stablehlo.compare GE, %i, %j, SIGNED : (tensor<1024x1024xi32>, tensor<1024x1024xi32>) -> tensor<1024x1024xi1>
  %mask = stablehlo.broadcast_in_dim %seen, dims = [2, 3] : (tensor<1024x1024xi1>) -> tensor<1x2x1024x1024xi1>
  %low = stablehlo.constant dense<-1.000000e+02> : tensor<1x2x1024x1024xf32>
  %masked = stablehlo.select %mask, %scores, %low : tensor<1x2x1024x1024xi1>, tensor<1x2x1024x1024xf32>
  %most = stablehlo.reduce(%masked init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x1024x1024xf32>, tensor<f32>) -> tensor<1x2x1024xf32>
  %b = stablehlo.broadcast_in_dim %most, dims = [0, 1, 2] : (tensor<1x2x1024xf32>) -> tensor<1x2x1024x1024xf32>
  %less = stablehlo.subtract %masked, %b : tensor<1x2x1024x1024xf32>
  %e = stablehlo.exponential %less : tensor<1x2x1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<1x2x1024x1024xf32>, tensor<f32>) -> tensor<1x2x1024xf32>
  %c = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<1x2x1024xf32>) -> tensor<1x2x1024x1024xf32>
  %p = stablehlo.divide %e, %c : tensor<1x2x1024x1024xf32>
  %r = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x2x64xf32>, tensor<1x2x1024x1024xf32>) -> tensor<1x2x64x1024xf32>
  return %r : tensor<1x2x64x1024xf32>
}

// -----

// 896 positions are too few on TPU.
// CHECK-LABEL: func.func @attention_not_at_the_limit(
// TPU-NOT: custom_call
// TPU: stablehlo.exponential
func.func @attention_not_at_the_limit(%q: tensor<1x896x2x64xf32>, %k: tensor<1x896x2x64xf32>, %v: tensor<1x896x2x64xf32>) -> tensor<1x2x64x896xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<1.250000e-01> : tensor<1x2x896x896xf32>
  %product = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x896x2x64xf32>, tensor<1x896x2x64xf32>) -> tensor<1x2x896x896xf32>
  %scores = stablehlo.multiply %product, %scale : tensor<1x2x896x896xf32>
  %most = stablehlo.reduce(%scores init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x896x896xf32>, tensor<f32>) -> tensor<1x2x896xf32>
  %b = stablehlo.broadcast_in_dim %most, dims = [0, 1, 2] : (tensor<1x2x896xf32>) -> tensor<1x2x896x896xf32>
  %less = stablehlo.subtract %scores, %b : tensor<1x2x896x896xf32>
  %e = stablehlo.exponential %less : tensor<1x2x896x896xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<1x2x896x896xf32>, tensor<f32>) -> tensor<1x2x896xf32>
  %c = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<1x2x896xf32>) -> tensor<1x2x896x896xf32>
  %p = stablehlo.divide %e, %c : tensor<1x2x896x896xf32>
  %r = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x896x2x64xf32>, tensor<1x2x896x896xf32>) -> tensor<1x2x64x896xf32>
  return %r : tensor<1x2x64x896xf32>
}
