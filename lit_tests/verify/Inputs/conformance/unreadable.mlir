// The text is not a valid module.
func.func public @main( {
