"""Devices by the names that JAX gives them."""

import pytest

from jxc.cost.device import HostLink, device_named, is_same_device, known_devices


@pytest.mark.parametrize(
    ("kind", "name", "device"),
    [
        ("gpu", "NVIDIA L4", "l4"),
        ("gpu", "NVIDIA L40S", None),
        ("gpu", "NVIDIA H100 80GB HBM3", "h100"),
        ("gpu", "NVIDIA H100 PCIe", "h100"),
        ("gpu", "NVIDIA A100-SXM4-40GB", "a100"),
        ("gpu", "Tesla V100-SXM2-16GB", "v100"),
        ("tpu", "TPU v5 lite", "v5e"),
        ("tpu", "TPU v5e", "v5e"),
        ("tpu", "TPU v5", "v5p"),
        ("tpu", "TPU v5p", "v5p"),
        ("tpu", "TPU v6 lite", "v6e"),
        ("tpu", "TPU7x", "tpu7x"),
        ("tpu", "TPU v4 lite", None),
        ("gpu", "NVIDIA GeForce RTX 4090", "rtx4090"),
        ("gpu", "NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("cpu", "cpu", None),
    ],
)
def test_device_is_found_by_the_whole_words_of_its_name(kind, name, device):
    found = device_named(kind, name)
    assert (found and found.name) == device


@pytest.mark.parametrize(
    ("kind", "one", "other", "is_same"),
    [
        ("tpu", "TPU v5p", "TPU v5", True),
        ("tpu", "TPU v5e", "TPU v5 lite", True),
        ("tpu", "TPU v5 lite", "TPU v5", False),
        ("gpu", "NVIDIA L40S", "NVIDIA L4", False),
        ("gpu", "NVIDIA L40S", "NVIDIA L40S", True),  # without a data file
        ("gpu", "NVIDIA L40S", "NVIDIA L40", False),
    ],
)
def test_names_of_one_device(kind, one, other, is_same):
    assert is_same_device(kind, one, other) is is_same


def test_link_to_the_host_has_a_bandwidth_and_its_source():
    known = {**known_devices("gpu"), **known_devices("tpu")}
    assert known["v5e"].host == HostLink(15e9, known["v5e"].host.source)
    assert known["h100"].host.bandwidth == 64e9
    assert known["b200"].host is None and known["tpu7x"].host is None
    for host in (each.host for each in known.values() if each.host):
        assert 1e9 < host.bandwidth < 1e12 and "PCI" in host.source
    with pytest.raises(ValueError, match="expected a bandwidth above 0"):
        HostLink(0.0, "a test")
