"""The process: runs a command line, turns everything that can go wrong into one sentence and an exit code.

Nothing but the interpreter's own modules is imported before ``main`` is called, so that Ctrl-C is quiet
from the first moment.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what ``signal`` wraps; the stubs leave it out
import gc
import os
import sys

TYPE_CHECKING = False  # ``typing`` takes a while to import, in which Ctrl-C would not be quiet yet
if TYPE_CHECKING:
    from typing import NoReturn

    from .errors import CliError

_LOG_LIMIT = 1024 * 1024


def main() -> NoReturn:
    """Run the command line of this process and end it."""
    _end_on_interrupt()
    # Imports make many objects and no garbage: collecting among them costs a millisecond.
    gc.disable()
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    _end_on_interrupt()
    _leave(code)


def _end_on_interrupt() -> None:
    """Let Ctrl-C end the process at once: while modules load, and when all is done, there is nothing to undo."""
    if _signal.getsignal(_signal.SIGINT) == _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)


def _end(_number: int, _frame: object) -> None:
    os._exit(130)


def _raise_on_interrupt() -> None:
    if _signal.getsignal(_signal.SIGINT) is _end:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code. Prints what went wrong; raises nothing."""
    try:
        return _invoke(arguments)
    except KeyboardInterrupt as stopped:
        sys.stderr.write("\n")
        return getattr(stopped, "exit_code", 130)  # of interrupts.TerminatedError
    except SystemExit as leaving:  # interrupts.LostTerminalError
        return leaving.code if isinstance(leaving.code, int) else 1
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except Exception as error:  # noqa: BLE001 - the one place where everything ends as a sentence
        return _report(error, arguments)


def _invoke(arguments: list[str]) -> int:
    from .app import cli  # noqa: PLC0415 - see above

    gc.freeze()
    gc.enable()
    from .output import flush, prepare  # noqa: PLC0415 - see above

    prepare()
    _raise_on_interrupt()
    if "_OSRC_COMPLETE" in os.environ:
        from click.shell_completion import shell_complete  # noqa: PLC0415 - only while completing

        return shell_complete(cli, {}, "osrc", "_OSRC_COMPLETE", os.environ["_OSRC_COMPLETE"])
    import click  # noqa: PLC0415 - loaded with the tree

    try:
        with cli.make_context("osrc", list(arguments)) as context:
            result = cli.invoke(context)
            _mention_unwatched(context.obj)
    except click.exceptions.Exit as leaving:
        result = leaving.exit_code
    flush()
    return result if isinstance(result, int) else 0


def _mention_unwatched(options: object) -> None:
    """Name the jobs that run and nobody looks at, unless the command is to be quiet."""
    from .place import home_root  # noqa: PLC0415 - see above

    if getattr(options, "quiet", True):
        return
    path = home_root(os.environ, getattr(options, "home", None))
    try:
        some = os.stat(f"{path}/unwatched.json").st_size  # noqa: PTH116 - one system call
    except OSError:
        return
    if some:
        from .unwatched import mention  # noqa: PLC0415 - only where a job runs

        mention(path)


def _report(error: Exception, arguments: list[str]) -> int:
    """Print one sentence and what helps; return the exit code."""
    try:
        known = _known(error)
        if known is None:
            known = _unexpected(error, arguments)
        elif os.environ.get("OSRC_DEBUG"):
            _print_trace(error)
        if known.code == "stdout":
            _silence_stdout()
        from .discreet import discreet  # noqa: PLC0415 - on the way to an error
        from .hints import hint_of  # noqa: PLC0415 - on the way to an error

        message, hint = discreet(known.message), known.hint or hint_of(known.code, known.exit_code)
        hint = discreet(hint) if hint else None
        if _wants_json(arguments) and known.code != "stdout":
            from .output import answer_json  # noqa: PLC0415 - on the way to an error

            answer_json({"error": {"code": known.code, "message": message, "hint": hint}})
        elif known.hint is None and known.code == "usage" and message.startswith("Usage: "):
            from .output import say  # noqa: PLC0415 - on the way to an error

            say(message)  # a group that was given no command: its help is what there is to say
        else:
            from .output import say  # noqa: PLC0415 - on the way to an error

            say(f"ERROR: {message}" + (f"\n  try: {hint}" if hint else ""))
    except BrokenPipeError:
        _silence_stdout()
        return 1
    return known.exit_code


def _known(error: Exception) -> CliError | None:
    """Return expected trouble as a CliError, or None."""
    import click  # noqa: PLC0415 - on the way to an error

    from .errors import CliError, from_exception  # noqa: PLC0415 - on the way to an error

    if isinstance(error, CliError):
        return error
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "osrc"
        if type(error).__name__ == "NoArgsIsHelpError":  # click before 8.2 has none
            return CliError("usage", error.format_message())
        if isinstance(error, click.NoSuchOption):
            from .spelling import unknown_option  # noqa: PLC0415 - on the way to an error

            return CliError("usage", unknown_option(error.option_name, context), f"{path} -h")
        return CliError("usage", error.format_message(), f"{path} -h")
    if isinstance(error, click.Abort):
        return CliError("usage", "aborted", None, 130)
    return from_exception(error)


def _wants_json(arguments: list[str]) -> bool:
    """Whether the words before ``--`` ask for JSON. Only asked when parsing may not have come that far."""
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in words


def _unexpected(error: Exception, arguments: list[str]) -> CliError:
    """Keep the trace of a fault of ours where it can be found, and return the sentence that says where."""
    from .errors import CliError  # noqa: PLC0415 - on the way to an error

    what = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    if os.environ.get("OSRC_DEBUG"):
        _print_trace(error)
        return CliError("internal", f"unexpected: {what}")
    log = _write_trace(error, arguments)
    where = f"the trace is in {log}" if log else "OSRC_DEBUG=1 shows the trace"
    return CliError("internal", f"a fault of osrc itself: {what} ({where})", "OSRC_DEBUG=1 shows the trace")


def _print_trace(error: Exception) -> None:
    import traceback  # noqa: PLC0415 - only for who asked for it

    traceback.print_exception(error)


def _write_trace(error: Exception, arguments: list[str]) -> str | None:
    """Append the trace to ``client.log`` in the state home; return its path, or None when it can't be written."""
    import time  # noqa: PLC0415 - on the way to an error
    import traceback  # noqa: PLC0415 - on the way to an error

    try:
        from .discreet import discreet  # noqa: PLC0415 - on the way to an error
        from .place import home_root  # noqa: PLC0415 - on the way to an error

        path = f"{home_root(os.environ)}/client.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
            if os.fstat(descriptor).st_size > _LOG_LIMIT:
                os.ftruncate(descriptor, 0)
            # The words themselves may hold a secret: only the command is kept.
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            file.write(f"{stamp} osrc {next(iter(arguments), '')[:40]}\n")
            file.write(discreet("".join(traceback.format_exception(error))))
    except Exception:  # noqa: BLE001 - a log that can't be written must not hide what happened
        return None
    return path


def _silence_stdout() -> None:
    """Point stdout nowhere, so that the interpreter's last flush does not complain about the closed pipe."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    except OSError:
        return


def _leave(code: int) -> NoReturn:
    """End the process, without the interpreter's own teardown where nothing needs it.

    Freeing every module takes 6 ms, a fifth of a warm command. Threads mean that a tree ran in this
    process: then the ordinary way is taken.
    """
    threading = sys.modules.get("threading")
    if os.environ.get("OSRC_DEBUG") or (threading is not None and threading.active_count() > 1):
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _silence_stdout()
    os._exit(code)
