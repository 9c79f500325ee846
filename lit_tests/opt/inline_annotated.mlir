// RUN: %jxc opt %s -p 'inline{default-pipeline=},symbol-dce' | FileCheck %s
// RUN: %jxc opt %s -O2 | FileCheck %s

// Calls with annotations stay, also inside of functions that are inlined: the annotation says that
// the function runs on the host (jax.experimental.compute_on), or that XLA must not inline it.
// CHECK-LABEL: func.func public @main(
// CHECK-NOT: call @both
// CHECK: call @on_host({{.*}}) {mhlo.frontend_attributes = {_xla_compute_type = "host"}}
// CHECK-NOT: no_inline
// CHECK: call @apart({{.*}}) {mhlo.frontend_attributes = {inlineable = "false"}}
// CHECK-NOT: no_inline
func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @both(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @both(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @on_host(%x) {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : (tensor<f32>) -> tensor<f32>
  %1 = call @apart(%0) {mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @on_host(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @apart(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.sine %x : tensor<f32>
  return %0 : tensor<f32>
}
