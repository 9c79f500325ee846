// Within 3 ulps. The tested function is one of its own, as JAX outlines what it reuses, and holds
// what O1 removes.
module @jit_main {
  func.func public @main() -> (tensor<4xf32> {jax.result_info = ""}) {
    %0 = call @inputs() : () -> tensor<4xf32>
    %1 = call @expected() : () -> tensor<4xf32>
    %2 = call @sine(%0) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.custom_call @check.expect_close(%2, %1) {has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> ()
    return %2 : tensor<4xf32>
  }
  func.func private @inputs() -> (tensor<4xf32> {mhlo.layout_mode = "default"}) {
    %cst = stablehlo.constant dense<[0.0, 0.5, -1.0, 0x7F800000]> : tensor<4xf32>
    return %cst : tensor<4xf32>
  }
  func.func private @expected() -> (tensor<4xf32> {mhlo.layout_mode = "default"}) {
    %cst = stablehlo.constant dense<[0.0, 0.47942555, -0.84147096, 0x7FC00000]> : tensor<4xf32>
    return %cst : tensor<4xf32>
  }
  func.func private @sine(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = stablehlo.negate %0 : tensor<4xf32>
    %2 = stablehlo.sine %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
