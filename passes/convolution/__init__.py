"""Write depthwise convolutions as products of shifted images with the kernel's elements.

Pays on CPU, where XLA runs a convolution of one channel a group in a plain loop: forward and input
gradient 5 to 100 times faster, each distinct shape 30 to 100 ms more to compile; windows of more
than 9 taps by a loop over their rows. Weight gradients of 32 channels or more 1 to 100 times, by a
loop, 60 to 130 ms more. Whole models on two cores: MobileNetV2 4 to 6 times forward and 4.4 times a
training step, EfficientNetB0 4 to 5, ConvNeXt-Tiny 3 to 5. Any layout, stride, padding, dilation
and float type; 16-bit floats are summed in f32, as XLA does; a sum that is zero may have the other
sign. Weight gradients of convolutions of more channels a group, whose groups XLA goes through in
pairs: 4 to 160 times faster and more, by a loop over batched matrix products, 90 to 200 ms more.
"""
