"""Flax networks of the package transformers 4, in small configurations."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .data import integers, normal
from .registry import Program, add_model, model


def _network(name: str, config: Any, *, input_shape: tuple[int, ...] | None = None) -> Any:
    import transformers

    options = {"input_shape": input_shape} if input_shape else {}
    return getattr(transformers, f"Flax{name}")(config, seed=0, **options)


def _forward(network: Any, inputs: Any) -> Program:
    def forward(params, inputs):
        return network(inputs, params=params, train=False)[0]

    return forward, (network.params, inputs)


def _training(network: Any, tokens: Any) -> Program:
    """A step of gradient descent on the mean square of the last hidden state."""

    def loss(params, tokens):
        return (network(tokens, params=params, train=False)[0] ** 2).mean()

    def step(params, tokens):
        value, gradients = jax.value_and_grad(loss)(params, tokens)
        return value, jax.tree.map(lambda w, g: w - 0.01 * g, params, gradients)

    return step, (network.params, tokens)


def bert(*, training: bool, batch: int = 4, length: int = 128) -> Program:
    from transformers import BertConfig

    config = BertConfig(
        vocab_size=8192,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
    )
    network = _network("BertModel", config)
    return (_training if training else _forward)(network, integers(8192, batch, length))


def gpt2(*, training: bool, batch: int = 4, length: int = 128) -> Program:
    from transformers import GPT2Config

    network = _network("GPT2Model", GPT2Config(n_embd=256, n_layer=4, n_head=4, vocab_size=8192))
    return (_training if training else _forward)(network, integers(8192, batch, length))


_TEXTS: dict[str, Any] = {
    "small": {"batch": 1, "length": 16},
    "large": {"batch": 8, "length": 256},
}
add_model("hf-bert", partial(bert, training=False), **_TEXTS)
add_model("hf-bert-training", partial(bert, training=True), quick=True, **_TEXTS)
add_model("hf-gpt2", partial(gpt2, training=False), **_TEXTS)
add_model("hf-gpt2-training", partial(gpt2, training=True), **_TEXTS)


@model(**_TEXTS)
def hf_llama(batch: int = 4, length: int = 128) -> Program:
    """Rotary embeddings, RMS norms, gated perceptrons."""
    from transformers import LlamaConfig

    config = LlamaConfig(
        vocab_size=8192,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=256,
    )
    network = _network("LlamaModel", config, input_shape=(1, length))
    positions = jnp.broadcast_to(jnp.arange(length), (batch, length))

    def forward(params, tokens, positions):
        return network(tokens, position_ids=positions, params=params, train=False)[0]

    return forward, (network.params, integers(8192, batch, length), positions)


@model(small={"batch": 1, "size": 32}, large={"batch": 16})
def hf_vit(batch: int = 4, size: int = 96) -> Program:
    """A transformer on patches of images."""
    from transformers import ViTConfig

    config = ViTConfig(
        hidden_size=192,
        num_hidden_layers=6,
        num_attention_heads=3,
        intermediate_size=768,
        image_size=size,
        patch_size=8,
    )
    return _forward(_network("ViTModel", config), normal(batch, 3, size, size))


@model(small={"batch": 1, "length": 60}, large={"batch": 8})
def hf_whisper_encoder(batch: int = 2, length: int = 600) -> Program:
    """Speech: two convolutions over time, then a transformer."""
    from transformers import WhisperConfig

    config = WhisperConfig(
        d_model=192, encoder_layers=3, encoder_attention_heads=3, encoder_ffn_dim=768
    )
    config.max_source_positions = length // 2
    network = _network("WhisperModel", config, input_shape=(1, 80, length))

    def encode(params, features):
        return network.encode(features, params=params, train=False)[0]

    return encode, (network.params, normal(batch, 80, length))


def regnet(*, training: bool, batch: int = 2, size: int = 96) -> Program:
    """Grouped convolutions."""
    from transformers import RegNetConfig

    config = RegNetConfig(
        embedding_size=32, hidden_sizes=[48, 96, 192, 384], depths=[1, 2, 4, 1], groups_width=24
    )
    network = _network("RegNetModel", config, input_shape=(1, size, size, 3))
    images = normal(batch, 3, size, size)
    if not training:
        return _forward(network, images)

    def loss(params, state, images):
        outputs = network(images, params={"params": params, "batch_stats": state}, train=False)
        return (outputs[0] ** 2).mean()

    def step(params, state, images):
        value, gradients = jax.value_and_grad(loss)(params, state, images)
        return value, jax.tree.map(lambda w, g: w - 0.01 * g, params, gradients)

    return step, (network.params["params"], network.params["batch_stats"], images)


_IMAGES: dict[str, Any] = {
    "small": {"batch": 1, "size": 32},
    "large": {"batch": 8, "size": 128},
}
add_model("hf-regnet", partial(regnet, training=False), windows=True, **_IMAGES)
add_model("hf-regnet-training", partial(regnet, training=True), windows=True, **_IMAGES)
