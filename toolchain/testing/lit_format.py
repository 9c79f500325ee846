"""lit's shell tests, of the files that are cases of `jxc test`. Imports lit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lit.formats

from .lit_suite import is_case


class CaseFormat(lit.formats.ShTest):  # type: ignore[misc]  # lit has no types
    """Shell tests, without Python files that have no RUN line."""

    def __init__(self) -> None:
        super().__init__(execute_external=False)  # lit 23 refuses the external shell

    def getTestsInDirectory(self, *arguments: Any) -> Iterator[Any]:
        """The cases in one folder; see lit's class for the arguments."""
        tests = super().getTestsInDirectory(*arguments)
        return (test for test in tests if is_case(test.getSourcePath()))
