"""Whole programs of the survey, in plain JAX: what wins alone may lose among other ops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

_CHANNELS = ("NDHWC", "DHWIO", "NDHWC")


def unet_training_step(volume: Any, weights: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """One step of gradient descent of a 3-D U-Net with one level that finds bright voxels."""
    labels = (volume[..., :1] > 1).astype(volume.dtype)

    def loss(weights: dict[str, Any]) -> Any:
        fine = jax.nn.relu(_convolved(volume, weights["first"]))
        fine = jax.nn.relu(_convolved(fine, weights["second"]))
        shape = (1, 2, 2, 2, 1)
        coarse = lax.reduce_window(fine, -jnp.inf, lax.max, shape, shape, "VALID")
        coarse = jax.nn.relu(_convolved(coarse, weights["bottom"]))
        up = lax.conv_transpose(
            coarse, weights["up"], (2, 2, 2), "SAME", dimension_numbers=_CHANNELS
        )
        both = jnp.concatenate([fine, up], -1)
        logits = _convolved(jax.nn.relu(_convolved(both, weights["merge"])), weights["last"])
        return jnp.mean(jnp.logaddexp(0, logits) - labels * logits)

    value, slopes = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, slope: w - 0.1 * slope, weights, slopes), value


def _convolved(x: Any, kernel: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, (1, 1, 1), "SAME", dimension_numbers=_CHANNELS)


def image_pipeline(picture: Any, blur: Any) -> Any:
    """Sharpen, equalize, remove specks, rotate and shrink one picture."""
    smooth = jax.scipy.signal.convolve2d(picture, blur / blur.size, mode="same")
    sharp = picture + 0.5 * (picture - smooth)
    low, high = sharp.min(), sharp.max()
    levels = jnp.clip((sharp - low) / (high - low) * 255, 0, 255).astype(jnp.int32)
    share = jnp.cumsum(jnp.bincount(levels.ravel(), length=256)) / levels.size
    even = share[levels]
    padded = jnp.pad(even, 1, mode="edge")
    rows, columns = even.shape
    near = [padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    clean = jnp.median(jnp.stack(near), axis=0)
    y, x = jnp.meshgrid(jnp.arange(rows) - rows / 2, jnp.arange(columns) - columns / 2)
    turned = jax.scipy.ndimage.map_coordinates(
        clean, [0.8 * y.T - 0.6 * x.T + rows / 2, 0.6 * y.T + 0.8 * x.T + columns / 2], order=1
    )
    return jax.image.resize(turned, (rows // 2, columns // 2), "linear")


def hawkes_gradient(gaps: Any, rates: Any) -> Any:
    """The gradient of the log-likelihood of a self-exciting point process by its parameters."""

    def log_likelihood(rates: Any) -> Any:
        base, jump, decay = jnp.exp(rates[:3])
        faded = jnp.exp(-decay * gaps)

        def joined(left: Any, right: Any) -> Any:
            return left[0] * right[0], right[0] * left[1] + right[1]

        _, excited = lax.associative_scan(joined, (faded, faded))
        times = jnp.cumsum(gaps)
        compensator = base * times[-1] + jump / decay * (1 - jnp.exp(decay * (times - times[-1])))
        return jnp.log(base + jump * excited).sum() - compensator.mean()

    return jax.grad(log_likelihood)(rates)


def signal_chain(signal: Any, taps: Any) -> tuple[Any, ...]:
    """Filter a signal, find its envelope and its spectrum, resample it, and find its peaks."""
    filtered = jnp.convolve(signal, taps * jnp.hanning(taps.size), mode="same")
    spectrum = jnp.fft.fft(filtered)
    half = jnp.arange(signal.size) < signal.size // 2
    envelope = jnp.abs(jnp.fft.ifft(jnp.where(half, 2 * spectrum, 0)))
    _, _, frames = jax.scipy.signal.stft(filtered)
    at = jnp.linspace(0, signal.size - 1, signal.size // 3)
    resampled = jnp.interp(at, jnp.arange(signal.size), filtered)
    energy = jnp.cumsum(resampled**2)
    peaks, where = lax.top_k(envelope, 16)
    return jnp.abs(frames).mean(-1), energy, peaks, where, jnp.median(envelope)


def particle_filter(key: Any, observed: Any) -> Any:
    """Estimate a hidden walk by 400 particles that are drawn anew at each step."""

    def step(particles: Any, given: tuple[Any, Any]) -> tuple[Any, Any]:
        key, seen = given
        move, draw, mix = jax.random.split(key, 3)
        noise = jax.random.gamma(move, 2.0, particles.shape) - 2
        particles = 0.9 * particles + 0.1 * noise
        weights = jax.scipy.stats.norm.logpdf(seen, particles, 0.5)
        chosen = jax.random.categorical(draw, weights, shape=particles.shape)
        particles = jax.random.permutation(mix, particles[chosen])
        return particles, particles.mean()

    keys = jax.random.split(key, observed.size)
    return lax.scan(step, jnp.zeros(400), (keys, observed))[1]
