"""A package that is not ours tests its own lane with our suite, as its author would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import outsourcerer
import pytest

LANE = """
from outsourcerer.lanes.contract import Billing, Lane, Launch, Posture, Readiness, ReadinessLevel
from outsourcerer.lanes.failures import classify
from outsourcerer.lanes.launching import missing_program, prompt_bytes
from outsourcerer.lanes.osrc_jsonl import OsrcParser
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Verb

FIX = "Install acme: pipx install acme"


def plan(task, host):
    if task.verb is not Verb.RUN:
        return Refused(code=RefusalCode.VERB_UNSUPPORTED, message="acme only reads", hint="--lane codex")
    program, prompt = host.executables.get("acme"), prompt_bytes(task.prompt)
    if program is None:
        return missing_program("acme", FIX)
    return prompt if isinstance(prompt, Refused) else Launch(argv=(program, "ask"), stdin=prompt)


def probe(facts):
    if facts.host.executables.get("acme") is None:
        return Readiness(level=ReadinessLevel.ABSENT, detail="acme is not on PATH", fix=FIX)
    return Readiness(level=ReadinessLevel.INSTALLED, detail="acme is there")


LANE = Lane(
    name="acme", provider="acme", vehicle="acme", summary="Acme's agent.", homepage="https://example.com",
    install=FIX, binary="acme", verbs={Verb.RUN: Posture.READ_ONLY},
    billing=Billing(kind="unknown", pool="acme", words="not known"),
    plan=plan, parser=lambda task: OsrcParser(), classify=classify, probe=probe,
)
"""

TEST = """
import pytest
from acme_osrc import LANE
from outsourcerer.lanes.conformance import CHECKS, Recorded, Subject
from outsourcerer.lanes.contract import Host

SAID = b'{"type":"start","model":"m"}\\n{"type":"end","ok":true,"text":"yes"}\\n'
HOST = Host(environment={}, executables={"acme": "/opt/acme"})
SUBJECT = Subject(lane=LANE, host=HOST, streams=(Recorded("answer", out=SAID),))


@pytest.mark.parametrize("check", CHECKS)
def test_acme(check):
    CHECKS[check](SUBJECT)
"""


@pytest.mark.parametrize(
    ("sound", "broken", "failed"),
    [
        ("", "", None),
        ("stdin=prompt)", "stdin=prompt + b' please')", "never_interprets_a_prompt"),
        ("return prompt if", "open(__file__).close()\n    return prompt if", "touches_nothing_outside"),
    ],
)
def test_an_outside_lane_runs_the_suite(tmp_path: Path, sound: str, broken: str, failed: str | None) -> None:
    (tmp_path / "acme_osrc.py").write_text(LANE.replace(sound, broken, 1))
    (tmp_path / "test_acme.py").write_text(TEST)
    path = os.pathsep.join((str(Path(outsourcerer.__path__[0]).parent), str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_acme.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == (1 if failed else 0), done.stdout[-3000:] + done.stderr[-2000:]
    failures = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert [failed in line for line in failures] == ([True] if failed else [])
