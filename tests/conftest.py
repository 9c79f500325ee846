"""Before jax is imported: four devices, as shard_map and pmap want them, and only the CPU."""

import os

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
).strip()
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.pop("JXC_PIPELINE", None)
os.environ["JXC_RATES"] = "shipped"  # decisions do not depend on what this machine was measured at

from hypothesis import HealthCheck, settings

# A busy machine is no failure: what is slow to draw there is drawn all the same.
settings.register_profile("jxc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("jxc")
