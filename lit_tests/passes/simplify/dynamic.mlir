// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @update_with_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @update_with_nothing(%x: tensor<4x8xf32>, %i: tensor<i32>) -> tensor<4x8xf32> {
  %u = stablehlo.constant dense<> : tensor<0x8xf32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x8xf32>, tensor<0x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @update_with_nothing_not_with_one(
// CHECK: stablehlo.dynamic_update_slice
func.func @update_with_nothing_not_with_one(%x: tensor<4xf32>, %u: tensor<1xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @update_with_own_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @update_with_own_slice(%x: tensor<4x8xf32>, %i: tensor<i32>) -> tensor<4x8xf32> {
  %a = stablehlo.constant dense<9> : tensor<i32>
  %b = stablehlo.constant dense<9> : tensor<i32>
  %u = stablehlo.dynamic_slice %x, %i, %a, sizes = [2, 3] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %b : (tensor<4x8xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @update_with_own_slice_not_elsewhere(
// CHECK: stablehlo.dynamic_slice
// CHECK-NEXT: stablehlo.dynamic_update_slice
func.func @update_with_own_slice_not_elsewhere(%x: tensor<8xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<8xf32> {
  %u = stablehlo.dynamic_slice %x, %i, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
  %r = stablehlo.dynamic_update_slice %x, %u, %j : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @update_of_update(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[U:[a-z0-9]+]]: tensor<3xf32>, %[[V:[a-z0-9]+]]: tensor<3xf32>, %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[X]], %[[V]], %[[I]]
// CHECK-NEXT: return %[[R]]
func.func @update_of_update(%x: tensor<8xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %a = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.dynamic_update_slice %a, %v, %i : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// The second update is smaller, and does not overwrite all of the first.
// CHECK-LABEL: func.func @update_of_update_not_of_larger(
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NEXT: stablehlo.dynamic_update_slice
func.func @update_of_update_not_of_larger(%x: tensor<8xf32>, %u: tensor<3xf32>, %v: tensor<2xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %a = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.dynamic_update_slice %a, %v, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @update_of_splat(
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<2x8xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<1.500000e+00> : tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[U]], %[[C]], low = [2, 0], high = [0, 0], interior = [0, 0]
// CHECK-NEXT: return %[[R]]
func.func @update_of_splat(%u: tensor<2x8xf32>, %i: tensor<i32>) -> tensor<4x8xf32> {
  %x = stablehlo.constant dense<1.5> : tensor<4x8xf32>
  %c = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %u, %c, %i : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The start is not a constant.
// CHECK-LABEL: func.func @update_of_splat_not_anywhere(
// CHECK: stablehlo.dynamic_update_slice
func.func @update_of_splat_not_anywhere(%u: tensor<2xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %x = stablehlo.constant dense<1.5> : tensor<4xf32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_update(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[U:[a-z0-9]+]]: tensor<3xf32>
// CHECK-NEXT: return %[[U]]
func.func @dynamic_slice_of_update(%x: tensor<8xf32>, %u: tensor<3xf32>, %i: tensor<i32>) -> tensor<3xf32> {
  %a = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.dynamic_slice %a, %i, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// Near the end the start of a larger slice is clamped to less.
// CHECK-LABEL: func.func @dynamic_slice_of_update_not_of_another_size(
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NEXT: stablehlo.dynamic_slice
func.func @dynamic_slice_of_update_not_of_another_size(%x: tensor<8xf32>, %u: tensor<3xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %a = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// The update is clamped to [5:8].
// CHECK-LABEL: func.func @slice_of_update(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[U:[a-z0-9]+]]: tensor<3xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[U]] [0:3:2]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:5]
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @slice_of_update(%x: tensor<8xf32>, %u: tensor<3xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
  %i = stablehlo.constant dense<9> : tensor<i32>
  %a = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.slice %a [5:8:2] : (tensor<8xf32>) -> tensor<2xf32>
  %s = stablehlo.slice %a [1:5] : (tensor<8xf32>) -> tensor<4xf32>
  return %r, %s : tensor<2xf32>, tensor<4xf32>
}

// Updates that the slice takes nothing of are skipped, up to one that it takes a part of.
// CHECK-LABEL: func.func @slice_of_update_of_updates(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[U:[a-z0-9]+]]: tensor<3xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[X]], %[[U]], %{{.*}}
// CHECK: stablehlo.slice %[[U]] [1:3]
// CHECK: stablehlo.slice %[[A]] [1:3]
func.func @slice_of_update_of_updates(%x: tensor<8xf32>, %u: tensor<3xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<8xf32>) {
  %i = stablehlo.constant dense<2> : tensor<i32>
  %j = stablehlo.constant dense<5> : tensor<i32>
  %a = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  %b = stablehlo.dynamic_update_slice %a, %u, %j : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.slice %b [3:5] : (tensor<8xf32>) -> tensor<2xf32>
  %s = stablehlo.slice %b [1:3] : (tensor<8xf32>) -> tensor<2xf32>
  return %r, %s, %b : tensor<2xf32>, tensor<2xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @slice_of_update_not_across(
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_update_not_across(%x: tensor<8xf32>, %u: tensor<3xf32>) -> tensor<3xf32> {
  %i = stablehlo.constant dense<4> : tensor<i32>
  %a = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.slice %a [3:6] : (tensor<8xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<2.500000e+00> : tensor<3xf32>
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_of_splat(%i: tensor<i32>) -> tensor<3xf32> {
  %x = stablehlo.constant dense<2.5> : tensor<8xf32>
  %r = stablehlo.dynamic_slice %x, %i, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_splat_not_of_different(
// CHECK: stablehlo.dynamic_slice
func.func @dynamic_slice_of_splat_not_of_different(%i: tensor<i32>) -> tensor<1xf32> {
  %x = stablehlo.constant dense<[2.5, 2.0]> : tensor<2xf32>
  %r = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[I:[a-z0-9]+]]: tensor<i32>, %[[J:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %[[J]], sizes = [3]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [1]
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_of_broadcast(%x: tensor<8xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x3xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %r = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 3] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_broadcast_not_of_sum(
// CHECK: stablehlo.add
// CHECK-NEXT: stablehlo.dynamic_slice
func.func @dynamic_slice_of_broadcast_not_of_sum(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<3xf32> {
  %a = stablehlo.add %x, %x : tensor<8xf32>
  %r = stablehlo.dynamic_slice %a, %i, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_iota(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.iota dim = 1 : tensor<2x8xi32>
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_of_iota(%i: tensor<i32>) -> tensor<2x8xi32> {
  %a = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %r = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 8] : (tensor<4x8xi32>, tensor<i32>, tensor<i32>) -> tensor<2x8xi32>
  return %r : tensor<2x8xi32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_iota_of_one(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.and
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[M]]
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_of_iota_of_one(%i: tensor<i32>) -> tensor<1xi32> {
  %c = stablehlo.constant dense<7> : tensor<i32>
  %m = stablehlo.and %i, %c : tensor<i32>
  %a = stablehlo.iota dim = 0 : tensor<8xi32>
  %r = stablehlo.dynamic_slice %a, %m, sizes = [1] : (tensor<8xi32>, tensor<i32>) -> tensor<1xi32>
  return %r : tensor<1xi32>
}

// %i may be out of range, and is clamped.
// CHECK-LABEL: func.func @dynamic_slice_of_iota_not_of_any_one(
// CHECK: stablehlo.dynamic_slice
func.func @dynamic_slice_of_iota_not_of_any_one(%i: tensor<i32>) -> tensor<1xi32> {
  %a = stablehlo.iota dim = 0 : tensor<8xi32>
  %r = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<8xi32>, tensor<i32>) -> tensor<1xi32>
  return %r : tensor<1xi32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_dynamic_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[I:[a-z0-9]+]]: tensor<i32>, %[[J:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %[[I]], %[[J]], sizes = [1, 3]
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_of_dynamic_slice(%x: tensor<4x8xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<1x3xf32> {
  %a = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %r = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 3] : (tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}

// Each start is clamped to its own bound, so they cannot be added.
// CHECK-LABEL: func.func @dynamic_slice_of_dynamic_slice_not_of_one_dimension(
// CHECK: stablehlo.dynamic_slice
// CHECK-NEXT: stablehlo.dynamic_slice
func.func @dynamic_slice_of_dynamic_slice_not_of_one_dimension(%x: tensor<8xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2xf32> {
  %a = stablehlo.dynamic_slice %x, %i, sizes = [5] : (tensor<8xf32>, tensor<i32>) -> tensor<5xf32>
  %r = stablehlo.dynamic_slice %a, %j, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<2>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %[[I]], %[[C]], sizes = [1, 5]
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_of_slice(%x: tensor<4x8xf32>, %i: tensor<i32>) -> tensor<1x5xf32> {
  %a = stablehlo.slice %x [0:4, 2:7] : (tensor<4x8xf32>) -> tensor<4x5xf32>
  %r = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 5] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>
  return %r : tensor<1x5xf32>
}

// The slice has fewer elements than x, so %i is clamped to less.
// CHECK-LABEL: func.func @dynamic_slice_of_slice_not_of_one_dimension(
// CHECK: stablehlo.slice
// CHECK-NEXT: stablehlo.dynamic_slice
func.func @dynamic_slice_of_slice_not_of_one_dimension(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %a = stablehlo.slice %x [2:7] : (tensor<8xf32>) -> tensor<5xf32>
  %r = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// An i8 cannot represent the start 130.
// CHECK-LABEL: func.func @dynamic_slice_of_slice_not_beyond_the_type(
// CHECK: stablehlo.slice
// CHECK-NEXT: stablehlo.dynamic_slice
func.func @dynamic_slice_of_slice_not_beyond_the_type(%x: tensor<4x200xf32>, %i: tensor<i8>) -> tensor<1x5xf32> {
  %a = stablehlo.slice %x [0:4, 130:135] : (tensor<4x200xf32>) -> tensor<4x5xf32>
  %r = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 5] : (tensor<4x5xf32>, tensor<i8>, tensor<i8>) -> tensor<1x5xf32>
  return %r : tensor<1x5xf32>
}

// CHECK-LABEL: func.func @slice_of_dynamic_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<2>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %[[I]], %[[C]], sizes = [1, 5]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_dynamic_slice(%x: tensor<4x8xf32>, %i: tensor<i32>) -> tensor<1x5xf32> {
  %a = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %r = stablehlo.slice %a [0:1, 2:7] : (tensor<1x8xf32>) -> tensor<1x5xf32>
  return %r : tensor<1x5xf32>
}

// A dynamic_slice has no strides.
// CHECK-LABEL: func.func @slice_of_dynamic_slice_not_with_strides(
// CHECK: stablehlo.dynamic_slice
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_dynamic_slice_not_with_strides(%x: tensor<4x8xf32>, %i: tensor<i32>) -> tensor<1x4xf32> {
  %a = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %r = stablehlo.slice %a [0:1, 0:8:2] : (tensor<1x8xf32>) -> tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @dynamic_slice_of_concatenate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.and
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %[[M]], sizes = [2]
// CHECK-NEXT: return %[[R]]
func.func @dynamic_slice_of_concatenate(%x: tensor<8xf32>, %y: tensor<4xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<6> : tensor<i32>
  %m = stablehlo.and %i, %c : tensor<i32>
  %a = stablehlo.concatenate %x, %y, dim = 0 : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>
  %r = stablehlo.dynamic_slice %a, %m, sizes = [2] : (tensor<12xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// The slice [7:9] takes an element of y.
// CHECK-LABEL: func.func @dynamic_slice_of_concatenate_not_beyond(
// CHECK: stablehlo.concatenate
// CHECK-NEXT: stablehlo.dynamic_slice
func.func @dynamic_slice_of_concatenate_not_beyond(%x: tensor<8xf32>, %y: tensor<4xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<7> : tensor<i32>
  %m = stablehlo.and %i, %c : tensor<i32>
  %a = stablehlo.concatenate %x, %y, dim = 0 : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>
  %r = stablehlo.dynamic_slice %a, %m, sizes = [2] : (tensor<12xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @start_of_clamp(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[U:[a-z0-9]+]]: tensor<3xf32>, %[[I:[a-z0-9]+]]: tensor<i32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %[[I]], sizes = [3]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[X]], %[[U]], %[[I]]
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @start_of_clamp(%x: tensor<8xf32>, %u: tensor<3xf32>, %i: tensor<i32>) -> (tensor<3xf32>, tensor<8xf32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %c = stablehlo.constant dense<5> : tensor<i32>
  %j = stablehlo.clamp %z, %i, %c : tensor<i32>
  %r = stablehlo.dynamic_slice %x, %j, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
  %k = stablehlo.maximum %i, %z : tensor<i32>
  %l = stablehlo.minimum %c, %k : tensor<i32>
  %s = stablehlo.dynamic_update_slice %x, %u, %l : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  return %r, %s : tensor<3xf32>, tensor<8xf32>
}

// The greatest start is 5: the clamp changes it.
// CHECK-LABEL: func.func @start_of_clamp_not_to_less(
// CHECK: stablehlo.clamp
func.func @start_of_clamp_not_to_less(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %c = stablehlo.constant dense<4> : tensor<i32>
  %j = stablehlo.clamp %z, %i, %c : tensor<i32>
  %r = stablehlo.dynamic_slice %x, %j, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
