// RUN: %jxc opt %s -p 'sorting{always=true enable-patterns=sort-to-selection}' --split-input-file | FileCheck %s

// The median of an even number of elements: 32 bits of the element at 1999, one more pass for the
// next one, and the positions of zeros if one of them is a zero and any element is -0.0.
// CHECK-LABEL: func.func @sort_to_selection(
// CHECK-NOT: stablehlo.sort
// CHECK: %[[RANK:[a-z0-9_]+]] = stablehlo.constant dense<1999> : tensor<i32>
// CHECK: %[[LOOP:[a-z0-9_]+]]:2 = stablehlo.while
// CHECK: stablehlo.constant dense<32>
// CHECK: stablehlo.compare LT
// CHECK: %[[COUNT:[a-z0-9_]+]] = stablehlo.reduce(%{{.*}}) applies stablehlo.add
// CHECK: stablehlo.compare LE, %{{.*}}, %[[RANK]]
// CHECK: stablehlo.compare GT, %{{.*}}, %{{.*}} : (tensor<4000xi32>
// CHECK: stablehlo.reduce(%{{.*}}) applies stablehlo.minimum
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @sort_to_selection(%x: tensor<4000xf32>) -> tensor<2xf32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4000xf32>) -> tensor<4000xf32>
  %r = stablehlo.slice %s [1999:2001] : (tensor<4000xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// A position that is not constant is clamped, as that of the slice.
// CHECK-LABEL: func.func @sort_to_selection_dynamic(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6x500xi32>, %[[K:[a-z0-9]+]]: tensor<i32>
// CHECK-NOT: stablehlo.sort
// CHECK: stablehlo.clamp %{{.*}}, %[[K]]
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.while
// CHECK: stablehlo.dynamic_slice
func.func @sort_to_selection_dynamic(%x: tensor<6x500xi32>, %k: tensor<i32>) -> tensor<6x1xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6x500xi32>) -> tensor<6x500xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.dynamic_slice %s, %zero, %k, sizes = [6, 1] : (tensor<6x500xi32>, tensor<i32>, tensor<i32>) -> tensor<6x1xi32>
  return %r : tensor<6x1xi32>
}

// A position for each column, as in `jnp.nanmedian`. That of the second gather is computed earlier.
// CHECK-LABEL: func.func @sort_to_selection_by_row(
// CHECK-NOT: stablehlo.sort
// CHECK: stablehlo.while
// CHECK: stablehlo.gather
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.while
// CHECK: stablehlo.gather
func.func @sort_to_selection_by_row(%x: tensor<5000x6xi32>, %k: tensor<6x1xi32>) -> (tensor<6xi32>, tensor<6xi32>) {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<5000x6xi32>) -> tensor<5000x6xi32>
  %i = stablehlo.iota dim = 0 : tensor<6x1xi32>
  %ki = stablehlo.concatenate %k, %i, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
  %r = "stablehlo.gather"(%s, %ki) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5000x6xi32>, tensor<6x2xi32>) -> tensor<6xi32>
  %j = stablehlo.add %k, %k : tensor<6x1xi32>
  %ji = stablehlo.concatenate %j, %i, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
  %t = "stablehlo.gather"(%s, %ji) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5000x6xi32>, tensor<6x2xi32>) -> tensor<6xi32>
  return %r, %t : tensor<6xi32>, tensor<6xi32>
}

// As `jax.vmap` of an index writes it, of unsigned keys.
// CHECK-LABEL: func.func @sort_to_selection_batched(
// CHECK-NOT: stablehlo.sort
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.while
// CHECK: stablehlo.gather
func.func @sort_to_selection_batched(%x: tensor<6x500xui32>, %k: tensor<6x1xi32>) -> tensor<6xui32> {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6x500xui32>) -> tensor<6x500xui32>
  %r = "stablehlo.gather"(%s, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<6x500xui32>, tensor<6x1xi32>) -> tensor<6xui32>
  return %r : tensor<6xui32>
}

// So many elements that the sort is as fast.
// CHECK-LABEL: func.func @sort_to_selection_not_many(
// CHECK-NOT: stablehlo.while
// CHECK: "stablehlo.sort"
func.func @sort_to_selection_not_many(%x: tensor<6x500xi32>) -> tensor<6x9xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6x500xi32>) -> tensor<6x500xi32>
  %r = stablehlo.slice %s [0:6, 50:500:50] : (tensor<6x500xi32>) -> tensor<6x9xi32>
  return %r : tensor<6x9xi32>
}

// The whole sorted array is used elsewhere.
// CHECK-LABEL: func.func @sort_to_selection_not_all_used(
// CHECK-NOT: stablehlo.while
// CHECK: "stablehlo.sort"
func.func @sort_to_selection_not_all_used(%x: tensor<6x500xi32>) -> (tensor<6x1xi32>, tensor<6x500xi32>) {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6x500xi32>) -> tensor<6x500xi32>
  %r = stablehlo.slice %s [0:6, 250:251] : (tensor<6x500xi32>) -> tensor<6x1xi32>
  return %r, %s : tensor<6x1xi32>, tensor<6x500xi32>
}

// The other operand is in the order of the keys.
// CHECK-LABEL: func.func @sort_to_selection_not_another_operand(
// CHECK-NOT: stablehlo.while
// CHECK: "stablehlo.sort"
func.func @sort_to_selection_not_another_operand(%x: tensor<6x500xi32>, %y: tensor<6x500xf32>) -> tensor<6x1xf32> {
  %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c1: tensor<f32>, %d1: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6x500xi32>, tensor<6x500xf32>) -> (tensor<6x500xi32>, tensor<6x500xf32>)
  %r = stablehlo.slice %s#1 [0:6, 250:251] : (tensor<6x500xf32>) -> tensor<6x1xf32>
  return %r : tensor<6x1xf32>
}

// A loop reads one element in each iteration.
// CHECK-LABEL: func.func @sort_to_selection_not_in_a_loop(
// CHECK: "stablehlo.sort"
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.while
func.func @sort_to_selection_not_in_a_loop(%x: tensor<5000xi32>) -> tensor<1xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<5000xi32>) -> tensor<5000xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<1xi32>
  %r:2 = stablehlo.while(%i = %zero, %t = %none) : tensor<i32>, tensor<1xi32>
  cond {
    %n = stablehlo.constant dense<100> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %e = stablehlo.dynamic_slice %s, %i, sizes = [1] : (tensor<5000xi32>, tensor<i32>) -> tensor<1xi32>
    %u = stablehlo.add %t, %e : tensor<1xi32>
    stablehlo.return %j, %u : tensor<i32>, tensor<1xi32>
  }
  return %r#1 : tensor<1xi32>
}

// The rows are read in another order.
// CHECK-LABEL: func.func @sort_to_selection_not_other_rows(
// CHECK-NOT: stablehlo.while
// CHECK: "stablehlo.sort"
func.func @sort_to_selection_not_other_rows(%x: tensor<6x500xi32>, %k: tensor<6x1xi32>) -> tensor<6xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6x500xi32>) -> tensor<6x500xi32>
  %i = stablehlo.iota dim = 0 : tensor<6x1xi32>
  %j = stablehlo.reverse %i, dims = [0] : tensor<6x1xi32>
  %jk = stablehlo.concatenate %j, %k, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
  %r = "stablehlo.gather"(%s, %jk) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<6x500xi32>, tensor<6x2xi32>) -> tensor<6xi32>
  return %r : tensor<6xi32>
}
