"""Draw the terminal picture of the README from a real run: ``python docs/record.py`` (needs the extra ``site``).

The commands run in a pseudo-terminal with an empty home, on the model inside this machine; a terminal emulator
reads what they draw, and that becomes one SVG without a font, a script or an address of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path

import pexpect
import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS = 106
MOST_LINES = 60
LIMIT_S = 300
COMMANDS = (
    'osrc bg -m embedded --label notes "What does a compiler do? Answer in one sentence."',
    "osrc wait notes",
    "osrc result notes",
    "osrc tab",
)
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""
"""Rich's frame without the font that it fetches."""


def script(commands: tuple[str, ...]) -> str:
    """Return what sh runs: each command after a prompt that shows it."""
    shown = (f"printf '\\033[32m$\\033[0m %s\\n' '{command}'; {command}" for command in commands)
    return "; echo; ".join(shown)


def played(program: Path, home: Path) -> pyte.Screen:
    """Run the commands in an empty home, and return the screen as it stands at their end."""
    screen = pyte.Screen(COLUMNS, MOST_LINES)
    stream = pyte.ByteStream(screen)
    env = {"PATH": f"{program.parent}:{os.defpath}", "HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    try:
        child = pexpect.spawn(
            "/bin/sh",
            ["-c", script(COMMANDS)],
            env=env,
            cwd=str(home),
            dimensions=(MOST_LINES, COLUMNS),
            timeout=LIMIT_S,
        )
        child.expect(pexpect.EOF)
        stream.feed(child.before)
        child.close()
    finally:
        subprocess.run([str(program), "supervisor", "stop", "--cancel"], env=env, check=False, capture_output=True)
    return screen


def lines(screen: pyte.Screen) -> list[Text]:
    """Return the screen's lines with their colours, without what is blank at the end."""
    drawn = []
    for row in range(screen.lines):
        line = Text()
        cells = [screen.buffer[row][column] for column in range(screen.columns)]
        for (colour, bold, reverse), run in groupby(cells, key=lambda cell: (cell.fg, cell.bold, cell.reverse)):
            line.append("".join(cell.data for cell in run), Style(color=_colour(colour), bold=bold, reverse=reverse))
        line.rstrip()
        drawn.append(line)
    while drawn and not drawn[-1].plain:
        drawn.pop()
    return drawn


def _colour(name: str) -> str | None:
    """Return a terminal's colour in Rich's words; None is the terminal's own."""
    if re.fullmatch(r"[0-9a-f]{6}", name):
        return f"#{name}"
    plain = {"default": None, "brown": "yellow"}
    return plain[name] if name in plain else re.sub(r"^bright", "bright_", name)


def picture(drawn: list[Text]) -> str:
    """Return the lines as an SVG."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for line in drawn:
            console.print(line, soft_wrap=True)
        return console.export_svg(title="osrc", theme=MONOKAI, code_format=FRAME, unique_id="osrc")


def main() -> int:
    """Record, and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE / "terminal.svg")
    wanted = parser.parse_args()
    found = shutil.which("osrc", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}")
    if found is None:
        print("no osrc beside this Python or on PATH: make demo sets one up", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="osrc-record-", ignore_cleanup_errors=True) as home:
        drawn = lines(played(Path(found), Path(home)))
    if not any("done" in line.plain for line in drawn):
        print("the run did not come to its end:", *(line.plain for line in drawn), sep="\n", file=sys.stderr)
        return 1
    wanted.out.write_text(picture(drawn), encoding="utf-8")
    print("\n".join(line.plain for line in drawn))
    return 0


if __name__ == "__main__":
    sys.exit(main())
