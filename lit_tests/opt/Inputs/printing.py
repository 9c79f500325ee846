"""A pass that prints, as one does while writing it."""

from jxc import module_pass

print("loading")


@module_pass
def talkative(module) -> None:
    """Print something."""
    print("not IR")
