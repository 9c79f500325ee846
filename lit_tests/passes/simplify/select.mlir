// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @select_same(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @select_same(%p: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_same_not_of_two(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.select
func.func @select_same_not_of_two(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_constant(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @select_of_constant(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %q = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.select %p, %x, %y : tensor<i1>, tensor<4xf32>
  %s = stablehlo.select %q, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r, %s : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_constant_not_mixed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2xf32>
// CHECK: stablehlo.select
func.func @select_of_constant_not_mixed(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %r = stablehlo.select %p, %x, %y : tensor<2xi1>, tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @select_of_not(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.select %[[P]], %[[Y]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @select_of_not(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.not %p : tensor<4xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// An operand is negated, not the predicate.
// CHECK-LABEL: func.func @select_of_not_not_a_branch(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.not
func.func @select_of_not_not_a_branch(%p: tensor<4xi1>, %x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.not %x : tensor<4xi32>
  %r = stablehlo.select %p, %a, %y : tensor<4xi1>, tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @select_of_broadcast(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<i1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.select %[[P]], %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @select_of_broadcast(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i1>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_broadcast_not_of_vector(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK: stablehlo.broadcast_in_dim
func.func @select_of_broadcast_not_of_vector(%p: tensor<4xi1>, %x: tensor<4x2xf32>, %y: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %a = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<4xi1>) -> tensor<4x2xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4x2xi1>, tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @select_of_booleans(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.not %[[P]]
// CHECK-NEXT: return %[[P]], %[[S]]
func.func @select_of_booleans(%p: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %t = stablehlo.constant dense<true> : tensor<4xi1>
  %f = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.select %p, %t, %f : tensor<4xi1>, tensor<4xi1>
  %s = stablehlo.select %p, %f, %t : tensor<4xi1>, tensor<4xi1>
  return %r, %s : tensor<4xi1>, tensor<4xi1>
}

// The predicate would have to be broadcast.
// CHECK-LABEL: func.func @select_of_booleans_not_of_scalar(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<i1>
// CHECK: stablehlo.select
func.func @select_of_booleans_not_of_scalar(%p: tensor<i1>) -> tensor<4xi1> {
  %t = stablehlo.constant dense<true> : tensor<4xi1>
  %f = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.select %p, %t, %f : tensor<i1>, tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @select_to_or(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.or %[[P]], %[[Q]]
// CHECK-NEXT: return %[[R]]
func.func @select_to_or(%p: tensor<4xi1>, %q: tensor<4xi1>) -> tensor<4xi1> {
  %t = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.select %p, %t, %q : tensor<4xi1>, tensor<4xi1>
  return %r : tensor<4xi1>
}

// The result is an integer, not a boolean.
// CHECK-LABEL: func.func @select_to_or_not_on_integers(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>
// CHECK: stablehlo.select
func.func @select_to_or_not_on_integers(%p: tensor<4xi1>, %x: tensor<4xi8>) -> tensor<4xi8> {
  %t = stablehlo.constant dense<1> : tensor<4xi8>
  %r = stablehlo.select %p, %t, %x : tensor<4xi1>, tensor<4xi8>
  return %r : tensor<4xi8>
}

// The form of causal masks made with jnp.tril.
// CHECK-LABEL: func.func @select_to_and(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.and %[[P]], %[[Q]]
// CHECK-NEXT: return %[[R]]
func.func @select_to_and(%p: tensor<4xi1>, %q: tensor<4xi1>) -> tensor<4xi1> {
  %f = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.select %p, %q, %f : tensor<4xi1>, tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @select_to_and_not_with_true(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4xi1>
// CHECK: stablehlo.select
func.func @select_to_and_not_with_true(%p: tensor<4xi1>, %q: tensor<4xi1>) -> tensor<4xi1> {
  %t = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.select %p, %q, %t : tensor<4xi1>, tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @select_of_select(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.select %[[P]], %[[X]], %[[Z]]
// CHECK-NEXT: return %[[R]]
func.func @select_of_select(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>
  %b = stablehlo.select %p, %y, %z : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_select_not_by_another(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.select
// CHECK-NEXT: stablehlo.select
func.func @select_of_select_not_by_another(%p: tensor<4xi1>, %q: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.select %q, %x, %y : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.select %p, %a, %x : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_nested(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>, %[[Q:[a-z0-9]+]]: tensor<4xi1>, %[[X:[a-z0-9]+]]: tensor<4xf32>, %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.and %[[P]], %[[Q]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.select %[[A]], %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @select_of_nested(%p: tensor<4xi1>, %q: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %s = stablehlo.select %q, %x, %y : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.select %p, %s, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_nested_or(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>, %[[Q:[a-z0-9]+]]: tensor<4xi1>, %[[X:[a-z0-9]+]]: tensor<4xf32>, %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.or %[[P]], %[[Q]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.select %[[A]], %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @select_of_nested_or(%p: tensor<4xi1>, %q: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %s = stablehlo.select %q, %x, %y : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.select %p, %x, %s : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0.0 and -0.0 have different bits.
// CHECK-LABEL: func.func @select_of_nested_not_of_another(
// CHECK: stablehlo.select
// CHECK-NEXT: stablehlo.select
func.func @select_of_nested_not_of_another(%p: tensor<4xi1>, %q: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<4xf32>
  %z = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %s = stablehlo.select %q, %x, %y : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.select %p, %s, %z : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_its_predicate(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>, %[[Q:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[O:[a-z0-9_]+]] = stablehlo.or %[[P]], %[[Q]]
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.and %[[P]], %[[Q]]
// CHECK-NEXT: return %[[O]], %[[A]]
func.func @select_of_its_predicate(%p: tensor<4xi1>, %q: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %r = stablehlo.select %p, %p, %q : tensor<4xi1>, tensor<4xi1>
  %s = stablehlo.select %p, %q, %p : tensor<4xi1>, tensor<4xi1>
  return %r, %s : tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func.func @select_of_its_predicate_not_of_another(
// CHECK: stablehlo.select
func.func @select_of_its_predicate_not_of_another(%p: tensor<4xi1>, %q: tensor<4xi1>, %s: tensor<4xi1>) -> tensor<4xi1> {
  %r = stablehlo.select %p, %q, %s : tensor<4xi1>, tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @select_to_convert(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.convert %[[P]]
// CHECK-NEXT: return %[[R]]
func.func @select_to_convert(%p: tensor<4xi1>) -> tensor<4xf32> {
  %a = stablehlo.constant dense<1.0> : tensor<4xf32>
  %b = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// convert(false) is 0.0.
// CHECK-LABEL: func.func @select_to_convert_not_negative_zero(
// CHECK: stablehlo.select
func.func @select_to_convert_not_negative_zero(%p: tensor<4xi1>) -> tensor<4xf32> {
  %a = stablehlo.constant dense<1.0> : tensor<4xf32>
  %b = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_equal(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256xi8>, %[[Y:[a-z0-9]+]]: tensor<256xi8>
// CHECK-NEXT: return %[[Y]]
func.func @select_of_equal(%x: tensor<256xi8>, %y: tensor<256xi8>) -> tensor<256xi8> {
  %p = stablehlo.compare EQ, %x, %y, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %r = stablehlo.select %p, %x, %y : tensor<256xi1>, tensor<256xi8>
  return %r : tensor<256xi8>
}

// -0.0 equals 0.0.
// CHECK-LABEL: func.func @select_of_equal_not_on_floats(
// CHECK: stablehlo.select
func.func @select_of_equal_not_on_floats(%x: tensor<17xf32>) -> tensor<17xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<17xf32>
  %p = stablehlo.compare EQ, %x, %z, FLOAT : (tensor<17xf32>, tensor<17xf32>) -> tensor<17xi1>
  %r = stablehlo.select %p, %z, %x : tensor<17xi1>, tensor<17xf32>
  return %r : tensor<17xf32>
}

// CHECK-LABEL: func.func @select_to_max_min(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256xi8>, %[[Y:[a-z0-9]+]]: tensor<256xi8>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.maximum %[[Y]], %[[X]]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.minimum %[[X]], %[[Y]]
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @select_to_max_min(%x: tensor<256xi8>, %y: tensor<256xi8>) -> (tensor<256xi8>, tensor<256xi8>) {
  %p = stablehlo.compare LT, %x, %y, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %r = stablehlo.select %p, %y, %x : tensor<256xi1>, tensor<256xi8>
  %q = stablehlo.compare GE, %y, %x, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %s = stablehlo.select %q, %x, %y : tensor<256xi1>, tensor<256xi8>
  return %r, %s : tensor<256xi8>, tensor<256xi8>
}

// max(NaN, 0.0) is NaN; where(x > 0, x, 0) is 0.0.
// CHECK-LABEL: func.func @select_to_max_min_not_on_floats(
// CHECK: stablehlo.select
func.func @select_to_max_min_not_on_floats(%x: tensor<17xf32>) -> tensor<17xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<17xf32>
  %p = stablehlo.compare GT, %x, %z, FLOAT : (tensor<17xf32>, tensor<17xf32>) -> tensor<17xi1>
  %r = stablehlo.select %p, %x, %z : tensor<17xi1>, tensor<17xf32>
  return %r : tensor<17xf32>
}
