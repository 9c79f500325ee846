// RUN: %jxc opt %s -p 'reductions{always=true}' --split-input-file | FileCheck %s

// A norm of points in space. The sum starts from 0.0. This addition is written as a select, because
// XLA would fold x + 0.0 into x.
// CHECK-LABEL: func.func @reduce_to_slices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5600x3xf32>
// CHECK: %[[S0:[a-z0-9_]+]] = stablehlo.select {{.*}} tensor<5600xf32>
// CHECK: %[[S1:[a-z0-9_]+]] = stablehlo.add %[[S0]], %{{[a-z0-9_]+}} : tensor<5600xf32>
// CHECK: %[[S2:[a-z0-9_]+]] = stablehlo.add %[[S1]], %{{[a-z0-9_]+}} : tensor<5600xf32>
// CHECK-NEXT: return %[[S2]]
func.func @reduce_to_slices(%x: tensor<5600x3xf32>) -> tensor<5600xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5600x3xf32>, tensor<f32>) -> tensor<5600xf32>
  return %r : tensor<5600xf32>
}

// XLA does not fuse a reduction into several users, but it would fuse slices.
// CHECK-LABEL: func.func @reduce_to_slices_used_twice(
// CHECK: %[[R:[a-z0-9_]+]] = call @stored_tensor_8400xf32_(
// CHECK: return %[[R]], %[[R]]
func.func @reduce_to_slices_used_twice(%x: tensor<8400x2xf32>) -> (tensor<8400xf32>, tensor<8400xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8400x2xf32>, tensor<f32>) -> tensor<8400xf32>
  return %r, %r : tensor<8400xf32>, tensor<8400xf32>
}

// The operand is stored: XLA would emit its ops once for each slice.
// CHECK-LABEL: func.func @reduce_to_slices_of_many_ops(
// CHECK: %[[X:[a-z0-9_]+]] = call @stored_tensor_8400x2xf32_(
// CHECK: stablehlo.slice %[[X]]
// CHECK: stablehlo.slice %[[X]]
func.func @reduce_to_slices_of_many_ops(%x: tensor<8400x2xf32>) -> tensor<8400xf32> {
  %0 = stablehlo.cosine %x : tensor<8400x2xf32>
  %1 = stablehlo.sine %0 : tensor<8400x2xf32>
  %2 = stablehlo.cosine %1 : tensor<8400x2xf32>
  %3 = stablehlo.sine %2 : tensor<8400x2xf32>
  %4 = stablehlo.cosine %3 : tensor<8400x2xf32>
  %5 = stablehlo.sine %4 : tensor<8400x2xf32>
  %6 = stablehlo.cosine %5 : tensor<8400x2xf32>
  %7 = stablehlo.sine %6 : tensor<8400x2xf32>
  %8 = stablehlo.cosine %7 : tensor<8400x2xf32>
  %9 = stablehlo.sine %8 : tensor<8400x2xf32>
  %10 = stablehlo.cosine %9 : tensor<8400x2xf32>
  %11 = stablehlo.sine %10 : tensor<8400x2xf32>
  %12 = stablehlo.cosine %11 : tensor<8400x2xf32>
  %13 = stablehlo.sine %12 : tensor<8400x2xf32>
  %14 = stablehlo.cosine %13 : tensor<8400x2xf32>
  %15 = stablehlo.sine %14 : tensor<8400x2xf32>
  %16 = stablehlo.cosine %15 : tensor<8400x2xf32>
  %17 = stablehlo.sine %16 : tensor<8400x2xf32>
  %18 = stablehlo.cosine %17 : tensor<8400x2xf32>
  %19 = stablehlo.sine %18 : tensor<8400x2xf32>
  %20 = stablehlo.cosine %19 : tensor<8400x2xf32>
  %21 = stablehlo.sine %20 : tensor<8400x2xf32>
  %22 = stablehlo.cosine %21 : tensor<8400x2xf32>
  %23 = stablehlo.sine %22 : tensor<8400x2xf32>
  %24 = stablehlo.cosine %23 : tensor<8400x2xf32>
  %25 = stablehlo.sine %24 : tensor<8400x2xf32>
  %26 = stablehlo.cosine %25 : tensor<8400x2xf32>
  %27 = stablehlo.sine %26 : tensor<8400x2xf32>
  %28 = stablehlo.cosine %27 : tensor<8400x2xf32>
  %29 = stablehlo.sine %28 : tensor<8400x2xf32>
  %30 = stablehlo.cosine %29 : tensor<8400x2xf32>
  %31 = stablehlo.sine %30 : tensor<8400x2xf32>
  %32 = stablehlo.cosine %31 : tensor<8400x2xf32>
  %33 = stablehlo.sine %32 : tensor<8400x2xf32>
  %34 = stablehlo.cosine %33 : tensor<8400x2xf32>
  %35 = stablehlo.sine %34 : tensor<8400x2xf32>
  %36 = stablehlo.cosine %35 : tensor<8400x2xf32>
  %37 = stablehlo.sine %36 : tensor<8400x2xf32>
  %38 = stablehlo.cosine %37 : tensor<8400x2xf32>
  %39 = stablehlo.sine %38 : tensor<8400x2xf32>
  %40 = stablehlo.cosine %39 : tensor<8400x2xf32>
  %41 = stablehlo.sine %40 : tensor<8400x2xf32>
  %42 = stablehlo.cosine %41 : tensor<8400x2xf32>
  %43 = stablehlo.sine %42 : tensor<8400x2xf32>
  %44 = stablehlo.cosine %43 : tensor<8400x2xf32>
  %45 = stablehlo.sine %44 : tensor<8400x2xf32>
  %46 = stablehlo.cosine %45 : tensor<8400x2xf32>
  %47 = stablehlo.sine %46 : tensor<8400x2xf32>
  %48 = stablehlo.cosine %47 : tensor<8400x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%48 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8400x2xf32>, tensor<f32>) -> tensor<8400xf32>
  return %r : tensor<8400xf32>
}

