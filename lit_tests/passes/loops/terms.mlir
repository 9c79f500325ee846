// RUN: %jxc opt %s -p loops --target tpu --split-input-file | FileCheck %s
// RUN: %jxc opt %s -p loops --target cpu --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sums_of_products_after_loop_of_16_terms(
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.dot_general {{.*}}tensor<32x4xf32>
// CHECK: stablehlo.dynamic_update_slice
// CHECK: stablehlo.dot_general {{.*}} contracting_dims = [0, 1] x [0, 1] : (tensor<3x16x32xf32>, tensor<3x16x4xf32>)
func.func @sums_of_products_after_loop_of_16_terms(%x: tensor<3x16x32xf32>, %v: tensor<3x16x32xf32>, %h0: tensor<16x4xf32>, %w: tensor<4x4xf32>, %dw0: tensor<32x4xf32>, %du0: tensor<32x4xf32>) -> (tensor<16x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:4 = stablehlo.while(%i = %zero, %h = %h0, %dw = %dw0, %du = %du0) : tensor<i32>, tensor<16x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<3x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    %xi = stablehlo.reshape %xs : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %vs = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<3x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    %vi = stablehlo.reshape %vs : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
    %dz = stablehlo.tanh %g : tensor<16x4xf32>
    %a = stablehlo.dot_general %xi, %dz, contracting_dims = [0] x [0] : (tensor<16x32xf32>, tensor<16x4xf32>) -> tensor<32x4xf32>
    %dw1 = stablehlo.add %dw, %a : tensor<32x4xf32>
    %b = stablehlo.dot_general %vi, %dz, contracting_dims = [0] x [0] : (tensor<16x32xf32>, tensor<16x4xf32>) -> tensor<32x4xf32>
    %du1 = stablehlo.add %du, %b : tensor<32x4xf32>
    stablehlo.return %next, %dz, %dw1, %du1 : tensor<i32>, tensor<16x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>
  }
  return %l#1, %l#2, %l#3 : tensor<16x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>
}

// -----

// CHECK-LABEL: func.func @sums_of_products_after_loop_not_of_17_terms(
// CHECK-NOT: stablehlo.dynamic_update_slice
func.func @sums_of_products_after_loop_not_of_17_terms(%x: tensor<3x17x32xf32>, %v: tensor<3x17x32xf32>, %h0: tensor<17x4xf32>, %w: tensor<4x4xf32>, %dw0: tensor<32x4xf32>, %du0: tensor<32x4xf32>) -> (tensor<17x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:4 = stablehlo.while(%i = %zero, %h = %h0, %dw = %dw0, %du = %du0) : tensor<i32>, tensor<17x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 17, 32] : (tensor<3x17x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x17x32xf32>
    %xi = stablehlo.reshape %xs : (tensor<1x17x32xf32>) -> tensor<17x32xf32>
    %vs = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 17, 32] : (tensor<3x17x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x17x32xf32>
    %vi = stablehlo.reshape %vs : (tensor<1x17x32xf32>) -> tensor<17x32xf32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<17x4xf32>, tensor<4x4xf32>) -> tensor<17x4xf32>
    %dz = stablehlo.tanh %g : tensor<17x4xf32>
    %a = stablehlo.dot_general %xi, %dz, contracting_dims = [0] x [0] : (tensor<17x32xf32>, tensor<17x4xf32>) -> tensor<32x4xf32>
    %dw1 = stablehlo.add %dw, %a : tensor<32x4xf32>
    %b = stablehlo.dot_general %vi, %dz, contracting_dims = [0] x [0] : (tensor<17x32xf32>, tensor<17x4xf32>) -> tensor<32x4xf32>
    %du1 = stablehlo.add %du, %b : tensor<32x4xf32>
    stablehlo.return %next, %dz, %dw1, %du1 : tensor<i32>, tensor<17x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>
  }
  return %l#1, %l#2, %l#3 : tensor<17x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>
}

// -----

// Each of four devices has 16 terms.
// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_update_slice
// CHECK: stablehlo.dot_general {{.*}} contracting_dims = [0, 1] x [0, 1] : (tensor<3x64x128xf32>, tensor<3x64x4xf32>)
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4]>
  func.func @main(%x: tensor<3x64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %v: tensor<3x64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %h0: tensor<64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<4x4xf32>, %dw0: tensor<128x4xf32>, %du0: tensor<128x4xf32>) -> (tensor<64x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %l:4 = stablehlo.while(%i = %zero, %h = %h0, %dw = %dw0, %du = %du0) : tensor<i32>, tensor<64x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 64, 128] : (tensor<3x64x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x128xf32>
      %xi = stablehlo.reshape %xs : (tensor<1x64x128xf32>) -> tensor<64x128xf32>
      %vs = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 64, 128] : (tensor<3x64x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x128xf32>
      %vi = stablehlo.reshape %vs : (tensor<1x64x128xf32>) -> tensor<64x128xf32>
      %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<64x4xf32>, tensor<4x4xf32>) -> tensor<64x4xf32>
      %dz = stablehlo.tanh %g : tensor<64x4xf32>
      %a = stablehlo.dot_general %xi, %dz, contracting_dims = [0] x [0] : (tensor<64x128xf32>, tensor<64x4xf32>) -> tensor<128x4xf32>
      %dw1 = stablehlo.add %dw, %a : tensor<128x4xf32>
      %b = stablehlo.dot_general %vi, %dz, contracting_dims = [0] x [0] : (tensor<64x128xf32>, tensor<64x4xf32>) -> tensor<128x4xf32>
      %du1 = stablehlo.add %du, %b : tensor<128x4xf32>
      stablehlo.return %next, %dz, %dw1, %du1 : tensor<i32>, tensor<64x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>
    }
    return %l#1, %l#2, %l#3 : tensor<64x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>
  }
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK-NOT: stablehlo.dynamic_update_slice
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4]>
  func.func @main(%x: tensor<3x68x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %v: tensor<3x68x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %h0: tensor<68x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<4x4xf32>, %dw0: tensor<128x4xf32>, %du0: tensor<128x4xf32>) -> (tensor<68x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %l:4 = stablehlo.while(%i = %zero, %h = %h0, %dw = %dw0, %du = %du0) : tensor<i32>, tensor<68x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 68, 128] : (tensor<3x68x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x68x128xf32>
      %xi = stablehlo.reshape %xs : (tensor<1x68x128xf32>) -> tensor<68x128xf32>
      %vs = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 68, 128] : (tensor<3x68x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x68x128xf32>
      %vi = stablehlo.reshape %vs : (tensor<1x68x128xf32>) -> tensor<68x128xf32>
      %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<68x4xf32>, tensor<4x4xf32>) -> tensor<68x4xf32>
      %dz = stablehlo.tanh %g : tensor<68x4xf32>
      %a = stablehlo.dot_general %xi, %dz, contracting_dims = [0] x [0] : (tensor<68x128xf32>, tensor<68x4xf32>) -> tensor<128x4xf32>
      %dw1 = stablehlo.add %dw, %a : tensor<128x4xf32>
      %b = stablehlo.dot_general %vi, %dz, contracting_dims = [0] x [0] : (tensor<68x128xf32>, tensor<68x4xf32>) -> tensor<128x4xf32>
      %du1 = stablehlo.add %du, %b : tensor<128x4xf32>
      stablehlo.return %next, %dz, %dw1, %du1 : tensor<i32>, tensor<68x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>
    }
    return %l#1, %l#2, %l#3 : tensor<68x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>
  }
}
