"""Rewrite convolutions for which XLA:CPU has no library call: depthwise, grouped, wide windows.

XLA:CPU runs these convolutions in plain loops. A rewrite is carried out if the new kernels take
less than the old ones. Speed against XLA:CPU, and compile time added for each distinct shape:

- Depthwise convolutions and their input gradients become sums of shifted images times kernel
  elements: 5 to 100 times faster, 30 to 100 ms. Windows of more than 9 taps use a loop over rows.
- Weight gradients of depthwise convolutions become a loop of sums: 1 to 100 times, 60 to 130 ms.
- Weight gradients of grouped convolutions become a loop of batched matrix products: 4 to 160 times,
  90 to 200 ms. Other grouped convolutions become a loop over the groups: 1.2 to 7 times, up to
  110 ms.
- Windows of more elements than the image become a product of image patches with the kernel: 1.2 to
  100 times. Or the operands are swapped, where that saves more, so that the image slides over the
  window, as in weight gradients of transposed convolutions: 2 to 70 times, 50 to 100 ms. If the
  result is not finite, the program computes the original convolution instead, because the two
  multiply different elements with the zeros of the padding.
- Weight gradients of many channels on small images become one product: 1.6 to 4.5 times, up to
  120 ms.
- Convolutions with an identity matrix, as in `jax.scipy.linalg.toeplitz`, copy windows, and their
  gradients add them: 4 to 8 and 20 to 90 times, 50 ms.
- 1x1 convolutions become products; their gradients need no transposed copy: 1.0 to 2.7 times.

Whole models on two cores: MobileNetV2 6 times (forward) and 7 times (training step), EfficientNetB0
and NASNetMobile 4 to 5 times, ConvNeXt-Tiny 2.5 times (forward) and 4 to 5 times (training step).

The rules take any layout, stride, padding, dilation and float type. 16-bit floats are summed in
f32, as in XLA. The order of summation changes. Sums start from 0.0, as in StableHLO: the sum of
-0.0 alone is 0.0.
"""
