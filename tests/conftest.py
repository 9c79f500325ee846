"""Set up the environment before jax is imported: four CPU devices, for shard_map and pmap."""

import os

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
).strip()
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.pop("JXC_PIPELINE", None)
os.environ["JXC_RATES"] = "shipped"  # cost conditions must not depend on this machine's calibration

import pytest
from hypothesis import HealthCheck, settings

# Slow generation of examples on a busy machine is not a failure. `make fuzz` draws other examples:
# --hypothesis-profile=random.
_ON_ANY_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fixed", derandomize=True, **_ON_ANY_MACHINE)
settings.register_profile("random", **_ON_ANY_MACHINE)
settings.load_profile("fixed")


@pytest.fixture(scope="module")
def untimed():
    """`jxc.fit` runs no versions for this CPU, whose times depend on the load of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jxc.tools.fit.clock.Clock.seconds", lambda self, lowered, found: None)
        yield
