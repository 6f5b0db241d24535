"""A stand-in for ``agy``, the Antigravity CLI, which can't be had here. Made from public facts alone.

``agy -p PROMPT [--model ID] [--effort low|medium|high] [--print-timeout D] [--sandbox]
[--dangerously-skip-permissions]`` prints the answer as text when it has ended. A bare model id requires
``--effort``, one that names its effort forbids it, ``pro`` has no medium. What it does is chosen by
``FAKE_AGY``: ``answer`` (default), ``timeout``, ``model``, ``sign-in``, ``quota``, ``silent``; with
``FAKE_AGY_WRITE=PATH`` it writes that file whether it may or not. Its own command line and what it was
told go to ``FAKE_AGY_LOG`` as one JSON line.
"""

import json
import os
import pathlib
import re
import sys

VALUES = ("-p", "--model", "--effort", "--print-timeout")
SWITCHES = ("--sandbox", "--dangerously-skip-permissions")
NAMED_EFFORT = re.compile(r"-(low|medium|high)$")


def main():
    if sys.argv[1:] == ["--version"]:
        print("1.0.0-fake")
        return 0
    if sys.argv[1:] == ["models"]:
        print(
            "Models:\n  gemini-3.9-flash-low\n  gemini-3.9-flash-high  (newest)\n  gemini-3.1-pro-high\n  claude-sonnet-5"
        )
        return 0
    options = parse(sys.argv[1:])
    if isinstance(options, str):
        print(options, file=sys.stderr)
        return 2
    prompt = options["-p"]
    file = re.search(r"in the file (\S+): read", prompt)
    if file:
        prompt = pathlib.Path(file[1]).read_text()
    if log := os.environ.get("FAKE_AGY_LOG"):
        with pathlib.Path(log).open("a") as out:
            out.write(json.dumps({"argv": sys.argv[1:], "prompt": prompt, "cwd": str(pathlib.Path.cwd())}) + "\n")
    if (refusal := effort_refusal(options)) is not None:
        print(refusal, file=sys.stderr)
        return 1
    if path := os.environ.get("FAKE_AGY_WRITE"):
        try:
            pathlib.Path(path).write_text("written\n")
        except OSError as error:
            print(f"I could not write: {error.strerror}")
    return act(os.environ.get("FAKE_AGY", "answer"), prompt)


def parse(words):
    options = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in VALUES and rest:
            options[word] = rest.pop(0)
        elif word in SWITCHES:
            options[word] = True
        else:
            return f"flag provided but not defined: {word}"
    return options if "-p" in options else "no prompt"


def effort_refusal(options):
    model, effort = options.get("--model"), options.get("--effort")
    if model is None:
        return None
    if effort and NAMED_EFFORT.search(model):
        return f"Error: --effort {effort} is not supported for model {model}"
    if not effort and not NAMED_EFFORT.search(model):
        return f"Error: model {model} needs --effort"
    if effort == "medium" and "pro" in model:
        return f"Error: --effort medium is not supported for model {model}"
    return None


def act(what, prompt):
    if what == "timeout":
        print("Error: timeout waiting for response")
        return 0
    if what == "model":
        print("Invalid model: no such model is offered")
        return 0
    if what == "sign-in":
        print("Error: authentication required. Run agy to sign in.", file=sys.stderr)
        return 1
    if what == "quota":
        print("Error: Individual quota reached. Resets in 2h15m.", file=sys.stderr)
        return 1
    if what == "answer":
        words = " ".join(prompt.split())
        halves = re.findall(r"first half is (\w+), and the half that comes after that one is (\w+)\.", words)
        print("The answer of agy.")
        if halves:
            print(f"OSRC::DONE #{''.join(halves[-1])} as scripted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
