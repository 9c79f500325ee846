"""The names that the language server finds in text, compared with what MLIR parses."""

import random
from itertools import chain
from pathlib import Path

import pytest
from jaxlib.mlir import ir

from jxc.ir import make_context, walk
from jxc.tools.lsp.names import Names
from jxc.tools.lsp.text import Lines
from jxc.tools.lsp.tokens import split, without_locations

LIT = Path(__file__).parents[2] / "lit_tests"
FOLDERS = sorted({file.parent for file in LIT.rglob("*.mlir")})


def parsed(text, context):
    """The module, or None where MLIR rejects it, as some cases want."""
    try:
        return ir.Module.parse(without_locations(text), context)
    except (ir.MLIRError, ValueError):
        return None


def renamed(text, names):
    """The text with a new name in place of each value and block, at every occurrence."""
    edits = []
    for number, made in enumerate(names.definitions):
        if made.kind in ("value", "block"):
            new = f"{made.name[0]}renamed{number}"
            starts = [made.start, *(start for start, _ in made.uses)]
            edits += [(start, start + len(made.name), new) for start in starts]
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def generic(module):
    return module.operation.get_asm(print_generic_op_form=True)


def positions(module, text):
    """The offsets of ops and of block arguments in the text."""
    lines, ops, arguments = Lines(text), set(), set()
    for op in chain([module.operation], walk(module.operation)):
        found = op.location
        if isinstance(found, ir.FileLineColLoc) and found.start_line:
            ops.add(lines.offset_of_bytes(found.start_line, found.start_col))
        for block in chain.from_iterable(region.blocks for region in op.regions):
            for at in (argument.location for argument in block.arguments):
                arguments.add(lines.offset_of_bytes(at.start_line, at.start_col))
    return ops, arguments


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(LIT)))
def test_names_have_the_meaning_that_mlir_gives_them(folder):
    """Ops and arguments are where MLIR has them, and all names can be replaced."""
    files = [file for file in folder.glob("*.mlir") if not file.stem.startswith("crashes")]
    context = make_context()
    texts = [(file, text) for file in files for _, text in split(file.read_text())]
    for file, text in texts:
        if (module := parsed(text, context)) is None:
            continue
        names = Names(text)
        assert names.unresolved == [], file
        ops, arguments = positions(module, text)
        made = {d.start for d in names.definitions if d.kind == "value" and not d.is_result}
        assert all(names.op_at(at) for at in ops), file
        # MLIR has the arguments of `reduce(...) applies` at the parenthesis.
        assert made == {at for at in arguments if text[at] != "("}, file
        again = parsed(renamed(text, names), context)
        assert again is not None and generic(again) == generic(module), file


def damaged(text, random):
    """The text with some of it deleted, moved or replaced."""
    for _ in range(random.randint(1, 6)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.randrange(1, 40))
        inserted = random.choice([*'(){}[]%^@#!"=:,\n\r\\é𝒳', "loc(", text[start:end], ""])
        text = random.choice([text[:start], text[:start] + inserted + text[end:], text]) or "%"
    return text


def test_damaged_text_has_names_and_positions():
    choose = random.Random(0)
    texts = [file.read_text()[:4000] for folder in FOLDERS for file in folder.glob("*.mlir")]
    for _ in range(400):
        text = damaged(choose.choice(texts), choose)
        without_locations(text)
        for base, module in split(text):
            assert text[base:].startswith(module)
            names = Names(module)
            for found in names.occurrences:
                assert names.at(found.start).definition.name == found.definition.name
            for kind in ("value", "block", "symbol", "alias"):
                names.visible(choose.randrange(len(module) + 1), kind)
        lines = Lines(text, choose.choice(["utf-8", "utf-16", "utf-32"]))
        offset = choose.randrange(len(text) + 1)
        is_inside = text[offset - 1 : offset + 1] == "\r\n"
        assert lines.offset(*lines.position(offset)) == offset - is_inside
