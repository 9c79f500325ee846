// RUN: %jxc opt %s -p recurrences | FileCheck %s
// RUN: %jxc opt %s -p recurrences --target gpu | FileCheck %s --check-prefix=GPU

// GPU-NOT: stablehlo.while

// The first element is not multiplied by anything. Where a result is -0.0, the tree has 0.0, by the
// zeros of its pads. The loop carries f64, and computes 8 elements in an iteration; the other 7 are
// computed after it.
// CHECK-LABEL: func.func @recurrences_linear(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<32xf32>, %[[B:[a-z0-9]+]]: tensor<32xf32>
// CHECK: %[[L:[a-z0-9_]+]]:3 = stablehlo.while(
// CHECK: do {
// CHECK: stablehlo.dynamic_slice %[[A]], %{{.*}}, sizes = [8]
// CHECK: stablehlo.dynamic_slice %[[B]], %{{.*}}, sizes = [8]
// CHECK-COUNT-8: stablehlo.multiply %{{.*}} : tensor<1xf64>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.concatenate {{.*}} -> tensor<8xf32>
// CHECK: %[[Z:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %{{.*}}, %[[C]]
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[Z]],
// CHECK: stablehlo.dynamic_slice %[[A]], %{{.*}}, sizes = [7]
// CHECK: stablehlo.concatenate {{.*}} -> tensor<7xf32>
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[L]]#2,
// CHECK: return %[[Y]]
func.func @recurrences_linear(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.slice %arg0 [0:31:2] : (tensor<32xf32>) -> tensor<16xf32>
  %1 = stablehlo.slice %arg1 [0:31:2] : (tensor<32xf32>) -> tensor<16xf32>
  %2 = stablehlo.slice %arg0 [1:32:2] : (tensor<32xf32>) -> tensor<16xf32>
  %3 = stablehlo.slice %arg1 [1:32:2] : (tensor<32xf32>) -> tensor<16xf32>
  %4 = stablehlo.multiply %0, %2 : tensor<16xf32>
  %5 = stablehlo.multiply %2, %1 : tensor<16xf32>
  %6 = stablehlo.add %5, %3 : tensor<16xf32>
  %7 = stablehlo.slice %4 [0:15:2] : (tensor<16xf32>) -> tensor<8xf32>
  %8 = stablehlo.slice %6 [0:15:2] : (tensor<16xf32>) -> tensor<8xf32>
  %9 = stablehlo.slice %4 [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %10 = stablehlo.slice %6 [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %11 = stablehlo.multiply %7, %9 : tensor<8xf32>
  %12 = stablehlo.multiply %9, %8 : tensor<8xf32>
  %13 = stablehlo.add %12, %10 : tensor<8xf32>
  %14 = stablehlo.slice %11 [0:7:2] : (tensor<8xf32>) -> tensor<4xf32>
  %15 = stablehlo.slice %13 [0:7:2] : (tensor<8xf32>) -> tensor<4xf32>
  %16 = stablehlo.slice %11 [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %17 = stablehlo.slice %13 [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %18 = stablehlo.multiply %14, %16 : tensor<4xf32>
  %19 = stablehlo.multiply %16, %15 : tensor<4xf32>
  %20 = stablehlo.add %19, %17 : tensor<4xf32>
  %21 = stablehlo.slice %18 [0:3:2] : (tensor<4xf32>) -> tensor<2xf32>
  %22 = stablehlo.slice %20 [0:3:2] : (tensor<4xf32>) -> tensor<2xf32>
  %23 = stablehlo.slice %18 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %24 = stablehlo.slice %20 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %25 = stablehlo.multiply %21, %23 : tensor<2xf32>
  %26 = stablehlo.multiply %23, %22 : tensor<2xf32>
  %27 = stablehlo.add %26, %24 : tensor<2xf32>
  %28 = stablehlo.slice %27 [0:1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %29 = stablehlo.slice %25 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
  %30 = stablehlo.slice %27 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
  %31 = stablehlo.multiply %29, %28 : tensor<1xf32>
  %32 = stablehlo.add %31, %30 : tensor<1xf32>
  %33 = stablehlo.slice %32 [0:0] : (tensor<1xf32>) -> tensor<0xf32>
  %34 = stablehlo.slice %25 [2:2:2] : (tensor<2xf32>) -> tensor<0xf32>
  %35 = stablehlo.slice %27 [2:2:2] : (tensor<2xf32>) -> tensor<0xf32>
  %36 = stablehlo.multiply %34, %33 : tensor<0xf32>
  %37 = stablehlo.add %36, %35 : tensor<0xf32>
  %38 = stablehlo.slice %27 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %39 = stablehlo.concatenate %38, %37, dim = 0 : (tensor<1xf32>, tensor<0xf32>) -> tensor<1xf32>
  %40 = stablehlo.pad %39, %cst, low = [0], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %41 = stablehlo.pad %32, %cst, low = [1], high = [0], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %42 = stablehlo.add %40, %41 : tensor<2xf32>
  %43 = stablehlo.slice %42 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %44 = stablehlo.slice %18 [2:4:2] : (tensor<4xf32>) -> tensor<1xf32>
  %45 = stablehlo.slice %20 [2:4:2] : (tensor<4xf32>) -> tensor<1xf32>
  %46 = stablehlo.multiply %44, %43 : tensor<1xf32>
  %47 = stablehlo.add %46, %45 : tensor<1xf32>
  %48 = stablehlo.slice %20 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %49 = stablehlo.concatenate %48, %47, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %50 = stablehlo.pad %49, %cst, low = [0], high = [1], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %51 = stablehlo.pad %42, %cst, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %52 = stablehlo.add %50, %51 : tensor<4xf32>
  %53 = stablehlo.slice %52 [0:3] : (tensor<4xf32>) -> tensor<3xf32>
  %54 = stablehlo.slice %11 [2:8:2] : (tensor<8xf32>) -> tensor<3xf32>
  %55 = stablehlo.slice %13 [2:8:2] : (tensor<8xf32>) -> tensor<3xf32>
  %56 = stablehlo.multiply %54, %53 : tensor<3xf32>
  %57 = stablehlo.add %56, %55 : tensor<3xf32>
  %58 = stablehlo.slice %13 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %59 = stablehlo.concatenate %58, %57, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  %60 = stablehlo.pad %59, %cst, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %61 = stablehlo.pad %52, %cst, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %62 = stablehlo.add %60, %61 : tensor<8xf32>
  %63 = stablehlo.slice %62 [0:7] : (tensor<8xf32>) -> tensor<7xf32>
  %64 = stablehlo.slice %4 [2:16:2] : (tensor<16xf32>) -> tensor<7xf32>
  %65 = stablehlo.slice %6 [2:16:2] : (tensor<16xf32>) -> tensor<7xf32>
  %66 = stablehlo.multiply %64, %63 : tensor<7xf32>
  %67 = stablehlo.add %66, %65 : tensor<7xf32>
  %68 = stablehlo.slice %6 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
  %69 = stablehlo.concatenate %68, %67, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  %70 = stablehlo.pad %69, %cst, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %71 = stablehlo.pad %62, %cst, low = [1], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %72 = stablehlo.add %70, %71 : tensor<16xf32>
  %73 = stablehlo.slice %72 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
  %74 = stablehlo.slice %arg0 [2:32:2] : (tensor<32xf32>) -> tensor<15xf32>
  %75 = stablehlo.slice %arg1 [2:32:2] : (tensor<32xf32>) -> tensor<15xf32>
  %76 = stablehlo.multiply %74, %73 : tensor<15xf32>
  %77 = stablehlo.add %76, %75 : tensor<15xf32>
  %78 = stablehlo.slice %arg1 [0:1] : (tensor<32xf32>) -> tensor<1xf32>
  %79 = stablehlo.concatenate %78, %77, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
  %80 = stablehlo.pad %79, %cst, low = [0], high = [1], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %81 = stablehlo.pad %72, %cst, low = [1], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %82 = stablehlo.add %80, %81 : tensor<32xf32>
  return %82 : tensor<32xf32>
}

// The gradient of a sum: a loop backward, one forward, and their product for the rates.
// CHECK-LABEL: func.func @recurrences_gradient(
// CHECK: stablehlo.while(
// CHECK: stablehlo.concatenate {{.*}} -> tensor<7xf32>
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
// CHECK-NOT: stablehlo.slice %[[S]]
// CHECK: stablehlo.while(
// CHECK: stablehlo.concatenate {{.*}} -> tensor<7xf32>
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
// CHECK: stablehlo.slice %[[S]] [1:32]
// CHECK: stablehlo.slice %[[Y]] [0:31]
// CHECK-NEXT: stablehlo.multiply
// CHECK: stablehlo.select
// CHECK: return
func.func @recurrences_gradient(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>, %arg2: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.slice %arg1 [0:31:2] : (tensor<32xf32>) -> tensor<16xf32>
  %1 = stablehlo.slice %arg2 [0:31:2] : (tensor<32xf32>) -> tensor<16xf32>
  %2 = stablehlo.slice %arg1 [1:32:2] : (tensor<32xf32>) -> tensor<16xf32>
  %3 = stablehlo.slice %arg2 [1:32:2] : (tensor<32xf32>) -> tensor<16xf32>
  %4 = stablehlo.multiply %0, %2 : tensor<16xf32>
  %5 = stablehlo.multiply %2, %1 : tensor<16xf32>
  %6 = stablehlo.add %5, %3 : tensor<16xf32>
  %7 = stablehlo.slice %4 [0:15:2] : (tensor<16xf32>) -> tensor<8xf32>
  %8 = stablehlo.slice %6 [0:15:2] : (tensor<16xf32>) -> tensor<8xf32>
  %9 = stablehlo.slice %4 [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %10 = stablehlo.slice %6 [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %11 = stablehlo.multiply %7, %9 : tensor<8xf32>
  %12 = stablehlo.multiply %9, %8 : tensor<8xf32>
  %13 = stablehlo.add %12, %10 : tensor<8xf32>
  %14 = stablehlo.slice %11 [0:7:2] : (tensor<8xf32>) -> tensor<4xf32>
  %15 = stablehlo.slice %13 [0:7:2] : (tensor<8xf32>) -> tensor<4xf32>
  %16 = stablehlo.slice %11 [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %17 = stablehlo.slice %13 [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %18 = stablehlo.multiply %14, %16 : tensor<4xf32>
  %19 = stablehlo.multiply %16, %15 : tensor<4xf32>
  %20 = stablehlo.add %19, %17 : tensor<4xf32>
  %21 = stablehlo.slice %18 [0:3:2] : (tensor<4xf32>) -> tensor<2xf32>
  %22 = stablehlo.slice %20 [0:3:2] : (tensor<4xf32>) -> tensor<2xf32>
  %23 = stablehlo.slice %18 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %24 = stablehlo.slice %20 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %25 = stablehlo.multiply %21, %23 : tensor<2xf32>
  %26 = stablehlo.multiply %23, %22 : tensor<2xf32>
  %27 = stablehlo.add %26, %24 : tensor<2xf32>
  %28 = stablehlo.slice %27 [0:1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %29 = stablehlo.slice %25 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
  %30 = stablehlo.slice %27 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
  %31 = stablehlo.multiply %29, %28 : tensor<1xf32>
  %32 = stablehlo.add %31, %30 : tensor<1xf32>
  %33 = stablehlo.slice %32 [0:0] : (tensor<1xf32>) -> tensor<0xf32>
  %34 = stablehlo.slice %25 [2:2:2] : (tensor<2xf32>) -> tensor<0xf32>
  %35 = stablehlo.slice %27 [2:2:2] : (tensor<2xf32>) -> tensor<0xf32>
  %36 = stablehlo.multiply %34, %33 : tensor<0xf32>
  %37 = stablehlo.add %36, %35 : tensor<0xf32>
  %38 = stablehlo.slice %27 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %39 = stablehlo.concatenate %38, %37, dim = 0 : (tensor<1xf32>, tensor<0xf32>) -> tensor<1xf32>
  %40 = stablehlo.pad %39, %cst, low = [0], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %41 = stablehlo.pad %32, %cst, low = [1], high = [0], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %42 = stablehlo.add %40, %41 : tensor<2xf32>
  %43 = stablehlo.slice %42 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %44 = stablehlo.slice %18 [2:4:2] : (tensor<4xf32>) -> tensor<1xf32>
  %45 = stablehlo.slice %20 [2:4:2] : (tensor<4xf32>) -> tensor<1xf32>
  %46 = stablehlo.multiply %44, %43 : tensor<1xf32>
  %47 = stablehlo.add %46, %45 : tensor<1xf32>
  %48 = stablehlo.slice %20 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %49 = stablehlo.concatenate %48, %47, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %50 = stablehlo.pad %49, %cst, low = [0], high = [1], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %51 = stablehlo.pad %42, %cst, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %52 = stablehlo.add %50, %51 : tensor<4xf32>
  %53 = stablehlo.slice %52 [0:3] : (tensor<4xf32>) -> tensor<3xf32>
  %54 = stablehlo.slice %11 [2:8:2] : (tensor<8xf32>) -> tensor<3xf32>
  %55 = stablehlo.slice %13 [2:8:2] : (tensor<8xf32>) -> tensor<3xf32>
  %56 = stablehlo.multiply %54, %53 : tensor<3xf32>
  %57 = stablehlo.add %56, %55 : tensor<3xf32>
  %58 = stablehlo.slice %13 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %59 = stablehlo.concatenate %58, %57, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  %60 = stablehlo.pad %59, %cst, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %61 = stablehlo.pad %52, %cst, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %62 = stablehlo.add %60, %61 : tensor<8xf32>
  %63 = stablehlo.slice %62 [0:7] : (tensor<8xf32>) -> tensor<7xf32>
  %64 = stablehlo.slice %4 [2:16:2] : (tensor<16xf32>) -> tensor<7xf32>
  %65 = stablehlo.slice %6 [2:16:2] : (tensor<16xf32>) -> tensor<7xf32>
  %66 = stablehlo.multiply %64, %63 : tensor<7xf32>
  %67 = stablehlo.add %66, %65 : tensor<7xf32>
  %68 = stablehlo.slice %6 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
  %69 = stablehlo.concatenate %68, %67, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  %70 = stablehlo.pad %69, %cst, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %71 = stablehlo.pad %62, %cst, low = [1], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %72 = stablehlo.add %70, %71 : tensor<16xf32>
  %73 = stablehlo.slice %72 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
  %74 = stablehlo.slice %arg1 [2:32:2] : (tensor<32xf32>) -> tensor<15xf32>
  %75 = stablehlo.pad %arg0, %cst, low = [-1], high = [0], interior = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<31xf32>
  %76 = stablehlo.slice %75 [0:31:2] : (tensor<31xf32>) -> tensor<16xf32>
  %77 = stablehlo.pad %arg0, %cst, low = [0], high = [-1], interior = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<31xf32>
  %78 = stablehlo.slice %77 [0:31:2] : (tensor<31xf32>) -> tensor<16xf32>
  %79 = stablehlo.slice %78 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
  %80 = stablehlo.slice %78 [1:16] : (tensor<16xf32>) -> tensor<15xf32>
  %81 = stablehlo.pad %79, %cst, low = [0], high = [31], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<32xf32>
  %82 = stablehlo.multiply %74, %80 : tensor<15xf32>
  %83 = stablehlo.multiply %80, %73 : tensor<15xf32>
  %84 = stablehlo.pad %80, %cst, low = [2], high = [1], interior = [1] : (tensor<15xf32>, tensor<f32>) -> tensor<32xf32>
  %85 = stablehlo.add %81, %84 : tensor<32xf32>
  %86 = stablehlo.pad %83, %cst, low = [2], high = [1], interior = [1] : (tensor<15xf32>, tensor<f32>) -> tensor<32xf32>
  %87 = stablehlo.pad %82, %cst, low = [0], high = [1], interior = [0] : (tensor<15xf32>, tensor<f32>) -> tensor<16xf32>
  %88 = stablehlo.add %76, %87 : tensor<16xf32>
  %89 = stablehlo.pad %88, %cst, low = [-1], high = [0], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<15xf32>
  %90 = stablehlo.slice %89 [0:15:2] : (tensor<15xf32>) -> tensor<8xf32>
  %91 = stablehlo.pad %88, %cst, low = [0], high = [-1], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<15xf32>
  %92 = stablehlo.slice %91 [0:15:2] : (tensor<15xf32>) -> tensor<8xf32>
  %93 = stablehlo.slice %92 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %94 = stablehlo.slice %92 [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  %95 = stablehlo.pad %93, %cst, low = [0], high = [15], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<16xf32>
  %96 = stablehlo.multiply %64, %94 : tensor<7xf32>
  %97 = stablehlo.multiply %94, %63 : tensor<7xf32>
  %98 = stablehlo.pad %94, %cst, low = [2], high = [1], interior = [1] : (tensor<7xf32>, tensor<f32>) -> tensor<16xf32>
  %99 = stablehlo.add %95, %98 : tensor<16xf32>
  %100 = stablehlo.pad %97, %cst, low = [2], high = [1], interior = [1] : (tensor<7xf32>, tensor<f32>) -> tensor<16xf32>
  %101 = stablehlo.pad %96, %cst, low = [0], high = [1], interior = [0] : (tensor<7xf32>, tensor<f32>) -> tensor<8xf32>
  %102 = stablehlo.add %90, %101 : tensor<8xf32>
  %103 = stablehlo.pad %102, %cst, low = [-1], high = [0], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<7xf32>
  %104 = stablehlo.slice %103 [0:7:2] : (tensor<7xf32>) -> tensor<4xf32>
  %105 = stablehlo.pad %102, %cst, low = [0], high = [-1], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<7xf32>
  %106 = stablehlo.slice %105 [0:7:2] : (tensor<7xf32>) -> tensor<4xf32>
  %107 = stablehlo.slice %106 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %108 = stablehlo.slice %106 [1:4] : (tensor<4xf32>) -> tensor<3xf32>
  %109 = stablehlo.pad %107, %cst, low = [0], high = [7], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<8xf32>
  %110 = stablehlo.multiply %54, %108 : tensor<3xf32>
  %111 = stablehlo.multiply %108, %53 : tensor<3xf32>
  %112 = stablehlo.pad %108, %cst, low = [2], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %113 = stablehlo.add %109, %112 : tensor<8xf32>
  %114 = stablehlo.pad %111, %cst, low = [2], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %115 = stablehlo.pad %110, %cst, low = [0], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  %116 = stablehlo.add %104, %115 : tensor<4xf32>
  %117 = stablehlo.pad %116, %cst, low = [-1], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  %118 = stablehlo.slice %117 [0:3:2] : (tensor<3xf32>) -> tensor<2xf32>
  %119 = stablehlo.pad %116, %cst, low = [0], high = [-1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  %120 = stablehlo.slice %119 [0:3:2] : (tensor<3xf32>) -> tensor<2xf32>
  %121 = stablehlo.slice %120 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %122 = stablehlo.slice %120 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %123 = stablehlo.pad %121, %cst, low = [0], high = [3], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %124 = stablehlo.multiply %44, %122 : tensor<1xf32>
  %125 = stablehlo.multiply %122, %43 : tensor<1xf32>
  %126 = stablehlo.pad %122, %cst, low = [2], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %127 = stablehlo.add %123, %126 : tensor<4xf32>
  %128 = stablehlo.pad %125, %cst, low = [2], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %129 = stablehlo.pad %124, %cst, low = [0], high = [1], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %130 = stablehlo.add %118, %129 : tensor<2xf32>
  %131 = stablehlo.pad %130, %cst, low = [-1], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
  %132 = stablehlo.slice %131 [0:1:2] : (tensor<1xf32>) -> tensor<1xf32>
  %133 = stablehlo.pad %130, %cst, low = [0], high = [-1], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
  %134 = stablehlo.slice %133 [0:1:2] : (tensor<1xf32>) -> tensor<1xf32>
  %135 = stablehlo.slice %134 [0:1] : (tensor<1xf32>) -> tensor<1xf32>
  %136 = stablehlo.slice %134 [1:1] : (tensor<1xf32>) -> tensor<0xf32>
  %137 = stablehlo.pad %135, %cst, low = [0], high = [1], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %138 = stablehlo.multiply %34, %136 : tensor<0xf32>
  %139 = stablehlo.multiply %136, %33 : tensor<0xf32>
  %140 = stablehlo.pad %136, %cst, low = [2], high = [0], interior = [1] : (tensor<0xf32>, tensor<f32>) -> tensor<2xf32>
  %141 = stablehlo.add %137, %140 : tensor<2xf32>
  %142 = stablehlo.pad %139, %cst, low = [2], high = [0], interior = [1] : (tensor<0xf32>, tensor<f32>) -> tensor<2xf32>
  %143 = stablehlo.pad %138, %cst, low = [0], high = [1], interior = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<1xf32>
  %144 = stablehlo.add %132, %143 : tensor<1xf32>
  %145 = stablehlo.multiply %29, %144 : tensor<1xf32>
  %146 = stablehlo.multiply %144, %28 : tensor<1xf32>
  %147 = stablehlo.pad %144, %cst, low = [1], high = [0], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %148 = stablehlo.add %141, %147 : tensor<2xf32>
  %149 = stablehlo.pad %146, %cst, low = [1], high = [0], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %150 = stablehlo.add %142, %149 : tensor<2xf32>
  %151 = stablehlo.pad %145, %cst, low = [0], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %152 = stablehlo.add %148, %151 : tensor<2xf32>
  %153 = stablehlo.multiply %23, %152 : tensor<2xf32>
  %154 = stablehlo.multiply %152, %22 : tensor<2xf32>
  %155 = stablehlo.multiply %21, %150 : tensor<2xf32>
  %156 = stablehlo.add %154, %155 : tensor<2xf32>
  %157 = stablehlo.multiply %150, %23 : tensor<2xf32>
  %158 = stablehlo.pad %152, %cst, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %159 = stablehlo.add %127, %158 : tensor<4xf32>
  %160 = stablehlo.pad %156, %cst, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %161 = stablehlo.add %128, %160 : tensor<4xf32>
  %162 = stablehlo.pad %153, %cst, low = [0], high = [1], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %163 = stablehlo.add %159, %162 : tensor<4xf32>
  %164 = stablehlo.pad %157, %cst, low = [0], high = [1], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %165 = stablehlo.add %161, %164 : tensor<4xf32>
  %166 = stablehlo.multiply %16, %163 : tensor<4xf32>
  %167 = stablehlo.multiply %163, %15 : tensor<4xf32>
  %168 = stablehlo.multiply %14, %165 : tensor<4xf32>
  %169 = stablehlo.add %167, %168 : tensor<4xf32>
  %170 = stablehlo.multiply %165, %16 : tensor<4xf32>
  %171 = stablehlo.pad %163, %cst, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %172 = stablehlo.add %113, %171 : tensor<8xf32>
  %173 = stablehlo.pad %169, %cst, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %174 = stablehlo.add %114, %173 : tensor<8xf32>
  %175 = stablehlo.pad %166, %cst, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %176 = stablehlo.add %172, %175 : tensor<8xf32>
  %177 = stablehlo.pad %170, %cst, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %178 = stablehlo.add %174, %177 : tensor<8xf32>
  %179 = stablehlo.multiply %9, %176 : tensor<8xf32>
  %180 = stablehlo.multiply %176, %8 : tensor<8xf32>
  %181 = stablehlo.multiply %7, %178 : tensor<8xf32>
  %182 = stablehlo.add %180, %181 : tensor<8xf32>
  %183 = stablehlo.multiply %178, %9 : tensor<8xf32>
  %184 = stablehlo.pad %176, %cst, low = [1], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %185 = stablehlo.add %99, %184 : tensor<16xf32>
  %186 = stablehlo.pad %182, %cst, low = [1], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %187 = stablehlo.add %100, %186 : tensor<16xf32>
  %188 = stablehlo.pad %179, %cst, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %189 = stablehlo.add %185, %188 : tensor<16xf32>
  %190 = stablehlo.pad %183, %cst, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %191 = stablehlo.add %187, %190 : tensor<16xf32>
  %192 = stablehlo.multiply %2, %189 : tensor<16xf32>
  %193 = stablehlo.multiply %189, %1 : tensor<16xf32>
  %194 = stablehlo.multiply %0, %191 : tensor<16xf32>
  %195 = stablehlo.add %193, %194 : tensor<16xf32>
  %196 = stablehlo.multiply %191, %2 : tensor<16xf32>
  %197 = stablehlo.pad %189, %cst, low = [1], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %198 = stablehlo.add %85, %197 : tensor<32xf32>
  %199 = stablehlo.pad %195, %cst, low = [1], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %200 = stablehlo.add %86, %199 : tensor<32xf32>
  %201 = stablehlo.pad %192, %cst, low = [0], high = [1], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %202 = stablehlo.add %198, %201 : tensor<32xf32>
  %203 = stablehlo.pad %196, %cst, low = [0], high = [1], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %204 = stablehlo.add %200, %203 : tensor<32xf32>
  return %204, %202 : tensor<32xf32>, tensor<32xf32>
}

// A slice begins one element too early: each other element adds another one.
// CHECK-LABEL: func.func @recurrences_not_sums_of_others(
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @recurrences_not_sums_of_others(%arg0: tensor<32xf32>) -> (tensor<32xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.slice %arg0 [0:31:2] : (tensor<32xf32>) -> tensor<16xf32>
  %1 = stablehlo.slice %arg0 [1:32:2] : (tensor<32xf32>) -> tensor<16xf32>
  %2 = stablehlo.add %0, %1 : tensor<16xf32>
  %3 = stablehlo.slice %2 [0:15:2] : (tensor<16xf32>) -> tensor<8xf32>
  %4 = stablehlo.slice %2 [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %5 = stablehlo.add %3, %4 : tensor<8xf32>
  %6 = stablehlo.slice %5 [0:7:2] : (tensor<8xf32>) -> tensor<4xf32>
  %7 = stablehlo.slice %5 [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %8 = stablehlo.add %6, %7 : tensor<4xf32>
  %9 = stablehlo.slice %8 [0:3:2] : (tensor<4xf32>) -> tensor<2xf32>
  %10 = stablehlo.slice %8 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %11 = stablehlo.add %9, %10 : tensor<2xf32>
  %12 = stablehlo.slice %11 [0:1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %13 = stablehlo.slice %11 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
  %14 = stablehlo.add %12, %13 : tensor<1xf32>
  %15 = stablehlo.slice %14 [0:0] : (tensor<1xf32>) -> tensor<0xf32>
  %16 = stablehlo.slice %11 [2:2:2] : (tensor<2xf32>) -> tensor<0xf32>
  %17 = stablehlo.add %15, %16 : tensor<0xf32>
  %18 = stablehlo.slice %11 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %19 = stablehlo.concatenate %18, %17, dim = 0 : (tensor<1xf32>, tensor<0xf32>) -> tensor<1xf32>
  %20 = stablehlo.pad %19, %cst, low = [0], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %21 = stablehlo.pad %14, %cst, low = [1], high = [0], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %22 = stablehlo.add %20, %21 : tensor<2xf32>
  %23 = stablehlo.slice %22 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %24 = stablehlo.slice %8 [2:4:2] : (tensor<4xf32>) -> tensor<1xf32>
  %25 = stablehlo.add %23, %24 : tensor<1xf32>
  %26 = stablehlo.slice %8 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %27 = stablehlo.concatenate %26, %25, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %28 = stablehlo.pad %27, %cst, low = [0], high = [1], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %29 = stablehlo.pad %22, %cst, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %30 = stablehlo.add %28, %29 : tensor<4xf32>
  %31 = stablehlo.slice %30 [0:3] : (tensor<4xf32>) -> tensor<3xf32>
  %32 = stablehlo.slice %5 [2:8:2] : (tensor<8xf32>) -> tensor<3xf32>
  %33 = stablehlo.add %31, %32 : tensor<3xf32>
  %34 = stablehlo.slice %5 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %35 = stablehlo.concatenate %34, %33, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  %36 = stablehlo.pad %35, %cst, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %37 = stablehlo.pad %30, %cst, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %38 = stablehlo.add %36, %37 : tensor<8xf32>
  %39 = stablehlo.slice %38 [0:7] : (tensor<8xf32>) -> tensor<7xf32>
  %40 = stablehlo.slice %2 [2:16:2] : (tensor<16xf32>) -> tensor<7xf32>
  %41 = stablehlo.add %39, %40 : tensor<7xf32>
  %42 = stablehlo.slice %2 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
  %43 = stablehlo.concatenate %42, %41, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  %44 = stablehlo.pad %43, %cst, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %45 = stablehlo.pad %38, %cst, low = [1], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %46 = stablehlo.add %44, %45 : tensor<16xf32>
  %47 = stablehlo.slice %46 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
  %48 = stablehlo.slice %arg0 [1:31:2] : (tensor<32xf32>) -> tensor<15xf32>
  %49 = stablehlo.add %47, %48 : tensor<15xf32>
  %50 = stablehlo.slice %arg0 [0:1] : (tensor<32xf32>) -> tensor<1xf32>
  %51 = stablehlo.concatenate %50, %49, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
  %52 = stablehlo.pad %51, %cst, low = [0], high = [1], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %53 = stablehlo.pad %46, %cst, low = [1], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %54 = stablehlo.add %52, %53 : tensor<32xf32>
  return %54 : tensor<32xf32>
}

// Maxima are not polynomials.
// CHECK-LABEL: func.func @recurrences_not_maxima(
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @recurrences_not_maxima(%arg0: tensor<32xf32>) -> (tensor<32xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.slice %arg0 [0:31:2] : (tensor<32xf32>) -> tensor<16xf32>
  %1 = stablehlo.slice %arg0 [1:32:2] : (tensor<32xf32>) -> tensor<16xf32>
  %2 = stablehlo.maximum %0, %1 : tensor<16xf32>
  %3 = stablehlo.slice %2 [0:15:2] : (tensor<16xf32>) -> tensor<8xf32>
  %4 = stablehlo.slice %2 [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %5 = stablehlo.maximum %3, %4 : tensor<8xf32>
  %6 = stablehlo.slice %5 [0:7:2] : (tensor<8xf32>) -> tensor<4xf32>
  %7 = stablehlo.slice %5 [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %8 = stablehlo.maximum %6, %7 : tensor<4xf32>
  %9 = stablehlo.slice %8 [0:3:2] : (tensor<4xf32>) -> tensor<2xf32>
  %10 = stablehlo.slice %8 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %11 = stablehlo.maximum %9, %10 : tensor<2xf32>
  %12 = stablehlo.slice %11 [0:1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %13 = stablehlo.slice %11 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
  %14 = stablehlo.maximum %12, %13 : tensor<1xf32>
  %15 = stablehlo.slice %14 [0:0] : (tensor<1xf32>) -> tensor<0xf32>
  %16 = stablehlo.slice %11 [2:2:2] : (tensor<2xf32>) -> tensor<0xf32>
  %17 = stablehlo.maximum %15, %16 : tensor<0xf32>
  %18 = stablehlo.slice %11 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %19 = stablehlo.concatenate %18, %17, dim = 0 : (tensor<1xf32>, tensor<0xf32>) -> tensor<1xf32>
  %20 = stablehlo.pad %19, %cst, low = [0], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %21 = stablehlo.pad %14, %cst, low = [1], high = [0], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  %22 = stablehlo.add %20, %21 : tensor<2xf32>
  %23 = stablehlo.slice %22 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %24 = stablehlo.slice %8 [2:4:2] : (tensor<4xf32>) -> tensor<1xf32>
  %25 = stablehlo.maximum %23, %24 : tensor<1xf32>
  %26 = stablehlo.slice %8 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %27 = stablehlo.concatenate %26, %25, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %28 = stablehlo.pad %27, %cst, low = [0], high = [1], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %29 = stablehlo.pad %22, %cst, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %30 = stablehlo.add %28, %29 : tensor<4xf32>
  %31 = stablehlo.slice %30 [0:3] : (tensor<4xf32>) -> tensor<3xf32>
  %32 = stablehlo.slice %5 [2:8:2] : (tensor<8xf32>) -> tensor<3xf32>
  %33 = stablehlo.maximum %31, %32 : tensor<3xf32>
  %34 = stablehlo.slice %5 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %35 = stablehlo.concatenate %34, %33, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  %36 = stablehlo.pad %35, %cst, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %37 = stablehlo.pad %30, %cst, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %38 = stablehlo.add %36, %37 : tensor<8xf32>
  %39 = stablehlo.slice %38 [0:7] : (tensor<8xf32>) -> tensor<7xf32>
  %40 = stablehlo.slice %2 [2:16:2] : (tensor<16xf32>) -> tensor<7xf32>
  %41 = stablehlo.maximum %39, %40 : tensor<7xf32>
  %42 = stablehlo.slice %2 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
  %43 = stablehlo.concatenate %42, %41, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  %44 = stablehlo.pad %43, %cst, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %45 = stablehlo.pad %38, %cst, low = [1], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %46 = stablehlo.add %44, %45 : tensor<16xf32>
  %47 = stablehlo.slice %46 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
  %48 = stablehlo.slice %arg0 [2:32:2] : (tensor<32xf32>) -> tensor<15xf32>
  %49 = stablehlo.maximum %47, %48 : tensor<15xf32>
  %50 = stablehlo.slice %arg0 [0:1] : (tensor<32xf32>) -> tensor<1xf32>
  %51 = stablehlo.concatenate %50, %49, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
  %52 = stablehlo.pad %51, %cst, low = [0], high = [1], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %53 = stablehlo.pad %46, %cst, low = [1], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  %54 = stablehlo.add %52, %53 : tensor<32xf32>
  return %54 : tensor<32xf32>
}

// Too few elements.
// CHECK-LABEL: func.func @recurrences_not_short(
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @recurrences_not_short(%arg0: tensor<31xf32>) -> (tensor<31xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.slice %arg0 [0:30:2] : (tensor<31xf32>) -> tensor<15xf32>
  %1 = stablehlo.slice %arg0 [1:31:2] : (tensor<31xf32>) -> tensor<15xf32>
  %2 = stablehlo.add %0, %1 : tensor<15xf32>
  %3 = stablehlo.slice %2 [0:14:2] : (tensor<15xf32>) -> tensor<7xf32>
  %4 = stablehlo.slice %2 [1:15:2] : (tensor<15xf32>) -> tensor<7xf32>
  %5 = stablehlo.add %3, %4 : tensor<7xf32>
  %6 = stablehlo.slice %5 [0:6:2] : (tensor<7xf32>) -> tensor<3xf32>
  %7 = stablehlo.slice %5 [1:7:2] : (tensor<7xf32>) -> tensor<3xf32>
  %8 = stablehlo.add %6, %7 : tensor<3xf32>
  %9 = stablehlo.slice %8 [0:2:2] : (tensor<3xf32>) -> tensor<1xf32>
  %10 = stablehlo.slice %8 [1:3:2] : (tensor<3xf32>) -> tensor<1xf32>
  %11 = stablehlo.add %9, %10 : tensor<1xf32>
  %12 = stablehlo.slice %8 [2:3:2] : (tensor<3xf32>) -> tensor<1xf32>
  %13 = stablehlo.add %11, %12 : tensor<1xf32>
  %14 = stablehlo.slice %8 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
  %15 = stablehlo.concatenate %14, %13, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %16 = stablehlo.pad %15, %cst, low = [0], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  %17 = stablehlo.pad %11, %cst, low = [1], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<3xf32>
  %18 = stablehlo.add %16, %17 : tensor<3xf32>
  %19 = stablehlo.slice %5 [2:7:2] : (tensor<7xf32>) -> tensor<3xf32>
  %20 = stablehlo.add %18, %19 : tensor<3xf32>
  %21 = stablehlo.slice %5 [0:1] : (tensor<7xf32>) -> tensor<1xf32>
  %22 = stablehlo.concatenate %21, %20, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  %23 = stablehlo.pad %22, %cst, low = [0], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %24 = stablehlo.pad %18, %cst, low = [1], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  %25 = stablehlo.add %23, %24 : tensor<7xf32>
  %26 = stablehlo.slice %2 [2:15:2] : (tensor<15xf32>) -> tensor<7xf32>
  %27 = stablehlo.add %25, %26 : tensor<7xf32>
  %28 = stablehlo.slice %2 [0:1] : (tensor<15xf32>) -> tensor<1xf32>
  %29 = stablehlo.concatenate %28, %27, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  %30 = stablehlo.pad %29, %cst, low = [0], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<15xf32>
  %31 = stablehlo.pad %25, %cst, low = [1], high = [1], interior = [1] : (tensor<7xf32>, tensor<f32>) -> tensor<15xf32>
  %32 = stablehlo.add %30, %31 : tensor<15xf32>
  %33 = stablehlo.slice %arg0 [2:31:2] : (tensor<31xf32>) -> tensor<15xf32>
  %34 = stablehlo.add %32, %33 : tensor<15xf32>
  %35 = stablehlo.slice %arg0 [0:1] : (tensor<31xf32>) -> tensor<1xf32>
  %36 = stablehlo.concatenate %35, %34, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
  %37 = stablehlo.pad %36, %cst, low = [0], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<31xf32>
  %38 = stablehlo.pad %32, %cst, low = [1], high = [1], interior = [1] : (tensor<15xf32>, tensor<f32>) -> tensor<31xf32>
  %39 = stablehlo.add %37, %38 : tensor<31xf32>
  return %39 : tensor<31xf32>
}

// Along the last dimension of many rows, whose addresses are a page apart.
// CHECK-LABEL: func.func @recurrences_not_far_rows(
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @recurrences_not_far_rows(%arg0: tensor<65x1024xf32>) -> (tensor<65x1024xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.slice %arg0 [0:65, 0:1023:2] : (tensor<65x1024xf32>) -> tensor<65x512xf32>
  %1 = stablehlo.slice %arg0 [0:65, 1:1024:2] : (tensor<65x1024xf32>) -> tensor<65x512xf32>
  %2 = stablehlo.add %0, %1 : tensor<65x512xf32>
  %3 = stablehlo.slice %2 [0:65, 0:511:2] : (tensor<65x512xf32>) -> tensor<65x256xf32>
  %4 = stablehlo.slice %2 [0:65, 1:512:2] : (tensor<65x512xf32>) -> tensor<65x256xf32>
  %5 = stablehlo.add %3, %4 : tensor<65x256xf32>
  %6 = stablehlo.slice %5 [0:65, 0:255:2] : (tensor<65x256xf32>) -> tensor<65x128xf32>
  %7 = stablehlo.slice %5 [0:65, 1:256:2] : (tensor<65x256xf32>) -> tensor<65x128xf32>
  %8 = stablehlo.add %6, %7 : tensor<65x128xf32>
  %9 = stablehlo.slice %8 [0:65, 0:127:2] : (tensor<65x128xf32>) -> tensor<65x64xf32>
  %10 = stablehlo.slice %8 [0:65, 1:128:2] : (tensor<65x128xf32>) -> tensor<65x64xf32>
  %11 = stablehlo.add %9, %10 : tensor<65x64xf32>
  %12 = stablehlo.slice %11 [0:65, 0:63:2] : (tensor<65x64xf32>) -> tensor<65x32xf32>
  %13 = stablehlo.slice %11 [0:65, 1:64:2] : (tensor<65x64xf32>) -> tensor<65x32xf32>
  %14 = stablehlo.add %12, %13 : tensor<65x32xf32>
  %15 = stablehlo.slice %14 [0:65, 0:31:2] : (tensor<65x32xf32>) -> tensor<65x16xf32>
  %16 = stablehlo.slice %14 [0:65, 1:32:2] : (tensor<65x32xf32>) -> tensor<65x16xf32>
  %17 = stablehlo.add %15, %16 : tensor<65x16xf32>
  %18 = stablehlo.slice %17 [0:65, 0:15:2] : (tensor<65x16xf32>) -> tensor<65x8xf32>
  %19 = stablehlo.slice %17 [0:65, 1:16:2] : (tensor<65x16xf32>) -> tensor<65x8xf32>
  %20 = stablehlo.add %18, %19 : tensor<65x8xf32>
  %21 = stablehlo.slice %20 [0:65, 0:7:2] : (tensor<65x8xf32>) -> tensor<65x4xf32>
  %22 = stablehlo.slice %20 [0:65, 1:8:2] : (tensor<65x8xf32>) -> tensor<65x4xf32>
  %23 = stablehlo.add %21, %22 : tensor<65x4xf32>
  %24 = stablehlo.slice %23 [0:65, 0:3:2] : (tensor<65x4xf32>) -> tensor<65x2xf32>
  %25 = stablehlo.slice %23 [0:65, 1:4:2] : (tensor<65x4xf32>) -> tensor<65x2xf32>
  %26 = stablehlo.add %24, %25 : tensor<65x2xf32>
  %27 = stablehlo.slice %26 [0:65, 0:1:2] : (tensor<65x2xf32>) -> tensor<65x1xf32>
  %28 = stablehlo.slice %26 [0:65, 1:2:2] : (tensor<65x2xf32>) -> tensor<65x1xf32>
  %29 = stablehlo.add %27, %28 : tensor<65x1xf32>
  %30 = stablehlo.slice %29 [0:65, 0:0] : (tensor<65x1xf32>) -> tensor<65x0xf32>
  %31 = stablehlo.slice %26 [0:65, 2:2:2] : (tensor<65x2xf32>) -> tensor<65x0xf32>
  %32 = stablehlo.add %30, %31 : tensor<65x0xf32>
  %33 = stablehlo.slice %26 [0:65, 0:1] : (tensor<65x2xf32>) -> tensor<65x1xf32>
  %34 = stablehlo.concatenate %33, %32, dim = 1 : (tensor<65x1xf32>, tensor<65x0xf32>) -> tensor<65x1xf32>
  %35 = stablehlo.pad %34, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x1xf32>, tensor<f32>) -> tensor<65x2xf32>
  %36 = stablehlo.pad %29, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x1xf32>, tensor<f32>) -> tensor<65x2xf32>
  %37 = stablehlo.add %35, %36 : tensor<65x2xf32>
  %38 = stablehlo.slice %37 [0:65, 0:1] : (tensor<65x2xf32>) -> tensor<65x1xf32>
  %39 = stablehlo.slice %23 [0:65, 2:4:2] : (tensor<65x4xf32>) -> tensor<65x1xf32>
  %40 = stablehlo.add %38, %39 : tensor<65x1xf32>
  %41 = stablehlo.slice %23 [0:65, 0:1] : (tensor<65x4xf32>) -> tensor<65x1xf32>
  %42 = stablehlo.concatenate %41, %40, dim = 1 : (tensor<65x1xf32>, tensor<65x1xf32>) -> tensor<65x2xf32>
  %43 = stablehlo.pad %42, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x2xf32>, tensor<f32>) -> tensor<65x4xf32>
  %44 = stablehlo.pad %37, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x2xf32>, tensor<f32>) -> tensor<65x4xf32>
  %45 = stablehlo.add %43, %44 : tensor<65x4xf32>
  %46 = stablehlo.slice %45 [0:65, 0:3] : (tensor<65x4xf32>) -> tensor<65x3xf32>
  %47 = stablehlo.slice %20 [0:65, 2:8:2] : (tensor<65x8xf32>) -> tensor<65x3xf32>
  %48 = stablehlo.add %46, %47 : tensor<65x3xf32>
  %49 = stablehlo.slice %20 [0:65, 0:1] : (tensor<65x8xf32>) -> tensor<65x1xf32>
  %50 = stablehlo.concatenate %49, %48, dim = 1 : (tensor<65x1xf32>, tensor<65x3xf32>) -> tensor<65x4xf32>
  %51 = stablehlo.pad %50, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x4xf32>, tensor<f32>) -> tensor<65x8xf32>
  %52 = stablehlo.pad %45, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x4xf32>, tensor<f32>) -> tensor<65x8xf32>
  %53 = stablehlo.add %51, %52 : tensor<65x8xf32>
  %54 = stablehlo.slice %53 [0:65, 0:7] : (tensor<65x8xf32>) -> tensor<65x7xf32>
  %55 = stablehlo.slice %17 [0:65, 2:16:2] : (tensor<65x16xf32>) -> tensor<65x7xf32>
  %56 = stablehlo.add %54, %55 : tensor<65x7xf32>
  %57 = stablehlo.slice %17 [0:65, 0:1] : (tensor<65x16xf32>) -> tensor<65x1xf32>
  %58 = stablehlo.concatenate %57, %56, dim = 1 : (tensor<65x1xf32>, tensor<65x7xf32>) -> tensor<65x8xf32>
  %59 = stablehlo.pad %58, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x8xf32>, tensor<f32>) -> tensor<65x16xf32>
  %60 = stablehlo.pad %53, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x8xf32>, tensor<f32>) -> tensor<65x16xf32>
  %61 = stablehlo.add %59, %60 : tensor<65x16xf32>
  %62 = stablehlo.slice %61 [0:65, 0:15] : (tensor<65x16xf32>) -> tensor<65x15xf32>
  %63 = stablehlo.slice %14 [0:65, 2:32:2] : (tensor<65x32xf32>) -> tensor<65x15xf32>
  %64 = stablehlo.add %62, %63 : tensor<65x15xf32>
  %65 = stablehlo.slice %14 [0:65, 0:1] : (tensor<65x32xf32>) -> tensor<65x1xf32>
  %66 = stablehlo.concatenate %65, %64, dim = 1 : (tensor<65x1xf32>, tensor<65x15xf32>) -> tensor<65x16xf32>
  %67 = stablehlo.pad %66, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x16xf32>, tensor<f32>) -> tensor<65x32xf32>
  %68 = stablehlo.pad %61, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x16xf32>, tensor<f32>) -> tensor<65x32xf32>
  %69 = stablehlo.add %67, %68 : tensor<65x32xf32>
  %70 = stablehlo.slice %69 [0:65, 0:31] : (tensor<65x32xf32>) -> tensor<65x31xf32>
  %71 = stablehlo.slice %11 [0:65, 2:64:2] : (tensor<65x64xf32>) -> tensor<65x31xf32>
  %72 = stablehlo.add %70, %71 : tensor<65x31xf32>
  %73 = stablehlo.slice %11 [0:65, 0:1] : (tensor<65x64xf32>) -> tensor<65x1xf32>
  %74 = stablehlo.concatenate %73, %72, dim = 1 : (tensor<65x1xf32>, tensor<65x31xf32>) -> tensor<65x32xf32>
  %75 = stablehlo.pad %74, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x32xf32>, tensor<f32>) -> tensor<65x64xf32>
  %76 = stablehlo.pad %69, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x32xf32>, tensor<f32>) -> tensor<65x64xf32>
  %77 = stablehlo.add %75, %76 : tensor<65x64xf32>
  %78 = stablehlo.slice %77 [0:65, 0:63] : (tensor<65x64xf32>) -> tensor<65x63xf32>
  %79 = stablehlo.slice %8 [0:65, 2:128:2] : (tensor<65x128xf32>) -> tensor<65x63xf32>
  %80 = stablehlo.add %78, %79 : tensor<65x63xf32>
  %81 = stablehlo.slice %8 [0:65, 0:1] : (tensor<65x128xf32>) -> tensor<65x1xf32>
  %82 = stablehlo.concatenate %81, %80, dim = 1 : (tensor<65x1xf32>, tensor<65x63xf32>) -> tensor<65x64xf32>
  %83 = stablehlo.pad %82, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x64xf32>, tensor<f32>) -> tensor<65x128xf32>
  %84 = stablehlo.pad %77, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x64xf32>, tensor<f32>) -> tensor<65x128xf32>
  %85 = stablehlo.add %83, %84 : tensor<65x128xf32>
  %86 = stablehlo.slice %85 [0:65, 0:127] : (tensor<65x128xf32>) -> tensor<65x127xf32>
  %87 = stablehlo.slice %5 [0:65, 2:256:2] : (tensor<65x256xf32>) -> tensor<65x127xf32>
  %88 = stablehlo.add %86, %87 : tensor<65x127xf32>
  %89 = stablehlo.slice %5 [0:65, 0:1] : (tensor<65x256xf32>) -> tensor<65x1xf32>
  %90 = stablehlo.concatenate %89, %88, dim = 1 : (tensor<65x1xf32>, tensor<65x127xf32>) -> tensor<65x128xf32>
  %91 = stablehlo.pad %90, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x128xf32>, tensor<f32>) -> tensor<65x256xf32>
  %92 = stablehlo.pad %85, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x128xf32>, tensor<f32>) -> tensor<65x256xf32>
  %93 = stablehlo.add %91, %92 : tensor<65x256xf32>
  %94 = stablehlo.slice %93 [0:65, 0:255] : (tensor<65x256xf32>) -> tensor<65x255xf32>
  %95 = stablehlo.slice %2 [0:65, 2:512:2] : (tensor<65x512xf32>) -> tensor<65x255xf32>
  %96 = stablehlo.add %94, %95 : tensor<65x255xf32>
  %97 = stablehlo.slice %2 [0:65, 0:1] : (tensor<65x512xf32>) -> tensor<65x1xf32>
  %98 = stablehlo.concatenate %97, %96, dim = 1 : (tensor<65x1xf32>, tensor<65x255xf32>) -> tensor<65x256xf32>
  %99 = stablehlo.pad %98, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x256xf32>, tensor<f32>) -> tensor<65x512xf32>
  %100 = stablehlo.pad %93, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x256xf32>, tensor<f32>) -> tensor<65x512xf32>
  %101 = stablehlo.add %99, %100 : tensor<65x512xf32>
  %102 = stablehlo.slice %101 [0:65, 0:511] : (tensor<65x512xf32>) -> tensor<65x511xf32>
  %103 = stablehlo.slice %arg0 [0:65, 2:1024:2] : (tensor<65x1024xf32>) -> tensor<65x511xf32>
  %104 = stablehlo.add %102, %103 : tensor<65x511xf32>
  %105 = stablehlo.slice %arg0 [0:65, 0:1] : (tensor<65x1024xf32>) -> tensor<65x1xf32>
  %106 = stablehlo.concatenate %105, %104, dim = 1 : (tensor<65x1xf32>, tensor<65x511xf32>) -> tensor<65x512xf32>
  %107 = stablehlo.pad %106, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x512xf32>, tensor<f32>) -> tensor<65x1024xf32>
  %108 = stablehlo.pad %101, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x512xf32>, tensor<f32>) -> tensor<65x1024xf32>
  %109 = stablehlo.add %107, %108 : tensor<65x1024xf32>
  return %109 : tensor<65x1024xf32>
}

