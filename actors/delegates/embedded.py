"""``python -m outsourcerer.actors.delegates.embedded``: a text delegate that brings its own model.

Loads a GGUF with xllamacpp (llama.cpp; seen with 2026.10.11549) in this process, behind its own server on
a random loopback port with a key that never leaves the process, asks it once, and ends. No network, no
account. The prompt comes on stdin, the answer goes out as OSRC JSON lines.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...state.files import open_regular
from .chat import dying_quietly, read_prompt
from .chat_client import Question, ask
from .completion import Trouble
from .emit import Emitter

RUNTIME_HINT = "pip install 'outsourcerer[embedded]'"
GGUF_MAGIC = b"GGUF"
CHARS_PER_TOKEN = 2
"""A low guess of how many characters of a prompt make a token, to size the context by."""
MIN_CONTEXT, MAX_CONTEXT = 4096, 32768


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="outsourcerer.actors.delegates.embedded", allow_abbrev=False)
    parser.add_argument("--gguf", required=True, help="path of the model file")
    parser.add_argument("--name", required=True, help="what the model is called in reports")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=None, help="tokens; by the prompt's length if not given")
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--answer-s", type=float, default=900.0)
    return parser


def main(argv: Sequence[str]) -> int:
    """Load, ask once, and return the exit code: 0 with an answer, 1 without."""
    dying_quietly()
    options = build_parser().parse_args(argv)
    emitter = Emitter(claim_stdout())
    path = Path(options.gguf).expanduser()
    prompt = read_prompt()
    trouble = file_trouble(path)
    server: Any = None
    key = secrets.token_hex(16)
    if trouble is None:
        context = options.context or context_for(prompt, options.max_tokens)
        server, trouble = serve(path, name=options.name, threads=options.threads, context=context, key=key)
    if trouble is not None:
        emitter.end_badly(trouble.failure, trouble.message)
        return 1
    question = Question(
        base_url=f"{server.listening_address}/v1",
        model=options.name,
        prompt=prompt,
        key=key,
        answer_s=options.answer_s,
        max_tokens=options.max_tokens,
    )
    code = ask(question, emitter)
    # The answer is out; unloading the model would only take time, and native threads may not join.
    os._exit(code)


def claim_stdout() -> int:
    """Keep stdout for our lines alone: what a native library prints there goes to stderr from now on."""
    ours = os.dup(1)
    os.set_inheritable(ours, False)
    os.dup2(2, 1)
    return ours


def context_for(prompt: str, max_tokens: int) -> int:
    """How many tokens of context to reserve: enough for the prompt and its answer, within bounds."""
    wanted = len(prompt) // CHARS_PER_TOKEN + max_tokens + 256
    return min(MAX_CONTEXT, max(MIN_CONTEXT, wanted))


def file_trouble(path: Path) -> Trouble | None:
    """Say why ``path`` can't be a model, before a native library gets to see it."""
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        return Trouble("model-gone", f"the model file {path} can't be read: {error.strerror or error}")
    if magic != GGUF_MAGIC:
        return Trouble("model-gone", f"{path} is not a GGUF model file")
    return None


def serve(path: Path, *, name: str, threads: int, context: int, key: str) -> tuple[Any, Trouble | None]:
    """Start the server of the native runtime; it listens when this returns. Stops when collected."""
    try:
        import xllamacpp  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        return None, Trouble("launch", f"the embedded runtime is not installed ({error}): {RUNTIME_HINT}")
    try:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.model_alias = {name}
        parameters.port = 0
        parameters.api_keys = [key]
        parameters.cors_origins = ""
        parameters.ui = False
        parameters.offline = True
        parameters.verbosity = 0
        parameters.n_parallel = 1
        parameters.n_ctx = context
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = max(1, threads)
        return xllamacpp.Server(parameters), None
    except RuntimeError:
        return None, Trouble("model-gone", f"the embedded runtime can't load {path}: the file may be damaged")
    except (AttributeError, TypeError) as error:
        # The runtime's attribute names move between its builds.
        return None, Trouble("launch", f"this version of xllamacpp is not the one we know ({error}): {RUNTIME_HINT}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
