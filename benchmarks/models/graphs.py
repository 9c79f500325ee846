"""Networks on graphs, and word2vec: gathers, scatters, segment sums."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .data import descend, integers, normal, weights
from .registry import Program, model


@model(
    quick=True,
    small={"nodes": 32, "edges": 128, "width": 8},
    large={"nodes": 4096, "edges": 65536},
)
def graph_attention_training(nodes: int = 1024, edges: int = 8192, width: int = 32) -> Program:
    """A training step of graph attention: gathers, segment sums, a segment softmax."""
    parameters = weights({"w": (width, width), "a": (2 * width, 1)})
    ends = integers(nodes, 2, edges)

    def loss(parameters, x, ends):
        h = x @ parameters["w"]
        for _ in range(3):
            pair = jnp.concatenate([h[ends[0]], h[ends[1]]], -1)
            score = jax.nn.leaky_relu(pair @ parameters["a"])
            top = jax.ops.segment_max(score, ends[1], nodes)
            score = jnp.exp(score - top[ends[1]])
            total = jax.ops.segment_sum(score, ends[1], nodes)
            h = jax.ops.segment_sum(score / total[ends[1]] * h[ends[0]], ends[1], nodes)
        return (h**2).mean()

    return descend(loss), (parameters, normal(nodes, width), ends)


@model(
    small={"nodes": 32, "edges": 128, "width": 8},
    large={"nodes": 4096, "edges": 32768},
)
def message_passing_training(nodes: int = 512, edges: int = 4096, width: int = 64) -> Program:
    """A training step of an interaction network: a perceptron on both nodes and the edge."""
    shapes: dict[str, tuple[int, ...]] = {"edge": (3 * width, width), "node": (2 * width, width)}
    parameters = weights(shapes)

    def loss(w, x, e, ends):
        for _ in range(2):
            e = jax.nn.relu(jnp.concatenate([x[ends[0]], x[ends[1]], e], -1) @ w["edge"])
            received = jax.ops.segment_sum(e, ends[1], nodes)
            x = jax.nn.relu(jnp.concatenate([x, received], -1) @ w["node"])
        return (x**2).mean()

    inputs = normal(nodes, width), normal(edges, width), integers(nodes, 2, edges)
    return descend(loss), (parameters, *inputs)


@model(quick=True, small={"words": 256, "pairs": 16}, large={"words": 16384, "pairs": 512})
def word2vec_training(words: int = 4096, width: int = 64, pairs: int = 256) -> Program:
    """A step of skip-grams with negative samples. Word vectors are products with one_hot."""
    parameters = {"in": normal(words, width), "out": normal(words, width)}

    def loss(w, centre, context, others):
        v = jax.nn.one_hot(centre, words) @ w["in"]
        near = jax.nn.one_hot(context, words) @ w["out"]
        far = w["out"][others]
        right = jax.nn.log_sigmoid((v * near).sum(-1))
        wrong = jax.nn.log_sigmoid(-jnp.einsum("bd,bkd->bk", v, far)).sum(-1)
        return -(right + wrong).mean()

    inputs = integers(words, pairs), integers(words, pairs), integers(words, pairs, 5)
    return descend(loss), (parameters, *inputs)
