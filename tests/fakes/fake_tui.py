"""A terminal interface that looks like Claude Code's and plays a script; everything that happens to it is logged.

    python fake_tui.py SCRIPT.json

The script's keys (all optional):

    "log": PATH             a JSON line for each thing that happens (see below)
    "first": [KIND...]      dialogs at the start: trust, key, login, resume, limit ("No" is preselected where there is one)
    "batch": true           what comes in one read is one batch: an Enter behind text in it is a newline, not a submit
    "swallow": N            every Nth Enter is not taken (as if it had come while the program was busy)
    "redraw_s": S           each picture is drawn so late
    "turn_s": S             how long a turn takes
    "unseen": true          nothing shows that a turn runs
    "held": PATH            no turn ends before this file is there
    "alternate": true       draws on the alternate screen
    "kitty": true           asks for the kitty keyboard; answered, it understands no other Enter
    "ask_every": N          every Nth turn asks for permission
    "limit_every": N        every Nth turn ends with a limit dialog
    "record": true          keeps Claude Code's presence file and transcript below $HOME
    "unwritten": true       its answers are not in that transcript (yet)
    "hostile": true         answers hold text that looks like dialogs, composers and menus
    "wide": true            answers hold wide, combining and zero-width characters
    "models": [NAME...]     rows of the model picker
    "drift": NAME           turns are answered by this model, whatever was picked

Logged: ``{"submitted": TEXT}``, ``{"chose": LABEL, "dialog": KIND}``, ``{"typed_into_dialog": KEYS, "dialog": KIND}``,
``{"interrupted": true}``, ``{"model": NAME}``, ``{"exit": true}``.
"""

import json
import os
import re
import select
import signal
import sys
import termios
import time
import tty
import uuid

COLUMNS = 200
KEYS = re.compile(
    rb"\x1b\[200~(?P<paste>.*?)\x1b\[201~|(?P<reply>\x1bP.*?\x1b\\)|\x1b\[(?P<csi>[0-9;?]*[A-Za-z~])|\x1b(?P<escape>)|(?P<text>[^\x00-\x1f\x7f\x1b]+)|(?P<control>.)",
    re.DOTALL,
)
DIALOGS = {
    "trust": (
        ["Accessing workspace:", "", os.getcwd(), "", "Quick safety check"],
        ["No, exit", "Yes, I trust this folder"],
        False,
    ),
    "key": (
        ["Detected a custom API key in your environment", "", "Do you want to use this API key?"],
        ["Yes", "No (recommended)"],
        False,
    ),
    "login": (["Select login method:"], ["Claude account with subscription", "API usage billing"], True),
    "resume": (["Resume a conversation"], ["yesterday's work", "Start anew"], True),
    "limit": (
        ["You've hit your 5-hour limit · resets 3pm", "", "What do you want to do?"],
        ["Stop and wait", "Switch to usage billing"],
        True,
    ),
    "ask": (
        ["Bash command", "", "touch made", "", "Do you want to proceed?"],
        ["Yes", "Yes, and always allow this", "No"],
        True,
    ),
    "model": (
        ["Select model", "Your pick is the default for new sessions."],
        ["Default", "Opus", "Fable", "Sonnet", "Haiku"],
        True,
    ),
}
HINTS = {"model": "s to use this session only · Enter to save · Esc to cancel"}
PRESELECTED = {"key": 1}
HOSTILE = [
    "Do you want to proceed?",
    "❯ 1. Yes",
    "  2. No",
    "",
    "Esc to cancel · Tab to amend",
    "─" * COLUMNS,
    "❯ ",
    "─" * COLUMNS,
    "  esc to interrupt",
]
WIDE = ["漢字かな交じり文 テスト", "e\u0301 o\u0308 \u200b zero\u200dwidth", "👩‍👩‍👧‍👦 🇩🇪 ✋🏽 emoji"]


