"""Fuzz jxc with random programs (`fuzz.py programs`, over devices `fuzz.py sharded`), training
steps under plans of `jxc fit` (`fuzz.py plans`) and corrupted inputs (`fuzz.py inputs`).

The same --seed gives the same programs, pipelines, arguments and mutants; the time limit decides
how many of them run. The exit code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

_SHOWN = 20  # failures that are printed; --out saves all of them


def programs(options: argparse.Namespace) -> int:
    """Run the levels, random orders of passes and single rules on random programs."""
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
    """Run what `jxc opt` does on corrupted text and bytecode."""
    from fuzzing.inputs import run
    from fuzzing.report import inputs_report

    start = perf_counter()
    tally = run(options.seed, options.count, options.seconds, options.out)
    print(inputs_report(tally, options.seed, perf_counter() - start, _SHOWN))
    return int(bool(tally.finds))


def sharded(options: argparse.Namespace) -> int:
    """Run random programs over four devices under the levels and under plain JAX."""
    from fuzzing.sharded import KINDS, run

    start = perf_counter()
    seeds = range(options.seed, options.seed + options.count)
    tally = run(options.kind or KINDS, seeds, lambda: perf_counter() - start > options.seconds)
    print(tally)
    return int(bool(tally.finds))


def plans(options: argparse.Namespace) -> int:
    """Run random training steps under plans of `jxc fit` and under plain JAX."""
    from fuzzing.plans import run

    start = perf_counter()
    seeds = range(options.seed, options.seed + options.count)
    tally = run(seeds, lambda: perf_counter() - start > options.seconds)
    print(tally)
    return int(bool(tally.finds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(required=True)
    for verb, count in ((programs, 1000), (inputs, 10_000), (sharded, 1000), (plans, 1000)):
        child = verbs.add_parser(verb.__name__, help=verb.__doc__)
        child.set_defaults(verb=verb)
        child.add_argument("--seed", type=int, default=0)
        child.add_argument("--count", type=int, default=count, help="number of programs or inputs")
        child.add_argument("--seconds", type=float, default=600.0, help="time limit")
        child.add_argument("--out", type=Path, help="folder for failing programs and inputs")
        if verb is sharded:
            child.add_argument("--kind", action="append", help="only programs of this kind")
        if verb is programs:
            child.add_argument(
                "--ops", type=int, default=100, help="approximate maximum size of a program"
            )
            child.add_argument(
                "--draws", type=int, default=2, help="sets of arguments of each kind"
            )
            child.add_argument(
                "--few", action="store_true", help="fewer pipelines for each program"
            )
            child.add_argument(
                "--about", metavar="RULE", help="only programs from cases of this rule"
            )
            child.add_argument(
                "--xla",
                type=int,
                default=2,
                help="maximum number of comparisons on XLA for each program",
            )
    return parser


def main() -> int:
    """Run the command line."""
    options = _parser().parse_args()
    return options.verb(options)


if __name__ == "__main__":
    sys.exit(main())
