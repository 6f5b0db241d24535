"""Declared lanes that behave as a script says, whatever they are asked: one that met its limit, one that answers."""

from __future__ import annotations

import json
import time
from pathlib import Path

from fakes.lanes import fake_argv, lane_toml, write_lane

Step = dict[str, object]


def lane(root: Path, name: str, *actions: Step, kind: str = "plan", tier: str = "mid", pool: str | None = None) -> None:
    """Declare a lane that plays ``actions`` at every run and records each of its starts in ``starts``."""
    script = root / f"{name}.script.json"
    script.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    script.write_text(json.dumps([{"record": str(root / f"{name}.starts")}, *actions]), encoding="utf-8")
    billing = f'billing = {{ kind = "{kind}", pool = "{pool or name}", words = "it is a fake" }}'
    text = lane_toml(argv=fake_argv("osrc-jsonl", "--script", str(script)), extra=f'tier = "{tier}"')
    text = "\n".join(line if not line.startswith("billing") else billing for line in text.splitlines())
    write_lane(root, name, text + "\n")


def starts(root: Path, name: str) -> int:
    """How often a lane's delegate was really started."""
    path = root / f"{name}.starts"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def spent(seconds: float = 3600.0) -> Step:
    """The final event of a CLI whose plan is used up for so long."""
    return {
        "event": {
            "type": "end",
            "ok": False,
            "failure": "plan-limit",
            "message": "You've hit your usage limit.",
            "until": time.time() + seconds,
        }
    }


def lost() -> Step:
    """The final event of a CLI that could not reach its service."""
    return {"event": {"type": "end", "ok": False, "failure": "transport", "message": "connection reset"}}


def kept_out() -> Step:
    """The final event of a CLI that another start of it kept from starting."""
    return {"event": {"type": "end", "ok": False, "failure": "contended", "message": "database is locked"}}


def from_then_on(root: Path, name: str, *actions: Step) -> Step:
    """A step after which the next starts of a lane play other ``actions``."""
    script = [{"record": str(root / f"{name}.starts")}, *actions]
    return {"write": str(root / f"{name}.script.json"), "content": json.dumps(script), "quiet": True}


def answers(text: str = "from the spare one") -> tuple[Step, Step]:
    """A good end."""
    return {"mark": "DONE", "text": "done"}, {"end": text}
