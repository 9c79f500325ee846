// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @scatter_of_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: return %[[X]]
func.func @scatter_of_nothing(%x: tensor<8xf32>, %i: tensor<0x1xi32>, %u: tensor<0xf32>) -> tensor<8xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8xf32>, tensor<0x1xi32>, tensor<0xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @scatter_of_nothing_not_of_one(
// CHECK: stablehlo.scatter
func.func @scatter_of_nothing_not_of_one(%x: tensor<8xf32>, %i: tensor<1x1xi32>, %u: tensor<1xf32>) -> tensor<8xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8xf32>, tensor<1x1xi32>, tensor<1xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @scatter_of_own_value(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: return %[[X]]
func.func @scatter_of_own_value(%x: tensor<8xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) -> tensor<8xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<8xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @scatter_of_own_value_not_doubled(
// CHECK: stablehlo.scatter
func.func @scatter_of_own_value_not_doubled(%x: tensor<8xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) -> tensor<8xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @scatter_of_neutral(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xi32>
// CHECK-NEXT: return %[[X]]
func.func @scatter_of_neutral(%x: tensor<8xi32>, %i: tensor<3x1xi32>) -> tensor<8xi32> {
  %u = stablehlo.constant dense<0> : tensor<3xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %b, %a : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// -0.0 + 0.0 is 0.0.
// CHECK-LABEL: func.func @scatter_of_neutral_not_positive_zero(
// CHECK: stablehlo.scatter
func.func @scatter_of_neutral_not_positive_zero(%x: tensor<8xf32>, %i: tensor<3x1xi32>) -> tensor<8xf32> {
  %u = stablehlo.constant dense<0.0> : tensor<3xf32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// 0 - x is not x.
// CHECK-LABEL: func.func @scatter_of_neutral_not_from_zero(
// CHECK: stablehlo.scatter
func.func @scatter_of_neutral_not_from_zero(%x: tensor<8xi32>, %i: tensor<3x1xi32>) -> tensor<8xi32> {
  %u = stablehlo.constant dense<0> : tensor<3xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.subtract %b, %a : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// CHECK-LABEL: func.func @scatter_out_of_range(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: return %[[X]]
func.func @scatter_out_of_range(%x: tensor<8xf32>, %u: tensor<3xf32>) -> tensor<8xf32> {
  %i = stablehlo.constant dense<-3> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<3xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// The index 200 is unsigned.
// CHECK-LABEL: func.func @scatter_out_of_range_not_of_unsigned(
// CHECK: stablehlo.dynamic_update_slice
func.func @scatter_out_of_range_not_of_unsigned(%x: tensor<256xf32>, %u: tensor<f32>) -> tensor<256xf32> {
  %i = stablehlo.constant dense<200> : tensor<1xui8>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<256xf32>, tensor<1xui8>, tensor<f32>) -> tensor<256xf32>
  return %r : tensor<256xf32>
}

// CHECK-LABEL: func.func @scatter_to_dynamic_update_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[U:[a-z0-9]+]]: tensor<4xf32>
// CHECK-DAG: %[[V:[a-z0-9_]+]] = stablehlo.reshape %[[U]]
// CHECK-DAG: %[[I:[a-z0-9_]+]] = stablehlo.constant dense<7>
// CHECK-DAG: %[[Z:[a-z0-9_]+]] = stablehlo.constant dense<0>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[X]], %[[V]], %[[Z]], %[[I]]
// CHECK-NEXT: return %[[R]]
func.func @scatter_to_dynamic_update_slice(%x: tensor<4x8xf32>, %u: tensor<4xf32>) -> tensor<4x8xf32> {
  %i = stablehlo.constant dense<7> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<1xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @scatter_to_dynamic_update_slice_of_whole(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[U:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: return %[[U]]
func.func @scatter_to_dynamic_update_slice_of_whole(%x: tensor<8xf32>, %u: tensor<8xf32>) -> tensor<8xf32> {
  %i = stablehlo.constant dense<> : tensor<0xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8xf32>, tensor<0xi32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// %m is between 0 and 7, so it is in range.
// CHECK-LABEL: func.func @scatter_to_dynamic_update_slice_in_bounds(
// CHECK: stablehlo.dynamic_update_slice
func.func @scatter_to_dynamic_update_slice_in_bounds(%x: tensor<8xf32>, %u: tensor<f32>, %i: tensor<1xi32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<7> : tensor<1xi32>
  %m = stablehlo.and %i, %c : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %m, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A scatter drops a window out of range; a dynamic_update_slice clamps its start.
// CHECK-LABEL: func.func @scatter_to_dynamic_update_slice_not_anywhere(
// CHECK: stablehlo.scatter
func.func @scatter_to_dynamic_update_slice_not_anywhere(%x: tensor<8xf32>, %u: tensor<f32>, %i: tensor<1xi32>) -> tensor<8xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @scatter_to_dynamic_update_slice_not_adding(
// CHECK: stablehlo.scatter
func.func @scatter_to_dynamic_update_slice_not_adding(%x: tensor<8xf32>, %u: tensor<3xf32>) -> tensor<8xf32> {
  %i = stablehlo.constant dense<2> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<3xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @scatter_of_whole(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8xf32>, %[[U:[a-z0-9]+]]: tensor<2x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.subtract %[[U]], %[[X]] : tensor<2x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @scatter_of_whole(%x: tensor<2x8xf32>, %u: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %i = stablehlo.constant dense<0> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %b, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x8xf32>, tensor<1xi32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// The window is in range only if the index is 0.
// CHECK-LABEL: func.func @scatter_of_whole_not_anywhere(
// CHECK: stablehlo.scatter
func.func @scatter_of_whole_not_anywhere(%x: tensor<1xf32>, %u: tensor<f32>, %i: tensor<1xi32>) -> tensor<1xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %b, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1xf32>, tensor<1xi32>, tensor<f32>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}