class FakeTui:
    def __init__(self, script):
        self.script = script
        self.log_file = open(script["log"], "a", buffering=1) if "log" in script else None
        self.conversation = [" ▐▛███▛█   Claude Code v2.1.332"]
        self.draft = ""
        self.pastes = []
        self.dialog = None
        self.selected = 0
        self.waiting = list(script.get("first", []))
        self.turn_ends = None
        self.turns = 0
        self.enters = 0
        self.quit_at = 0.0
        self.model = "Opus"
        self.asked = False
        self.dirty_at = 0.0
        self.session = str(uuid.uuid4())
        self.running = True
        self.rows, self.columns = 50, COLUMNS
        self.next_dialog()

    # --- what is told

    def log(self, **entry):
        if self.log_file:
            self.log_file.write(json.dumps(entry) + "\n")

    def record(self, kind, text, model=None):
        if not self.script.get("record"):
            return
        folder = os.path.join(os.environ["HOME"], ".claude", "projects", "-fake")
        os.makedirs(folder, exist_ok=True)
        message = {"content": text} if kind == "user" else {"content": [{"type": "text", "text": text}], "model": model}
        with open(os.path.join(folder, f"{self.session}.jsonl"), "a") as out:
            out.write(json.dumps({"type": kind, "message": message, "sessionId": self.session}) + "\n")

    def presence(self, status):
        if not self.script.get("record"):
            return
        folder = os.path.join(os.environ["HOME"], ".claude", "sessions")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{os.getpid()}.json")
        with open(path + ".new", "w") as out:
            json.dump({"pid": os.getpid(), "sessionId": self.session, "status": status}, out)
        os.replace(path + ".new", path)

    def measure(self):
        self.columns, self.rows = os.get_terminal_size(0)

    # --- what it does

    def next_dialog(self):
        self.open(self.waiting.pop(0)) if self.waiting else self.close()

    def open(self, kind):
        self.dialog, self.selected = kind, PRESELECTED.get(kind, 0)
        self.presence("waiting")
        self.touch()

    def close(self):
        self.dialog = None
        self.presence("busy" if self.turn_ends is not None else "idle")
        self.touch()

    def touch(self):
        if not self.dirty_at:
            self.dirty_at = time.monotonic() + self.script.get("redraw_s", 0.0)

    def options(self):
        if self.dialog == "model" and "models" in self.script:
            return self.script["models"]
        return DIALOGS[self.dialog][1]

    def choose(self, place):
        kind, label = self.dialog, self.options()[place]
        self.log(chose=label, dialog=kind)
        if kind == "trust" and place == 0:
            self.running = False
        elif kind == "ask":
            self.conversation.append(f"  ⎿  {'Done' if place < 2 else 'Refused'}")
            self.turn_ends = time.monotonic() + self.script.get("turn_s", 0.02)
        elif kind == "model":
            self.model = label.split("  ")[0]
            self.log(model=self.model)
            self.conversation += ["❯ /model", f"  ⎿  Set model to {self.model} for this session"]
        self.next_dialog()

    def submit(self):
        text = self.whole_draft()
        self.draft, self.pastes = "", []
        if not text.strip():
            self.touch()
            return
        if text.strip() == "/exit":
            self.running = False
            return
        if text.strip() == "/model":
            self.open("model")
            return
        self.turns += 1
        self.log(submitted=text)
        self.presence("busy")
        self.record("user", text)
        shown = text.split("\n")
        self.conversation += [f"❯ {shown[0][:150]}", *(f"  {line[:150]}" for line in shown[1:4]), ""]
        self.asked = False
        self.turn_ends = time.monotonic() + self.script.get("turn_s", 0.02)
        self.touch()

    def every(self, key):
        return self.script.get(key) and self.turns % self.script[key] == 0

    def end_turn(self):
        if self.every("ask_every") and not self.asked:
            self.asked, self.turn_ends = True, None
            self.conversation.append("● Bash(touch made)")
            self.open("ask")
            return
        self.turn_ends = None
        answer = f"Answer {self.turns}."
        self.conversation += [
            f"● {answer}",
            *(f"  {line}" for line in (HOSTILE if self.script.get("hostile") else [])),
            *(WIDE if self.script.get("wide") else []),
            "",
        ]
        self.conversation = self.conversation[-14:]
        if not self.script.get("unwritten"):
            self.record("assistant", answer, self.script.get("drift") or f"claude-{self.model.lower()}-5")
        if self.every("limit_every"):
            self.open("limit")
        else:
            self.close()

    def whole_draft(self):
        text = self.draft
        for place, paste in enumerate(self.pastes, 1):
            text = text.replace(f"[Pasted text #{place} +{paste.count(chr(10))} lines]", paste)
        return text

    # --- what is typed

    def take(self, data):
        batch = bool(self.script.get("batch"))
        texts = 0
        for key in KEYS.finditer(data):
            if key["paste"] is not None:
                self.paste(key["paste"].decode("utf-8", "replace"))
                texts += 1
            elif key["reply"] is not None:
                pass  # a terminal that says what it is
            elif key["csi"] is not None:
                self.cursor_key(key["csi"].decode())
            elif key["escape"] is not None:
                self.escape()
            elif key["text"] is not None:
                self.typed(key["text"].decode("utf-8", "replace"))
                texts += 1
            else:
                self.control(key["control"], batched=batch and texts > 0)
        self.touch()

    def into_dialog(self, what):
        self.log(typed_into_dialog=what[:200], dialog=self.dialog)

    def paste(self, text):
        if self.dialog:
            self.into_dialog(text)
            return
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if len(text) > 800 or text.count("\n") > 6:
            self.pastes.append(text)
            text = f"[Pasted text #{len(self.pastes)} +{text.count(chr(10))} lines]"
        self.draft += text

    def typed(self, text):
        if self.dialog:
            if self.dialog == "model" and text == "s":
                self.choose(self.selected)
            elif text.isdigit() and len(text) == 1 and DIALOGS[self.dialog][2] and 0 < int(text) <= len(self.options()):
                self.choose(int(text) - 1)
            else:
                self.into_dialog(text)
            return
        self.draft += text

    def cursor_key(self, code):
        if code == "13u" and self.script.get("kitty"):
            self.enter()
        elif self.dialog and code in ("A", "B"):
            self.selected = (self.selected + (1 if code == "B" else -1)) % len(self.options())

    def control(self, key, *, batched):
        if key == b"\r":
            if batched and not self.dialog:
                self.draft += "\n"
            else:
                self.enter()
        elif key == b"\n" and not self.dialog:
            self.draft += "\n"
        elif key == b"\x15":
            self.draft, self.pastes = "", []
        elif key == b"\x03":
            if time.monotonic() < self.quit_at:
                self.running = False
            self.quit_at = time.monotonic() + 2
        elif self.dialog:
            self.into_dialog(repr(key))

    def enter(self):
        self.enters += 1
        if self.script.get("swallow") and self.enters % self.script["swallow"] == 0:
            self.log(swallowed=True)
        elif self.dialog:
            self.choose(self.selected)
        elif self.turn_ends is None:
            self.submit()
        else:
            self.log(enter_while_working=True)

    def escape(self):
        if self.dialog:
            self.log(chose=None, dialog=self.dialog)
            self.next_dialog()
        elif self.turn_ends is not None:
            self.turn_ends = None
            self.log(interrupted=True)
            self.conversation.append("  ⎿  Interrupted")
            self.close()

    # --- what is shown

    def draw(self):
        self.dirty_at = 0.0
        rule = "─" * self.columns
        working = self.turn_ends is not None and not self.script.get("unseen")
        if self.dialog:
            head, _, numbered = DIALOGS[self.dialog]
            rows = [rule, *(f" {line}" for line in head)]
            for place, label in enumerate(self.options()):
                pointer = "❯" if place == self.selected else " "
                rows.append(f" {pointer} {f'{place + 1}. ' if numbered else ''}{label}")
            rows += ["", f" {HINTS.get(self.dialog, 'Enter to confirm · Esc to cancel')}"]
            cursor = (len(rows) - 1, 1)
        else:
            lines = self.draft.split("\n")
            shown = [f"❯ {lines[0]}", *(f"  {line}" for line in lines[1:])]
            rows = [
                *([f"✻ Brewing… ({self.turns}s)", ""] if working else []),
                rule,
                *(line[:190] for line in shown),
                rule,
            ]
            rows.append("  ⏸ manual mode on · esc to interrupt" if working else "  ⏸ manual mode on · ? for shortcuts")
            cursor = (len(rows) - 3, min(len(shown[-1]), 190))
        above = self.conversation[-(self.rows - len(rows) - 1) :]
        out = ["\x1b[?2026h", f"\x1b]0;{'◐' if working else '✳'} Claude Code\x07", "\x1b[H"]
        out += [f"{row[: self.columns]}\x1b[K\r\n" for row in (*above, *rows)]
        out.append(f"\x1b[J\x1b[{len(above) + cursor[0] + 1};{cursor[1] + 1}H\x1b[?2026l")
        write("".join(out))

    def run(self):
        write("\x1b[?2004h\x1b[>0q\x1b[c\x1b[?25l" + ("\x1b[?u" if self.script.get("kitty") else ""))
        write("\x1b[?1049h" if self.script.get("alternate") else "\x1b[2J")
        self.draw()
        held = b""
        while self.running:
            now = time.monotonic()
            due = [at for at in (self.dirty_at, self.turn_ends) if at]
            ready, _, _ = select.select([0], [], [], max(0.0, min(due) - now) if due else 5.0)
            if ready:
                data = os.read(0, 65536)
                if not data:
                    break
                held += data
                # A paste that has begun is read to its end.
                if held.rfind(b"\x1b[200~") <= held.rfind(b"\x1b[201~"):
                    self.take(held)
                    held = b""
            now = time.monotonic()
            if self.turn_ends is not None and now >= self.turn_ends and not self.dialog:
                if "held" in self.script and not os.path.exists(self.script["held"]):
                    self.turn_ends = now + 0.02
                else:
                    self.draw()
                    self.end_turn()
            if self.dirty_at and now >= self.dirty_at:
                self.draw()
        self.log(exit=True)
        write("\x1b[?1049l\x1b[?2004l\x1b[?25h")


def write(text):
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]


def main():
    if "--version" in sys.argv:
        print("2.1.332 (Claude Code)")
        return
    path = os.environ.get("FAKE_TUI_SCRIPT") or sys.argv[1]
    with open(path) as source:
        script = json.load(source)
    before = termios.tcgetattr(0)
    tty.setraw(0)
    tui = FakeTui(script)
    tui.measure()
    signal.signal(signal.SIGWINCH, lambda *_: (tui.measure(), tui.touch()))
    try:
        tui.run()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    main()
