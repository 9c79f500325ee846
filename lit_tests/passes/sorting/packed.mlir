// RUN: %jxc opt %s -p 'sorting{always=true disable-patterns=sort-to-network}' --split-input-file | FileCheck %s

// The key is the upper half. The lower half holds the index, for stability, and a bit for -0.0.
// CHECK-LABEL: func.func @sort_to_packed_sort(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<600xf32>
// CHECK: stablehlo.bitcast_convert %[[X]] : (tensor<600xf32>) -> tensor<600xi32>
// CHECK: %[[PLACE:[a-z0-9_]+]] = stablehlo.iota dim = 0 : tensor<600xi64>
// CHECK: stablehlo.shift_left %[[PLACE]]
// CHECK: %[[S:[a-z0-9_]+]] = "stablehlo.sort"(%{{[a-z0-9_]+}}) <{dimension = 0 : i64, is_stable = false}>
// CHECK-NEXT: ^bb0(%[[A:[a-z0-9]+]]: tensor<i64>, %[[B:[a-z0-9]+]]: tensor<i64>):
// CHECK-NEXT: %[[P:[a-z0-9_]+]] = stablehlo.compare LT, %[[A]], %[[B]]
// CHECK-NEXT: stablehlo.return %[[P]]
// CHECK: stablehlo.shift_right_arithmetic %[[S]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.bitcast_convert %{{.*}} -> tensor<600xf32>
// CHECK-NEXT: return %[[R]]
func.func @sort_to_packed_sort(%x: tensor<600xf32>) -> tensor<600xf32> {
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
  }) : (tensor<600xf32>) -> tensor<600xf32>
  return %s : tensor<600xf32>
}

// An iota along the axis is the index; another payload is gathered at the sorted indices.
// CHECK-LABEL: func.func @sort_to_packed_sort_payload(
// CHECK-SAME: tensor<2x300xui32>, %[[Y:[a-z0-9]+]]: tensor<2x300xf64>
// CHECK: "stablehlo.sort"(%{{[a-z0-9_]+}}) <{dimension = 1 : i64, is_stable = false}>
// CHECK: %[[PLACE:[a-z0-9_]+]] = stablehlo.convert %{{.*}} -> tensor<2x300xi32>
// CHECK: stablehlo.shift_right_logical
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.gather"(%[[Y]], %{{[a-z0-9_]+}})
// CHECK: return %{{.*}}, %[[PLACE]], %[[R]]
func.func @sort_to_packed_sort_payload(%x: tensor<2x300xui32>, %y: tensor<2x300xf64>) -> (tensor<2x300xui32>, tensor<2x300xi32>, tensor<2x300xf64>) {
  %i = stablehlo.iota dim = 1 : tensor<2x300xi32>
  %s:3 = "stablehlo.sort"(%x, %i, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<ui32>, %b: tensor<ui32>, %c1: tensor<i32>, %d1: tensor<i32>, %c2: tensor<f64>, %d2: tensor<f64>):
    %p = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<2x300xui32>, tensor<2x300xi32>, tensor<2x300xf64>) -> (tensor<2x300xui32>, tensor<2x300xi32>, tensor<2x300xf64>)
  return %s#0, %s#1, %s#2 : tensor<2x300xui32>, tensor<2x300xi32>, tensor<2x300xf64>
}

// Columns whose elements compete for places in the cache are sorted as rows of the transpose.
// CHECK-LABEL: func.func @sort_to_packed_sort_columns(
// CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<256x512xui64>) -> tensor<512x256xui64>
// CHECK: %[[S:[a-z0-9_]+]] = "stablehlo.sort"(%[[ROWS]]) <{dimension = 1 : i64, is_stable = false}>
// CHECK: %[[BACK:[a-z0-9_]+]] = stablehlo.transpose %[[S]], dims = [1, 0] : (tensor<512x256xui64>) -> tensor<256x512xui64>
// CHECK: stablehlo.and %[[BACK]],
func.func @sort_to_packed_sort_columns(%x: tensor<256x512xui32>) -> tensor<256x512xi32> {
  %i = stablehlo.iota dim = 0 : tensor<256x512xi32>
  %s:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<ui32>, %b: tensor<ui32>, %c1: tensor<i32>, %d1: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<256x512xui32>, tensor<256x512xi32>) -> (tensor<256x512xui32>, tensor<256x512xi32>)
  return %s#1 : tensor<256x512xi32>
}

// Columns that stay in the cache are not transposed.
// CHECK-LABEL: func.func @sort_to_packed_sort_short_columns(
// CHECK-NOT: stablehlo.transpose
// CHECK: "stablehlo.sort"(%{{[a-z0-9_]+}}) <{dimension = 0 : i64, is_stable = false}>
// CHECK-NOT: stablehlo.transpose
func.func @sort_to_packed_sort_short_columns(%x: tensor<64x1000xui32>) -> tensor<64x1000xi32> {
  %i = stablehlo.iota dim = 0 : tensor<64x1000xi32>
  %s:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<ui32>, %b: tensor<ui32>, %c1: tensor<i32>, %d1: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<64x1000xui32>, tensor<64x1000xi32>) -> (tensor<64x1000xui32>, tensor<64x1000xi32>)
  return %s#1 : tensor<64x1000xi32>
}

