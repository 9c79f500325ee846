"""The words of `--forbid`: HLO's opcodes and element types, StableHLO's ops, and `collectives`."""

from __future__ import annotations

from functools import cache

from ...compiled.collectives import KINDS
from ...errors import UsageError, did_you_mean

COLLECTIVES = "collectives"
"""Stands for every collective."""

ELEMENT_TYPES = frozenset(
    [
        *("pred", "token", "f16", "bf16", "f32", "f64", "c64", "c128"),
        *(f"{sign}{bits}" for sign in "su" for bits in (1, 2, 4, 8, 16, 32, 64)),
        *("f4e2m1fn", "f8e3m4", "f8e4m3", "f8e4m3b11fnuz", "f8e4m3fn", "f8e4m3fnuz"),
        *("f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"),
    ]
)
_SCALAR = """abs acos acosh add and asin asinh atan2 atanh bitcast bitcast-convert cbrt ceil
clamp compare complex convert cos cosh cosine count-leading-zeros divide erf exponential
exponential-minus-one floor imag is-finite log log-plus-one logistic map maximum minimum mulhi
multiply negate not or popcnt power real reduce-precision remainder round-nearest-afz
round-nearest-even rsqrt select shift-left shift-right-arithmetic shift-right-logical sign sine
sinh sqrt stochastic-convert subtract tan tanh xor"""
_ARRAY = """broadcast cholesky concatenate convolution copy copy-done copy-start dot
dynamic-reshape dynamic-slice dynamic-update-slice fft fusion gather get-dimension-size iota pad
ragged-dot reduce reduce-window reshape reverse rng rng-bit-generator rng-get-and-update-state
scaled-dot scan scatter select-and-scatter set-dimension-size slice sort topk transpose
triangular-solve"""
_CONTROL = """add-dependency after-all async-done async-start async-update call conditional
constant custom-call domain get-tuple-element infeed opt-barrier outfeed parameter partition-id
recv recv-done replica-id send-done tuple while"""
OPCODES = frozenset(f"{_SCALAR} {_ARRAY} {_CONTROL}".split()) | frozenset(KINDS)


def parse_words(text: str | None) -> tuple[str, ...]:
    """The words of a list such as "all-gather,f64,stablehlo.sort", each once.

    Raises:
        UsageError: one is not a word of HLO, nor an op of StableHLO or CHLO.
    """
    words = tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))
    if text is not None and not words:
        raise UsageError("--forbid: expected words such as all-gather or f64, found none")
    for word in words:
        if word not in _HLO_WORDS and not (is_op(word) and word in program_ops()):
            raise UsageError(
                f"--forbid does not know {word!r}: expected opcodes of HLO (all-gather, sort, "
                "custom-call), element types (f64, c128), `collectives` for any of them, or ops of "
                f"the program (stablehlo.sort).{_meant(word)}"
            )
    return words


def is_op(word: str) -> bool:
    """Whether a word is an op of the program. HLO opcodes have no dot."""
    return "." in word


@cache
def program_ops() -> frozenset[str]:
    """The ops of a lowered program as they are printed: "stablehlo.sort"."""
    from jaxlib.mlir.dialects import chlo, stablehlo

    classes = [*vars(stablehlo).values(), *vars(chlo).values()]
    return frozenset(each.OPERATION_NAME for each in classes if hasattr(each, "OPERATION_NAME"))


_HLO_WORDS = OPCODES | ELEMENT_TYPES | {COLLECTIVES}


def _meant(word: str) -> str:
    known = program_ops()
    named = [f"{dialect}.{word}" for dialect in ("stablehlo", "chlo")]
    return next(
        (f" Did you mean {name!r}?" for name in named if name in known),
        did_you_mean(word, [*_HLO_WORDS, *(known if is_op(word) else ())]),
    )


def mlir_type(word: str) -> str:
    """MLIR's name of the element type that HLO calls `word`."""
    if word in _MLIR_TYPES:
        return _MLIR_TYPES[word]
    if word.startswith(("f4", "f8")):
        return word[:2] + word[2:].upper()
    if word[0] in "su":
        return {"s": "i", "u": "ui"}[word[0]] + word[1:]
    return word


_MLIR_TYPES = {"pred": "i1", "c64": "complex<f32>", "c128": "complex<f64>"}
