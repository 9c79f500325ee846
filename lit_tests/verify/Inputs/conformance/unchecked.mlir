// The program has no checks.
func.func public @main() {
  return
}
