// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// Integers wrap around, the least divided by -1 too, and amounts of a shift are unsigned.
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

// Positions only where a constant makes room for what comes out.
// CHECK-LABEL: func.func @fold_arithmetic_with_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[5, 7, 9]> : tensor<3xi32>
// CHECK-NEXT: return %[[R]]
func.func @fold_arithmetic_with_iota() -> tensor<3xi32> {
  %i = stablehlo.iota dim = 0 : tensor<3xi32>
  %c = stablehlo.constant dense<[5, 6, 7]> : tensor<3xi32>
  %r = stablehlo.add %i, %c : tensor<3xi32>
  return %r : tensor<3xi32>
}

// A host's library gives other last bits than XLA.
// CHECK-LABEL: func.func @fold_arithmetic_not_transcendental(
// CHECK: stablehlo.sine
// CHECK: stablehlo.exponential
func.func @fold_arithmetic_not_transcendental() -> (tensor<f32>, tensor<f32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.sine %c : tensor<f32>
  %b = stablehlo.exponential %c : tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}

// Whoever divides by zero is told by whoever runs it.
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

// 5000 elements are not written out.
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

// In the total order NaNs are told apart by bits that constants may lose.
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

// Out of range, NaN, and a number between two of bf16 that float32 rounds onto their middle.
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

// A NaN keeps what it carries.
// CHECK-LABEL: func.func @fold_bitcast(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<[1065353216, 2143289345]> : tensor<2xi32>
// CHECK-NEXT: return %[[R]]
func.func @fold_bitcast() -> tensor<2xi32> {
  %x = stablehlo.constant dense<[1.0, 0x7FC00001]> : tensor<2xf32>
  %r = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// One element becomes four: which is first differs between machines.
// CHECK-LABEL: func.func @fold_bitcast_not_of_other_widths(
// CHECK: stablehlo.bitcast_convert
func.func @fold_bitcast_not_of_other_widths() -> tensor<2x4xi8> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x4xi8>
  return %r : tensor<2x4xi8>
}
