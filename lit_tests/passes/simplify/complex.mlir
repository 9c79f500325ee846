// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @part_of_real(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00>
// CHECK-NEXT: return %[[X]], %[[C]]
func.func @part_of_real(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.real %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = stablehlo.imag %x : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// The operand is complex.
// CHECK-LABEL: func.func @part_of_real_not_of_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.imag
func.func @part_of_real_not_of_complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %a = stablehlo.imag %x : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// CHECK-LABEL: func.func @part_of_sum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.real %[[Z]]
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.subtract %[[A]], %[[X]]
// CHECK-DAG: %[[C:[a-z0-9_]+]] = stablehlo.imag %[[Z]]
// CHECK-DAG: %[[D:[a-z0-9_]+]] = stablehlo.subtract %[[C]], %[[Y]]
// CHECK: return %[[B]], %[[D]]
func.func @part_of_sum(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xcomplex<f32>>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %b = stablehlo.subtract %z, %a : tensor<4xcomplex<f32>>
  %c = stablehlo.real %b : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %d = stablehlo.imag %b : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @part_of_sum_of_which_one_is_used(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.imag %[[X]]
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.imag %[[Y]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.add %[[A]], %[[B]]
// CHECK-NEXT: return %[[R]]
func.func @part_of_sum_of_which_one_is_used(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %a = stablehlo.add %x, %y : tensor<4xcomplex<f32>>
  %r = stablehlo.imag %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Both parts are used: there would be two sums.
// CHECK-LABEL: func.func @part_of_sum_not_of_both(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.add
func.func @part_of_sum_not_of_both(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.add %x, %y : tensor<4xcomplex<f32>>
  %b = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %c = stablehlo.imag %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %b, %c : tensor<4xf32>, tensor<4xf32>
}

// Each part of a product needs both parts of x and y.
// CHECK-LABEL: func.func @part_of_sum_not_of_product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.multiply
// CHECK-NEXT: stablehlo.real
func.func @part_of_sum_not_of_product(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %y : tensor<4xcomplex<f32>>
  %b = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// CHECK-LABEL: func.func @part_of_negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.negate %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @part_of_negate(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %b = stablehlo.negate %a : tensor<4xcomplex<f32>>
  %r = stablehlo.imag %b : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Both parts are used: there would be two negations.
// CHECK-LABEL: func.func @part_of_negate_not_of_both(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.negate
// CHECK-NOT: stablehlo.negate
func.func @part_of_negate_not_of_both(%x: tensor<4xcomplex<f32>>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.negate %x : tensor<4xcomplex<f32>>
  %b = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %c = stablehlo.imag %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %b, %c : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @part_of_select(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.select %[[P]], %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @part_of_select(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %b = stablehlo.complex %y, %x : tensor<4xcomplex<f32>>
  %c = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xcomplex<f32>>
  %r = stablehlo.real %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Neither operand is made of parts: two more ops would be needed.
// CHECK-LABEL: func.func @part_of_select_not_of_others(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.select
// CHECK-NEXT: stablehlo.real
func.func @part_of_select_not_of_others(%p: tensor<4xi1>, %x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %c = stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xcomplex<f32>>
  %r = stablehlo.real %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @part_of_convert(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00>
// CHECK-NEXT: return %[[X]], %[[C]]
func.func @part_of_convert(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %b = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %c = stablehlo.imag %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %b, %c : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @part_of_convert_of_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.real %[[X]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.convert %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @part_of_convert_of_complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xf64> {
  %a = stablehlo.convert %x : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f64>>
  %b = stablehlo.real %a : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  return %b : tensor<4xf64>
}

// Both parts are used: there would be two converts.
// CHECK-LABEL: func.func @part_of_convert_not_of_both(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK: stablehlo.convert
// CHECK-NOT: stablehlo.convert
func.func @part_of_convert_not_of_both(%x: tensor<4xcomplex<f32>>) -> (tensor<4xf64>, tensor<4xf64>) {
  %a = stablehlo.convert %x : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f64>>
  %b = stablehlo.real %a : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  %c = stablehlo.imag %a : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  return %b, %c : tensor<4xf64>, tensor<4xf64>
}

// CHECK-LABEL: func.func @convert_of_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.convert %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @convert_of_complex(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf64> {
  %a = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %r = stablehlo.convert %a : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return %r : tensor<4xf64>
}

// A complex result has both parts.
// CHECK-LABEL: func.func @convert_of_complex_not_to_complex(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.complex
// CHECK-NEXT: stablehlo.convert
func.func @convert_of_complex_not_to_complex(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xcomplex<f64>> {
  %a = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %r = stablehlo.convert %a : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f64>>
  return %r : tensor<4xcomplex<f64>>
}

// JAX writes the conjugate of a complex number this way.
// CHECK-LABEL: func.func @complex_of_parts_of_conjugates(
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<4xcomplex<f32>>
// CHECK-NEXT: return %[[Z]]
func.func @complex_of_parts_of_conjugates(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %a = stablehlo.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %b = stablehlo.imag %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %c = stablehlo.negate %b : tensor<4xf32>
  %d = stablehlo.complex %a, %c : tensor<4xcomplex<f32>>
  %e = stablehlo.real %d : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %f = stablehlo.imag %d : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %g = stablehlo.negate %f : tensor<4xf32>
  %r = stablehlo.complex %e, %g : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
