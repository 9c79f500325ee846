"""The check `gather-as-slice`; `test_doctor` tests the checks that need a compiler."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .doctoring import f32, findings_of, names_of, source_line


def test_gather_as_slice_reports_arithmetic_sequences() -> None:
    (each,) = findings_of(lambda x: jnp.take(x, np.arange(5, 300), axis=1), f32(512, 512))
    assert each.name == "gather-as-slice"
    assert "jnp.take" in source_line(each)
    uneven = np.array([1, 2, 4, 8] * 64)
    assert names_of(lambda x: x[uneven], f32(512, 512)) == []
    assert names_of(lambda x, i: x[i], f32(512, 512), jnp.arange(256)) == []
    assert names_of(lambda x: x[jnp.arange(4)], f32(512, 16)) == []  # too small to matter
