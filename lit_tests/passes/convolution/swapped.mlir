// RUN: %jxc opt %s -p 'convolution{always=true enable-patterns=wide-window-to-swapped-operands}' --split-input-file | FileCheck %s

// The kernel's gradient of a transposed convolution with stride 2, as JAX writes it. If an element
// of the result is not finite, the convolution is computed again with a dilated image.
// CHECK-LABEL: func.func @wide_window_to_swapped_operands(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<12x20x14xf32>
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<12x38x14xf32>
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.convolution(%[[DY]], %[[X]]) dim_numbers = [f, 0, b]x[i, 0, o]->[0, f, b], window = {pad = {{\[\[}}4, 4]], lhs_dilate = [1], rhs_dilate = [2]}
// CHECK: %[[TURNED:[a-z0-9_]+]] = stablehlo.reverse %[[Y]], dims = [0]
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.reduce(%[[TURNED]] {{.*}} stablehlo.add across dimensions = [0, 1, 2]
// CHECK: %[[FINITE:[a-z0-9_]+]] = stablehlo.is_finite %[[SUM]]
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.if"(%[[FINITE]]) ({
// CHECK-NEXT: stablehlo.return %[[TURNED]]
// CHECK: %[[PADDED:[a-z0-9_]+]] = stablehlo.pad %[[X]], %{{.*}}, low = [0, 3, 0], high = [0, 3, 0], interior = [0, 1, 0]
// CHECK: stablehlo.convolution(%[[PADDED]], %[[DY]]) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f]
// CHECK: return %[[R]]
func.func @wide_window_to_swapped_operands(%x: tensor<12x20x14xf32>, %dy: tensor<12x38x14xf32>) -> tensor<8x14x14xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[3, 3]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<12x20x14xf32>, tensor<12x38x14xf32>) -> tensor<8x14x14xf32>
  return %dw : tensor<8x14x14xf32>
}

// A kernel of 5 at stride 6: every sixth element of %dy is multiplied only by dilation zeros. A NaN
// there would be in no product of the swapped convolution.
// CHECK-LABEL: func.func @wide_window_to_swapped_operands_not_where_some_meet_zeros_only(
// CHECK-NEXT: stablehlo.convolution
func.func @wide_window_to_swapped_operands_not_where_some_meet_zeros_only(%x: tensor<80x20x14xf32>, %dy: tensor<80x119x14xf32>) -> tensor<5x14x14xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[4, 4]], lhs_dilate = [6]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<80x20x14xf32>, tensor<80x119x14xf32>) -> tensor<5x14x14xf32>
  return %dw : tensor<5x14x14xf32>
}
