// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @and_of_compares(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<9xf32>, %[[Y:[a-z0-9]+]]: tensor<9xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare LT, %[[X]], %[[Y]], FLOAT
// CHECK-NEXT: return %[[R]]
func.func @and_of_compares(%x: tensor<9xf32>, %y: tensor<9xf32>) -> tensor<9xi1> {
  %a = stablehlo.compare LT, %x, %y, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %b = stablehlo.compare NE, %y, %x, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %r = stablehlo.and %a, %b : tensor<9xi1>
  return %r : tensor<9xi1>
}

// CHECK-LABEL: func.func @and_of_compares_that_exclude(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<false>
// CHECK-NEXT: return %[[R]]
func.func @and_of_compares_that_exclude(%x: tensor<9xf32>, %y: tensor<9xf32>) -> tensor<9xi1> {
  %a = stablehlo.compare LT, %x, %y, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %b = stablehlo.compare LT, %y, %x, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %r = stablehlo.and %a, %b : tensor<9xi1>
  return %r : tensor<9xi1>
}

// CHECK-LABEL: func.func @and_of_compares_with_a_constant(
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.compare EQ, %{{[a-z0-9]+}}, %{{[a-z0-9_]+}}, SIGNED
// CHECK-NEXT: return %[[R]]
func.func @and_of_compares_with_a_constant(%x: tensor<9xi8>) -> tensor<9xi1> {
  %c = stablehlo.constant dense<5> : tensor<9xi8>
  %d = stablehlo.constant dense<5> : tensor<9xi8>
  %a = stablehlo.compare LE, %x, %c, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %b = stablehlo.compare GE, %x, %d, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %r = stablehlo.and %a, %b : tensor<9xi1>
  return %r : tensor<9xi1>
}

// In the total order -0.0 is below 0.0; in the other comparison they are equal.
// CHECK-LABEL: func.func @and_of_compares_not_in_two_orders(
// CHECK: stablehlo.and
func.func @and_of_compares_not_in_two_orders(%x: tensor<9xf32>, %y: tensor<9xf32>) -> tensor<9xi1> {
  %a = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %b = stablehlo.compare NE, %x, %y, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %r = stablehlo.and %a, %b : tensor<9xi1>
  return %r : tensor<9xi1>
}

// CHECK-LABEL: func.func @or_of_compares(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<9xi8>, %[[Y:[a-z0-9]+]]: tensor<9xi8>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.compare NE, %[[X]], %[[Y]], SIGNED
// CHECK-NEXT: return %[[R]]
func.func @or_of_compares(%x: tensor<9xi8>, %y: tensor<9xi8>) -> tensor<9xi1> {
  %a = stablehlo.compare LT, %x, %y, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %b = stablehlo.compare GT, %x, %y, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %r = stablehlo.or %a, %b : tensor<9xi1>
  return %r : tensor<9xi1>
}

// NaN is not equal to x, but neither less nor greater.
// CHECK-LABEL: func.func @or_of_compares_not_on_floats(
// CHECK: stablehlo.or
func.func @or_of_compares_not_on_floats(%x: tensor<9xf32>, %y: tensor<9xf32>) -> tensor<9xi1> {
  %a = stablehlo.compare LT, %x, %y, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %b = stablehlo.compare GT, %x, %y, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %r = stablehlo.or %a, %b : tensor<9xi1>
  return %r : tensor<9xi1>
}

// Both are false for NaN.
// CHECK-LABEL: func.func @or_of_compares_not_of_all_floats(
// CHECK: stablehlo.or
func.func @or_of_compares_not_of_all_floats(%x: tensor<9xf32>, %y: tensor<9xf32>) -> tensor<9xi1> {
  %a = stablehlo.compare LT, %x, %y, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %b = stablehlo.compare GE, %x, %y, FLOAT : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %r = stablehlo.or %a, %b : tensor<9xi1>
  return %r : tensor<9xi1>
}

