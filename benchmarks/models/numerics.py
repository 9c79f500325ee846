"""Numerical programs in plain JAX, most of them without neural networks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .data import descend, normal, uniform, weights
from .registry import Program, model


@model(quick=True, small={"rows": 4, "length": 256}, large={"rows": 256, "length": 4096})
def signal(rows: int = 64, length: int = 2048) -> Program:
    """FFT, cumulative sums, sort, top-k, quantiles."""

    def analyse(x):
        power = jnp.abs(jnp.fft.rfft(x)) ** 2
        total = jnp.cumsum(x, 1)
        smooth = total[:, 8:] - total[:, :-8]
        return power.sum(0), smooth, jnp.quantile(x, 0.9, 1), lax.top_k(x, 5), jnp.sort(x, 0)

    return analyse, (normal(rows, length),)


@model(quick=True, small={"steps": 16, "paths": 256}, large={"steps": 128, "paths": 32768})
def monte_carlo(steps: int = 64, paths: int = 8192) -> Program:
    """The price of an Asian option: threefry, normal deviates, a scan over time."""

    def price(key, spot):
        noise = jax.random.normal(key, (steps, paths))

        def step(s, z):
            s = s * jnp.exp(0.0002 + 0.02 * z)
            return s, s

        path = lax.scan(step, jnp.full(paths, spot), noise)[1]
        return jnp.maximum(path.mean(0) - spot, 0).mean()

    return price, (jax.random.key(0), jnp.float32(1.0))


@model(small={"size": 32}, large={"size": 512})
def navier_stokes(size: int = 256, steps: int = 4) -> Program:
    """Steps of an incompressible fluid on a periodic grid: differences, and pressure by FFT."""
    wave = 2 * jnp.pi * jnp.fft.fftfreq(size)
    squares = 2 * (jnp.cos(wave)[:, None] + jnp.cos(wave)[None, :] - 2)

    def along(field, axis):
        return (jnp.roll(field, -1, axis) - jnp.roll(field, 1, axis)) / 2

    def spread(field):
        moved = [jnp.roll(field, by, axis) for by in (1, -1) for axis in (0, 1)]
        return sum(moved) - 4 * field

    def step(_, velocity):
        u, v = velocity
        u, v = (f - 0.05 * (u * along(f, 0) + v * along(f, 1)) + 0.01 * spread(f) for f in velocity)
        source = jnp.fft.fft2(along(u, 0) + along(v, 1))
        pressure = jnp.fft.ifft2(jnp.where(squares == 0, 0, source / squares)).real
        return u - along(pressure, 0), v - along(pressure, 1)

    def run(u, v):
        return lax.fori_loop(0, steps, step, (u, v))

    return run, (normal(size, size), normal(size, size))


@model(
    quick=True,
    small={"points": 256, "clusters": 4, "width": 2},
    large={"points": 32768, "clusters": 64, "width": 32},
)
def k_means(points: int = 8192, clusters: int = 32, width: int = 16) -> Program:
    """Iterations of Lloyd's algorithm: all distances, argmin, means by one_hot."""

    def iterate(_, state):
        x, centres = state
        distances = ((x[:, None] - centres[None]) ** 2).sum(-1)
        chosen = jax.nn.one_hot(distances.argmin(1), clusters)
        counts = chosen.sum(0)[:, None]
        return x, jnp.where(counts > 0, chosen.T @ x / jnp.maximum(counts, 1), centres)

    def run(x, centres):
        return lax.fori_loop(0, 3, iterate, (x, centres))[1]

    return run, (normal(points, width), normal(clusters, width))


@model(quick=True, small={"points": 128}, large={"points": 32768})
def nerf_training(points: int = 4096, octaves: int = 8, width: int = 64) -> Program:
    """A training step of a radiance field: sines and cosines of coordinates, a perceptron."""
    inputs = 3 + 6 * octaves
    shapes: dict[str, tuple[int, ...]] = {"a": (inputs, width), "b": (width, width)}
    parameters = weights(shapes | {"c": (width, 4)})

    def encode(x):
        angles = (x[..., None] * 2.0 ** jnp.arange(octaves)).reshape(len(x), -1)
        return jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)], -1)

    def loss(w, x, colours):
        y = jax.nn.relu(encode(x) @ w["a"])
        y = jax.nn.relu(y @ w["b"]) @ w["c"]
        return ((jax.nn.sigmoid(y[:, :3]) - colours) ** 2).mean() + jax.nn.softplus(y[:, 3]).mean()

    return descend(loss), (parameters, uniform(points, 3, low=-1), uniform(points, 3))


