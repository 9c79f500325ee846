// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// Integers wrap around, also the least one divided by -1; shift amounts are unsigned.
// CHECK-LABEL: func.func @fold_arithmetic(
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.constant dense<[-126, 1, -128]> : tensor<3xi8>
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.constant dense<[-128, -63, 1]> : tensor<3xi8>
// CHECK-DAG: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<[0, 0, 1]> : tensor<3xi8>
// CHECK-DAG: %[[D:[a-z0-9_]+]] = stablehlo.constant dense<[0, 254, 2]> : tensor<3xui8>
// CHECK-DAG: %[[E:[a-z0-9_]+]] = stablehlo.constant dense<[-8, 1, 4]> : tensor<3xi4>
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]
func.func @fold_arithmetic() -> (tensor<3xi8>, tensor<3xi8>, tensor<3xi8>, tensor<3xui8>, tensor<3xi4>) {
  %x = stablehlo.constant dense<[-128, 127, 1]> : tensor<3xi8>
  %y = stablehlo.constant dense<[-1, -2, 1]> : tensor<3xi8>
  %z = stablehlo.constant dense<[2, -126, 127]> : tensor<3xi8>
  %a = stablehlo.add %x, %z : tensor<3xi8>
  %b = stablehlo.divide %x, %y : tensor<3xi8>
  %s = stablehlo.constant dense<[1, -1, 0]> : tensor<3xi8>
  %c = stablehlo.shift_left %x, %s : tensor<3xi8>
  %u = stablehlo.constant dense<[128, 255, 1]> : tensor<3xui8>
  %v = stablehlo.constant dense<[128, 255, 1]> : tensor<3xui8>
  %d = stablehlo.add %u, %v : tensor<3xui8>
  %i = stablehlo.constant dense<[4, 3, 2]> : tensor<3xi4>
  %j = stablehlo.constant dense<[2, -5, 2]> : tensor<3xi4>
  %e = stablehlo.multiply %i, %j : tensor<3xi4>
  return %a, %b, %c, %d, %e : tensor<3xi8>, tensor<3xi8>, tensor<3xi8>, tensor<3xui8>, tensor<3xi4>
}

// Add is OR, multiply is AND, and false is less than true.
// CHECK-LABEL: func.func @fold_arithmetic_on_booleans(
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
// CHECK-DAG: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<false> : tensor<i1>
// CHECK: return %[[A]], %[[B]], %[[C]]
func.func @fold_arithmetic_on_booleans() -> (tensor<3xi1>, tensor<3xi1>, tensor<i1>) {
  %x = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %y = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %a = stablehlo.add %x, %y : tensor<3xi1>
  %b = stablehlo.multiply %x, %y : tensor<3xi1>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %c = stablehlo.clamp %f, %f, %t : tensor<i1>
  return %a, %b, %c : tensor<3xi1>, tensor<3xi1>, tensor<i1>
}

// The sign of -0.0 is -0.0, of NaN it is NaN; 0.0 is greater than -0.0; bf16 rounds in bf16.
// CHECK-LABEL: func.func @fold_arithmetic_on_floats(
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.constant dense<[-0.000000e+00, 0x7F{{[0-9A-F]+}}, -1.000000e+00]> : tensor<3xf32>
// CHECK-DAG: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG: %[[D:[a-z0-9_]+]] = stablehlo.constant dense<[2.560000e+02, 2.580000e+02]> : tensor<2xbf16>
// CHECK-DAG: %[[E:[a-z0-9_]+]] = stablehlo.constant dense<1.41421354> : tensor<100000xf32>
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]
func.func @fold_arithmetic_on_floats() -> (tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<2xbf16>, tensor<100000xf32>) {
  %z = stablehlo.constant dense<-0.0> : tensor<f32>
  %a = stablehlo.sign %z : tensor<f32>
  %x = stablehlo.constant dense<[-0.0, 0x7FC00000, -3.0]> : tensor<3xf32>
  %b = stablehlo.sign %x : tensor<3xf32>
  %p = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.maximum %z, %p : tensor<f32>
  %u = stablehlo.constant dense<[255.0, 256.0]> : tensor<2xbf16>
  %v = stablehlo.constant dense<[1.0, 1.5]> : tensor<2xbf16>
  %d = stablehlo.add %u, %v : tensor<2xbf16>
  %t = stablehlo.constant dense<2.0> : tensor<100000xf32>
  %e = stablehlo.sqrt %t : tensor<100000xf32>
  return %a, %b, %c, %d, %e : tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<2xbf16>, tensor<100000xf32>
}