// CHECK-LABEL: func.func @or_of_compares_of_all(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<true>
// CHECK-NEXT: return %[[R]]
func.func @or_of_compares_of_all(%x: tensor<9xi8>, %y: tensor<9xi8>) -> tensor<9xi1> {
  %a = stablehlo.compare LT, %x, %y, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %b = stablehlo.compare LE, %y, %x, SIGNED : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi1>
  %r = stablehlo.or %a, %b : tensor<9xi1>
  return %r : tensor<9xi1>
}

// CHECK-LABEL: func.func @and_or_of_nots(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<9xi8>, %[[Q:[a-z0-9]+]]: tensor<9xi8>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.or %[[P]], %[[Q]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.not %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @and_or_of_nots(%p: tensor<9xi8>, %q: tensor<9xi8>) -> tensor<9xi8> {
  %a = stablehlo.not %p : tensor<9xi8>
  %b = stablehlo.not %q : tensor<9xi8>
  %r = stablehlo.and %a, %b : tensor<9xi8>
  return %r : tensor<9xi8>
}

// One of the nots has another use: no op would be saved.
// CHECK-LABEL: func.func @and_or_of_nots_not_with_other_uses(
// CHECK: stablehlo.not
// CHECK-NEXT: stablehlo.not
// CHECK-NEXT: stablehlo.or
func.func @and_or_of_nots_not_with_other_uses(%p: tensor<9xi8>, %q: tensor<9xi8>) -> (tensor<9xi8>, tensor<9xi8>) {
  %a = stablehlo.not %p : tensor<9xi8>
  %b = stablehlo.not %q : tensor<9xi8>
  %r = stablehlo.or %a, %b : tensor<9xi8>
  return %r, %a : tensor<9xi8>, tensor<9xi8>
}

// CHECK-LABEL: func.func @and_or_of_complement(
// CHECK-DAG: %[[Z:[a-z0-9_]+]] = stablehlo.constant dense<0> : tensor<9xui8>
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.constant dense<255> : tensor<9xui8>
// CHECK-NEXT: return %[[Z]], %[[A]]
func.func @and_or_of_complement(%p: tensor<9xui8>) -> (tensor<9xui8>, tensor<9xui8>) {
  %n = stablehlo.not %p : tensor<9xui8>
  %a = stablehlo.and %p, %n : tensor<9xui8>
  %o = stablehlo.or %n, %p : tensor<9xui8>
  return %a, %o : tensor<9xui8>, tensor<9xui8>
}

// CHECK-LABEL: func.func @and_or_of_complement_not_of_another(
// CHECK: stablehlo.not
// CHECK-NEXT: stablehlo.and
func.func @and_or_of_complement_not_of_another(%p: tensor<9xui8>, %q: tensor<9xui8>) -> tensor<9xui8> {
  %n = stablehlo.not %p : tensor<9xui8>
  %a = stablehlo.and %q, %n : tensor<9xui8>
  return %a : tensor<9xui8>
}

// CHECK-LABEL: func.func @and_or_absorbed(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<9xi8>
// CHECK-NEXT: return %[[P]]
func.func @and_or_absorbed(%p: tensor<9xi8>, %q: tensor<9xi8>) -> tensor<9xi8> {
  %a = stablehlo.or %q, %p : tensor<9xi8>
  %r = stablehlo.and %a, %p : tensor<9xi8>
  return %r : tensor<9xi8>
}

// CHECK-LABEL: func.func @and_or_absorbed_not_by_xor(
// CHECK: stablehlo.xor
// CHECK-NEXT: stablehlo.and
func.func @and_or_absorbed_not_by_xor(%p: tensor<9xi8>, %q: tensor<9xi8>) -> tensor<9xi8> {
  %a = stablehlo.xor %q, %p : tensor<9xi8>
  %r = stablehlo.and %a, %p : tensor<9xi8>
  return %r : tensor<9xi8>
}

