"""``classify``: what state a screen is in, and what that was told by.

    found = classify(screen, rules_for("claude", (2, 1, 332)))
    found.state, found.evidence, found.menu, found.composer

Everything is anchored at the bottom of the screen: a conversation that shows text like a dialog stands above a
composer, and a composer's look-alike stands above a dialog. Doubt is ``unknown``.
"""

from __future__ import annotations

from dataclasses import replace

from .menus import Found, find_menu
from .model import Composer, Screen, ScreenState, State
from .regions import Region, composer_of, find_composer, last_row
from .rules import ScreenRules

UNREADY = "its composer is there, but it may ask something first"
_EVIDENCE = 200


def classify(screen: Screen, rules: ScreenRules | None) -> ScreenState:
    """Say what a screen shows. ``rules`` None: its CLI or version is not known, so neither is its state."""
    if rules is None:
        return ScreenState(state=State.UNKNOWN, evidence="no screen patterns for this CLI and version")
    region = find_composer(screen, rules.composer)
    found = find_menu(screen, rules)
    if region is not None and (found is None or found.edge < region.edge):
        # Only letters and buttons are drawn together with a composer's frame; then the dialog is the lower.
        return _composing(screen, rules, region)
    if found is not None:
        return _asking(screen, rules, found)
    return _neither(screen, rules)


def _composing(screen: Screen, rules: ScreenRules, region: Region) -> ScreenState:
    composer, draft = composer_of(screen, region, rules.composer)
    end = last_row(screen.lines) + 1
    footer = screen.lines[region.after : end]
    rows = _rows_alone(screen.lines[: region.edge], rules)
    above = [line for line in rows if line.strip()][-rules.status_rows :]
    body = conversation(screen.lines[: region.edge], rules)
    model = model_of(rules, footer if rules.composer.kind != "barred" else screen.lines[region.bottom : end])
    at_work = next((line for line in footer if rules.working.search(line)), None)
    at_work = at_work or next((line for line in above if rules.working_above.search(line)), None)
    if at_work is None and rules.title_working.search(screen.title):
        at_work = f"title: {screen.title}"
    banner = next((line for line in footer if rules.limit.search(line)), None)
    state, evidence = State.IDLE, f"composer {composer.value}"
    if at_work is not None:
        state, evidence = State.WORKING, at_work
    elif banner is not None:
        state, evidence = State.LIMIT, banner
    elif composer is Composer.EMPTY and rules.unready.search(body[-1] if body else ""):
        state, evidence = State.STARTING, UNREADY
    evidence = evidence.strip()[:_EVIDENCE]
    return ScreenState(state=state, evidence=evidence, composer=composer, draft=draft, model=model, body=body)


def _asking(screen: Screen, rules: ScreenRules, found: Found) -> ScreenState:
    head = [row.strip() for row in found.rows if row.strip()]
    state, evidence, menu = State.MENU, found.menu.question, found.menu
    for kind, pattern in (
        (State.TRUST, rules.trust),
        (State.LOGIN, rules.login),
        (State.LIMIT, rules.limit),
        (State.WAITING_APPROVAL, rules.approval),
    ):
        line = next((line for line in head if pattern.search(line)), None)
        if line is not None:
            state, evidence = kind, line
            if kind is State.WAITING_APPROVAL and not rules.buttons and not rules.letters:
                menu = replace(menu, question=line[:300])
            break
    return ScreenState(
        state=state,
        evidence=evidence[:_EVIDENCE],
        menu=menu,
        composer=Composer.HIDDEN,
        body=screen.lines[: found.edge],
    )


def _neither(screen: Screen, rules: ScreenRules) -> ScreenState:
    rows = [line.strip() for line in screen.lines if line.strip()]
    if not rows:
        return ScreenState(state=State.STARTING, evidence="nothing drawn yet", composer=Composer.HIDDEN)
    tail = rows[-rules.status_rows :]
    for state, pattern in ((State.STARTING, rules.starting), (State.MENU, rules.advert), (State.LOGIN, rules.login)):
        line = next((line for line in tail if pattern.search(line)), None)
        if line is not None:
            return ScreenState(state=state, evidence=line[:_EVIDENCE], composer=Composer.HIDDEN)
    if rules.title_working.search(screen.title):
        evidence = f"title: {screen.title}".strip()[:_EVIDENCE]
        return ScreenState(state=State.WORKING, evidence=evidence, composer=Composer.HIDDEN, body=screen.lines)
    return ScreenState(state=State.UNKNOWN, evidence=f"neither composer nor dialog: {tail[-1][:120]}")


def conversation(rows: tuple[str, ...], rules: ScreenRules) -> tuple[str, ...]:
    """The rows above the composer without those of the interface's own at their end."""
    rows = _rows_alone(rows, rules)
    end = len(rows)
    while end and (not rows[end - 1].strip(" ─━") or rules.chrome.search(rows[end - 1])):
        end -= 1
    return rows[:end]


def _rows_alone(rows: tuple[str, ...], rules: ScreenRules) -> tuple[str, ...]:
    """The rows without what stands beside them."""
    beside = rules.composer.beside
    return rows if beside is None else tuple(beside.sub("", row).rstrip() for row in rows)


def model_of(rules: ScreenRules, rows: tuple[str, ...]) -> str | None:
    """The model that the footer names; None where it does not, or names two."""
    if rules.model is None:
        return None
    named = {found[1].strip() for line in rows if (found := rules.model.search(line)) is not None}
    return named.pop() if len(named) == 1 else None