// An iota is folded only if a dense constant of that size becomes dead.
// CHECK-LABEL: func.func @fold_arithmetic_with_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[5, 7, 9]> : tensor<3xi32>
// CHECK-NEXT: return %[[R]]
func.func @fold_arithmetic_with_iota() -> tensor<3xi32> {
  %i = stablehlo.iota dim = 0 : tensor<3xi32>
  %c = stablehlo.constant dense<[5, 6, 7]> : tensor<3xi32>
  %r = stablehlo.add %i, %c : tensor<3xi32>
  return %r : tensor<3xi32>
}

// The last bit differs between libraries.
// CHECK-LABEL: func.func @fold_arithmetic_not_transcendental(
// CHECK: stablehlo.sine
// CHECK: stablehlo.exponential
func.func @fold_arithmetic_not_transcendental() -> (tensor<f32>, tensor<f32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.sine %c : tensor<f32>
  %b = stablehlo.exponential %c : tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}

// The result of an integer division by zero is implementation-defined.
// CHECK-LABEL: func.func @fold_arithmetic_not_by_zero(
// CHECK: stablehlo.divide
// CHECK: stablehlo.remainder
func.func @fold_arithmetic_not_by_zero() -> (tensor<2xi32>, tensor<2xi32>) {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %a = stablehlo.divide %x, %y : tensor<2xi32>
  %b = stablehlo.remainder %x, %y : tensor<2xi32>
  return %a, %b : tensor<2xi32>, tensor<2xi32>
}

// The result would be a constant of 5000 elements.
// CHECK-LABEL: func.func @fold_arithmetic_not_of_many(
// CHECK: stablehlo.iota
// CHECK: stablehlo.add
func.func @fold_arithmetic_not_of_many() -> tensor<5000xi32> {
  %i = stablehlo.iota dim = 0 : tensor<5000xi32>
  %c = stablehlo.constant dense<3> : tensor<5000xi32>
  %j = stablehlo.add %i, %c : tensor<5000xi32>
  return %j : tensor<5000xi32>
}

