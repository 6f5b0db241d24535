"""``osrc limits``: which lanes refuse for now, and how many runs of a model a day may have."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import click

from ..budgets import budgets
from ..errors import CliError
from ..gauges import gauge_name, gauge_source, gauge_words, gauges
from ..in_delegate import refuse_delegate
from ..options import Command, Globals, Group
from ..output import answer, answer_json
from ..reach import Reach
from ..render.lines import age
from ..render.plain import one_line
from ..render.table import columns

_PER_DAY = re.compile(r"(\d{1,7})/(?:day|d)", re.ASCII)
_MOST = 1_000_000
_AMOUNT = re.compile(r"(?:off|\$?(?P<usd>\d{1,6}(?:\.\d{1,4})?))(?:/(?P<per>day|job))?", re.ASCII)


class PerDay(click.ParamType[int]):
    """So many runs a day: ``20/day``."""

    name = "n/day"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's own signature
        """Return the number."""
        found = _PER_DAY.fullmatch(str(value).strip())
        if found is None or int(found[1]) > _MOST:
            self.fail(f"{str(value)[:40]!r} is no quota; write N/day, for example 20/day.", param, ctx)
        return int(found[1])


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def limits(context: click.Context) -> None:
    """Which lanes are down until when, daily quotas of models, and how far the plans' own limits are used.

    A plan's gauges are what runs, sessions, Codex's rollouts and the tap (osrc tap) were told. Where that is old, it
    stands as "at least".
    """
    if context.invoked_subcommand is None:
        _show(context.ensure_object(Globals))


@limits.command("status", cls=Command)
@click.pass_obj
def status(options: Globals) -> None:
    """Print marks, quotas and gauges. Nothing is started for it."""
    _show(options)


@limits.command("set", cls=Command)
@click.argument("lane", metavar="LANE|any")
@click.argument("model", metavar="MODEL")
@click.argument("per_day", metavar="N/day", type=PerDay())
@click.option("--reset", type=click.Choice(["utc", "local"]), default="utc", help="Whose midnight begins the day.")
@click.pass_obj
def set_quota(options: Globals, lane: str, model: str, per_day: int, reset: str) -> None:
    """Let a model have N runs a day on a lane, or on all of them together (any).

    MODEL is a word that osrc models knows, or "default" for the lane's own. A job that names a model whose
    quota is used up is refused with the time of the reset; one that names none goes elsewhere.
    """
    body = {"kind": "limits.set", "lane": lane, "model": model, "per_day": per_day, "zone": reset}
    _print(options, _change(options, body))


class Amount(click.ParamType["tuple[float | None, str]"]):
    """Money for a day or a job: ``5/day``, ``0.50/job``, ``off/day``."""

    name = "amount"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[float | None, str]:
        """Return USD (None: no bound) and ``day``, ``job`` or ``both``."""
        if isinstance(value, tuple):
            return value
        found = _AMOUNT.fullmatch(str(value).strip().lower())
        if found is None or (found["per"] is None and found["usd"] is not None):
            self.fail(f"{str(value)[:40]!r} is no budget; write 5/day, 0.50/job or off.", param, ctx)
        return None if found["usd"] is None else float(found["usd"]), found["per"] or "both"


@limits.command("budget", cls=Command)
@click.argument("amount", metavar="[AMOUNT/day|AMOUNT/job|off]", type=Amount(), required=False)
@click.pass_obj
def budget(options: Globals, amount: tuple[float | None, str] | None) -> None:
    """Bound the cash, in USD, that a day's work or one job may cost; without AMOUNT show what is bound and spent.

    It is kept before, not after: what would pass it is refused, and a job that spends cash is ended when one more
    step like its last would. Delegates that tell their use only at the end can only be refused. Plans and local
    models cost no cash. It is kept in config.toml (budget_day, budget_job).
    """
    if amount is not None:
        refuse_delegate("change budgets")
        from ...state.settings import config_file  # noqa: PLC0415 - only to write
        from ...state.settings_file import set_in_config  # noqa: PLC0415 - as above

        money, per = amount
        for key in ("day", "job") if per == "both" else (per,):
            set_in_config(config_file(os.environ), f"budget_{key}", None if money is None else _plain(money))
    from ...state.reader import Reader  # noqa: PLC0415 - not for the other commands

    with Reader(f"{Reach(options).root}/state.db") as reader:
        found = budgets(reader, time.time())
    if options.json:
        answer_json({"budgets": found})
    elif found:
        answer("\n".join(columns([("WHAT", "STATE", "UNTIL", "WHY"), *map(_budget_row, found)])))
    else:
        answer("no budget is set: osrc limits budget 5/day")


@limits.command("clear", cls=Command)
@click.argument("lane", metavar="[LANE", required=False)
@click.argument("model", metavar="[MODEL]]", required=False)
@click.option("--all", "everything", is_flag=True, help="Every mark and every quota.")
@click.pass_obj
def clear(options: Globals, lane: str | None, model: str | None, everything: bool) -> None:
    """Take back the mark that holds a lane down, or with MODEL the quota of that model there."""
    if everything == (lane is not None):
        raise click.UsageError("Give a lane, or --all.")
    body: dict[str, Any] = {"kind": "limits.clear", "lane": lane, "model": model}
    _print(options, _change(options, {key: value for key, value in body.items() if value is not None}))


def _change(options: Globals, body: dict[str, Any]) -> dict[str, Any]:
    refuse_delegate("change limits")
    reach = Reach(options)
    try:
        return reach.request(body)
    finally:
        reach.close()


def _show(options: Globals) -> None:
    """Print what the state home says, read without a supervisor: it is in the store."""
    from ...state.limits_reader import marks, quotas, rooms  # noqa: PLC0415 - not for the other two
    from ...state.limits_view import limits_object  # noqa: PLC0415 - as above
    from ...state.local_zone import local_zone  # noqa: PLC0415 - as above
    from ...state.reader import Reader  # noqa: PLC0415 - as above

    now = time.time()
    with Reader(f"{Reach(options).root}/state.db") as reader:
        left = rooms(reader, quotas(reader), now, local_zone(os.environ))
        state = limits_object(marks(reader, now), left, now)
        told = {"gauges": gauges(reader, Reach(options).root, now), "budgets": budgets(reader, now)}
        _print(options, state | told)


def _print(options: Globals, state: dict[str, Any]) -> None:
    now = time.time()
    if options.json:
        told: dict[str, Any] = {name: state[name] for name in ("gauges", "budgets") if name in state}
        answer_json({"marks": state.get("marks", []), "quotas": state.get("quotas", []), **told})
        return
    rows = [("WHAT", "STATE", "UNTIL", "WHY")]
    for mark in state.get("marks", ()):
        sure = "" if mark["evidence"] == "confirmed" else " (unverified)"
        what = str(mark["key"]).partition(":")[2]
        rows.append((what, "down", _until(mark["until"], now), one_line(f"{mark['reason']}{sure}", 200)))
    for quota in state.get("quotas", ()):
        what = f"{quota['lane']}:{quota['model'] or 'default'}"
        spent = quota["exhausted_until"]
        word = f"{quota['used']}/{quota['per_day']}"
        why = "refused by the service" if spent else "used up" if quota["full"] else ""
        reset = _until(spent or quota["resets_at"], now)
        rows.append((what, word, reset, f"{why + ', ' if why else ''}reset {quota['reset']}"))
    rows += map(_budget_row, state.get("budgets", ()))
    rows += [
        (gauge_name(gauge), gauge_words(gauge), _reset(gauge, now), gauge_source(gauge))
        for gauge in state.get("gauges", ())
    ]
    if len(rows) == 1:
        answer("no lane is marked down, and no quota is set")
        return
    answer("\n".join(columns(rows)))


def _budget_row(row: dict[str, Any]) -> tuple[str, str, str, str]:
    if row["per"] == "job":
        return "cash of a job", f"at most {_bound(row['usd'])}", "", row["origin"]
    least = "at least " if row["unknown_runs"] else ""
    why = f"{row['unknown_runs']} runs cost what nobody knows; " if row["unknown_runs"] else ""
    state = f"{least}~${row['spent_usd']:.4g} of {_bound(row['usd'])}"
    return "cash of a day", state, _until(row["resets_at"], time.time()), f"{why}{row['origin']}"


def _plain(usd: float) -> str:
    """Return an amount as it was written: rounded, a bound would be another one."""
    return f"{usd:.4f}".rstrip("0").rstrip(".")


def _bound(usd: float) -> str:
    """Return a bound in words, to the hundredth of a cent where it has some."""
    return f"${usd:.2f}" if round(usd, 2) == usd else f"${usd:.4f}"


def _reset(gauge: dict[str, Any], now: float) -> str:
    at = gauge["resets_at"]
    return "" if at is None or gauge["standing"] == "over" else _until(at, now)


def _until(at: float, now: float) -> str:
    if not 0 < at < 4e9:
        raise CliError("state_damaged", "a time in the store makes no sense", "osrc limits clear --all")
    return f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(at))} (in {age(max(0.0, at - now))})"
