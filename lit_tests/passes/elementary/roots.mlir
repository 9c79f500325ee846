// RUN: %jxc opt %s -p 'elementary{always=true}' --split-input-file | FileCheck %s

// The first guess is the upper half of the bits divided by 3.
// CHECK-LABEL: func.func @cube_root_to_iteration(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1024xf32>
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %[[X]] : (tensor<1024xf32>) -> tensor<1024xf64>
// CHECK: stablehlo.divide %{{.*}} : tensor<1024xi32>
// CHECK: %[[GUESS:[a-z0-9_]+]] = stablehlo.bitcast_convert %{{.*}} : (tensor<1024xi64>) -> tensor<1024xf64>
// CHECK: %[[ROOT:[a-z0-9_]+]] = stablehlo.convert %{{.*}} : (tensor<1024xf64>) -> tensor<1024xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %[[X]], %[[ROOT]]
// CHECK-NEXT: return %[[R]]
func.func @cube_root_to_iteration(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %y = stablehlo.cbrt %x : tensor<1024xf32>
  return %y : tensor<1024xf32>
}

// -----

// So few elements that the compile time is not worth it.
// CHECK-LABEL: func.func @cube_root_to_iteration_not_few(
// CHECK: stablehlo.cbrt
func.func @cube_root_to_iteration_not_few(%x: tensor<1023xf32>) -> tensor<1023xf32> {
  %y = stablehlo.cbrt %x : tensor<1023xf32>
  return %y : tensor<1023xf32>
}