// Another op reads the operand: XLA may then overwrite it before the slices are read.
// CHECK-LABEL: func.func @reduce_to_slices_not_of_many_ops_read_elsewhere(
// CHECK: stablehlo.reduce
func.func @reduce_to_slices_not_of_many_ops_read_elsewhere(%x: tensor<8400x2xf32>) -> (tensor<8400xf32>, tensor<8400x2xf32>) {
  %0 = stablehlo.cosine %x : tensor<8400x2xf32>
  %1 = stablehlo.sine %0 : tensor<8400x2xf32>
  %2 = stablehlo.cosine %1 : tensor<8400x2xf32>
  %3 = stablehlo.sine %2 : tensor<8400x2xf32>
  %4 = stablehlo.cosine %3 : tensor<8400x2xf32>
  %5 = stablehlo.sine %4 : tensor<8400x2xf32>
  %6 = stablehlo.cosine %5 : tensor<8400x2xf32>
  %7 = stablehlo.sine %6 : tensor<8400x2xf32>
  %8 = stablehlo.cosine %7 : tensor<8400x2xf32>
  %9 = stablehlo.sine %8 : tensor<8400x2xf32>
  %10 = stablehlo.cosine %9 : tensor<8400x2xf32>
  %11 = stablehlo.sine %10 : tensor<8400x2xf32>
  %12 = stablehlo.cosine %11 : tensor<8400x2xf32>
  %13 = stablehlo.sine %12 : tensor<8400x2xf32>
  %14 = stablehlo.cosine %13 : tensor<8400x2xf32>
  %15 = stablehlo.sine %14 : tensor<8400x2xf32>
  %16 = stablehlo.cosine %15 : tensor<8400x2xf32>
  %17 = stablehlo.sine %16 : tensor<8400x2xf32>
  %18 = stablehlo.cosine %17 : tensor<8400x2xf32>
  %19 = stablehlo.sine %18 : tensor<8400x2xf32>
  %20 = stablehlo.cosine %19 : tensor<8400x2xf32>
  %21 = stablehlo.sine %20 : tensor<8400x2xf32>
  %22 = stablehlo.cosine %21 : tensor<8400x2xf32>
  %23 = stablehlo.sine %22 : tensor<8400x2xf32>
  %24 = stablehlo.cosine %23 : tensor<8400x2xf32>
  %25 = stablehlo.sine %24 : tensor<8400x2xf32>
  %26 = stablehlo.cosine %25 : tensor<8400x2xf32>
  %27 = stablehlo.sine %26 : tensor<8400x2xf32>
  %28 = stablehlo.cosine %27 : tensor<8400x2xf32>
  %29 = stablehlo.sine %28 : tensor<8400x2xf32>
  %30 = stablehlo.cosine %29 : tensor<8400x2xf32>
  %31 = stablehlo.sine %30 : tensor<8400x2xf32>
  %32 = stablehlo.cosine %31 : tensor<8400x2xf32>
  %33 = stablehlo.sine %32 : tensor<8400x2xf32>
  %34 = stablehlo.cosine %33 : tensor<8400x2xf32>
  %35 = stablehlo.sine %34 : tensor<8400x2xf32>
  %36 = stablehlo.cosine %35 : tensor<8400x2xf32>
  %37 = stablehlo.sine %36 : tensor<8400x2xf32>
  %38 = stablehlo.cosine %37 : tensor<8400x2xf32>
  %39 = stablehlo.sine %38 : tensor<8400x2xf32>
  %40 = stablehlo.cosine %39 : tensor<8400x2xf32>
  %41 = stablehlo.sine %40 : tensor<8400x2xf32>
  %42 = stablehlo.cosine %41 : tensor<8400x2xf32>
  %43 = stablehlo.sine %42 : tensor<8400x2xf32>
  %44 = stablehlo.cosine %43 : tensor<8400x2xf32>
  %45 = stablehlo.sine %44 : tensor<8400x2xf32>
  %46 = stablehlo.cosine %45 : tensor<8400x2xf32>
  %47 = stablehlo.sine %46 : tensor<8400x2xf32>
  %48 = stablehlo.cosine %47 : tensor<8400x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%48 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8400x2xf32>, tensor<f32>) -> tensor<8400xf32>
  return %r, %48 : tensor<8400xf32>, tensor<8400x2xf32>
}

