"""lit's shell tests, of the files that are cases of `jxc test`. Imports lit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import lit.formats


class CaseFormat(lit.formats.ShTest):  # type: ignore[misc]  # lit has no types
    """Shell tests in the files that `is_case` accepts."""

    def __init__(self, is_case: Callable[[str], bool]) -> None:
        super().__init__(execute_external=False)  # lit 23 refuses the external shell
        self._is_case = is_case

    def getTestsInDirectory(self, *arguments: Any) -> Iterator[Any]:
        """The cases in one folder; see lit's class for the arguments."""
        tests = super().getTestsInDirectory(*arguments)
        return (test for test in tests if self._is_case(test.getSourcePath()))
