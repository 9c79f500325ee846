// Within a tolerance of its own; without @inputs, where the constants play that part; complex
// numbers and bf16, which numpy lacks.
module @jit_main {
  func.func public @main() -> (tensor<2xcomplex<f32>>, tensor<bf16>) {
    %0:2 = call @expected() : () -> (tensor<2xcomplex<f32>>, tensor<bf16>)
    %1:2 = call @doubled() : () -> (tensor<2xcomplex<f32>>, tensor<bf16>)
    stablehlo.custom_call @check.expect_almost_eq(%1#0, %0#0) {has_side_effect = true, tolerance = 2.000000e-02 : f64} : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()
    stablehlo.custom_call @check.expect_close(%1#1, %0#1) {has_side_effect = true, max_ulp_difference = 1 : i64, min_ulp_difference = 1 : i64} : (tensor<bf16>, tensor<bf16>) -> ()
    return %1#0, %1#1 : tensor<2xcomplex<f32>>, tensor<bf16>
  }
  func.func private @expected() -> (tensor<2xcomplex<f32>>, tensor<bf16>) {
    %cst = stablehlo.constant dense<[(2.01, 4.0), (-6.0, 0.99)]> : tensor<2xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<3.015630e+00> : tensor<bf16>
    return %cst, %cst_0 : tensor<2xcomplex<f32>>, tensor<bf16>
  }
  func.func private @doubled() -> (tensor<2xcomplex<f32>>, tensor<bf16>) {
    %cst = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 0.5)]> : tensor<2xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<1.500000e+00> : tensor<bf16>
    %0 = stablehlo.add %cst, %cst : tensor<2xcomplex<f32>>
    %1 = stablehlo.add %cst_0, %cst_0 : tensor<bf16>
    return %0, %1 : tensor<2xcomplex<f32>>, tensor<bf16>
  }
}
