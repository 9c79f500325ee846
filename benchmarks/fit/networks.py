"""Convolutional networks: a U-Net, ResNet50 with batch norm, and an unmodified Keras model."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from fit.registry import Task, integers, program, shapes
from fit.variants import Variant

_LAYOUT = ("NHWC", "HWIO", "NHWC")


def conv(w: Any, x: Any, stride: int = 1) -> Any:
    """A convolution in the type of x, with padding "SAME"."""
    kernel = w.astype(x.dtype)
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=_LAYOUT)


def pool(x: Any, size: int, stride: int) -> Any:
    """The largest value of each window, with padding "SAME"."""
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "SAME")


def class_loss(logits: Any, labels: Any) -> Any:
    """The mean of the negated logarithms of the labels' probabilities, in f32."""
    log = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(log, labels[..., None], -1).mean()


# -- U-Net ----------------------------------------------------------------------------------------


def group_norm(w: Any, x: Any, groups: int = 8) -> Any:
    """The values of each example and group of channels with mean 0 and variance 1, scaled."""
    y = x.astype(jnp.float32).reshape(*x.shape[:3], groups, -1)
    mean, var = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
    return ((y - mean) * lax.rsqrt(var + 1e-5)).reshape(x.shape).astype(x.dtype) * w.astype(x.dtype)


def two_convolutions(w: Any, x: Any) -> Any:
    """Two convolutions of 3 by 3, each with a norm and a rectifier."""
    for at in range(2):
        x = jax.nn.relu(group_norm(w["norm"][at], conv(w["conv"][at], x)))
    return x


def climb(w: Any, x: Any, skipped: Any) -> Any:
    """A block on the way up: enlarge, join with the block of the same size, two convolutions."""
    x = conv(w["enlarge"], x.repeat(2, 1).repeat(2, 2))
    return two_convolutions(w, jnp.concatenate([skipped, x], -1))


@program(
    {"widths": (16, 32, 64), "image": 64, "batch": 4, "dtype": "float32"},
    {"widths": (64, 128, 256, 512, 1024), "image": 512, "batch": 32, "dtype": "bfloat16"},
    {"batch": 256},
)
def u_net(how: Variant, *, widths: tuple[int, ...], image: int, batch: int, dtype: str) -> Task:
    """Segmentation of images into 8 classes."""
    down, up = how.block(two_convolutions), how.block(climb)

    def loss(w: Any, state: Any, batch: Any, key: Any) -> tuple[Any, Any]:
        images, labels = batch
        x, skipped = images.astype(dtype), []
        for each in w["down"]:
            skipped.append(down(each, x))
            x = pool(skipped[-1], 2, 2)
        x = down(w["bottom"], x)
        for each, other in zip(w["up"], reversed(skipped), strict=True):
            x = up(each, x, other)
        return class_loss(conv(w["head"], x), labels), state

    def block(inputs: int, outputs: int) -> dict[str, Any]:
        kernels = [(3, 3, inputs, outputs), (3, 3, outputs, outputs)]
        return {"conv": kernels, "norm": [(outputs,)] * 2}

    inputs = (3, *widths[:-2])
    falling = [block(a, b) for a, b in zip(inputs, widths[:-1], strict=True)]
    rising = [
        block(2 * width, width) | {"enlarge": (3, 3, 2 * width, width)}
        for width in reversed(widths[:-1])
    ]
    params = {"down": falling, "bottom": block(*widths[-2:]), "up": rising}
    params |= {"head": (1, 1, widths[0], 8)}
    pictures = shapes((batch, image, image, 3))
    return Task(loss, shapes(params), (pictures, integers(batch, image, image)))


# -- ResNet50 -------------------------------------------------------------------------------------


def batch_norm(w: Any, s: Any, x: Any) -> tuple[Any, Any]:
    """The values of each channel with mean 0 and variance 1 over the batch, and new statistics."""
    y = x.astype(jnp.float32)
    found = {"mean": y.mean((0, 1, 2)), "var": y.var((0, 1, 2))}
    y = (y - found["mean"]) * lax.rsqrt(found["var"] + 1e-5) * w["scale"] + w["shift"]
    moved = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * lax.stop_gradient(new), s, found)
    return y.astype(x.dtype), moved


def unit(w: Any, s: Any, x: Any, stride: int = 1) -> tuple[Any, Any]:
    """A convolution and batch norm."""
    return batch_norm(w["norm"], s, conv(w["conv"], x, stride))


