"""One exchange of `agreement`: the offers of the processes of a program, and the verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from ..source import first_time, warn_user
from .job import SECONDS, JobSession, limit_seconds, parse_message

_NOTICE_SECONDS = 5.0  # after this time the user is told which process is waited for
_STUCK_SECONDS = 4.0  # two processes that wait at different programs for so long are stuck
SLICE_MS = 1000
"""The longest that one request to the store waits, in milliseconds."""


@dataclass(frozen=True)
class OfferedModule:
    """The module that a process is about to compile.

    Attributes:
        digest: of the module and of XLA's options that jxc adds.
        pipeline: the name of the pipeline that made it; empty for plain JAX.
        failure: why the pipeline has no result; empty if it has.
    """

    digest: str
    pipeline: str
    failure: str = ""


@dataclass(frozen=True)
class ExchangeVerdict:
    """What the processes of a program have agreed on.

    Attributes:
        agreed: whether all compile the module that they offered, rather than the plain one.
        why: if not, which processes differ and how, a line each.
    """

    agreed: bool
    why: str = ""


def _verdict(text: str) -> ExchangeVerdict:
    found: ExchangeVerdict = parse_message(ExchangeVerdict, text)
    return found


@dataclass(eq=False)
class Exchange:
    """One program that this process offers to the others.

    Attributes:
        session: of this process.
        me: the number of this process.
        processes: the numbers of all, in order.
        name: of the program.
        base: the first part of the keys.
        plain: the digest of the module without passes.
        offer: the offer of this process.
    """

    session: JobSession
    me: int
    processes: tuple[int, ...]
    name: str
    base: str
    plain: str
    offer: OfferedModule

    @property
    def leader(self) -> int:
        """The process that writes the verdict."""
        return self.processes[0]

    def verdict(self) -> ExchangeVerdict:
        """The verdict; for a module that is not rewritten it is not waited for."""
        if self.base in self.session.verdicts:
            return ExchangeVerdict(**self.session.verdicts[self.base])
        store, me = self.session.store, self.me
        store.put_once(f"{self.base}/from/{me}", json.dumps(asdict(self.offer)))
        if self.offer.digest == self.plain:
            if me == self.leader:
                self._write(ExchangeVerdict(False, f"  {self._differs(me, self.offer)}"))
            return ExchangeVerdict(True)
        with self._shown_as_waiting():
            found = self._collected() if me == self.leader else self._awaited()
        self.session.verdicts[self.base] = asdict(found)
        return found

    @contextmanager
    def _shown_as_waiting(self) -> Iterator[None]:
        """Let the others see at which programs this process waits."""
        session, key, entry = self.session, f"at/{self.me}", (self.base, self.name)
        with session.lock:
            session.waiting.append(entry)
            session.store.put(key, json.dumps(session.waiting))
        try:
            yield
        finally:
            with session.lock:
                session.waiting.remove(entry)
                session.store.put(key, json.dumps(session.waiting))

    def _write(self, verdict: ExchangeVerdict) -> ExchangeVerdict:
        """Write a verdict; returns the one that holds."""
        key = f"{self.base}/verdict"
        if not self.session.store.put_once(key, json.dumps(asdict(verdict))):
            return _verdict(self.session.store.get(key) or "{}")
        return verdict

    def _collected(self) -> ExchangeVerdict:
        """The verdict of the lowest process, from the offers of all."""
        session, start, stuck = self.session, time.monotonic(), dict[int, tuple[str, str]]()
        offers = {self.me: self.offer}
        while missing := [each for each in self.processes if each not in offers]:
            texts = session.store.numbered(f"{self.base}/from/")
            offers |= {number: parse_message(OfferedModule, text) for number, text in texts.items()}
            for number in offers:
                session.silent.pop(number, None)
            missing = [each for each in missing if each not in offers]
            if not missing or any(each.digest != self.offer.digest for each in offers.values()):
                break
            waited = time.monotonic() - start
            if late := [each for each in missing if waited >= session.patience(each)]:
                return self._write(ExchangeVerdict(False, self._late(late, waited)))
            if waited >= _STUCK_SECONDS and (now := self._elsewhere(missing)):
                if now == stuck:
                    return self._without_stuck(now)
                stuck = now
            self._notice(missing, waited)
            session.store.wait(f"{self.base}/from/{missing[0]}", SLICE_MS)
        lines = [
            f"  {self._differs(number, offer)}"
            for number, offer in sorted(offers.items())
            if offer.digest != self.offer.digest
        ]
        return self._write(ExchangeVerdict(not lines, "\n".join(_shortened(lines))))

    def _awaited(self) -> ExchangeVerdict:
        """The verdict of another process; a negative one if none comes in time."""
        session, leader, start, is_there = self.session, self.leader, time.monotonic(), False
        while (text := session.store.wait(f"{self.base}/verdict", SLICE_MS)) is None:
            waited = time.monotonic() - start
            if not is_there and session.store.get(f"{self.base}/from/{leader}") is not None:
                is_there, start = True, time.monotonic()  # it decides within its own limit
                session.silent.pop(leader, None)
            elif waited >= (2 * limit_seconds() if is_there else session.patience(leader)):
                return self._write(ExchangeVerdict(False, self._late([leader], waited)))
            self._notice([leader], waited)
        return _verdict(text)

    def _elsewhere(self, missing: list[int]) -> dict[int, tuple[str, str]]:
        """The processes that wait for this one at another program: its exchange and its name."""
        found, own = {}, [base for base, _ in self.session.waiting]
        group = self.base.partition("/")[0] + "/"
        for number in missing:
            text = self.session.store.get(f"at/{number}") or "[]"
            for base, name in parse_message(tuple[tuple[str, str], ...], text):
                if base.startswith(group) and base not in own:
                    found[number] = (base, name)
        return found

    def _without_stuck(self, stuck: Mapping[int, tuple[str, str]]) -> ExchangeVerdict:
        """A negative verdict on this program, and on those at which other processes wait."""
        number, (_, name) = min(stuck.items())
        negative = ExchangeVerdict(
            False,
            f"  process {number}: compiles another program {name!r}, while process "
            f"{self.me} compiles {self.name!r}. Compare jax.make_jaxpr of the two: all "
            "processes must trace the same programs, in the same order",
        )
        for base in {base for base, _ in stuck.values()}:
            self.session.store.put_once(f"{base}/verdict", json.dumps(asdict(negative)))
        return self._write(negative)

    def _late(self, late: list[int], waited: float) -> str:
        silent = self.session.silent
        waited = max([waited, *(silent.get(number, 0.0) for number in late)])
        silent.update(dict.fromkeys(late, waited))
        using = [number for number in late if self.session.has_shown(number)]
        without = [number for number in late if number not in using]
        lines = []
        if without:
            lines.append(
                f"  {show_processes(without)}: no sign of jxc for {waited:.0f} s. Start jxc in all "
                "processes, before their first computation, or in none"
            )
        if using:
            lines.append(
                f"  {show_processes(using)}: did not compile it within {waited:.0f} s. {SECONDS} "
                "sets the longest wait"
            )
        return "\n".join(lines)

    def _notice(self, missing: list[int], waited: float) -> None:
        key = ("agreement", self.base, "wait")
        if waited >= _NOTICE_SECONDS and first_time(key):
            seconds = max(map(self.session.patience, missing))
            warn_user(
                f"Process {self.me} waits for {show_processes(missing)} to compile "
                f"{self.name!r} too, for at most {seconds:.0f} s."
            )

    def _differs(self, number: int, offer: OfferedModule) -> str:
        """How the offer of a process differs from that of this process."""
        who = f"process {number}"
        if offer.failure:
            return f"{who}: {offer.failure}"
        if not offer.pipeline:
            return f"{who}: compiles it without jxc, as JAX lowered it"
        if offer.digest == self.plain and offer.pipeline == self.offer.pipeline:
            return f"{who}: {offer.pipeline!r} changes nothing there"
        if offer.pipeline != self.offer.pipeline:
            return f"{who}: pipeline {offer.pipeline!r}, not {self.offer.pipeline!r}"
        there, here = self.session.facts(number), self.session.facts(self.me)
        if there.get("versions") != here.get("versions"):
            found, own = (", ".join(each.get("versions", [])) for each in (there, here))
            return f"{who}: runs {found}; process {self.me} runs {own}"
        if there.get("code") != here.get("code"):
            return f"{who}: has another version of jxc's passes"
        return f"{who}: {offer.pipeline!r} makes another module there. Please report this as a bug"


def show_processes(numbers: list[int]) -> str:
    """The numbers as text: "process 1", "processes 1, 2 and 9 more"."""
    shown = ", ".join(map(str, numbers[:4]))
    more = f" and {len(numbers) - 4} more" if len(numbers) > 4 else ""
    return f"process{'es' if len(numbers) > 1 else ''} {shown}{more}"


def _shortened(lines: list[str]) -> list[str]:
    return lines if len(lines) <= 4 else [*lines[:4], f"  and {len(lines) - 4} more"]
