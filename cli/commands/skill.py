"""``osrc skill``: where the skill for AI hosts is, and a link to it in Claude Code's folder of skills."""

from __future__ import annotations

import os

import click

from .. import exit_codes
from ..errors import CliError
from ..in_delegate import refuse_delegate
from ..options import Command, Globals, Group
from ..output import answer, answer_json, say
from ..plugin_place import SKILL, plugin_root, skill_folder


@click.group(cls=Group)
def skill() -> None:
    """The skill that teaches an AI session to lead others, and the Claude Code plugin that it is part of."""


@skill.command("path", cls=Command)
@click.option("--plugin", is_flag=True, help="The plugin's folder, for claude --plugin-dir.")
@click.pass_obj
def path(options: Globals, plugin: bool) -> None:
    """Print where the skill is (its folder, with SKILL.md in it)."""
    found = plugin_root() if plugin else skill_folder()
    if options.json:
        answer_json({"path": found, "plugin": plugin_root(), "skill": skill_folder()})
    else:
        answer(found)


@skill.command("install", cls=Command)
@click.option("--to", metavar="DIR", help="The host's folder of skills (default: ~/.claude/skills).")
@click.pass_obj
def install(options: Globals, to: str | None) -> int:
    """Link the skill into Claude Code's folder of skills, for those who don't want the plugin and its hooks.

    A link that leads elsewhere or nowhere is renewed; a real folder of that name is never replaced. To take it
    back, remove the link.
    """
    refuse_delegate("give your tools a skill")
    link = os.path.join(_folder(to), SKILL)  # noqa: PTH118 - no pathlib in the front end
    there = _linked(link)
    if there is None:
        try:
            os.makedirs(os.path.dirname(link), exist_ok=True)  # noqa: PTH103, PTH120 - as above
            _link(link)
        except OSError as error:
            raise CliError("state_unwritable", f"can't make the link {link}: {error.strerror}", "--to DIR") from None
    if options.json:
        answer_json({"link": link, "skill": skill_folder(), "changed": there is None})
    else:
        answer(link)
        if not options.quiet:
            say("it was there" if there else f"it leads to {skill_folder()}; a new session of the host has it")
    return exit_codes.DONE


def _folder(to: str | None) -> str:
    if to is not None:
        return os.path.abspath(to)  # noqa: PTH100 - as above
    own = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")  # noqa: PTH111 - as above
    return os.path.join(os.path.abspath(own), "skills")  # noqa: PTH100, PTH118 - as above


def _linked(link: str) -> str | None:
    """Return where the link leads if that is here, None where it is to be made. Raises CliError for what is no link."""
    if not os.path.lexists(link):
        return None
    if not os.path.islink(link):  # noqa: PTH114 - as above
        raise CliError("denied", f"{link} is there and is no link: it is not replaced", "move it away, or --to DIR")
    return link if os.path.realpath(link) == os.path.realpath(skill_folder()) else None


def _link(link: str) -> None:
    """Make the link, or put it in the place of one that leads elsewhere; never is there none."""
    fresh = f"{link}.{os.getpid()}"
    os.symlink(skill_folder(), fresh)  # noqa: PTH211 - as above
    try:
        os.replace(fresh, link)  # noqa: PTH105 - as above
    except OSError:
        os.unlink(fresh)  # noqa: PTH108 - as above
        raise
