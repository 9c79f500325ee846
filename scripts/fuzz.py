"""Random programs and spoiled inputs through jxc: `fuzz.py programs`, `fuzz.py inputs`.

Deterministic from --seed: the same programs, pipelines, arguments and mutants, whatever the time
limit cuts off. Exit code 1 where anything was found.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

_SHOWN = 20  # finds that are printed; --out has them all


def programs(options: argparse.Namespace) -> int:
    """Random programs through the levels, random orders of passes and single rules."""
    from fuzzing.programs import Campaign
    from fuzzing.report import campaign_report

    start = perf_counter()
    campaign = Campaign(
        seed=options.seed,
        most_ops=options.ops,
        draws=options.draws,
        few=options.few,
        most_on_xla=options.xla,
        about=options.about,
        out=options.out,
    )
    tally = campaign.run(options.count, options.seconds)
    print(campaign_report(tally, options.seed, perf_counter() - start, _SHOWN))
    return int(bool(tally.finds))


def inputs(options: argparse.Namespace) -> int:
    """Spoiled texts and bytecodes through what `jxc opt` does."""
    from fuzzing.inputs import run
    from fuzzing.report import inputs_report

    start = perf_counter()
    tally = run(options.seed, options.count, options.seconds, options.out)
    print(inputs_report(tally, options.seed, perf_counter() - start, _SHOWN))
    return int(bool(tally.finds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(required=True)
    for verb, count in ((programs, 1000), (inputs, 10_000)):
        child = verbs.add_parser(verb.__name__, help=verb.__doc__)
        child.set_defaults(verb=verb)
        child.add_argument("--seed", type=int, default=0)
        child.add_argument("--count", type=int, default=count, help="how many of them")
        child.add_argument("--seconds", type=float, default=600.0, help="stop after this long")
        child.add_argument("--out", type=Path, help="where to save what was found")
        if verb is programs:
            child.add_argument("--ops", type=int, default=100, help="about how many at most")
            child.add_argument("--draws", type=int, default=2, help="of arguments, of each kind")
            child.add_argument("--few", action="store_true", help="fewer pipelines for each")
            child.add_argument("--about", metavar="RULE", help="only cases of this rule")
            child.add_argument("--xla", type=int, default=2, help="most runs on XLA for each")
    return parser


def main() -> int:
    """Run what the command line asks for."""
    options = _parser().parse_args()
    return options.verb(options)


if __name__ == "__main__":
    sys.exit(main())
