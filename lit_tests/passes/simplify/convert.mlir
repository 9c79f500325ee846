// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @identity_convert(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_convert(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.convert %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @identity_convert_not_between_types(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.convert
func.func @identity_convert_not_between_types(%x: tensor<4xf32>) -> tensor<4xbf16> {
  %r = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// CHECK-LABEL: func.func @convert_of_convert(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xbf16>
// CHECK-NEXT: return %[[X]]
func.func @convert_of_convert(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %a = stablehlo.convert %x : (tensor<4xbf16>) -> tensor<4xf32>
  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// CHECK-LABEL: func.func @convert_of_convert_to_a_third(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xbf16>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.convert %[[X]]
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.convert %[[Y]]
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @convert_of_convert_to_a_third(%x: tensor<4xi8>, %y: tensor<4xbf16>) -> (tensor<4xf16>, tensor<4xi8>) {
  %a = stablehlo.convert %x : (tensor<4xi8>) -> tensor<4xi32>
  %r = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xf16>
  %b = stablehlo.convert %y : (tensor<4xbf16>) -> tensor<4xf32>
  %s = stablehlo.convert %b : (tensor<4xf32>) -> tensor<4xi8>
  return %r, %s : tensor<4xf16>, tensor<4xi8>
}

// The conversion to eight bits rounds.
// CHECK-LABEL: func.func @convert_of_convert_not_quantising(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.convert
func.func @convert_of_convert_not_quantising(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %r = stablehlo.convert %a : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// float32 does not represent every int32.
// CHECK-LABEL: func.func @convert_of_convert_not_rounding(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.convert
func.func @convert_of_convert_not_rounding(%x: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// -1 becomes 0 with the conversion to float, and 255 without it.
// CHECK-LABEL: func.func @convert_of_convert_not_saturating(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.convert
func.func @convert_of_convert_not_saturating(%x: tensor<4xi8>) -> tensor<4xui8> {
  %a = stablehlo.convert %x : (tensor<4xi8>) -> tensor<4xf32>
  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xui8>
  return %r : tensor<4xui8>
}

// float16 has a smaller exponent than bfloat16.
// CHECK-LABEL: func.func @convert_of_convert_not_wider_exponent(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xbf16>
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.convert
func.func @convert_of_convert_not_wider_exponent(%x: tensor<4xbf16>) -> tensor<4xf32> {
  %a = stablehlo.convert %x : (tensor<4xbf16>) -> tensor<4xf16>
  %r = stablehlo.convert %a : (tensor<4xf16>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @convert_of_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<-1.500000e+00> : tensor<4xbf16>
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[T:[a-z0-9_]+]] = stablehlo.constant dense<-7> : tensor<4xi8>
// CHECK-NEXT: return %[[R]], %[[S]], %[[T]]
func.func @convert_of_splat() -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xi8>) {
  %c = stablehlo.constant dense<-1.5> : tensor<4xf32>
  %d = stablehlo.constant dense<true> : tensor<4xi1>
  %e = stablehlo.constant dense<-7.0> : tensor<4xf32>
  %r = stablehlo.convert %c : (tensor<4xf32>) -> tensor<4xbf16>
  %s = stablehlo.convert %d : (tensor<4xi1>) -> tensor<4xf32>
  %t = stablehlo.convert %e : (tensor<4xf32>) -> tensor<4xi8>
  return %r, %s, %t : tensor<4xbf16>, tensor<4xf32>, tensor<4xi8>
}

// An int8 cannot represent NaN and 300.0: the result is implementation-defined.
// CHECK-LABEL: func.func @convert_of_splat_not_out_of_range(
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.convert
func.func @convert_of_splat_not_out_of_range() -> (tensor<4xi8>, tensor<4xi8>) {
  %c = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
  %d = stablehlo.constant dense<300.0> : tensor<4xf32>
  %r = stablehlo.convert %c : (tensor<4xf32>) -> tensor<4xi8>
  %s = stablehlo.convert %d : (tensor<4xf32>) -> tensor<4xi8>
  return %r, %s : tensor<4xi8>, tensor<4xi8>
}

// CHECK-LABEL: func.func @convert_of_select(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<1.500000e+00> : tensor<4xbf16>
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = stablehlo.constant dense<-0.000000e+00> : tensor<4xbf16>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.select %[[P]], %[[C]], %[[D]]
// CHECK-NEXT: return %[[R]]
func.func @convert_of_select(%p: tensor<4xi1>) -> tensor<4xbf16> {
  %c = stablehlo.constant dense<1.5> : tensor<4xf32>
  %d = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %a = stablehlo.select %p, %c, %d : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// bf16 cannot represent 1.1.
// CHECK-LABEL: func.func @convert_of_select_not_rounding(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK: stablehlo.select
// CHECK-NEXT: stablehlo.convert
func.func @convert_of_select_not_rounding(%p: tensor<4xi1>) -> tensor<4xbf16> {
  %c = stablehlo.constant dense<1.1> : tensor<4xf32>
  %d = stablehlo.constant dense<0.0> : tensor<4xf32>
  %a = stablehlo.select %p, %c, %d : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// Integers wrap around, in one step or two.
// CHECK-LABEL: func.func @convert_of_convert_keeping_low_bits(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi64>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.convert %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @convert_of_convert_keeping_low_bits(%x: tensor<4xi64>) -> tensor<4xui8> {
  %a = stablehlo.convert %x : (tensor<4xi64>) -> tensor<4xi16>
  %r = stablehlo.convert %a : (tensor<4xi16>) -> tensor<4xui8>
  return %r : tensor<4xui8>
}

// 256 converts to true, but its low byte to false.
// CHECK-LABEL: func.func @convert_of_convert_not_to_boolean(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi64>
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.convert
func.func @convert_of_convert_not_to_boolean(%x: tensor<4xi64>) -> tensor<4xi1> {
  %a = stablehlo.convert %x : (tensor<4xi64>) -> tensor<4xi8>
  %r = stablehlo.convert %a : (tensor<4xi8>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: func.func @identity_bitcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_bitcast(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The bits are read as integers.
// CHECK-LABEL: func.func @identity_bitcast_not_to_another(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.bitcast_convert
func.func @identity_bitcast_not_to_another(%x: tensor<4xf32>) -> tensor<4xi32> {
  %r = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func.func @bitcast_of_bitcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.bitcast_convert %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @bitcast_of_bitcast(%x: tensor<4xf32>) -> tensor<4xui32> {
  %a = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %r = stablehlo.bitcast_convert %a : (tensor<4xi32>) -> tensor<4xui32>
  return %r : tensor<4xui32>
}

// Each bitcast adds a dimension.
// CHECK-LABEL: func.func @bitcast_of_bitcast_not_of_other_widths(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.bitcast_convert
// CHECK-NEXT: stablehlo.bitcast_convert
func.func @bitcast_of_bitcast_not_of_other_widths(%x: tensor<4xf32>) -> tensor<4x2x2xui8> {
  %a = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x2xui16>
  %r = stablehlo.bitcast_convert %a : (tensor<4x2xui16>) -> tensor<4x2x2xui8>
  return %r : tensor<4x2x2xui8>
}

// CHECK-LABEL: func.func @identity_reduce_precision(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_reduce_precision(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.reduce_precision %x, format = e8m23 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The conversion to f64 is exact.
// CHECK-LABEL: func.func @identity_reduce_precision_of_widened_floats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.convert %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @identity_reduce_precision_of_widened_floats(%x: tensor<4xf32>) -> tensor<4xf64> {
  %a = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf64>
  %r = stablehlo.reduce_precision %a, format = e11m52 : tensor<4xf64>
  return %r : tensor<4xf64>
}

// XLA computes the product in f32, and omits the rounding unless an op demands it.
// CHECK-LABEL: func.func @identity_reduce_precision_not_of_narrow_floats(
// CHECK: stablehlo.multiply
// CHECK-NEXT: stablehlo.reduce_precision
// CHECK-NEXT: return
func.func @identity_reduce_precision_not_of_narrow_floats(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %a = stablehlo.multiply %x, %x : tensor<4xbf16>
  %r = stablehlo.reduce_precision %a, format = e8m7 : tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// The conversion to f32 does not round the product to bf16.
// CHECK-LABEL: func.func @identity_reduce_precision_not_of_narrow_floats_that_are_widened(
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.reduce_precision
// CHECK-NEXT: return
func.func @identity_reduce_precision_not_of_narrow_floats_that_are_widened(%x: tensor<4xbf16>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %x : tensor<4xbf16>
  %b = stablehlo.convert %a : (tensor<4xbf16>) -> tensor<4xf32>
  %r = stablehlo.reduce_precision %b, format = e8m7 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// XLA may omit the conversions to f32 and back.
// CHECK-LABEL: func.func @identity_reduce_precision_not_of_converted_floats(
// CHECK: stablehlo.reduce_precision
// CHECK: return
func.func @identity_reduce_precision_not_of_converted_floats(%x: tensor<4xf64>) -> tensor<4xf64> {
  %a = stablehlo.convert %x : (tensor<4xf64>) -> tensor<4xf32>
  %b = stablehlo.reduce_precision %a, format = e8m23 : tensor<4xf32>
  %r = stablehlo.convert %b : (tensor<4xf32>) -> tensor<4xf64>
  return %r : tensor<4xf64>
}

// Denormal numbers of f32 become zero.
// CHECK-LABEL: func.func @identity_reduce_precision_not_with_fewer_exponents(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: stablehlo.reduce_precision
func.func @identity_reduce_precision_not_with_fewer_exponents(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.reduce_precision %x, format = e5m23 : tensor<4xf32>
  return %r : tensor<4xf32>
}