// No number is less than -inf: the initial value needs no op.
// CHECK-LABEL: func.func @reduce_to_slices_maximum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8400x2xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:8400, 0:1]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.reshape %[[A]]
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:8400, 1:2]
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = stablehlo.reshape %[[C]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[B]], %[[D]]
// CHECK-NEXT: return %[[R]]
func.func @reduce_to_slices_maximum(%x: tensor<8400x2xf32>) -> tensor<8400xf32> {
  %zero = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<8400x2xf32>, tensor<f32>) -> tensor<8400xf32>
  return %r : tensor<8400xf32>
}

// A mean of 2x2 pixels; 16-bit numbers are summed in f32.
// CHECK-LABEL: func.func @reduce_to_slices_two_axes(
// CHECK-NOT: stablehlo.reduce
// CHECK-COUNT-4: stablehlo.convert %{{.*}} -> tensor<48x48x3xf32>
// CHECK-COUNT-3: stablehlo.add %{{.*}} : tensor<48x48x3xf32>
// CHECK: stablehlo.convert %{{.*}} -> tensor<48x48x3xbf16>
func.func @reduce_to_slices_two_axes(%x: tensor<48x2x48x2x3xbf16>) -> tensor<48x48x3xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1, 3] : (tensor<48x2x48x2x3xbf16>, tensor<bf16>) -> tensor<48x48x3xbf16>
  return %r : tensor<48x48x3xbf16>
}

// Few rows, each of any length.
// CHECK-LABEL: func.func @reduce_to_slices_leading(
// CHECK-NOT: stablehlo.reduce
// CHECK-COUNT-4: stablehlo.slice
func.func @reduce_to_slices_leading(%x: tensor<4x5000xf64>) -> tensor<5000xf64> {
  %zero = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.minimum across dimensions = [0] : (tensor<4x5000xf64>, tensor<f64>) -> tensor<5000xf64>
  return %r : tensor<5000xf64>
}

// XLA vectorizes the reduction of more elements.
// CHECK-LABEL: func.func @reduce_to_slices_not_many(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @reduce_to_slices_not_many(%x: tensor<2000x17xf32>) -> tensor<2000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2000x17xf32>, tensor<f32>) -> tensor<2000xf32>
  return %r : tensor<2000xf32>
}

// XLA vectorizes sums of integers.
// CHECK-LABEL: func.func @reduce_to_slices_not_integers(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @reduce_to_slices_not_integers(%x: tensor<5600x3xi32>) -> tensor<5600xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5600x3xi32>, tensor<i32>) -> tensor<5600xi32>
  return %r : tensor<5600xi32>
}

// The reduction of XLA is as fast for products.
// CHECK-LABEL: func.func @reduce_to_slices_not_products(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @reduce_to_slices_not_products(%x: tensor<5600x3xf32>) -> tensor<5600xf32> {
  %zero = stablehlo.constant dense<1.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.multiply across dimensions = [1] : (tensor<5600x3xf32>, tensor<f32>) -> tensor<5600xf32>
  return %r : tensor<5600xf32>
}

// The number of rows is unknown.
// CHECK-LABEL: func.func @reduce_to_slices_not_dynamic(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @reduce_to_slices_not_dynamic(%x: tensor<?x3xf32>) -> tensor<?xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
