"""``osrc image``: have an image made; its path is on stdout."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from .. import crewing
from ..errors import CliError, from_refusal
from ..image_file import checked_target, save
from ..interrupts import heard
from ..options import Command, Duration, Globals
from ..output import answer, answer_json, say
from ..place import current_folder, full_home
from ..reach import Reach
from ..render.plain import one_line
from ..sending import agrees
from ..submit import environment, word_of
from ..task import checked, read_task

if TYPE_CHECKING:
    from ...actors.gate import Passed
    from ...actors.imaging import Plan, Studio

Backend = Literal["codex", "gemini", "openrouter"]
BACKENDS = get_args(Backend)
_TASK_FORM = 2
JOB_S = 600.0
"""Codex needs a turn around the image, and minutes for it."""


@click.command(cls=Command)
@click.argument("words", metavar="PROMPT [OUT]", nargs=-1)
@click.option("-o", "--out", metavar="FILE", help="Where it goes (default: images/ in the state home).")
@click.option("-m", "--model", metavar="M", help="Image model: gpt-image, nano-banana, an OpenRouter id.")
@click.option("--backend", type=click.Choice(BACKENDS), help="Who makes it (default: the first that is ready).")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@click.option("--timeout", metavar="S", type=Duration(days=1), help="Longest wait (default: image_timeout, 180 s).")
@click.option("--task-file", metavar="F", help="Read the prompt from a file.")
@click.option("--dry-run", is_flag=True, help="Say who would make it; ask nobody.")
@click.pass_obj
@heard()
def image(options: Globals, /, words: tuple[str, ...], **flags: Any) -> None:  # noqa: ANN401 - click's values
    """Have an image made, and print the path of its file.

    Made by Codex on your ChatGPT plan (an ordinary job in an empty folder), else by Gemini's service on your key, else
    by OpenRouter on your credits. What a file is, is told from its bytes: PNG, JPEG, GIF or WebP, else it is refused;
    a name that says otherwise gets the right extension.
    """
    prompt, out = _words(words, flags)
    target = checked_target(out, force=flags["force"])
    studio, plan = chosen(options, flags["model"], flags["backend"])
    if flags["dry_run"]:
        _weighed(options, plan)
    _told(options, plan, dry=flags["dry_run"])
    if flags["dry_run"]:
        return
    reach = Reach(options)
    try:
        facts = drawn(reach, studio, plan, prompt, {**flags, "target": target})
    finally:
        reach.close()
    if options.json:
        answer_json(facts)
    else:
        answer(facts["path"])


def chosen(options: Globals, model: str | None, backend: Backend | None) -> tuple[Studio, Plan]:
    """Return who makes images here. Raises CliError where nobody can."""
    from ...actors.imaging import Plan as Planned  # noqa: PLC0415 - it loads the whole product
    from .. import machine  # noqa: PLC0415 - as above

    studio = machine.studio(full_home(os.environ, options.home))
    plan = studio.choose(word_of(model, "-m", 200), backend)
    if not isinstance(plan, Planned):
        raise from_refusal(plan.model_dump())
    return studio, plan


def drawn(reach: Reach, studio: Studio, plan: Plan, prompt: str, flags: dict[str, Any]) -> dict[str, Any]:
    """Have an image made and kept; return what ``--json`` says of it. Raises CliError.

    ``flags``: the command's timeout and force, and target, where it goes (None: into the state home).
    """
    from ...lanes.pictures import kind_of  # noqa: PLC0415 - as above

    options, target = reach.options, flags["target"]
    if plan.backend == "codex":
        data, facts = _by_job(reach, studio, plan, prompt, flags["timeout"])
    else:
        data, facts = _by_service(reach, studio, plan, prompt, flags["timeout"])
    kind = kind_of(data)
    if kind is None:
        raise CliError("no_result", f"what {plan.backend} gave is no PNG, JPEG, GIF or WebP ({len(data)} bytes)", None)
    path = save(data, kind, target, options.home, force=flags["force"])
    if target is not None and path != target and not options.quiet:
        say(f"it is a {kind}, so it is not called {os.path.basename(target)}")  # noqa: PTH119 - no pathlib here
    return {"path": path, "format": kind, "bytes": len(data), "backend": plan.backend, **facts}


def _weighed(options: Globals, plan: Plan) -> None:
    """Refuse on a dry run what a budget would refuse. Without any budget nobody is asked."""
    from .. import machine  # noqa: PLC0415 - as above

    known = machine.settings()
    if plan.backend == "codex" or (known.number("budget_day") is None and known.number("budget_job") is None):
        return
    reach = Reach(options)
    try:
        _ask_budget(reach, plan)
    finally:
        reach.close()


def _words(words: tuple[str, ...], flags: dict[str, Any]) -> tuple[str, str | None]:
    out = flags["out"]
    if len(words) == _TASK_FORM or (len(words) == 1 and flags["task_file"] is not None):
        if out is not None:
            raise click.UsageError("Give OUT or -o, not both.")
        words, out = words[:-1], words[-1]
    prompt = read_task(words, flags["task_file"])
    return checked(prompt.encode(), "the prompt"), out


def _told(options: Globals, plan: Plan, *, dry: bool) -> None:
    from ...lanes.pictures import BILLING  # noqa: PLC0415 - as above

    words = BILLING.get(plan.backend, plan.lane.billing).words
    if options.json and dry:
        facts = {"backend": plan.backend, "model": plan.model, "lane": plan.lane.name, "cost_basis": words}
        answer_json({**facts, "skipped": list(plan.skipped)})
        return
    if dry or not options.quiet:
        (answer if dry else say)(f"{plan.backend} · {plan.model} · {words}")
        for one in plan.skipped if options.verbose or dry else ():
            say(f"not {one_line(one, 300)}")


# --- a service


def _by_service(
    reach: Reach, studio: Studio, plan: Plan, prompt: str, timeout_s: float | None
) -> tuple[bytes, dict[str, Any]]:
    from ...messages.refusals import Refused  # noqa: PLC0415 - as above

    options = reach.options
    subject, folder = f"image {os.urandom(6).hex()}", current_folder()
    permit = studio.pass_gate(plan, prompt, subject, folder, cloud_ack=options.cloud_ack)
    if isinstance(permit, Refused):
        refused = from_refusal(permit.model_dump())
        if refused.code != "consent_needed" or not agrees(options, {}, refused):
            raise refused
        permit = studio.pass_gate(plan, prompt, subject, folder, cloud_ack=True)
        if isinstance(permit, Refused):
            raise from_refusal(permit.model_dump())
    _ask_budget(reach, plan)
    return _asked(reach, studio, permit, plan, prompt, timeout_s)


def _asked(  # noqa: PLR0913, PLR0917 - what it is about
    reach: Reach, studio: Studio, permit: Passed, plan: Plan, prompt: str, timeout_s: float | None
) -> tuple[bytes, dict[str, Any]]:
    from ...actors.image_books import row_of  # noqa: PLC0415 - as above
    from ...messages.refusals import Refused  # noqa: PLC0415 - as above

    if permit.disclosure:
        say("\n  ".join(one_line(line, 1000) for line in permit.disclosure[: 1 if reach.options.quiet else None]))

    answered: Any = None
    row = row_of(permit.subject, plan.backend, plan.lane.name, plan.model, None, time.time())
    _keep(reach, row.model_dump(), aloud=False)  # a kill from here on leaves a row, of unknown cost
    try:
        answered = studio.ask(permit, plan, prompt, timeout_s)
    finally:  # one that was interrupted may have been paid for, too
        row = row_of(permit.subject, plan.backend, plan.lane.name, plan.model, answered, time.time())
        _keep(reach, row.model_dump(), aloud=True)
    refused = answered if isinstance(answered, Refused) else answered.why
    if refused is not None:
        raise from_refusal(refused.model_dump())
    told = row.spent == "measured"  # a price that can't be true is none
    cost = {"cash_usd": answered.usd if told else None, "measured": told}
    return answered.data or b"", {"model": plan.model, "lane": plan.lane.name, "job_id": None, "cost": cost}


def _ask_budget(reach: Reach, plan: Plan) -> None:
    """Refuse what a money budget has no room for. Codex needs none of this: its job asks by itself."""
    reach.request({"kind": "budget.ask", "paid": "metered", "model": plan.model, "environment": environment()})


def _keep(reach: Reach, row: dict[str, Any], *, aloud: bool) -> None:
    """Have an image's row in the ledger, or what is known now in the one that is there.

    One that can't be had costs nobody the image.
    """
    try:
        reach.request({"kind": "history.import", "source": "osrc image", "runs": [row]})
    except CliError as error:
        if aloud:
            say(f"it is not in the ledger as it ended (osrc tab): {one_line(error.message, 300)}")


# --- Codex, in a job


def _by_job(
    reach: Reach, studio: Studio, plan: Plan, prompt: str, timeout_s: float | None
) -> tuple[bytes, dict[str, Any]]:
    from ...actors.imaging import drawn_by_codex, newest_image  # noqa: PLC0415 - as above
    from ...lanes.pictures import codex_task  # noqa: PLC0415 - as above

    folder = os.path.realpath(tempfile.mkdtemp(prefix="osrc-image-"))
    began = time.time()
    try:
        given = {"lane": "codex", "cwd": folder, "timeout": timeout_s or max(JOB_S, studio.timeout_s)}
        job = crewing.run_job(reach, crewing.request_of(reach.options, "edit", codex_task(prompt), **given))
        data = newest_image(folder, began) or drawn_by_codex(os.environ, began)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    job_id, state = str(job.get("job_id")), str(job.get("state"))
    if data is None:
        said = one_line(crewing.answer_of(job), 300)
        raise CliError(
            "no_result",
            f"Codex made no image (job {job_id} ended {state})" + (f": {said}" if said else ""),
            "osrc image --backend gemini|openrouter takes another one",
        )
    cost = {key: (job.get("cost") or {}).get(key) for key in ("cash_usd", "measured")}
    return data, {"model": plan.model, "lane": "codex", "job_id": job_id, "cost": cost}
