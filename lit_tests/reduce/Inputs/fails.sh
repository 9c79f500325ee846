# A check without MLIR: fails where the module still squares something, and prints the line.
! grep 'multiply \(%[a-z0-9]*\), \1 ' "$1"
