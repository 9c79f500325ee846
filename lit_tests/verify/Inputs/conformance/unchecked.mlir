// Nothing is checked.
func.func public @main() {
  return
}
