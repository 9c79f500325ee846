// The program calls a custom call that does not exist.
func.func public @main() -> tensor<i32> {
  %0 = call @inputs() : () -> tensor<i32>
  %1 = call @inputs() : () -> tensor<i32>
  %2 = stablehlo.custom_call @nobody_has_this(%0) : (tensor<i32>) -> tensor<i32>
  stablehlo.custom_call @check.expect_eq(%2, %1) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
  return %2 : tensor<i32>
}
func.func private @inputs() -> tensor<i32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  return %c : tensor<i32>
}