def bottleneck(w: Any, s: Any, x: Any, *, stride: int) -> tuple[Any, Any]:
    """A block of three convolutions and a residual, and its new statistics."""
    made = {}
    y, made["in"] = unit(w["in"], s["in"], x)
    y, made["mid"] = unit(w["mid"], s["mid"], jax.nn.relu(y), stride)
    y, made["out"] = unit(w["out"], s["out"], jax.nn.relu(y))
    if "side" in w:
        x, made["side"] = unit(w["side"], s["side"], x, stride)
    return jax.nn.relu(x + y), made


def _unit_shapes(size: int, inputs: int, outputs: int) -> dict[str, Any]:
    norm = {"scale": (outputs,), "shift": (outputs,)}
    return {"conv": (size, size, inputs, outputs), "norm": norm}


def _bottlenecks(depths: tuple[int, ...]) -> tuple[list[dict[str, Any]], list[int]]:
    """The parameters' sizes and the stride of each block."""
    blocks, strides, inputs = [], [], 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for at in range(depth):
            units = {"in": _unit_shapes(1, inputs, width), "mid": _unit_shapes(3, width, width)}
            units |= {"out": _unit_shapes(1, width, 4 * width)}
            units |= {} if at else {"side": _unit_shapes(1, inputs, 4 * width)}
            blocks.append(units)
            strides.append(2 if stage and not at else 1)
            inputs = 4 * width
    return blocks, strides


def _statistics(tree: Any) -> Any:
    """The sizes of the statistics of all norms, in the place of the parameters."""
    if "norm" in tree:
        return {"mean": tree["norm"]["scale"], "var": tree["norm"]["scale"]}
    return {name: _statistics(each) for name, each in tree.items()}


@program(
    {"depths": (1, 1, 1, 1), "image": 64, "batch": 8, "dtype": "float32"},
    {"depths": (3, 4, 6, 3), "image": 224, "batch": 1024, "dtype": "bfloat16"},
    {"batch": 4096},
    parts=False,
)
def resnet50(how: Variant, *, depths: tuple[int, ...], image: int, batch: int, dtype: str) -> Task:
    """ResNet50 with batch norm in training mode, whose gradient cannot be accumulated."""
    blocks, strides = _bottlenecks(depths)
    calls = [how.block(partial(bottleneck, stride=stride)) for stride in strides]

    def loss(w: Any, state: Any, batch: Any, key: Any) -> tuple[Any, Any]:
        images, labels = batch
        x, stem = unit(w["stem"], state["stem"], images.astype(dtype), 2)
        x, found = pool(jax.nn.relu(x), 3, 2), []
        for call, weights, statistics in zip(calls, w["blocks"], state["blocks"], strict=True):
            x, moved = call(weights, statistics, x)
            found.append(moved)
        logits = x.astype(jnp.float32).mean((1, 2)) @ w["head"]
        return class_loss(logits, labels), {"stem": stem, "blocks": found}

    stem = _unit_shapes(7, 3, 64)
    params = {"stem": stem, "blocks": blocks, "head": (256 << (len(depths) - 1), 1000)}
    state = {"stem": _statistics(stem), "blocks": [_statistics(each) for each in blocks]}
    data = (shapes((batch, image, image, 3)), integers(batch))
    return Task(loss, shapes(params), data, shapes(state))


# -- Keras ----------------------------------------------------------------------------------------


@program(
    {"image": 32, "batch": 4},
    {"image": 224, "batch": 512},
    {"batch": 4096},
    name="keras-convnext-tiny",
    blocks=False,
)
def keras_network(how: Variant, *, image: int, batch: int) -> Task:
    """ConvNeXtTiny of keras.applications as it is, in f32; a user can wrap its whole call only."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras

    size = (image, image, 3)
    network = keras.applications.ConvNeXtTiny(
        weights=None, input_shape=size, classifier_activation=None
    )

    def loss(w: Any, state: Any, batch: Any, key: Any) -> tuple[Any, Any]:
        images, labels = batch
        logits, state = network.stateless_call(w, state, images, training=True)
        return class_loss(logits, labels), state

    def of(variables: Any) -> list[jax.ShapeDtypeStruct]:
        return [jax.ShapeDtypeStruct(v.shape, v.value.dtype) for v in variables]

    data = (shapes((batch, *size)), integers(batch))
    state = of(network.non_trainable_variables)
    return Task(loss, of(network.trainable_variables), data, state)
