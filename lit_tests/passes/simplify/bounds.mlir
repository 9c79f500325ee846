// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @compare_of_bounds(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<false>
// CHECK-NEXT: return %[[R]]
func.func @compare_of_bounds() -> tensor<4x8xi1> {
  %i = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %c = stablehlo.constant dense<0> : tensor<4x8xi32>
  %r = stablehlo.compare LT, %i, %c, SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
  return %r : tensor<4x8xi1>
}

// CHECK-LABEL: func.func @compare_of_bounds_not_within(
// CHECK: stablehlo.compare LT
func.func @compare_of_bounds_not_within() -> tensor<8xi1> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %c = stablehlo.constant dense<7> : tensor<8xi32>
  %r = stablehlo.compare LT, %i, %c, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  return %r : tensor<8xi1>
}

// CHECK-LABEL: func.func @compare_of_bounds_of_unsigned(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<true>
// CHECK-NEXT: return %[[R]]
func.func @compare_of_bounds_of_unsigned(%x: tensor<300xui8>) -> tensor<300xi1> {
  %c = stablehlo.constant dense<0> : tensor<300xui8>
  %r = stablehlo.compare GE, %x, %c, UNSIGNED : (tensor<300xui8>, tensor<300xui8>) -> tensor<300xi1>
  return %r : tensor<300xi1>
}

// 100 + 100 wraps around to -56.
// CHECK-LABEL: func.func @compare_of_bounds_not_wrapping(
// CHECK: stablehlo.compare GE
func.func @compare_of_bounds_not_wrapping(%x: tensor<9xi8>) -> tensor<9xi1> {
  %a = stablehlo.constant dense<100> : tensor<9xi8>
  %z = stablehlo.constant dense<0> : tensor<9xi8>
  %m = stablehlo.maximum %x, %a : tensor<9xi8>
  %s = stablehlo.add %m, %a : tensor<9xi8>
  %r = stablehlo.compare GE, %s, %z, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  return %r : tensor<9xi1>
}

// JAX's x % 5 is never negative, so the test for a negative index is false.
// CHECK-LABEL: func.func @compare_of_bounds_of_modulo(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<9xi8>
// CHECK: stablehlo.compare LT
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.select
// CHECK-NEXT: return %[[M]]
func.func @compare_of_bounds_of_modulo(%x: tensor<9xi8>) -> tensor<9xi8> {
  %n = stablehlo.constant dense<5> : tensor<9xi8>
  %z = stablehlo.constant dense<0> : tensor<9xi8>
  %r = stablehlo.remainder %x, %n : tensor<9xi8>
  %p = stablehlo.compare LT, %r, %z, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %a = stablehlo.add %r, %n : tensor<9xi8>
  %m = stablehlo.select %p, %a, %r : tensor<9xi1>, tensor<9xi8>
  %q = stablehlo.compare LT, %m, %z, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %b = stablehlo.add %m, %n : tensor<9xi8>
  %s = stablehlo.select %q, %b, %m : tensor<9xi1>, tensor<9xi8>
  return %s : tensor<9xi8>
}

// The comparison bounds the elements of %x, not those of the reversed value.
// CHECK-LABEL: func.func @compare_of_bounds_not_of_moved(
// CHECK: stablehlo.compare LT
// CHECK: stablehlo.compare LT
func.func @compare_of_bounds_not_of_moved(%x: tensor<9xi8>) -> tensor<9xi1> {
  %z = stablehlo.constant dense<0> : tensor<9xi8>
  %p = stablehlo.compare LT, %x, %z, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %v = stablehlo.reverse %x, dims = [0] : tensor<9xi8>
  %m = stablehlo.select %p, %v, %z : tensor<9xi1>, tensor<9xi8>
  %q = stablehlo.constant dense<1> : tensor<9xi8>
  %r = stablehlo.compare LT, %m, %q, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  return %r : tensor<9xi1>
}

