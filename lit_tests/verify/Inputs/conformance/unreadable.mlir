// Not a module.
func.func public @main( {
