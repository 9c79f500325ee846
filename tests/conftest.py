"""Before jax is imported: four devices, as shard_map and pmap want them, and only the CPU."""

import os

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
).strip()
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.pop("JXC_PIPELINE", None)
