// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s
// RUN: %jxc opt %s -p 'simplify{enable-patterns=compare-of-splats}' | FileCheck %s --check-prefix=ALONE

// CHECK-LABEL: func.func @compare_self(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<true>
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.constant dense<false>
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @compare_self(%x: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi1>) {
  %r = stablehlo.compare GE, %x, %x, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %s = stablehlo.compare LT, %x, %x, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r, %s : tensor<4xi1>, tensor<4xi1>
}

// NaN is not equal to itself: this is how isnan is written.
// CHECK-LABEL: func.func @compare_self_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.compare
func.func @compare_self_not_on_floats(%x: tensor<4xf32>) -> tensor<4xi1> {
  %r = stablehlo.compare NE, %x, %x, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @compare_of_splats(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<false>
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.constant dense<true>
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @compare_of_splats() -> (tensor<4xi1>, tensor<4xi1>) {
  %c = stablehlo.constant dense<8.0> : tensor<4xf32>
  %d = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
  %r = stablehlo.compare GT, %c, %d, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %s = stablehlo.compare NE, %c, %d, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r, %s : tensor<4xi1>, tensor<4xi1>
}

// 200 in eight bits is more than 100.
// CHECK-LABEL: func.func @compare_of_splats_unsigned(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<true>
// CHECK-NEXT: return %[[R]]
func.func @compare_of_splats_unsigned() -> tensor<i1> {
  %c = stablehlo.constant dense<200> : tensor<ui8>
  %d = stablehlo.constant dense<100> : tensor<ui8>
  %r = stablehlo.compare GT, %c, %d, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
  return %r : tensor<i1>
}

// In the total order -0.0 is less than 0.0; `fold-compare` handles that.
// ALONE-LABEL: func.func @compare_of_splats_not_in_total_order(
// ALONE: stablehlo.compare
func.func @compare_of_splats_not_in_total_order() -> tensor<i1> {
  %c = stablehlo.constant dense<-0.0> : tensor<f32>
  %d = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.compare LT, %c, %d, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %r : tensor<i1>
}

// CHECK-LABEL: func.func @compare_to_boolean(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.not %[[Q]]
// CHECK-NEXT: return %[[P]], %[[S]]
func.func @compare_to_boolean(%p: tensor<4xi1>, %q: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %t = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.compare EQ, %t, %p, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %s = stablehlo.compare NE, %q, %t, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %r, %s : tensor<4xi1>, tensor<4xi1>
}

// Only == and != are rewritten.
// CHECK-LABEL: func.func @compare_to_boolean_not_ordered(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK: stablehlo.compare
func.func @compare_to_boolean_not_ordered(%p: tensor<4xi1>) -> tensor<4xi1> {
  %t = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.compare LT, %p, %t, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @not_of_compare(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare GE, %[[X]], %[[Y]], SIGNED
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.compare NE, %[[Z]], %[[Z]], FLOAT
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @not_of_compare(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>) {
  %a = stablehlo.compare LT, %x, %y, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %b = stablehlo.compare EQ, %z, %z, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.not %a : tensor<4xi1>
  %s = stablehlo.not %b : tensor<4xi1>
  return %r, %s : tensor<4xi1>, tensor<4xi1>
}

// Neither x < NaN nor x >= NaN is true.
// CHECK-LABEL: func.func @not_of_compare_not_on_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.not
func.func @not_of_compare_not_on_floats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %a = stablehlo.compare LT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.not %a : tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @compare_constant_to_rhs(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<17xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare GE, %[[X]], %[[C]], TOTALORDER
// CHECK-NEXT: return %[[R]]
func.func @compare_constant_to_rhs(%x: tensor<17xf32>) -> tensor<17xi1> {
  %c = stablehlo.constant dense<-0.0> : tensor<17xf32>
  %r = stablehlo.compare LE, %c, %x, TOTALORDER : (tensor<17xf32>, tensor<17xf32>) -> tensor<17xi1>
  return %r : tensor<17xi1>
}

// CHECK-LABEL: func.func @compare_constant_to_rhs_not_twice(
// CHECK: stablehlo.compare GT, %{{[a-z0-9]+}}, %{{[a-z0-9_]+}}, FLOAT
func.func @compare_constant_to_rhs_not_twice(%x: tensor<17xf32>) -> tensor<17xi1> {
  %c = stablehlo.constant dense<0x7FC00000> : tensor<17xf32>
  %r = stablehlo.compare GT, %x, %c, FLOAT : (tensor<17xf32>, tensor<17xf32>) -> tensor<17xi1>
  return %r : tensor<17xi1>
}

// Both sides wrap around: x + 100 == -100 if x is 56.
// CHECK-LABEL: func.func @compare_of_add(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256xi8>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<56>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare EQ, %[[X]], %[[C]], SIGNED
// CHECK-NEXT: return %[[R]]
func.func @compare_of_add(%x: tensor<256xi8>) -> tensor<256xi1> {
  %a = stablehlo.constant dense<100> : tensor<256xi8>
  %d = stablehlo.constant dense<-100> : tensor<256xi8>
  %s = stablehlo.add %a, %x : tensor<256xi8>
  %r = stablehlo.compare EQ, %s, %d, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  return %r : tensor<256xi1>
}

// CHECK-LABEL: func.func @compare_of_add_taken_from(
// CHECK-NEXT: %[[I:[a-z0-9_]+]] = stablehlo.iota
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<2>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare GT, %[[I]], %[[C]], SIGNED
// CHECK-NEXT: return %[[R]]
func.func @compare_of_add_taken_from() -> tensor<2000xi1> {
  %i = stablehlo.iota dim = 0 : tensor<2000xi32>
  %a = stablehlo.constant dense<7> : tensor<2000xi32>
  %d = stablehlo.constant dense<5> : tensor<2000xi32>
  %s = stablehlo.subtract %a, %i : tensor<2000xi32>
  %r = stablehlo.compare LT, %s, %d, SIGNED : (tensor<2000xi32>, tensor<2000xi32>) -> tensor<2000xi1>
  return %r : tensor<2000xi1>
}

// 127 + 1 wraps around to -128, which is below 100, and 127 is not below 99.
// CHECK-LABEL: func.func @compare_of_add_not_wrapping(
// CHECK: stablehlo.add
// CHECK: stablehlo.compare LT
func.func @compare_of_add_not_wrapping(%x: tensor<256xi8>) -> tensor<256xi1> {
  %a = stablehlo.constant dense<1> : tensor<256xi8>
  %d = stablehlo.constant dense<100> : tensor<256xi8>
  %s = stablehlo.add %x, %a : tensor<256xi8>
  %r = stablehlo.compare LT, %s, %d, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  return %r : tensor<256xi1>
}

// CHECK-LABEL: func.func @compare_of_convert(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256xui8>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<200> : tensor<256xui8>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare LE, %[[X]], %[[C]], UNSIGNED
// CHECK-NEXT: return %[[R]]
func.func @compare_of_convert(%x: tensor<256xui8>) -> tensor<256xi1> {
  %w = stablehlo.convert %x : (tensor<256xui8>) -> tensor<256xi32>
  %c = stablehlo.constant dense<200> : tensor<256xi32>
  %r = stablehlo.compare LE, %w, %c, SIGNED : (tensor<256xi32>, tensor<256xi32>) -> tensor<256xi1>
  return %r : tensor<256xi1>
}

// CHECK-LABEL: func.func @compare_of_convert_both(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256xi8>, %[[Y:[a-z0-9]+]]: tensor<256xi8>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare LT, %[[X]], %[[Y]], SIGNED
// CHECK-NEXT: return %[[R]]
func.func @compare_of_convert_both(%x: tensor<256xi8>, %y: tensor<256xi8>) -> tensor<256xi1> {
  %a = stablehlo.convert %x : (tensor<256xi8>) -> tensor<256xi32>
  %b = stablehlo.convert %y : (tensor<256xi8>) -> tensor<256xi32>
  %r = stablehlo.compare LT, %a, %b, SIGNED : (tensor<256xi32>, tensor<256xi32>) -> tensor<256xi1>
  return %r : tensor<256xi1>
}

// A negative x converts to a large unsigned number.
// CHECK-LABEL: func.func @compare_of_convert_not_to_unsigned(
// CHECK: stablehlo.convert
func.func @compare_of_convert_not_to_unsigned(%x: tensor<256xi8>) -> tensor<256xi1> {
  %w = stablehlo.convert %x : (tensor<256xi8>) -> tensor<256xui32>
  %c = stablehlo.constant dense<100> : tensor<256xui32>
  %r = stablehlo.compare LT, %w, %c, UNSIGNED : (tensor<256xui32>, tensor<256xui32>) -> tensor<256xi1>
  return %r : tensor<256xi1>
}

// CHECK-LABEL: func.func @compare_of_converted_boolean(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-DAG: %[[N:[a-z0-9_]+]] = stablehlo.not %[[P]]
// CHECK-DAG: %[[F:[a-z0-9_]+]] = stablehlo.constant dense<false>
// CHECK: return %[[P]], %[[N]], %[[F]]
func.func @compare_of_converted_boolean(%p: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %f = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %i = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xi32>
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %one = stablehlo.constant dense<1> : tensor<4xi32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
  %a = stablehlo.compare GT, %f, %zero, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = stablehlo.compare LT, %i, %one, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %c = stablehlo.compare EQ, %f, %nan, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %a, %b, %c : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func.func @compare_of_converted_boolean_reshaped(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[P]]
// CHECK-NEXT: return %[[R]]
func.func @compare_of_converted_boolean_reshaped(%p: tensor<4xi1>) -> tensor<2x2xi1> {
  %f = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %s = stablehlo.reshape %f : (tensor<4xf32>) -> tensor<2x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<2x2xf32>
  %a = stablehlo.compare NE, %s, %zero, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  return %a : tensor<2x2xi1>
}

// In the total order -0.0 is below 0.0.
// CHECK-LABEL: func.func @compare_of_converted_boolean_not_in_total_order(
// CHECK: stablehlo.compare GT
func.func @compare_of_converted_boolean_not_in_total_order(%p: tensor<4xi1>) -> tensor<4xi1> {
  %f = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %zero = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %a = stablehlo.compare GT, %f, %zero, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %a : tensor<4xi1>
}

// CHECK-LABEL: func.func @compare_of_select(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-NEXT: %[[N:[a-z0-9_]+]] = stablehlo.not %[[P]]
// CHECK-NEXT: return %[[P]], %[[N]]
func.func @compare_of_select(%p: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %a = stablehlo.constant dense<2.0> : tensor<4xf32>
  %b = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %s = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
  %q = stablehlo.compare GT, %s, %c, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.compare NE, %s, %a, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %q, %r : tensor<4xi1>, tensor<4xi1>
}

// In the total order -0.0 is below 0.0.
// CHECK-LABEL: func.func @compare_of_select_not_in_total_order(
// CHECK: stablehlo.compare EQ
func.func @compare_of_select_not_in_total_order(%p: tensor<4xi1>) -> tensor<4xi1> {
  %a = stablehlo.constant dense<0.0> : tensor<4xf32>
  %b = stablehlo.constant dense<1.0> : tensor<4xf32>
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %s = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
  %q = stablehlo.compare EQ, %s, %c, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %q : tensor<4xi1>
}