// `argsort` in descending order as JAX writes it: key and index are reversed before the sort.
// CHECK-LABEL: func.func @sort_to_packed_sort_descending_places(
// CHECK: stablehlo.reverse
// CHECK: "stablehlo.sort"(%{{[a-z0-9_]+}})
// CHECK: %[[LAST:[a-z0-9_]+]] = stablehlo.constant dense<599> : tensor<600xi32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.subtract %[[LAST]], %{{[a-z0-9_]+}}
// CHECK-NEXT: return %[[R]]
func.func @sort_to_packed_sort_descending_places(%x: tensor<600xf32>) -> tensor<600xi32> {
  %i = stablehlo.iota dim = 0 : tensor<600xi32>
  %j = stablehlo.reverse %i, dims = [0] : tensor<600xi32>
  %y = stablehlo.reverse %x, dims = [0] : tensor<600xf32>
  %s:2 = "stablehlo.sort"(%y, %j) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c1: tensor<i32>, %d1: tensor<i32>):
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
  }) : (tensor<600xf32>, tensor<600xi32>) -> (tensor<600xf32>, tensor<600xi32>)
  return %s#1 : tensor<600xi32>
}

// A comparison that JAX does not write.
// CHECK-LABEL: func.func @sort_to_packed_sort_not_descending(
// CHECK-NOT: i64>
// CHECK: "stablehlo.sort"
// CHECK-NOT: i64>
// CHECK: return
func.func @sort_to_packed_sort_not_descending(%x: tensor<600xf32>) -> tensor<600xf32> {
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
    %p = stablehlo.compare GT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<600xf32>) -> tensor<600xf32>
  return %s : tensor<600xf32>
}

// A negative NaN comes first.
// CHECK-LABEL: func.func @sort_to_packed_sort_not_nan_first(
// CHECK-NOT: i64>
// CHECK: "stablehlo.sort"
// CHECK-NOT: i64>
// CHECK: return
func.func @sort_to_packed_sort_not_nan_first(%x: tensor<600xf32>) -> tensor<600xf32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0xFFC00000> : tensor<f32>
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
  }) : (tensor<600xf32>) -> tensor<600xf32>
  return %s : tensor<600xf32>
}

// The total order distinguishes zeros and NaNs by their signs.
// CHECK-LABEL: func.func @sort_to_packed_sort_not_total_order(
// CHECK-NOT: i64>
// CHECK: "stablehlo.sort"
// CHECK-NOT: i64>
// CHECK: return
func.func @sort_to_packed_sort_not_total_order(%x: tensor<600xf32>) -> tensor<600xf32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<600xf32>) -> tensor<600xf32>
  return %s : tensor<600xf32>
}

// XLA has a faster sort for a single operand of integers.
// CHECK-LABEL: func.func @sort_to_packed_sort_not_integers(
// CHECK-NOT: i64>
// CHECK: "stablehlo.sort"
// CHECK-NOT: i64>
// CHECK: return
func.func @sort_to_packed_sort_not_integers(%x: tensor<600xi32>) -> tensor<600xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<600xi32>) -> tensor<600xi32>
  return %s : tensor<600xi32>
}

// A 64-bit key leaves no bits for the index.
// CHECK-LABEL: func.func @sort_to_packed_sort_not_wide(
// CHECK: "stablehlo.sort"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}})
func.func @sort_to_packed_sort_not_wide(%x: tensor<600xi64>, %y: tensor<600xi32>) -> tensor<600xi32> {
  %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>, %c1: tensor<i32>, %d1: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<600xi64>, tensor<600xi32>) -> (tensor<600xi64>, tensor<600xi32>)
  return %s#1 : tensor<600xi32>
}

// The comparison uses the second operand, which JAX does not write.
// CHECK-LABEL: func.func @sort_to_packed_sort_not_by_second(
// CHECK: "stablehlo.sort"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}})
func.func @sort_to_packed_sort_not_by_second(%x: tensor<600xi32>, %y: tensor<600xi32>) -> tensor<600xi32> {
  %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c1: tensor<i32>, %d1: tensor<i32>):
    %p = stablehlo.compare LT, %c1, %d1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<600xi32>, tensor<600xi32>) -> (tensor<600xi32>, tensor<600xi32>)
  return %s#0 : tensor<600xi32>
}

