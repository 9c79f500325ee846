"""`jxc explain --merge` on files that it did not write."""

import json

import pytest

from jxc.errors import UsageError
from jxc.tools.explain.processes import merged, read_logs

ROW = {"called": "f.py:1", "function": "f", "times": 2}
REASON = {"called": ["f.py:1"], "sentence": "the shape of x changed"}
LOG = {"process": 0, "rows": [ROW], "reasons": [REASON], "compiled": 2, "seconds": 0.5}


def written(folder, log):
    (folder / "log.json").write_text(json.dumps(log))
    return str(folder / "log.json")


def test_logs_are_read_by_the_number_of_their_process(tmp_path):
    logs = read_logs([written(tmp_path, LOG)])
    assert list(logs) == [0]
    assert "process 0: 2 programs compiled in 500 ms" in merged(logs)


@pytest.mark.parametrize(
    "other",
    [
        {"process": "x"},
        {"rows": None},
        {"rows": [{}]},
        {"rows": [{**ROW, "times": "two"}]},
        {"reasons": [{}]},
        {"reasons": [{**REASON, "called": 1}]},
        {"seconds": "long"},
    ],
)
def test_other_file_is_an_error_that_names_it(tmp_path, other):
    file = written(tmp_path, {**LOG, **other})
    with pytest.raises(UsageError, match=r"log\.json: expected a file that `jxc explain --json"):
        read_logs([file])
