module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(canonicalize{max-iterations=10 region-simplify=normal}), cse)",
      disable_threading: false,
      verify_each: false
    }
  }
#-}