// The counter of a loop is never negative in its body, and a second counter neither.
// CHECK-LABEL: func.func @compare_of_bounds_of_counter(
// CHECK: stablehlo.while
// CHECK: do
// CHECK-NOT: stablehlo.compare
// CHECK-NOT: stablehlo.select
// CHECK: return
func.func @compare_of_bounds_of_counter(%x: tensor<8xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %0:3 = stablehlo.while(%i = %zero, %j = %zero, %a = %f) : tensor<i32>, tensor<i32>, tensor<f32>
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.constant dense<8> : tensor<i32>
    %q = stablehlo.compare LT, %j, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %k = stablehlo.add %j, %n : tensor<i32>
    %s = stablehlo.select %q, %k, %j : tensor<i1>, tensor<i32>
    %d = stablehlo.dynamic_slice %x, %s, sizes = [1] : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    %e = stablehlo.reshape %d : (tensor<1xf32>) -> tensor<f32>
    %b = stablehlo.add %a, %e : tensor<f32>
    %ni = stablehlo.add %i, %one : tensor<i32>
    %nj = stablehlo.add %j, %one : tensor<i32>
    stablehlo.return %ni, %nj, %b : tensor<i32>, tensor<i32>, tensor<f32>
  }
  return %0#2 : tensor<f32>
}

// The second counter may start below 0.
// CHECK-LABEL: func.func @compare_of_bounds_not_of_any_counter(
// CHECK: do
// CHECK: stablehlo.compare LT
func.func @compare_of_bounds_not_of_any_counter(%start: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %j = %start, %a = %zero) : tensor<i32>, tensor<i32>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %q = stablehlo.compare LT, %j, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = stablehlo.select %q, %i, %a : tensor<i1>, tensor<i32>
    %ni = stablehlo.add %i, %one : tensor<i32>
    %nj = stablehlo.add %j, %one : tensor<i32>
    stablehlo.return %ni, %nj, %s : tensor<i32>, tensor<i32>, tensor<i32>
  }
  return %0#2 : tensor<i32>
}

// CHECK-LABEL: func.func @max_of_bounds(
// CHECK-NEXT: %[[I:[a-z0-9_]+]] = stablehlo.iota
// CHECK-NEXT: return %[[I]]
func.func @max_of_bounds() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %c = stablehlo.constant dense<0> : tensor<8xi32>
  %r = stablehlo.maximum %c, %i : tensor<8xi32>
  return %r : tensor<8xi32>
}

// CHECK-LABEL: func.func @max_of_bounds_not_between(
// CHECK: stablehlo.maximum
func.func @max_of_bounds_not_between() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %c = stablehlo.constant dense<1> : tensor<8xi32>
  %r = stablehlo.maximum %c, %i : tensor<8xi32>
  return %r : tensor<8xi32>
}

// CHECK-LABEL: func.func @min_of_bounds(
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0>
// CHECK-NEXT: return %[[C]]
func.func @min_of_bounds() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %c = stablehlo.constant dense<0> : tensor<8xi32>
  %r = stablehlo.minimum %c, %i : tensor<8xi32>
  return %r : tensor<8xi32>
}