// In the total order -0.0 is before 0.0.
// CHECK-LABEL: func.func @fold_compare(
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.constant dense<true> : tensor<i1>
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
// CHECK-DAG: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<[true, false]> : tensor<2xi1>
// CHECK: return %[[A]], %[[B]], %[[C]]
func.func @fold_compare() -> (tensor<i1>, tensor<3xi1>, tensor<2xi1>) {
  %z = stablehlo.constant dense<-0.0> : tensor<f32>
  %p = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.compare LT, %z, %p, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %x = stablehlo.constant dense<[0x7FC00000, -0.0, 1.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[0x7FC00000, 0.0, 2.0]> : tensor<3xf32>
  %b = stablehlo.compare LE, %x, %y, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %u = stablehlo.constant dense<[200, 1]> : tensor<2xui8>
  %v = stablehlo.constant dense<[100, 2]> : tensor<2xui8>
  %c = stablehlo.compare GT, %u, %v, UNSIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  return %a, %b, %c : tensor<i1>, tensor<3xi1>, tensor<2xi1>
}

// The total order of NaNs depends on bits that constants may lose.
// CHECK-LABEL: func.func @fold_compare_not_of_nan_in_total_order(
// CHECK: stablehlo.compare
func.func @fold_compare_not_of_nan_in_total_order() -> tensor<2xi1> {
  %x = stablehlo.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[0x7FC00001, 2.0]> : tensor<2xf32>
  %r = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %r : tensor<2xi1>
}

// CHECK-LABEL: func.func @fold_select(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[1.000000e+00, 0xFFC1, 3.000000e+00]> : tensor<3xbf16>
// CHECK-NEXT: return %[[R]]
func.func @fold_select() -> tensor<3xbf16> {
  %p = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xbf16>
  %y = stablehlo.constant dense<0xFFC1> : tensor<3xbf16>
  %r = stablehlo.select %p, %x, %y : tensor<3xi1>, tensor<3xbf16>
  return %r : tensor<3xbf16>
}

// One of the three is an argument.
// CHECK-LABEL: func.func @fold_select_not_of_argument(
// CHECK: stablehlo.select
func.func @fold_select_not_of_argument(%y: tensor<3xf32>) -> tensor<3xf32> {
  %p = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %r = stablehlo.select %p, %x, %y : tensor<3xi1>, tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @fold_convert(
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.constant dense<[1, -1, 0]> : tensor<3xi8>
// CHECK-DAG: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
// CHECK-DAG: %[[D:[a-z0-9_]+]] = stablehlo.constant dense<[(1.500000e+00,0.000000e+00), (-1.500000e+00,0.000000e+00), (-0.000000e+00,0.000000e+00)]>
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @fold_convert() -> (tensor<bf16>, tensor<3xi8>, tensor<3xi1>, tensor<3xcomplex<f32>>) {
  %x = stablehlo.constant dense<0.1> : tensor<f32>
  %a = stablehlo.convert %x : (tensor<f32>) -> tensor<bf16>
  %y = stablehlo.constant dense<[1.5, -1.5, -0.0]> : tensor<3xf32>
  %b = stablehlo.convert %y : (tensor<3xf32>) -> tensor<3xi8>
  %c = stablehlo.convert %y : (tensor<3xf32>) -> tensor<3xi1>
  %d = stablehlo.convert %y : (tensor<3xf32>) -> tensor<3xcomplex<f32>>
  return %a, %b, %c, %d : tensor<bf16>, tensor<3xi8>, tensor<3xi1>, tensor<3xcomplex<f32>>
}

// An integer out of range, NaN, and a number that rounds differently by way of float32.
// CHECK-LABEL: func.func @fold_convert_not_where_it_is_open(
// CHECK-COUNT-4: stablehlo.convert
func.func @fold_convert_not_where_it_is_open() -> (tensor<2xi8>, tensor<i32>, tensor<i8>, tensor<bf16>) {
  %x = stablehlo.constant dense<[1.0, 300.0]> : tensor<2xf32>
  %a = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xi8>
  %y = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %b = stablehlo.convert %y : (tensor<f32>) -> tensor<i32>
  %z = stablehlo.constant dense<300> : tensor<i32>
  %c = stablehlo.convert %z : (tensor<i32>) -> tensor<i8>
  %w = stablehlo.constant dense<0x3FF0100000000001> : tensor<f64>
  %d = stablehlo.convert %w : (tensor<f64>) -> tensor<bf16>
  return %a, %b, %c, %d : tensor<2xi8>, tensor<i32>, tensor<i8>, tensor<bf16>
}

// CHECK-LABEL: func.func @fold_complex(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[(0.000000e+00,-0.000000e+00), (1.000000e+00,0x7F800000)]> : tensor<2xcomplex<f32>>
// CHECK-NEXT: return %[[R]]
func.func @fold_complex() -> tensor<2xcomplex<f32>> {
  %x = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[-0.0, 0x7F800000]> : tensor<2xf32>
  %r = stablehlo.complex %x, %y : tensor<2xcomplex<f32>>
  return %r : tensor<2xcomplex<f32>>
}

// The imaginary part is an argument.
// CHECK-LABEL: func.func @fold_complex_not_of_argument(
// CHECK: stablehlo.complex
func.func @fold_complex_not_of_argument(%y: tensor<2xf32>) -> tensor<2xcomplex<f32>> {
  %x = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %r = stablehlo.complex %x, %y : tensor<2xcomplex<f32>>
  return %r : tensor<2xcomplex<f32>>
}

// CHECK-LABEL: func.func @fold_part(
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.constant dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.constant dense<[2.000000e+00, -0.000000e+00]> : tensor<2xf32>
// CHECK: return %[[A]], %[[B]]
func.func @fold_part() -> (tensor<2xf32>, tensor<2xf32>) {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, -0.0)]> : tensor<2xcomplex<f32>>
  %a = stablehlo.real %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %b = stablehlo.imag %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @fold_part_not_of_argument(
// CHECK: stablehlo.real
func.func @fold_part_not_of_argument(%x: tensor<2xcomplex<f32>>) -> tensor<2xf32> {
  %a = stablehlo.real %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}

// A NaN keeps its payload.
// CHECK-LABEL: func.func @fold_bitcast(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[1065353216, 2143289345]> : tensor<2xi32>
// CHECK-NEXT: return %[[R]]
func.func @fold_bitcast() -> tensor<2xi32> {
  %x = stablehlo.constant dense<[1.0, 0x7FC00001]> : tensor<2xf32>
  %r = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// One element becomes four, in an order that depends on the machine.
// CHECK-LABEL: func.func @fold_bitcast_not_of_other_widths(
// CHECK: stablehlo.bitcast_convert
func.func @fold_bitcast_not_of_other_widths() -> tensor<2x4xi8> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x4xi8>
  return %r : tensor<2x4xi8>
}

// -----

// CHECK-LABEL: func.func @fold_rearrangement(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<{{\[\[\[}}6, 4], [6, 4]], {{\[\[}}3, 1], [3, 1]]]> : tensor<2x2x2xi8>
// CHECK-NEXT: return %[[R]]
func.func @fold_rearrangement() -> tensor<2x2x2xi8> {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi8>
  %a = stablehlo.reshape %x : (tensor<6xi8>) -> tensor<2x3xi8>
  %b = stablehlo.reverse %a, dims = [0, 1] : tensor<2x3xi8>
  %c = stablehlo.slice %b [0:2, 0:3:2] : (tensor<2x3xi8>) -> tensor<2x2xi8>
  %d = stablehlo.transpose %c, dims = [1, 0] : (tensor<2x2xi8>) -> tensor<2x2xi8>
  %r = stablehlo.broadcast_in_dim %d, dims = [2, 0] : (tensor<2x2xi8>) -> tensor<2x2x2xi8>
  return %r : tensor<2x2x2xi8>
}

// If all elements are equal, the result is a splat.
// CHECK-LABEL: func.func @fold_rearrangement_to_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<7.000000e+00> : tensor<2xf32>
// CHECK-NEXT: return %[[R]]
func.func @fold_rearrangement_to_splat() -> tensor<2xf32> {
  %x = stablehlo.constant dense<[1.0, 7.0, 7.0]> : tensor<3xf32>
  %r = stablehlo.slice %x [1:3] : (tensor<3xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// The constant has another use, so there would be two.
// CHECK-LABEL: func.func @fold_rearrangement_not_where_shared(
// CHECK: stablehlo.transpose
func.func @fold_rearrangement_not_where_shared() -> (tensor<2x9xi8>, tensor<9x2xi8>) {
  %x = stablehlo.constant dense<[[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6, 7, 8, 10]]> : tensor<2x9xi8>
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x9xi8>) -> tensor<9x2xi8>
  return %x, %r : tensor<2x9xi8>, tensor<9x2xi8>
}

// The result has 20 elements, the constant 2.
// CHECK-LABEL: func.func @fold_rearrangement_not_growing(
// CHECK: stablehlo.broadcast_in_dim
func.func @fold_rearrangement_not_growing() -> tensor<2x10xi8> {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xi8>) -> tensor<2x10xi8>
  return %r : tensor<2x10xi8>
}

// CHECK-LABEL: func.func @fold_concatenate(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 0xFFC1, 3.000000e+00]> : tensor<4xbf16>
// CHECK-NEXT: return %[[R]]
func.func @fold_concatenate() -> tensor<4xbf16> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  %y = stablehlo.constant dense<[0xFFC1, 3.0]> : tensor<2xbf16>
  %r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// Two splats are smaller than a constant of 40 elements.
// CHECK-LABEL: func.func @fold_concatenate_not_of_splats(
// CHECK: stablehlo.concatenate
func.func @fold_concatenate_not_of_splats() -> tensor<40xi8> {
  %x = stablehlo.constant dense<1> : tensor<20xi8>
  %y = stablehlo.constant dense<2> : tensor<20xi8>
  %r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<20xi8>, tensor<20xi8>) -> tensor<40xi8>
  return %r : tensor<40xi8>
}

// CHECK-LABEL: func.func @fold_pad(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[9, 9, 1, 9, 2]> : tensor<5xi32>
// CHECK-NEXT: return %[[R]]
func.func @fold_pad() -> tensor<5xi32> {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %c = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.pad %x, %c, low = [2], high = [-2], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// The padding value is an argument.
// CHECK-LABEL: func.func @fold_pad_not_with_argument(
// CHECK: stablehlo.pad
func.func @fold_pad_not_with_argument(%c: tensor<i32>) -> tensor<5xi32> {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %r = stablehlo.pad %x, %c, low = [2], high = [0], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// The start is clamped to 3, unsigned.
// CHECK-LABEL: func.func @fold_dynamic_update_slice(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[1, 2, 3, 8, 9]> : tensor<5xi32>
// CHECK-NEXT: return %[[R]]
func.func @fold_dynamic_update_slice() -> tensor<5xi32> {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %u = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
  %i = stablehlo.constant dense<255> : tensor<ui8>
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<5xi32>, tensor<2xi32>, tensor<ui8>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// The start is an argument.
// CHECK-LABEL: func.func @fold_dynamic_update_slice_not_at_argument(
// CHECK: stablehlo.dynamic_update_slice
func.func @fold_dynamic_update_slice_not_at_argument(%i: tensor<i32>) -> tensor<5xi32> {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %u = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<5xi32>, tensor<2xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// Rows 2 and 1 (200 and -1 are clamped, in their signedness), columns from 1 on.
// CHECK-LABEL: func.func @fold_gather(
// CHECK-DAG: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<{{\[\[}}8, 9], [5, 6]]> : tensor<2x2xi32>
// CHECK-DAG: %[[S:[a-z0-9_]+]] = stablehlo.constant dense<[1, 8]> : tensor<2xi32>
// CHECK: return %[[R]], %[[S]]
func.func @fold_gather() -> (tensor<2x2xi32>, tensor<2xi32>) {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %i = stablehlo.constant dense<[[200, 1], [1, 1]]> : tensor<2x2xui8>
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2>
  } : (tensor<3x3xi32>, tensor<2x2xui8>) -> tensor<2x2xi32>
  %j = stablehlo.constant dense<[-1, 7]> : tensor<2xi8>
  %y = stablehlo.constant dense<[1, 2, 3, 8]> : tensor<4xi32>
  %s = "stablehlo.gather"(%y, %j) {
    dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  } : (tensor<4xi32>, tensor<2xi8>) -> tensor<2xi32>
  return %r, %s : tensor<2x2xi32>, tensor<2xi32>
}

// The indices are an argument.
// CHECK-LABEL: func.func @fold_gather_not_at_argument(
// CHECK: stablehlo.gather
func.func @fold_gather_not_at_argument(%j: tensor<2xi8>) -> tensor<2xi32> {
  %y = stablehlo.constant dense<[1, 2, 3, 8]> : tensor<4xi32>
  %s = "stablehlo.gather"(%y, %j) {
    dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  } : (tensor<4xi32>, tensor<2xi8>) -> tensor<2xi32>
  return %s : tensor<2xi32>
}
