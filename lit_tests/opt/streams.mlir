// Standard output has only IR, and may be closed or full. Output files keep their mode and links.
// RUN: %jxc opt %s --load-pass %S/Inputs/printing.py -p talkative | %jxc opt | FileCheck %s
// RUN: %jxc opt %s --load-pass %S/Inputs/printing.py -p talkative 2>&1 >/dev/null | FileCheck %s --check-prefix=ERR
// RUN: %python %S/Inputs/streams.py %jxc-process %s %t | FileCheck %s --check-prefix=STREAMS

// CHECK: @main
// ERR: loading
// ERR: not IR
// STREAMS: closed output: 2 jxc: error: standard output is closed: use -o FILE
// STREAMS: full output: 1 jxc: error: standard output: No space left on device
// STREAMS: closed input: 2 jxc: error: expected a FILE or a module on standard input, which is closed
// STREAMS: reader left: 0
// STREAMS: mode 0o600, still a link: True
// STREAMS: terminated: the worker is gone: True
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
