"""A delegate program that does what a script tells it. Standard library only; starts under ``python -I -S``.

    fake_cli.py [--format text|osrc-jsonl] [--script FILE] [--no-stdin] [--model M] [--] [PROMPT]

The prompt is the positional argument if there is one, else all of stdin (``--no-stdin`` never reads it).
The steps come from ``--script FILE`` (JSON: a list of steps), else from every prompt line of the form
``#fake: STEP`` or ``#fake: [STEP, ...]``, in order. With none it answers ``fake answer`` and ends well.
Each STEP is an object with one action:

    {"say": TEXT, "partial": B}        a message (a line in text, a text event in osrc-jsonl)
    {"mark": KIND, "text": TEXT}       the same with a signed marker as its only line
    {"event": {...}}                   one osrc-jsonl line as given
    {"end": TEXT, "ok": B, ...}        the final event (osrc-jsonl) or the final line (text)
    {"raw": TEXT} {"hex": HEX} {"err": TEXT}   bytes as they are, to stdout or stderr
    {"stream": TEXT, "every_s": S, "size": N}  N bytes at a time, flushed, S apart
    {"cut": TEXT}                      a message whose line is written byte by byte
    {"noise": true}                    OSC, CSI and C1 sequences, no newline
    {"echo": true}                     the prompt back, word for word
    {"invalid_utf8": true}             a line that is not UTF-8
    {"flood": BYTES}                   that many bytes in lines of 100
    {"long_line": BYTES}               one line that long: a message in osrc-jsonl, plain in text
    {"write": PATH, "content": TEXT}   write a file (with tool events in osrc-jsonl unless "quiet")
    {"run": ARGV}                      run a command (the same)
    {"sleep": S}                       silence
    {"churn": S, "every_s": S, "path": P}      silence, but P keeps changing
    {"wait_for": PATH, "timeout_s": S} silence until PATH exists
    {"record": PATH}                   append "PID SHA256-OF-PROMPT" to PATH: proof of being started
    {"ignore": ["TERM", ...]}          ignore signals from here on
    {"await": ["TERM", ...], "after": STEP}    play STEP, then silence until one of these signals, which ends nothing
    {"grandchild": S, "setsid": B, "pid_file": P}   leave a child that holds stdout for S seconds
    {"daemon": S, "pid_file": P}       leave a double-forked process that holds stdout for S seconds
    {"linger": S}                      refuse to leave for S seconds, ignoring TERM
    {"stop": true} {"kill": NUMBER}    send itself SIGSTOP, or that signal
    {"exit": CODE}                     leave at once
    {"repeat": N, "steps": [...]}

TEXT may hold ``{prompt}``, ``{pid}``, ``{cwd}``, ``{model}`` and ``{mark}`` (the joined marker id).
"""

# ruff: noqa: PTH105, PTH109, PTH110, PTH123, PLC0415 - pathlib and the rarely needed imports cost start-up time

import json
import os
import re
import signal
import subprocess
import sys
import time

MEBIBYTE = 1 << 20


def read_marker_id(prompt):
    """Join the two halves of the marker id that the prompt discloses (the last one, if it was resumed)."""
    words = " ".join(prompt.split())
    found = re.findall(r"first half is (\w+), and the half that comes after that one is (\w+)\.", words)
    return "".join(found[-1]) if found else None


def marker_line(kind, text, marker_id):
    """One marker of the protocol, signed."""
    return f"OSRC::{kind} #{marker_id} {text}".rstrip()