// CHECK-LABEL: func.func @and_or_repeated(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<9xi1>, %[[Q:[a-z0-9]+]]: tensor<9xi1>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.or %[[Q]], %[[P]]
// CHECK-NEXT: return %[[R]]
func.func @and_or_repeated(%p: tensor<9xi1>, %q: tensor<9xi1>) -> tensor<9xi1> {
  %a = stablehlo.or %q, %p : tensor<9xi1>
  %r = stablehlo.or %p, %a : tensor<9xi1>
  return %r : tensor<9xi1>
}

// CHECK-LABEL: func.func @and_or_repeated_not_of_three(
// CHECK: stablehlo.or
// CHECK-NEXT: stablehlo.or
func.func @and_or_repeated_not_of_three(%p: tensor<9xi1>, %q: tensor<9xi1>, %s: tensor<9xi1>) -> tensor<9xi1> {
  %a = stablehlo.or %q, %p : tensor<9xi1>
  %r = stablehlo.or %s, %a : tensor<9xi1>
  return %r : tensor<9xi1>
}

// CHECK-LABEL: func.func @and_of_sign_and_remainder(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256xi8>
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.remainder %[[X]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.compare LT, %[[M]], %{{[a-z0-9_]+}}, SIGNED
// CHECK-NEXT: return %[[R]]
func.func @and_of_sign_and_remainder(%x: tensor<256xi8>) -> tensor<256xi1> {
  %one = stablehlo.constant dense<1> : tensor<256xi8>
  %zero = stablehlo.constant dense<0> : tensor<256xi8>
  %y = stablehlo.constant dense<7> : tensor<256xi8>
  %s = stablehlo.sign %x : tensor<256xi8>
  %p = stablehlo.compare NE, %s, %one, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %m = stablehlo.remainder %x, %y : tensor<256xi8>
  %q = stablehlo.compare NE, %m, %zero, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %r = stablehlo.and %p, %q : tensor<256xi1>
  return %r : tensor<256xi1>
}

// CHECK-LABEL: func.func @and_of_sign_and_remainder_of_negative(
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.compare GT
// CHECK-NEXT: return %[[R]]
func.func @and_of_sign_and_remainder_of_negative(%x: tensor<256xi8>) -> tensor<256xi1> {
  %one = stablehlo.constant dense<-1> : tensor<256xi8>
  %zero = stablehlo.constant dense<0> : tensor<256xi8>
  %y = stablehlo.constant dense<-7> : tensor<256xi8>
  %m = stablehlo.remainder %x, %y : tensor<256xi8>
  %q = stablehlo.compare NE, %m, %zero, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %s = stablehlo.sign %x : tensor<256xi8>
  %p = stablehlo.compare NE, %s, %one, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %r = stablehlo.and %q, %p : tensor<256xi1>
  return %r : tensor<256xi1>
}

// The sign is that of another number.
// CHECK-LABEL: func.func @and_of_sign_and_remainder_not_of_another(
// CHECK: stablehlo.and
func.func @and_of_sign_and_remainder_not_of_another(%x: tensor<256xi8>, %z: tensor<256xi8>) -> tensor<256xi1> {
  %one = stablehlo.constant dense<1> : tensor<256xi8>
  %zero = stablehlo.constant dense<0> : tensor<256xi8>
  %y = stablehlo.constant dense<7> : tensor<256xi8>
  %s = stablehlo.sign %x : tensor<256xi8>
  %p = stablehlo.compare NE, %s, %one, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %m = stablehlo.remainder %z, %y : tensor<256xi8>
  %q = stablehlo.compare NE, %m, %zero, SIGNED : (tensor<256xi8>, tensor<256xi8>) -> tensor<256xi1>
  %r = stablehlo.and %p, %q : tensor<256xi1>
  return %r : tensor<256xi1>
}
