"""Programs in place of CLIs that could not be had: devin, cursor-agent, hermes and oz, from public facts.

    install(folder)      # four executables; put the folder on PATH

Each reads its own command line as the real one's public reference tells it, refuses what that one would
refuse, and plays the steps of its prompt: lines ``#fake: {"say": T}``, ``{"write": PATH, "content": T}``,
``{"mark": KIND}``, ``{"fail": CODE, "err": T}``. A write is done only where the mode allows it. What the
program was given (argv, the prompt's length, its environment's names) is appended to ``$FAKE_ENGINE_LOG``.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from fakes.fake_cli import marker_line, read_marker_id, steps_in
from fakes.programs import write_program

NAMES = ("devin", "cursor-agent", "hermes", "oz")
VERSIONS = {
    "devin": "devin 2026.11.1",
    "cursor-agent": "2026.11.20-abc",
    "hermes": "Hermes Agent v0.40.0",
    "oz": "v0.2026.11.25",
}


def install(folder):
    """Write the four programs into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        tests = Path(__file__).parents[1]
        write_program(
            folder / name,
            f"import sys\nsys.path.insert(0, {str(tests)!r})\n"
            f"from fakes.engine_clis import main\nsys.exit(main({name!r}, sys.argv[1:]))\n",
        )


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations and complains as these programs do."""

    def __init__(self):
        super().__init__(add_help=False, allow_abbrev=False)


def devin(argv):
    """``devin [OPTIONS] [-p [PROMPT]]``: the prompt inline, or from ``--prompt-file``."""
    parser = Parser()
    parser.add_argument("--model")
    parser.add_argument(
        "--permission-mode", choices=["auto", "normal", "accept-edits", "autonomous", "dangerous", "bypass"]
    )
    parser.add_argument("--sandbox", action="store_true")
    parser.add_argument("--respect-workspace-trust", choices=["true", "false"])
    parser.add_argument("--prompt-file")
    parser.add_argument("-p", "--print", nargs="?", const="", dest="prompt")
    options = parser.parse_args(argv)
    if options.model == "osrc-lists-models":
        sys.exit("\x1b[31mError:\x1b[0m unknown model osrc-lists-models. Available: glm-5.2, swe-1.7, kimi-k3-high.")
    prompt = options.prompt or Path(options.prompt_file).read_text()
    return prompt, options.permission_mode in ("accept-edits", "dangerous", "bypass"), "text", options.model


def cursor(argv):
    """``cursor-agent -p [OPTIONS] [PROMPT]``; a prompt may be piped in."""
    parser = Parser()
    parser.add_argument("-p", "--print", action="store_true")
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"], default="text")
    parser.add_argument("--model")
    parser.add_argument("--mode", choices=["plan", "ask"])
    parser.add_argument("-f", "--force", action="store_true")
    parser.add_argument("--sandbox", choices=["enabled", "disabled"])
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("prompt", nargs="?")
    options = parser.parse_args(argv)
    if not options.trust:
        sys.exit("Workspace Trust Required")
    prompt = options.prompt or sys.stdin.read()
    return prompt, options.mode is None, options.output_format, options.model


def hermes(argv):
    """``hermes -z PROMPT``: only ``--yolo`` lets it change anything."""
    parser = Parser()
    parser.add_argument("-z", "--oneshot", required=True)
    parser.add_argument("-w", "--worktree", action="store_true")
    parser.add_argument("-m", "--model")
    parser.add_argument("--yolo", action="store_true")
    options = parser.parse_args(argv)
    return options.oneshot, options.yolo, "text", options.model


def oz(argv):
    """``oz agent run --prompt PROMPT``: the profile allows everything."""
    if argv[:2] != ["agent", "run"]:
        sys.exit("unknown command")
    parser = Parser()
    parser.add_argument("-p", "--prompt", required=True)
    parser.add_argument("--model")
    parser.add_argument("--harness")
    parser.add_argument("--profile")
    parser.add_argument("-C", "--cwd")
    parser.add_argument("--output-format", choices=["text", "json", "ndjson"])
    options = parser.parse_args(argv[2:])
    return options.prompt, True, "text", options.model


READERS = {"devin": devin, "cursor-agent": cursor, "hermes": hermes, "oz": oz}
SIGN_IN = {("auth", "status"), ("status",), ("whoami",)}


def main(name, argv):
    """Be one of the programs."""
    if argv in (["--version"], ["-v"]):
        print(VERSIONS[name])
        return 0
    if tuple(argv) in SIGN_IN:
        print(os.environ.get("FAKE_ENGINE_ACCOUNT", "Not logged in"))
        return 0
    prompt, may_write, form, model = READERS[name](argv)
    log = os.environ.get("FAKE_ENGINE_LOG")
    if log:
        with Path(log).open("a", encoding="utf-8") as file:
            row = {
                "name": name,
                "argv": argv,
                "prompt": len(prompt),
                "environ": sorted(os.environ),
                "cwd": str(Path.cwd()),
            }
            file.write(json.dumps(row) + "\n")
    if prompt.startswith("Your whole task is in the file "):
        prompt = Path(prompt.removeprefix("Your whole task is in the file ").partition(": read")[0]).read_text()
    return play(prompt, may_write, Voice(form, model or "Auto"))


class Voice:
    """What the program prints: plain text, or Cursor's stream of JSON lines."""

    def __init__(self, form, model):
        self.stream = form == "stream-json"
        self.said = []
        self.line(
            type="system",
            subtype="init",
            apiKeySource="login",
            cwd=str(Path.cwd()),
            model=model,
            permissionMode="default",
        )
        self.line(type="user", message={"role": "user", "content": [{"type": "text", "text": "(the prompt)"}]})

    def line(self, **item):
        """One JSON line; nothing in text mode."""
        if self.stream:
            print(json.dumps(item | {"session_id": "c6b62c6f-7ead-4fd6-9922-e952131177ff"}), flush=True)

    def say(self, text):
        """One message."""
        self.said.append(text)
        self.line(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})

    def tool(self, name, arguments, result):
        """One tool call, from start to end."""
        call = {"type": "tool_call", "call_id": "toolu_1"}
        self.line(**call, subtype="started", tool_call={name: {"args": arguments}})
        self.line(**call, subtype="completed", tool_call={name: {"args": arguments, "result": result}})

    def end(self):
        """The end of a good run."""
        answer = "\n".join(self.said)
        usage = {"inputTokens": 1234, "outputTokens": 56, "cacheReadTokens": 200, "cacheWriteTokens": 0}
        self.line(type="result", subtype="success", duration_ms=5, is_error=False, result=answer, usage=usage)
        if not self.stream:
            print(answer)


def play(prompt, may_write, voice):
    """Play the prompt's steps; return the exit code."""
    for step in steps_in(prompt) or [{"say": "fake answer"}]:
        if "say" in step:
            voice.say(step["say"])
        elif "mark" in step:
            voice.say(marker_line(step["mark"], step.get("text", ""), read_marker_id(prompt)))
        elif "write" in step and may_write:
            written = {"success": {"path": step["write"], "linesCreated": 1}}
            try:
                Path(step["write"]).write_text(step.get("content", ""))
            except OSError as error:
                written = {"error": {"error": str(error)}}
            voice.tool("writeToolCall", {"path": step["write"]}, written)
        elif "write" in step:
            voice.tool("writeToolCall", {"path": step["write"]}, {"rejected": {"reason": "not in this mode"}})
        elif "fail" in step:
            print(step.get("err", ""), file=sys.stderr)
            return step["fail"]
    voice.end()
    return 0
