// The expected value is wrong: 1 + 1 is not 3.
func.func public @main() -> tensor<i32> {
  %0 = call @inputs() : () -> tensor<i32>
  %1 = call @expected() : () -> tensor<i32>
  %2 = stablehlo.add %0, %0 : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%2, %1) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
  return %2 : tensor<i32>
}
func.func private @inputs() -> tensor<i32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  return %c : tensor<i32>
}
func.func private @expected() -> tensor<i32> {
  %c = stablehlo.constant dense<3> : tensor<i32>
  return %c : tensor<i32>
}