// Bounds are computed for integers only.
// CHECK-LABEL: func.func @min_of_bounds_not_on_floats(
// CHECK: stablehlo.minimum
func.func @min_of_bounds_not_on_floats() -> tensor<8xf32> {
  %i = stablehlo.iota dim = 0 : tensor<8xf32>
  %c = stablehlo.constant dense<9.0> : tensor<8xf32>
  %r = stablehlo.minimum %c, %i : tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @clamp_of_bounds(
// CHECK-NEXT: %[[I:[a-z0-9_]+]] = stablehlo.iota
// CHECK-NEXT: return %[[I]]
func.func @clamp_of_bounds() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %a = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.constant dense<7> : tensor<i32>
  %r = stablehlo.clamp %a, %i, %b : (tensor<i32>, tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// CHECK-LABEL: func.func @clamp_of_bounds_from_above(
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<-1> : tensor<8xi32>
// CHECK-NEXT: return %[[C]]
func.func @clamp_of_bounds_from_above() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %a = stablehlo.constant dense<-3> : tensor<i32>
  %b = stablehlo.constant dense<-1> : tensor<i32>
  %r = stablehlo.clamp %a, %i, %b : (tensor<i32>, tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// The minimum is greater than the maximum: the result is the maximum.
// CHECK-LABEL: func.func @clamp_of_bounds_crossed(
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<10> : tensor<8xi32>
// CHECK-NEXT: return %[[C]]
func.func @clamp_of_bounds_crossed() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %a = stablehlo.constant dense<20> : tensor<i32>
  %b = stablehlo.constant dense<10> : tensor<i32>
  %r = stablehlo.clamp %a, %i, %b : (tensor<i32>, tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// CHECK-LABEL: func.func @clamp_of_bounds_not_within(
// CHECK: stablehlo.clamp
func.func @clamp_of_bounds_not_within() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %a = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.constant dense<6> : tensor<i32>
  %r = stablehlo.clamp %a, %i, %b : (tensor<i32>, tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// CHECK-LABEL: func.func @remainder_of_bounds(
// CHECK-NEXT: %[[I:[a-z0-9_]+]] = stablehlo.iota
// CHECK-NEXT: return %[[I]]
func.func @remainder_of_bounds() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %c = stablehlo.constant dense<8> : tensor<8xi32>
  %r = stablehlo.remainder %i, %c : tensor<8xi32>
  return %r : tensor<8xi32>
}

// CHECK-LABEL: func.func @remainder_of_bounds_not_by_less(
// CHECK: stablehlo.remainder
func.func @remainder_of_bounds_not_by_less() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %c = stablehlo.constant dense<7> : tensor<8xi32>
  %r = stablehlo.remainder %i, %c : tensor<8xi32>
  return %r : tensor<8xi32>
}

// CHECK-LABEL: func.func @divide_of_bounds(
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0>
// CHECK-NEXT: return %[[C]]
func.func @divide_of_bounds(%x: tensor<8xi32>) -> tensor<8xi32> {
  %c = stablehlo.constant dense<3> : tensor<8xi32>
  %m = stablehlo.remainder %x, %c : tensor<8xi32>
  %r = stablehlo.divide %m, %c : tensor<8xi32>
  return %r : tensor<8xi32>
}

// The divisor may be 0.
// CHECK-LABEL: func.func @divide_of_bounds_not_by_zero(
// CHECK: stablehlo.divide
func.func @divide_of_bounds_not_by_zero(%x: tensor<8xui8>) -> tensor<8xui8> {
  %c = stablehlo.constant dense<0> : tensor<8xui8>
  %m = stablehlo.constant dense<1> : tensor<8xui8>
  %a = stablehlo.minimum %x, %m : tensor<8xui8>
  %b = stablehlo.minimum %x, %a : tensor<8xui8>
  %r = stablehlo.divide %c, %b : tensor<8xui8>
  return %r : tensor<8xui8>
}

// CHECK-LABEL: func.func @abs_of_bounds(
// CHECK-NEXT: %[[I:[a-z0-9_]+]] = stablehlo.iota
// CHECK-NEXT: return %[[I]]
func.func @abs_of_bounds() -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %r = stablehlo.abs %i : tensor<8xi32>
  return %r : tensor<8xi32>
}

// The absolute value of -128 is -128.
// CHECK-LABEL: func.func @abs_of_bounds_not_twice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xi8>
// CHECK: stablehlo.abs
// CHECK: stablehlo.maximum
func.func @abs_of_bounds_not_twice(%x: tensor<8xi8>) -> tensor<8xi8> {
  %z = stablehlo.constant dense<0> : tensor<8xi8>
  %a = stablehlo.abs %x : tensor<8xi8>
  %r = stablehlo.maximum %a, %z : tensor<8xi8>
  return %r : tensor<8xi8>
}
