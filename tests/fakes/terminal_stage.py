"""A holder's stage for the terminal engine, in the test's own process, with the fake interface as its program."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from outsourcerer.actors.holder_loop import SelectLoop
from outsourcerer.actors.transports.pty import PtyEngine

ENDS = {"turn-started", "done", "refused", "failed", "unverified"}
QUICK = {
    "settle_s": 0.004,
    "idle_s": 0.01,
    "ask_s": 0.02,
    "again_s": 5.0,
    "sight_s": 30.0,
    "turn_s": 60.0,
    "close_s": 30.0,
}
PROGRAM = Path(__file__).with_name("fake_tui.py")


class TerminalStage:
    """One engine and what it emitted. ``script`` is the fake's; ``options`` go into the launch."""

    def __init__(self, folder, script=None, *, loop=None, argv=None, **options):
        folder.mkdir(parents=True, exist_ok=True)
        self.loop = loop or SelectLoop()
        self.folder = str(folder)
        self.log_path = folder / "log"
        self.events = []
        self.state = "starting"
        self.ended = None
        self.on_event = lambda _event: None
        (folder / "script.json").write_text(json.dumps({"log": str(self.log_path), **(script or {})}))
        environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
        self.launch = {
            "argv": argv or [sys.executable, "-I", "-S", str(PROGRAM), str(folder / "script.json")],
            "env": environment,
            "cwd": str(folder),
            "umask": 0o077,
            "engine": "pty",
            "options": {"cli": "claude", "version": "2.1.332 (Claude Code)", **QUICK, **options},
        }
        self.engine = PtyEngine(self)

    # --- what an engine is given

    def emit(self, event):
        self.events.append(event)
        if event["type"] == "state":
            self.state = event["state"]
        self.on_event(event)

    def gone(self, code, signal):
        self.ended = (code, signal)
        self.on_event({"type": "gone"})

    # --- what a test asks

    def run_until(self, condition, seconds=60):
        """Serve the loop until something is true."""
        end = time.monotonic() + seconds
        self.loop.stopped = False

        def check():
            if condition():
                self.loop.stopped = True
            elif time.monotonic() < end:
                self.loop.later(0.005, check)
            else:
                self.loop.stopped = True

        check()
        if not self.loop.stopped:
            self.loop.run()
        assert condition(), f"it never came true; {self.state}; {self.events[-6:]}\n{self.engine.screen()}"

    def start(self, state="idle"):
        self.engine.start()
        self.run_until(lambda: self.state == state)
        return self

    def deliveries(self, number):
        return [event["state"] for event in self.events if event["type"] == "delivery" and event["number"] == number]

    def reason(self, number):
        return [event["reason"] for event in self.events if event["type"] == "delivery" and event["number"] == number][
            -1
        ]

    def settled(self, number):
        """Serve until an entry has come to its end; return that."""
        self.run_until(lambda: ENDS & set(self.deliveries(number)))
        return self.deliveries(number)[-1]

    def asked(self):
        return [event for event in self.events if event["type"] == "ask"]

    def log(self, key=None):
        """What the fake logged: all of it, or what is under one key."""
        lines = self.log_path.read_text().splitlines() if self.log_path.exists() else []
        entries = [json.loads(line) for line in lines]
        return entries if key is None else [entry[key] for entry in entries if key in entry]

    def end(self):
        """End the program, whatever the test left."""
        if self.ended is None and self.engine.pid is not None:
            try:
                os.killpg(self.engine.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            self.run_until(lambda: self.ended is not None, 20)
