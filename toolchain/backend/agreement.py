"""One module on every host: the processes of a program agree on it before XLA compiles it.

XLA inserts the collectives of a program that spans processes when it compiles, in each process by
itself. If one process compiled a rewritten module and another a different one, they would wait for
each other's collectives for ever. So each process writes an offer, the digest of the module that it
is about to compile, to the key-value store of `jax.distributed`. The program is compiled rewritten
only if all offers are equal, and as JAX lowered it on all processes otherwise.

The keys of one exchange begin with the program's processes, the digest of the module that JAX
lowered, and a number that counts the pipelines under which this module was compiled:

    from/PROCESS      an offer
    verdict           written once, by whoever comes first; every process obeys it
    compiled/PROCESS  whether XLA accepted the rewritten module

The lowest process writes the verdict when it has all offers, or a different one, or when an offer
is late. The others wait for the verdict. Only that process can write that all agree, and the store
accepts the first verdict alone, so that a process that has waited too long can write another
verdict but never contradict one. A process that compiles without rewriting writes its offer and
does not wait. A process without jxc writes nothing: it has no key `on/PROCESS`, and is waited for
only `UNSEEN_SECONDS`. A process that has died is noticed by JAX itself, which ends the others.

A module that is compiled again under the same pipeline, with the same result, keeps its verdict:
the other processes may have the executable in JAX's cache, and would not take part.

A program within one process takes no part, and the store is never used without `jax.distributed`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from textwrap import shorten
from types import MappingProxyType
from typing import Any

from jaxlib.mlir import ir

from ..cost.rates import Rates, rates_of
from ..errors import JxcError
from ..ir import clone_module, walk, write_bytecode
from ..ir.module import module_name
from ..pipeline.native import run_native
from ..source import first_time, warn_user
from . import _private
from .exchange import SLICE_MS, Exchange, ExchangeVerdict, OfferedModule, show_processes
from .job import JobSession, limit_seconds, parse_message, session

_ADDRESSED = ("CustomSPMDPartitioning",)  # calls whose attribute is an address in the process


@dataclass(frozen=True)
class Group:
    """The processes of a program that spans several.

    Attributes:
        session: of this process; None if `jax.distributed` is not initialised.
        me: the number of this process.
        processes: the numbers of all, in order.
    """

    session: JobSession | None
    me: int
    processes: tuple[int, ...]

    @property
    def leader(self) -> int:
        """The process that writes the verdict."""
        return self.processes[0]

    @property
    def prefix(self) -> str:
        """The first part of the keys of its exchanges."""
        text = ",".join(map(str, self.processes))
        return f"{len(self.processes)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def rates(self, target: str) -> Rates:
        """The rates by which all these processes decide: those that the lowest has measured.

        Raises:
            UsageError: JXC_RATES is wrong in this process, and it is the lowest.
        """
        session, key = self.session, f"rates/{self.leader}/{target}"
        if session is None:
            return Rates(target)
        if key not in session.rates:
            session.announce(self.me)
            session.rates[key] = self._shared_rates(session, key, target)
        return session.rates[key]

    def _shared_rates(self, session: JobSession, key: str, target: str) -> Rates:
        if self.me == self.leader:
            rates = rates_of(target)
            session.store.put_once(key, json.dumps(dict(rates.measured)))
            return rates
        start = time.monotonic()
        while (text := session.store.wait(key, SLICE_MS)) is None:
            if time.monotonic() - start >= session.patience(self.leader):
                session.silent[self.leader] = time.monotonic() - start
                return Rates(target)
        return Rates(
            target,
            MappingProxyType(parse_message(Mapping[str, float], text)),
            f"process {self.leader}",
        )

    def agree(
        self,
        plain: ir.Module,
        module: ir.Module,
        pipeline: str,
        failure: str = "",
        xla_options: Mapping[str, Any] | None = None,
    ) -> Agreement:
        """Offer a module to the other processes, and wait for the verdict if it is rewritten.

        Args:
            plain: the program as JAX lowered it.
            module: what this process is about to compile; `plain` itself if nothing rewrote it.
            pipeline: the name of what rewrote it; empty for plain JAX.
            failure: why there is no rewritten module.
            xla_options: XLA's options that jxc adds.

        Raises:
            JxcError: the store does not answer.
        """
        if self.session is None:
            why = (
                "jax.distributed.initialize was not called, so that the processes have no way to "
                "compare their programs"
            )
            return Agreement(self, "", ExchangeVerdict(module is plain, why))
        self.session.announce(self.me)
        before = _digest(plain)
        unchanged = module is plain and not xla_options
        digest = before if unchanged else _digest(module, xla_options)
        offer = OfferedModule(digest, shorten(pipeline, 60, placeholder="..."), failure)
        number = self.session.number(f"{self.prefix}/{before}", pipeline, offer.digest)
        base = f"{self.prefix}/{before}/{number}"
        exchange = Exchange(
            self.session, self.me, self.processes, module_name(plain), base, before, offer
        )
        return Agreement(self, base, exchange.verdict())


@dataclass(frozen=True)
class Agreement:
    """The verdict on one program, and what came of it.

    Attributes:
        group: the processes.
        base: the first part of the keys of the exchange.
        verdict: of the exchange.
    """

    group: Group
    base: str
    verdict: ExchangeVerdict

    def warn(self, name: str) -> None:
        """Tell the user, once for each reason, why a program is compiled without its pipeline."""
        if first_time(("agreement", self.verdict.why)):
            warn_user(self.message(name))

    def message(self, name: str) -> str:
        """Why a program is compiled without its pipeline, in whole sentences."""
        return (
            f"Program {name!r} spans {len(self.group.processes)} processes, and all of them "
            f"compile it without the pipeline, because they do not agree:\n{self.verdict.why}"
        )

    def accepted(self) -> None:
        """Tell the others that XLA has compiled the module that was agreed on."""
        if self.group.session is not None:
            self.group.session.store.put_once(f"{self.base}/compiled/{self.group.me}", "yes")

    def refused(self, name: str, error: Exception) -> None:
        """Wait until the others know whether XLA compiles the module that was agreed on.

        Raises:
            JxcError: XLA has compiled it in another process, or that is not known.
        """
        session, me = self.group.session, self.group.me
        assert session is not None
        session.store.put_once(f"{self.base}/compiled/{me}", "no")
        start, results = time.monotonic(), {me: "no"}
        while missing := [each for each in self.group.processes if each not in results]:
            if "yes" in results.values() or time.monotonic() - start > limit_seconds():
                break
            session.store.wait(f"{self.base}/compiled/{missing[0]}", SLICE_MS)
            results = session.store.numbered(f"{self.base}/compiled/")
        differing = [each for each in self.group.processes if results.get(each) != "no"]
        if differing:
            raise JxcError(
                f"XLA does not compile the rewritten program {name!r} in process {me}, and "
                f"{show_processes(differing)} compiled it or did not answer: {error}\n"
                "Processes must run the same program. Start the job again without jxc, and "
                "compare the machines"
            ) from error


def group_of(backend: Any, devices: Any) -> Group | None:
    """The processes that compile a program together; None if this process does so alone.

    Args:
        backend, devices: as JAX's compile function takes them.
    """
    processes = _private.processes_of(backend, devices)
    me = backend.process_index() if len(processes) > 1 else 0
    return Group(session(), me, processes) if len(processes) > 1 and me in processes else None


def agreed_by_processes(lowered: Any) -> Any:
    """The program that may be compiled: `lowered`, or the one before any pass if processes differ.

    Warns in the second case.

    Args:
        lowered: a `lowered.Lowered`.
    """
    devices = _private.devices_of(lowered.jax_lowered) if lowered.pipeline else ()
    group = group_of(devices[0].client, devices) if devices else None
    if group is None:
        return lowered
    plain, options = lowered._origin.module, lowered.xla_options
    agreed = group.agree(plain, lowered.module, lowered.pipeline, xla_options=options)
    if agreed.verdict.agreed:
        return lowered
    agreed.warn(lowered.name)
    return replace(lowered, module=plain, pipeline="", report=None, xla_options={})


def _digest(module: ir.Module, xla_options: Mapping[str, Any] | None = None) -> str:
    """A digest of a module without locations and addresses, and of XLA's options."""
    bare = clone_module(module)
    for op in walk(bare.operation):
        if (
            op.operation.name == "stablehlo.custom_call"
            and ir.StringAttr(op.attributes["call_target_name"]).value in _ADDRESSED
        ):
            op.attributes["backend_config"] = ir.StringAttr.get("", bare.context)
    run_native("strip-debuginfo", bare)
    digest = hashlib.sha256(write_bytecode(bare))
    if xla_options:
        digest.update(json.dumps(sorted(xla_options.items()), default=str).encode())
    return digest.hexdigest()[:32]
