"""Every choice there is, on the command line and of a tool: the words of its vocabulary, in any case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Annotated, Any, get_args

import anyio
import click
import pytest
from outsourcerer.cli.app import cli
from outsourcerer.cli.mcp_server.choices import OneOf
from outsourcerer.cli.mcp_server.desk import Desk
from outsourcerer.cli.mcp_server.server import build
from outsourcerer.cli.options import Globals
from outsourcerer.lanes.pictures import Backend
from outsourcerer.messages.loop import Shape
from outsourcerer.messages.session import Transport
from outsourcerer.messages.vocabulary import Effort, JobState, SessionMode, Told, Verb
from outsourcerer.state.ledger_reader import By
from pydantic import TypeAdapter, ValidationError

WRITING = tuple(verb for verb in Verb if verb.may_write)
VOCABULARIES: dict[str, Iterable[str]] = {
    "effort": Effort,
    "verb": Verb,
    "state": JobState,
    "transport": get_args(Transport),
    "mode": SessionMode,
    "shape": [shape for shape in Shape if shape != "opinion"],  # that one is the tool second_opinion
    "backend": get_args(Backend),
    "by": get_args(By),
    "became": get_args(Told),
    "crew verb": WRITING,
    "best_of verb": WRITING,
}
"""A parameter's name, or the tool's and its → the words it takes."""


@cache
def parameters() -> tuple[tuple[str, str, Any, dict[str, Any]], ...]:
    """Every parameter of every tool: the tool, its name, what reads it, its schema."""
    server = build(Desk(Globals()))

    async def listed() -> list[Any]:
        return list(await server.list_tools())

    schemas = {tool.name: tool.input_schema.get("properties", {}) for tool in anyio.run(listed)}
    return tuple(
        (tool.name, name, tool.fn_metadata.arg_model, schemas[tool.name][name])
        for tool in server._tool_manager.list_tools()
        for name in schemas[tool.name]
    )


def enum_of(schema: dict[str, Any]) -> list[str] | None:
    for part in (schema, *schema.get("anyOf", ())):
        if "enum" in part:
            assert part["type"] == "string"
            return list(part["enum"])
    return None


def test_a_tools_choices_are_those_of_the_vocabulary() -> None:
    found = {f"{tool} {name}": enum_of(schema) for tool, name, _, schema in parameters()}
    named = {key for key in found if key in VOCABULARIES or key.split()[1] in VOCABULARIES}
    assert named >= {key for key, words in found.items() if words is not None}
    for key in named:
        known = VOCABULARIES.get(key) or VOCABULARIES[key.split()[1]]
        assert found[key] == [str(word) for word in known], key
    assert {key.split()[1] for key in named} >= {key.split()[-1] for key in VOCABULARIES}


def test_a_tools_choice_is_taken_in_any_case() -> None:
    for tool, name, model, schema in parameters():
        for word in enum_of(schema) or ():
            read = model.__pydantic_validator__.validate_assignment(model.model_construct(), name, f" {word.upper()}")
            assert getattr(read, name) == word, (tool, name)


def test_what_is_no_word_is_refused() -> None:
    one = TypeAdapter[str](Annotated[str, OneOf(Effort)])
    for wrong in ("hig", "", 3, None, ["high"]):
        with pytest.raises(ValidationError):
            one.validate_python(wrong)


def options(command: click.Command, context: click.Context, path: str) -> Iterator[tuple[str, click.Parameter]]:
    """Every parameter of every command that is a choice."""
    for parameter in command.params:
        if isinstance(parameter.type, click.Choice):
            yield f"{path} {parameter.name}", parameter
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from options(below, click.Context(below, parent=context), f"{path} {name}")


def test_an_options_choice_is_taken_in_any_case() -> None:
    context, seen = click.Context(cli), set()
    for path, parameter in options(cli, context, "osrc"):
        choices = [str(word) for word in parameter.type.choices]  # type: ignore[attr-defined]
        assert [parameter.type.convert(word.upper(), parameter, context) for word in choices] == choices, path
        seen.add(path)
        name = path.split()[-1]
        if name in {"effort", "transport", "backend", "by"}:
            assert choices == [str(word) for word in VOCABULARIES[name]], path
    assert {"osrc run effort", "osrc bg tier", "osrc session start transport", "osrc limits set reset"} <= seen