@model(quick=True, small={"batch": 16}, large={"batch": 32768})
def small_matrices(batch: int = 4096) -> Program:
    """Rigid bodies: products and inverses of batches of 4x4, Cholesky factors of 3x3."""

    def pose(a, b, spread, point):
        chain = a @ b @ a
        factor = jnp.linalg.cholesky(spread @ spread.mT + 0.1 * jnp.eye(3))
        moved = (chain @ point[..., None])[..., 0]
        towards = moved[:, :3] / jnp.linalg.norm(moved[:, :3], axis=-1, keepdims=True)
        return chain, factor, jnp.einsum("bij,bj->bi", factor, towards), jnp.linalg.inv(spread)

    inputs = normal(batch, 4, 4), normal(batch, 4, 4), normal(batch, 3, 3), normal(batch, 4)
    return pose, inputs


@model(small={"width": 16}, large={"width": 512})
def einsum_chain(width: int = 128) -> Program:
    """Chains of products: low-rank factors, a bilinear form, a tensor train."""
    factors = weights({"a": (512, width), "b": (width, 512), "c": (512, width)})
    train = [normal(8, 16, 8, scale=0.3) for _ in range(6)]

    def contract(w, train, x):
        low = w["a"] @ w["b"] @ w["c"] @ x
        form = jnp.einsum("bi,ij,bj->b", x.T, x @ x.T, x.T)
        chain = train[0]
        for core in train[1:]:
            chain = jnp.einsum("aib,bjc->aijc", chain, core).reshape(8, -1, 8)[:, :256]
        return low, form, jnp.einsum("aia->i", chain)

    return contract, (factors, train, normal(width, 64))


@model(small={"points": 16, "width": 1}, large={"points": 1024})
def gaussian_process(points: int = 256, width: int = 4) -> Program:
    """The gradient of a Gaussian process's evidence: distances, Cholesky, triangular solves."""

    def evidence(scales, x, y):
        z = x / jnp.exp(scales["length"])
        squares = ((z[:, None] - z[None]) ** 2).sum(-1)
        covariance = jnp.exp(2 * scales["height"] - 0.5 * squares)
        factor = jnp.linalg.cholesky(covariance + 0.1 * jnp.eye(points))
        fit = jax.scipy.linalg.cho_solve((factor, True), y)
        return 0.5 * y @ fit + jnp.log(jnp.diagonal(factor)).sum()

    scales = {"length": jnp.zeros(width), "height": jnp.float32(0.0)}
    return descend(evidence), (scales, normal(points, width), normal(points))


@model(small={"rows": 256, "features": 4}, large={"rows": 65536})
def decision_transform(rows: int = 8192, features: int = 32, bins: int = 16) -> Program:
    """Histograms of a boosted tree: binning by searchsorted, segment sums, the best split."""

    def split(x, gradients, edges):
        bin_of = jax.vmap(jnp.searchsorted, in_axes=(1, 1), out_axes=1)(edges, x)
        index = bin_of + (bins + 1) * jnp.arange(features)
        spread = jnp.broadcast_to(gradients[:, None], x.shape).ravel()
        sums = jax.ops.segment_sum(spread, index.ravel(), (bins + 1) * features)
        left = jnp.cumsum(sums.reshape(features, bins + 1), 1)
        gain = left**2 + (left[:, -1:] - left) ** 2
        return gain.max(1), gain.argmax(1)

    edges = jnp.sort(normal(bins, features), 0)
    return split, (normal(rows, features), normal(rows), edges)


@model(
    small={"beams": 2, "vocabulary": 256, "steps": 4},
    large={"beams": 16, "vocabulary": 32000, "width": 128},
)
def beam_search(
    beams: int = 8, vocabulary: int = 4096, width: int = 64, steps: int = 16
) -> Program:
    """Steps of a beam search over a bilinear language model: products, top-k, gathers."""

    def run(embedding, start):
        def step(state, _):
            scores, last = state
            logits = jax.nn.log_softmax(last @ embedding.T)
            best, index = lax.top_k((scores[:, None] + logits).ravel(), beams)
            return (best, embedding[index % vocabulary] + 0.5 * last[index // vocabulary]), index

        return lax.scan(step, (jnp.zeros(beams), start), None, steps)

    return run, (normal(vocabulary, width), normal(beams, width))