// `lexsort`: a stable sort by the second key, then one by the first.
// CHECK-LABEL: func.func @sort_by_keys_to_packed_sorts(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<600xi32>, %[[Y:[a-z0-9]+]]: tensor<600xi16>
// CHECK: stablehlo.convert %[[Y]] : (tensor<600xi16>) -> tensor<600xi64>
// CHECK: "stablehlo.sort"(%{{[a-z0-9_]+}}) <{dimension = 0 : i64, is_stable = false}>
// CHECK: %[[KEYS:[a-z0-9_]+]] = "stablehlo.gather"(%[[X]], %{{[a-z0-9_]+}})
// CHECK: stablehlo.convert %[[KEYS]] : (tensor<600xi32>) -> tensor<600xi64>
// CHECK: "stablehlo.sort"(%{{[a-z0-9_]+}}) <{dimension = 0 : i64, is_stable = false}>
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.gather"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}})
// CHECK: return %{{.*}} : tensor<600xi32>
func.func @sort_by_keys_to_packed_sorts(%x: tensor<600xi32>, %y: tensor<600xi16>) -> tensor<600xi32> {
  %i = stablehlo.iota dim = 0 : tensor<600xi32>
  %s:3 = "stablehlo.sort"(%x, %y, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i16>, %d: tensor<i16>, %e: tensor<i32>, %f: tensor<i32>):
    %p = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %q = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %t = stablehlo.and %r, %p : tensor<i1>
    %u = stablehlo.or %q, %t : tensor<i1>
    stablehlo.return %u : tensor<i1>
  }) : (tensor<600xi32>, tensor<600xi16>, tensor<600xi32>) -> (tensor<600xi32>, tensor<600xi16>, tensor<600xi32>)
  return %s#2 : tensor<600xi32>
}

// The first operands are not compared for equality, but the second ones are.
// CHECK-LABEL: func.func @sort_by_keys_to_packed_sorts_not_by_another_order(
// CHECK-COUNT-1: "stablehlo.sort"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}})
// CHECK-NOT: "stablehlo.sort"
func.func @sort_by_keys_to_packed_sorts_not_by_another_order(%x: tensor<600xi32>, %y: tensor<600xi32>) -> tensor<600xi32> {
  %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %q = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = stablehlo.compare EQ, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %t = stablehlo.and %r, %p : tensor<i1>
    %u = stablehlo.or %q, %t : tensor<i1>
    stablehlo.return %u : tensor<i1>
  }) : (tensor<600xi32>, tensor<600xi32>) -> (tensor<600xi32>, tensor<600xi32>)
  return %s#1 : tensor<600xi32>
}

// -----

// The largest first: the inverted bits of the key above the position.
// CHECK-LABEL: func.func @top_k_to_packed_sort(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x60xf32>
// CHECK-NOT: chlo.top_k
// CHECK: %[[N:[a-z0-9_]+]] = stablehlo.not
// CHECK: %[[W:[a-z0-9_]+]] = stablehlo.convert %[[N]] : (tensor<3x60xi32>) -> tensor<3x60xi64>
// CHECK: stablehlo.shift_left %[[W]]
// CHECK: %[[S:[a-z0-9_]+]] = "stablehlo.sort"(%{{[a-z0-9_]+}}) <{dimension = 1 : i64, is_stable = false}>
// CHECK: %[[K:[a-z0-9_]+]] = stablehlo.slice %[[S]] [0:3, 0:40]
// CHECK: stablehlo.shift_right_arithmetic %[[K]]
// CHECK: stablehlo.and %[[K]]
func.func @top_k_to_packed_sort(%x: tensor<3x60xf32>) -> (tensor<3x40xf32>, tensor<3x40xi32>) {
  %v, %i = chlo.top_k(%x, k = 40) : tensor<3x60xf32> -> (tensor<3x40xf32>, tensor<3x40xi32>)
  return %v, %i : tensor<3x40xf32>, tensor<3x40xi32>
}

// -----

// CHECK-LABEL: func.func @top_k_to_packed_sort_of_integers(
// CHECK-NOT: stablehlo.bitcast_convert
// CHECK: "stablehlo.sort"
// CHECK-NOT: stablehlo.bitcast_convert
// CHECK: return
func.func @top_k_to_packed_sort_of_integers(%x: tensor<60xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %v, %i = chlo.top_k(%x, k = 4) : tensor<60xi32> -> (tensor<4xi32>, tensor<4xi32>)
  return %v, %i : tensor<4xi32>, tensor<4xi32>
}

// -----

// Key and position of 64-bit numbers do not fit into 64 bits.
// CHECK-LABEL: func.func @top_k_to_packed_sort_not_f64(
// CHECK: chlo.top_k
// CHECK-NOT: stablehlo.sort
func.func @top_k_to_packed_sort_not_f64(%x: tensor<60xf64>) -> (tensor<4xf64>, tensor<4xi32>) {
  %v, %i = chlo.top_k(%x, k = 4) : tensor<60xf64> -> (tensor<4xf64>, tensor<4xi32>)
  return %v, %i : tensor<4xf64>, tensor<4xi32>
}
