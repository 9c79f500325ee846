func.func public @main(%x: !stablehlo.token) -> !stablehlo.token {
  return %x : !stablehlo.token
}
