"""Write convolutions that XLA has no library for as products: depthwise, grouped, wide windows.

Pays on CPU, where XLA runs these in plain loops. Depthwise convolutions become sums of shifted
images times the kernel's elements: forward and input gradient 5 to 100 times faster, each distinct
shape 30 to 100 ms more to compile, windows of more than 9 taps by a loop over their rows; weight
gradients of 32 channels or more 1 to 100 times, by a loop, 60 to 130 ms more. Weight gradients of
grouped convolutions become batched matrix products, in a loop: 4 to 160 times and more, 90 to 200
ms more; other grouped convolutions of two dimensions go group by group, in a loop, 1.2 to 7 times,
up to 110 ms more. Windows of more elements than the image become a product of patches with the
kernel: 1.2 to 100 times; or the image goes over the window, as gradients by the kernels of
transposed convolutions have it: 2 to 70 times, 50 to 100 ms more. The result of that is looked at:
where it is not finite, the convolution as it was written is computed, for it multiplies other
elements with zeros. Weight gradients of many channels on images of few elements become one product:
1.6 to 4.5 times, up to 120 ms more. Both gradients of convolutions of 1x1, where XLA copies what
it has laid out otherwise, become products that take it as it lies: 1.0 to 2.7 times, no more to
compile. Whole models on two cores: MobileNetV2 6 times forward and 7 a training step,
EfficientNetB0 and NASNetMobile 4 to 5, ConvNeXt-Tiny 2.5 forward and 4 to 5 a training step, a
training step of a convolutional autoencoder 5.

Any layout, stride, padding, dilation and float type. 16-bit floats are summed in f32, as XLA does.
Sums start from 0.0, so that the sum of -0.0 alone is 0.0, as StableHLO has it.
"""
