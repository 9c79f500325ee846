"""The page of the JSON Schemas in `toolchain/schemas`: a table of fields for each object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markup import options_as_code

SCHEMAS = Path(__file__).parent.parent.parent / "toolchain/schemas"

_HEAD = """# Objects of `--json`

Commands that take `--json` print one JSON object. Each has a JSON Schema (draft 2020-12), which the
test suite compares with the output of the command. The schemas are a part of the package:

```python
import json
from importlib.resources import files

schema = json.loads((files("jxc") / "schemas" / "report.json").read_text())
assert "schema_version" in schema["properties"]
```

Fields are only added; `schema_version` grows if one is removed or changes its meaning. Sizes are in
bytes and times in seconds. A number that is not finite is null.

In the tables, `[]` stands for each element of a list, and `*` for each key of an object. A type in
*italics* has a table of its own below.

"""


def json_page() -> str:
    """The page in Markdown."""
    parts = (_section(path.stem, json.loads(path.read_text())) for path in sorted(_files()))
    return _HEAD + "\n".join("".join(part) for part in parts)


def _files() -> Iterator[Path]:
    return SCHEMAS.glob("*.json")


def _section(name: str, schema: dict[str, Any]) -> Iterator[str]:
    title, description = map(options_as_code, (schema["title"], schema["description"]))
    yield f"## {title}\n\n{description} (`schemas/{name}.json`)\n\n"
    if "properties" in schema:
        yield from _table(schema)
    for part, found in schema.get("$defs", {}).items():
        yield f"### {name}: {part}\n\n{options_as_code(found['description'])}\n\n"
        yield from _table(found)


def _table(schema: dict[str, Any]) -> Iterator[str]:
    yield "| field | type | meaning |\n|---|---|---|\n"
    for path, field, is_required in _rows("", schema):
        meaning = options_as_code(field.get("description", "")).replace("|", "\\|")
        if not is_required:
            meaning += " Left out where it does not apply."
        yield f"| `{path}` | {_type(field)} | {meaning.strip()} |\n"
    yield "\n"


def _rows(prefix: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{prefix}{name}", field, name in schema.get("required", ())
        yield from _inside(f"{prefix}{name}", field)


def _inside(path: str, field: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """The fields of the objects that a field holds."""
    if isinstance(every := field.get("additionalProperties"), dict):
        yield from _inside(f"{path}.*", every)
    if "items" in field:
        yield from _inside(f"{path}[]", field["items"])
    for other in field.get("anyOf", ()):
        yield from _inside(path, other)
    yield from _rows(f"{path}.", field)


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return f"*{field['$ref'].rpartition('/')[2]}*"
    if "enum" in field or "const" in field:
        return ", ".join(f"`{json.dumps(v)}`" for v in field.get("enum", [field.get("const")]))
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(map(_type, field["anyOf"])))
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    if isinstance(every := field.get("additionalProperties"), dict):
        return f"object of {_type(every)}"
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return " or ".join(kinds)