def write_all(data, fd=1):
    """Write bytes without Python's buffering in between."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class Fake:
    """One run of the program."""

    def __init__(self, prompt, format_, model):
        self.prompt = prompt
        self.jsonl = format_ == "osrc-jsonl"
        self.model = model
        self.ended = False

    # what it says

    def text(self, template):
        """Fill the placeholders of a script's text."""
        template = template.replace("{pid}", str(os.getpid())).replace("{model}", self.model or "")
        if "{cwd}" in template:  # the folder may be gone, which is only then our business
            template = template.replace("{cwd}", os.getcwd())
        if "{mark}" in template:
            template = template.replace("{mark}", read_marker_id(self.prompt) or "no-marker-id")
        return template.replace("{prompt}", self.prompt)

    def fill(self, value):
        """The same for every string inside a JSON value."""
        if isinstance(value, dict):
            return {name: self.fill(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def event(self, **fields):
        """One osrc-jsonl line; nothing in text mode."""
        if self.jsonl:
            write_all(json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n")

    def message(self, text, *, partial=False):
        """The bytes of one message."""
        if not self.jsonl:
            return (text if partial else text + "\n").encode("utf-8", "surrogateescape")
        line = json.dumps({"type": "text", "text": text, "partial": partial}, ensure_ascii=False)
        return line.encode("utf-8", "surrogateescape") + b"\n"

    def do_say(self, step):
        write_all(self.message(self.text(step["say"]), partial=step.get("partial", False)))

    def do_mark(self, step):
        line = marker_line(step["mark"], step.get("text", ""), read_marker_id(self.prompt))
        write_all(self.message(line))

    def do_event(self, step):
        write_all(json.dumps(self.fill(step["event"]), ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n")

    def do_end(self, step):
        self.ended = True
        rest = {name: value for name, value in step.items() if name not in ("end", "ok")}
        if self.jsonl:
            self.event(type="end", ok=step.get("ok", True), text=self.text(step["end"]), **rest)
        else:
            write_all(self.message(self.text(step["end"])))

    def do_raw(self, step):
        write_all(self.text(step["raw"]).encode("utf-8", "surrogateescape"))

    def do_hex(self, step):
        write_all(bytes.fromhex(step["hex"]))

    def do_err(self, step):
        write_all(self.text(step["err"]).encode("utf-8", "surrogateescape"), fd=2)

    def do_stream(self, step):
        data = self.text(step["stream"]).encode("utf-8", "surrogateescape")
        size = step.get("size", 1)
        for start in range(0, len(data), size):
            write_all(data[start : start + size])
            time.sleep(step.get("every_s", 0))

    def do_cut(self, step):
        for byte in self.message(self.text(step["cut"])):
            write_all(bytes([byte]))

    def do_noise(self, _step):
        write_all(b"\x1b]0;a title\x07\x1b]8;;http://x/\x1b\\\x1b[?25l\x1b[2J\x1b[31m\x1b[0m\xc2\x9b1m")

    def do_echo(self, _step):
        write_all(self.message(self.prompt))

    def do_invalid_utf8(self, _step):
        write_all(b"\xff\xfe\xc3\x28 \xf0\x9f not text \x80\n")

    def do_flood(self, step):
        left = step["flood"]
        block = (b"x" * 99 + b"\n") * (MEBIBYTE // 100)
        while left > 0:
            write_all(block[:left])
            left -= len(block)

    def do_long_line(self, step):
        head, tail = (b'{"type":"text","text":"', b'"}\n') if self.jsonl else (b"", b"\n")
        write_all(head)
        left = step["long_line"]
        while left > 0:
            write_all(b"y" * min(left, MEBIBYTE))
            left -= MEBIBYTE
        write_all(tail)

    # what it does

    def do_write(self, step):
        path = self.text(step["write"])
        if not step.get("quiet"):
            self.event(type="tool", tool="write", name="write", target=path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text(step.get("content", "")))
        if not step.get("quiet"):
            self.event(type="tool_end", name="write", ok=True)

    def do_run(self, step):
        argv = [self.text(item) for item in step["run"]]
        if not step.get("quiet"):
            self.event(type="tool", tool="execute", name="run", target=" ".join(argv))
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if not step.get("quiet"):
            excerpt = done.stdout[:200].decode("utf-8", "replace")
            self.event(type="tool_end", name="run", ok=done.returncode == 0, excerpt=excerpt)

    def do_sleep(self, step):
        time.sleep(step["sleep"])

    def do_churn(self, step):
        end = time.monotonic() + step["churn"]
        count = 0
        while time.monotonic() < end:
            count += 1
            with open(step["path"], "w", encoding="utf-8") as file:
                file.write(f"{count}\n")
            time.sleep(step.get("every_s", 0.1))

    def do_wait_for(self, step):
        end = time.monotonic() + step.get("timeout_s", 600)
        while not os.path.exists(step["wait_for"]) and time.monotonic() < end:
            time.sleep(0.02)

    def do_record(self, step):
        import hashlib  # the one slow import, only where it is needed

        digest = hashlib.sha256(self.prompt.encode("utf-8", "surrogateescape")).hexdigest()
        # One write to an append-only descriptor: lines of programs that start together never mix.
        fd = os.open(self.text(step["record"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        write_all(f"{os.getpid()} {digest}\n".encode(), fd=fd)
        os.close(fd)

    # how it misbehaves

    def do_ignore(self, step):
        for name in step["ignore"]:
            signal.signal(getattr(signal, "SIG" + name), signal.SIG_IGN)

    def do_await(self, step):
        """Say something, then wait for the first of these signals, which ends nothing."""
        signals = {getattr(signal, "SIG" + name) for name in step["await"]}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        self.play([step["after"]])
        signal.sigwait(signals)

    def sleeper(self, seconds, *, setsid, pid_file):
        """Fork a process that only holds our descriptors, and note its pid."""
        pid = os.fork()
        if pid:
            return pid
        if setsid:
            os.setsid()
        if pid_file:
            with open(pid_file + ".tmp", "w", encoding="utf-8") as file:
                file.write(str(os.getpid()))
            os.replace(pid_file + ".tmp", pid_file)
        time.sleep(seconds)
        os._exit(0)

    def do_grandchild(self, step):
        self.sleeper(step["grandchild"], setsid=step.get("setsid", False), pid_file=step.get("pid_file"))
        self.await_file(step.get("pid_file"))

    def do_daemon(self, step):
        middle = os.fork()
        if not middle:
            os.setsid()
            self.sleeper(step["daemon"], setsid=False, pid_file=step.get("pid_file"))
            os._exit(0)
        os.waitpid(middle, 0)
        self.await_file(step.get("pid_file"))

    def await_file(self, path):
        """Wait until the forked process has named itself: a test may look for it as soon as we go on."""
        if path:
            self.do_wait_for({"wait_for": path, "timeout_s": 600})

    def do_linger(self, step):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end = time.monotonic() + step["linger"]
        while time.monotonic() < end:
            time.sleep(0.05)

    def do_stop(self, _step):
        os.kill(os.getpid(), signal.SIGSTOP)

    def do_kill(self, step):
        os.kill(os.getpid(), step["kill"])
        time.sleep(60)  # a signal that is not fatal here must not look like an exit

    def do_exit(self, step):
        os._exit(step["exit"])

    def do_repeat(self, step):
        for _ in range(step["repeat"]):
            self.play(step["steps"])

    def play(self, steps):
        """Play steps in order; an unknown one is a mistake of the test and says so."""
        for step in steps:
            action = next((name for name in step if hasattr(self, "do_" + name)), None)
            if action is None:
                write_all(f"fake_cli: no such step: {json.dumps(step)}\n".encode(), fd=2)
                os._exit(97)
            getattr(self, "do_" + action)(step)


def steps_in(prompt):
    """The steps embedded in a prompt, or None."""
    found = []
    for line in prompt.splitlines():
        stripped = line.strip()
        if stripped.startswith("#fake:"):
            step = json.loads(stripped[len("#fake:") :])
            found += step if isinstance(step, list) else [step]
    return found or None


def arguments(argv):
    """Read the command line by hand: argparse alone would double the start-up time."""
    options = {"format": "text", "script": None, "model": None, "no_stdin": False, "prompt": None}
    items = iter(argv)
    for item in items:
        name = item[2:].replace("-", "_")
        if item == "--":
            options["prompt"] = next(items, None)
        elif item == "--no-stdin":
            options["no_stdin"] = True
        elif item.startswith("--") and name in options:
            options[name] = next(items)
        else:
            options["prompt"] = item
    return options


def main(argv):
    """Play the script; 0 when it ran to its end."""
    options = arguments(argv)
    prompt = options["prompt"]
    if prompt is None:
        prompt = "" if options["no_stdin"] else sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    fake = Fake(prompt, options["format"], options["model"])
    script = options["script"] or os.environ.get("FAKE_CLI_SCRIPT")
    if script:
        with open(script, encoding="utf-8") as file:
            steps = json.load(file)
    else:
        steps = steps_in(prompt) or [{"say": "fake answer"}, {"end": "fake answer"}][0 if fake.jsonl else 1 :]
    fake.event(type="start", model=options["model"] or "fake-model", conversation=f"fake-{os.getpid()}")
    fake.play(steps)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
