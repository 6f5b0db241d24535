"""``osrc sanitize``: neutral words in prose files."""

from __future__ import annotations

import click

from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..prose import Refusal, Report, examine


@click.command(cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=str))
@click.option("--write", is_flag=True, help="Change the files; else they are only reported.")
@click.option("--aggressive", is_flag=True, help="Also swap ordinary words of computing, such as spawn or payload.")
@click.pass_obj
def sanitize(options: Globals, paths: tuple[str, ...], write: bool, aggressive: bool) -> int:
    """Report violent and military metaphors in prose files, and the neutral word for each.

    Some services answer a text that sounds dangerous with another model. Prose alone is looked at (Markdown, reST,
    plain text); code blocks, inline code and source files stay as they are. A folder is gone through. With --write
    each file is replaced as a whole, or not at all.
    """
    reports: list[Report] = []
    refusals: list[Refusal] = []
    skipped: list[Refusal] = []
    for found in examine(paths, write=write, aggressive=aggressive):
        match found:
            case Report():
                reports.append(found)
            case Refusal(failed=True):
                refusals.append(found)
            case _:
                skipped.append(found)
    if options.json:
        answer_json(
            {
                "files": [report.to_json() for report in reports if report.swaps],
                "looked_at": len(reports),
                "swaps": sum(len(report.swaps) for report in reports),
                "skipped": [{"path": each.shown, "why": each.why} for each in skipped],
                "failed": [{"path": each.shown, "why": each.why} for each in refusals],
            }
        )
    else:
        _print(reports, skipped, write=write)
    for refusal in refusals:
        say(f"ERROR: {refusal.shown}: {refusal.why}")
    return 1 if refusals else 0


def _print(reports: list[Report], skipped: list[Refusal], *, write: bool) -> None:
    for report in reports:
        for swap in report.swaps:
            answer(f"{report.shown}:{swap.line}: {swap.word} → {swap.instead}")
    changed = [report for report in reports if report.swaps]
    total = sum(len(report.swaps) for report in changed)
    for each in skipped:
        say(f"left alone: {each.shown} ({each.why})")
    if not changed:
        say(f"nothing to swap in {_files(len(reports))}")
    elif write:
        say(f"swapped {total} in {_files(len(changed))}")
    else:
        say(f"would swap {total} in {_files(len(changed))}: nothing was changed, --write does it")


def _files(count: int) -> str:
    return f"{count} file" + ("" if count == 1 else "s")
