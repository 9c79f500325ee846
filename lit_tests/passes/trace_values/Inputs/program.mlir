func.func public @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32> {jax.result_info = "loss"}, tensor<i32>, tensor<0xf32>) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%a = %x, %k = %i) : tensor<4xf32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %r = func.call @turn(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/while/body"("train.py":12:3))
    %one = stablehlo.constant dense<1> : tensor<i32>
    %s = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %r, %s : tensor<4xf32>, tensor<i32>
  }
  %t = stablehlo.constant dense<10> : tensor<i32>
  %p = stablehlo.compare GT, %n, %t, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %2 = "stablehlo.if"(%p) ({
    %e = stablehlo.log %1#0 : tensor<4xf32> loc("jit(f)/cond/log"("train.py":20:3))
    stablehlo.return %e : tensor<4xf32>
  }, {
    stablehlo.return %1#0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %z = stablehlo.slice %2 [0:0] : (tensor<4xf32>) -> tensor<0xf32>
  return %2, %1#1, %z : tensor<4xf32>, tensor<i32>, tensor<0xf32>
}
func.func private @turn(%a: tensor<4xf32>) -> tensor<4xf32> {
  %h = stablehlo.constant dense<3.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %h, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %d = stablehlo.subtract %a, %b : tensor<4xf32> loc("sub"("train.py":7:3))
  %q = stablehlo.sqrt %d : tensor<4xf32> loc("sqrt"("train.py":8:3))
  %e = stablehlo.subtract %q, %q : tensor<4xf32> loc("sub"("train.py":9:3))
  %m = stablehlo.add %d, %e : tensor<4xf32> loc("add"("train.py":9:3))
  return %m : tensor<4xf32>
}