// The same with rows that are close together.
// CHECK-LABEL: func.func @recurrences_near_rows(
// CHECK: stablehlo.while
// CHECK: return
func.func @recurrences_near_rows(%arg0: tensor<65x32xf32>) -> (tensor<65x32xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.slice %arg0 [0:65, 0:31:2] : (tensor<65x32xf32>) -> tensor<65x16xf32>
  %1 = stablehlo.slice %arg0 [0:65, 1:32:2] : (tensor<65x32xf32>) -> tensor<65x16xf32>
  %2 = stablehlo.add %0, %1 : tensor<65x16xf32>
  %3 = stablehlo.slice %2 [0:65, 0:15:2] : (tensor<65x16xf32>) -> tensor<65x8xf32>
  %4 = stablehlo.slice %2 [0:65, 1:16:2] : (tensor<65x16xf32>) -> tensor<65x8xf32>
  %5 = stablehlo.add %3, %4 : tensor<65x8xf32>
  %6 = stablehlo.slice %5 [0:65, 0:7:2] : (tensor<65x8xf32>) -> tensor<65x4xf32>
  %7 = stablehlo.slice %5 [0:65, 1:8:2] : (tensor<65x8xf32>) -> tensor<65x4xf32>
  %8 = stablehlo.add %6, %7 : tensor<65x4xf32>
  %9 = stablehlo.slice %8 [0:65, 0:3:2] : (tensor<65x4xf32>) -> tensor<65x2xf32>
  %10 = stablehlo.slice %8 [0:65, 1:4:2] : (tensor<65x4xf32>) -> tensor<65x2xf32>
  %11 = stablehlo.add %9, %10 : tensor<65x2xf32>
  %12 = stablehlo.slice %11 [0:65, 0:1:2] : (tensor<65x2xf32>) -> tensor<65x1xf32>
  %13 = stablehlo.slice %11 [0:65, 1:2:2] : (tensor<65x2xf32>) -> tensor<65x1xf32>
  %14 = stablehlo.add %12, %13 : tensor<65x1xf32>
  %15 = stablehlo.slice %14 [0:65, 0:0] : (tensor<65x1xf32>) -> tensor<65x0xf32>
  %16 = stablehlo.slice %11 [0:65, 2:2:2] : (tensor<65x2xf32>) -> tensor<65x0xf32>
  %17 = stablehlo.add %15, %16 : tensor<65x0xf32>
  %18 = stablehlo.slice %11 [0:65, 0:1] : (tensor<65x2xf32>) -> tensor<65x1xf32>
  %19 = stablehlo.concatenate %18, %17, dim = 1 : (tensor<65x1xf32>, tensor<65x0xf32>) -> tensor<65x1xf32>
  %20 = stablehlo.pad %19, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x1xf32>, tensor<f32>) -> tensor<65x2xf32>
  %21 = stablehlo.pad %14, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x1xf32>, tensor<f32>) -> tensor<65x2xf32>
  %22 = stablehlo.add %20, %21 : tensor<65x2xf32>
  %23 = stablehlo.slice %22 [0:65, 0:1] : (tensor<65x2xf32>) -> tensor<65x1xf32>
  %24 = stablehlo.slice %8 [0:65, 2:4:2] : (tensor<65x4xf32>) -> tensor<65x1xf32>
  %25 = stablehlo.add %23, %24 : tensor<65x1xf32>
  %26 = stablehlo.slice %8 [0:65, 0:1] : (tensor<65x4xf32>) -> tensor<65x1xf32>
  %27 = stablehlo.concatenate %26, %25, dim = 1 : (tensor<65x1xf32>, tensor<65x1xf32>) -> tensor<65x2xf32>
  %28 = stablehlo.pad %27, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x2xf32>, tensor<f32>) -> tensor<65x4xf32>
  %29 = stablehlo.pad %22, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x2xf32>, tensor<f32>) -> tensor<65x4xf32>
  %30 = stablehlo.add %28, %29 : tensor<65x4xf32>
  %31 = stablehlo.slice %30 [0:65, 0:3] : (tensor<65x4xf32>) -> tensor<65x3xf32>
  %32 = stablehlo.slice %5 [0:65, 2:8:2] : (tensor<65x8xf32>) -> tensor<65x3xf32>
  %33 = stablehlo.add %31, %32 : tensor<65x3xf32>
  %34 = stablehlo.slice %5 [0:65, 0:1] : (tensor<65x8xf32>) -> tensor<65x1xf32>
  %35 = stablehlo.concatenate %34, %33, dim = 1 : (tensor<65x1xf32>, tensor<65x3xf32>) -> tensor<65x4xf32>
  %36 = stablehlo.pad %35, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x4xf32>, tensor<f32>) -> tensor<65x8xf32>
  %37 = stablehlo.pad %30, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x4xf32>, tensor<f32>) -> tensor<65x8xf32>
  %38 = stablehlo.add %36, %37 : tensor<65x8xf32>
  %39 = stablehlo.slice %38 [0:65, 0:7] : (tensor<65x8xf32>) -> tensor<65x7xf32>
  %40 = stablehlo.slice %2 [0:65, 2:16:2] : (tensor<65x16xf32>) -> tensor<65x7xf32>
  %41 = stablehlo.add %39, %40 : tensor<65x7xf32>
  %42 = stablehlo.slice %2 [0:65, 0:1] : (tensor<65x16xf32>) -> tensor<65x1xf32>
  %43 = stablehlo.concatenate %42, %41, dim = 1 : (tensor<65x1xf32>, tensor<65x7xf32>) -> tensor<65x8xf32>
  %44 = stablehlo.pad %43, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x8xf32>, tensor<f32>) -> tensor<65x16xf32>
  %45 = stablehlo.pad %38, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x8xf32>, tensor<f32>) -> tensor<65x16xf32>
  %46 = stablehlo.add %44, %45 : tensor<65x16xf32>
  %47 = stablehlo.slice %46 [0:65, 0:15] : (tensor<65x16xf32>) -> tensor<65x15xf32>
  %48 = stablehlo.slice %arg0 [0:65, 2:32:2] : (tensor<65x32xf32>) -> tensor<65x15xf32>
  %49 = stablehlo.add %47, %48 : tensor<65x15xf32>
  %50 = stablehlo.slice %arg0 [0:65, 0:1] : (tensor<65x32xf32>) -> tensor<65x1xf32>
  %51 = stablehlo.concatenate %50, %49, dim = 1 : (tensor<65x1xf32>, tensor<65x15xf32>) -> tensor<65x16xf32>
  %52 = stablehlo.pad %51, %cst, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<65x16xf32>, tensor<f32>) -> tensor<65x32xf32>
  %53 = stablehlo.pad %46, %cst, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<65x16xf32>, tensor<f32>) -> tensor<65x32xf32>
  %54 = stablehlo.add %52, %53 : tensor<65x32xf32>
  return %54 : tensor<65x32xf32>
}
