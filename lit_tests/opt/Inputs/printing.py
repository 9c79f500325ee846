"""A pass that prints, as during debugging."""

from jxc import module_pass

print("loading")


@module_pass
def talkative(module) -> None:
    """Print something."""
    print("not IR")
