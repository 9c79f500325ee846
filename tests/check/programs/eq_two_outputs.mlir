// Exactly; two inputs, two outputs of other types than the inputs, and a CHLO op.
module @jit_main {
  func.func public @main() -> (tensor<2xui32>, tensor<2xi32>, tensor<i1>) {
    %0:2 = call @inputs() : () -> (tensor<3xui32>, tensor<ui32>)
    %1:3 = call @expected() : () -> (tensor<2xui32>, tensor<2xi32>, tensor<i1>)
    %values, %indices = chlo.top_k(%0#0, k = 2) : tensor<3xui32> -> (tensor<2xui32>, tensor<2xi32>)
    %2 = stablehlo.compare LT, %0#1, %0#1 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.custom_call @check.expect_eq(%values, %1#0) {has_side_effect = true} : (tensor<2xui32>, tensor<2xui32>) -> ()
    stablehlo.custom_call @check.expect_eq(%indices, %1#1) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%2, %1#2) {has_side_effect = true} : (tensor<i1>, tensor<i1>) -> ()
    return %values, %indices, %2 : tensor<2xui32>, tensor<2xi32>, tensor<i1>
  }
  func.func private @inputs() -> (tensor<3xui32>, tensor<ui32>) {
    %c = stablehlo.constant dense<[7, 4294967295, 9]> : tensor<3xui32>
    %c_0 = stablehlo.constant dense<5> : tensor<ui32>
    return %c, %c_0 : tensor<3xui32>, tensor<ui32>
  }
  func.func private @expected() -> (tensor<2xui32>, tensor<2xi32>, tensor<i1>) {
    %c = stablehlo.constant dense<[4294967295, 9]> : tensor<2xui32>
    %c_0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %c_1 = stablehlo.constant dense<false> : tensor<i1>
    return %c, %c_0, %c_1 : tensor<2xui32>, tensor<2xi32>, tensor<i1>
  }
}
