"""Every setting there is, as data: key, kind, default, unit and one line of explanation.

The key is the lower-case name without its prefix: ``stall_warn`` is ``OSRC_STALL_WARN`` in the
environment and ``stall_warn = 300`` in config.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "count", "flag", "text"]
"""``number``: not negative; ``count``: whole and not negative; ``flag``: on or off; ``text``: anything printable."""

Value = float | bool | str | None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``default`` None means that it depends, and on what is in ``doc``."""

    key: str
    kind: Kind
    default: Value
    doc: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    secret: bool = False
    also: tuple[str, ...] = ()
    """Further environment names of older scripts, read last."""
    older_prefix: bool = False
    """Whether ``OUTSOURCERER_<KEY>`` is read too; the ``OSRC_`` name wins."""
    effective: bool = True
    """False: the name is known and checked, because scripts set it, but this version does nothing with it."""
    least: int = 0
    most: int = 10**12
    """Bounds of a number, both included."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the environment names, the one that wins first."""
        name = self.key.upper()
        older = (f"OUTSOURCERER_{name}",) if self.older_prefix else ()
        return (f"OSRC_{name}", *older, *self.also)


def _number(key: str, default: float | None, doc: str, unit: str = "s", *, effective: bool = True) -> Setting:
    return Setting(key, "number", default, doc, unit, effective=effective)


def _count(key: str, default: int | None, doc: str, unit: str = "", *, effective: bool = True) -> Setting:
    return Setting(key, "count", default, doc, unit, effective=effective)


def _flag(key: str, default: bool | None, doc: str, *, effective: bool = True) -> Setting:
    return Setting(key, "flag", default, doc, effective=effective)


def _text(key: str, doc: str, default: str | None = None, *, effective: bool = True) -> Setting:
    return Setting(key, "text", default, doc, effective=effective)


_CHOOSING = (
    Setting("model", "text", None, "model when -m is not given; none: the lane's own", older_prefix=True),
    Setting("provider", "text", None, "lane (or the older word for it) when --lane is not given", older_prefix=True),
    Setting(
        "tier",
        "text",
        None,
        "capability class, instead of the model's own",
        choices=("frontier", "capable", "mid", "budget", "raw"),
        older_prefix=True,
    ),
    Setting(
        "effort",
        "text",
        None,
        "reasoning effort when --effort is not given",
        choices=("minimal", "low", "medium", "high", "xhigh", "max"),
        older_prefix=True,
    ),
    _text("model_denylist", "models never used: names or aliases, LANE:NAME for one lane, * for anything"),
    _flag("allow_downgrade", False, "permit what --allow-downgrade permits"),
    _text("allowed_tools", "tools granted to Claude delegates, instead of the verb's own"),
    Setting(
        "wall",
        "text",
        "auto",
        "around CLIs whose read-only mode is no wall: bubblewrap where it works, or only a comparison",
        choices=("auto", "compare"),
    ),
    _flag("build_discipline", None, "add the write-early preamble; by default on verbs that may write"),
    _flag("delegate_git_identity", True, "delegates commit under a git identity of their own"),
    _flag("claude_user_config", False, "let the user's own Claude settings and MCP servers reach delegates"),
    _flag(
        "trust_folder", False, "heed what the work folder itself sets for a CLI: endpoints, hooks, programs to start"
    ),
    _flag("codex_user_config", False, "let the user's own Codex configuration reach delegates"),
    Setting("max_depth", "count", 1.0, "how deep delegates may delegate", older_prefix=True),
)

_ADVICE = (
    _flag("advise", False, "choose by advice where no model was named, whatever the mode says"),
    _flag("no_advise", False, "never choose by advice"),
    _flag("advise_router", True, "the recommended model runs on the cheapest lane that has it"),
    _count("advise_dynamic_max", 25, "models of OpenRouter's catalogue that advice also considers", "models"),
    _flag("advise_conserve", True, "a plan past the conserve line lowers the scores of its models"),
    Setting("conserve_threshold", "number", 50.0, "use of a plan from which on it is spared", "%", most=100),
    Setting("cc_pressure", "number", None, "use of the Claude plan, instead of what was last seen", "%", most=100),
    _number("limits_max_age", 7200, "how long a reading of a plan's use is believed"),
)

_GATE = (
    _flag("cloud_ack", None, "on: agree, once and for all, that work leaves for cloud lanes; off: refuse them"),
    _text("pass_env", "credentials of your environment that delegates get too: comma or space, NAME or NAME*"),
    _flag("secret_allow_value", False, "let a task that holds a secret's value go to a cloud lane"),
    _number("secret_scan_secs", 20, "bound on the search for credential files; one that does not end refuses the job"),
    _text("protected_paths", "folders that no job may write in, with : between them", "~/.claude:~/.codex:~/.config"),
    Setting("launches_per_hour", "count", 5000.0, "jobs taken within an hour; 0: any number", "jobs"),
    _number("budget_day", None, "cash that a day's work may cost; 0: none", "USD"),
    _number("budget_job", None, "cash that one job may cost; 0: none", "USD"),
    _count("min_free_memory", 128, "free memory without which no job is started; 0: any", "MiB"),
    _count("min_free_disk", 64, "free disk space without which no job is started; 0: any", "MiB"),
    _flag("secret_scan_deep", True, "search folders in folders too; it always does", effective=False),
    _count("secret_scan_depth", None, "how deep; there is no bound but time", "levels", effective=False),
    _flag("no_bypass", False, "refuse to write in protected_paths; it always does", effective=False),
)

_SUPERVISOR = (
    Setting(
        "max_jobs", "count", 16, "jobs that run at the same time; more wait in the queue", "jobs", least=1, most=1000
    ),
    _flag("external_send", False, "allow session reply to type into claimed terminals that are not ours"),
    _number("session_idle", 86400, "a session that nothing was asked of for so long is ended; 0: never"),
    _number("idle_exit", 600, "the supervisor leaves after so long without a job or a client; 0: never"),
    _flag(
        "loopback",
        False,
        "supervisor and sessions listen at ports of this machine, not at local sockets (always on Windows)",
    ),
    Setting(
        "spawn",
        "text",
        None,
        "how the process of a job or session is started: forked, or by itself (plain, always so on Windows)",
        choices=("fork", "plain"),
    ),
    _flag("no_daemon", False, "run the supervisor inside each command"),
    _flag("bg_no_detach", False, "the older name for no_daemon on bg", effective=False),
)

_WATCHDOG = (
    _number("poll", 10, "time between two looks at a running job"),
    _number("stall_warn", None, "silence before stalled?; by tier 90, 150 or 300"),
    _number("stall_kill", None, "silence before the job is ended as wedged; by tier 240, 420 or 900"),
    _number("timeout", None, "hard cap, never extended; by tier 900, 1800 or 3600"),
    _number("timeout_max", None, "how far a cap that was not set may be extended; 3 times the cap"),
    _number("noinit_secs", None, "first output must have come by then; by lane, mostly 150"),
    _number("nowrite_warn", None, "a write verb without a write for so long is exploring?; 180"),
    _number("nowrite_kill", None, "an exploring? job that is silent for so long is ended; the stall window"),
    _number("noprogress_secs", 600, "alive without a write for so long is no-progress-writes; 0: off"),
    _number("noprogress_kill_secs", 0, "and is ended after so long; 0: never"),
    _number("final_grace", None, "how long a process may stay after its final event; by lane, mostly 20"),
    _number("launch_grace", 45, "a job that was launched must have a process by then"),
    _count("perm_abort", 3, "denials after which a write job is permission-blocked; 0: never", "denials"),
    _flag("fs_progress", True, "files that change in the work folder count as life"),
    _count("fs_progress_depth", 6, "how deep the work folder is looked at", "levels"),
    _text("text_lanes", "further lanes exempt from the no-write rules: comma or space between names"),
    _number("setup_grace", 900, "bound on making a job's own work tree"),
    _count(
        "perm_tail", 400, "lines of output searched for denials; events are counted instead", "lines", effective=False
    ),
    _flag("no_printmode_abort", False, "keep a Devin job that hangs in print mode", effective=False),
    _count("printmode_tail", 25, "lines searched for that", "lines", effective=False),
    _flag("net_liveness", True, "an open connection puts off the end of a silent job", effective=False),
    _flag("devin_liveness", True, "Devin's own log counts as life", effective=False),
    _number("devin_stall_kill", 1800, "least silence before a Devin job is ended; 0: off", effective=False),
    _flag("fg_guard", True, "watch foreground jobs; they always are", effective=False),
    _number("fg_timeout", None, "hard cap of foreground jobs; timeout is used", effective=False),
    _number("fg_teardown", 45, "bound on ending a foreground job", effective=False),
    _flag("reconcile_read_only", False, "looking never writes; it never does", effective=False),
)

_HEARTBEAT = (
    _flag("fleet_supervision", True, "watch jobs and sessions from the first one on, and wake whoever is to be woken"),
    _flag("heartbeat_disabled", False, "never do"),
    _text("heartbeat_wake", "command for sh that is run when something needs you: $1 a summary, the event on stdin"),
    _flag("heartbeat_wake_digest", True, "also run it with a digest when the picture has changed"),
    _number("heartbeat_wake_timeout", 20, "bound on that command"),
    _number("heartbeat_cadence", 300, "time between two digests"),
    _text("heartbeat_sink", "existing file, FIFO or terminal that events are appended to, a line each"),
    _text("heartbeat_webhook", "https address that events are posted to"),
    Setting("heartbeat_webhook_secret", "text", None, "key that signs what is posted to it", secret=True),
    _flag("heartbeat_desktop", False, "also show a notice on the desktop"),
    _number("unwatched_after", 120, "a running job that nobody has looked at for so long is mentioned; 0: never"),
)

_CREWS = (
    _flag("worktree", False, "give each job that may write a git work tree of its own"),
    _text("worktree_base", "commit that work trees start from", "HEAD"),
)

_LOOKING = (
    _count("status_max", 40, "jobs that status shows; 0: all", "jobs"),
    _number("status_deadline", 15, "bound on status; it needs none", effective=False),
    _count("prog_width", 64, "width of the last marker in tables", "characters"),
    _number("watch_digest_secs", 420, "time between two digests of watch"),
    _count("classify_tail", 200, "lines of output that classify reads", "lines", effective=False),
    _count("preamble_max", 12, "lines of banner that classify skips", "lines", effective=False),
    _count("explain_evidence_lines", 20, "lines of evidence that explain shows", "lines"),
    _number("job_ttl_days", 3, "age after which gc removes finished jobs; 0: never by itself", "days"),
    _count("auto_gc_max", 20, "jobs that one automatic gc removes; 0: there is none", "jobs"),
    _flag("blind_turn_guard", True, "the plugin's Stop hook names unwatched jobs at the end of a turn"),
    _number("blind_turn_snapshot_max_age", 600, "age of what that reminder believes", effective=False),
)

_CLOUD = (
    _text("openrouter_url", "base URL of OpenRouter, without /v1", "https://openrouter.ai/api"),
    Setting(
        "offload_chain",
        "text",
        None,
        "models of the OpenRouter lanes when -m is not given, in order; the next after a transport failure",
        also=("OR_OFFLOAD_CHAIN",),
    ),
    _number("receipt_wait", 10, "how long a job's end may wait for its receipts from OpenRouter"),
    _text("claudex_url", "base URL of the proxy that the claudex lane uses", "http://127.0.0.1:8317"),
    Setting("claudex_token", "text", None, "key sent to that proxy; none: the first in its own file", secret=True),
    _text("claudex_config", "that file; none: ~/.cli-proxy-api/config.yaml"),
    _text("tokenrouter_url", "base URL of TokenRouter", "https://api.tokenrouter.com/v1"),
    _number("tokenrouter_timeout", 900, "bound on the silence of one answer from TokenRouter"),
    _text("warp_profile", "profile of the warp lane's runs; it decides what they may do"),
    Setting("warp_harness", "text", None, "what runs inside the warp lane", choices=("claude", "codex")),
    _number("tier_budget_max_usd_m", 2, "output price up to which an unknown model is tier budget", "USD/M"),
    _number("tier_mid_max_usd_m", 12, "output price up to which an unknown model is tier mid", "USD/M"),
)

_FAILOVER = (
    _flag("fallback", True, "after a transport failure, a job that changes nothing is tried elsewhere"),
    Setting(
        "fallback_max",
        "count",
        3.0,
        "attempts of one job in all after transport failures",
        "attempts",
        least=1,
        most=20,
    ),
    _flag("fallback_pinned", False, "also away from a model that was named with -m"),
    _flag("no_cross_lane", False, "never to another lane after a transport failure"),
    Setting("failover_max", "count", 2.0, "moves of one job after plan limits; 0: none", "moves", most=20),
    _flag("failover_cash_ok", False, "a job may be moved to a lane that may cost cash"),
    _number("lane_down_ttl", 300, "how long a limit that was not verified keeps a lane down"),
    Setting(
        "lane_plan_down_ttl",
        "number",
        3600.0,
        "how long a limit keeps a lane down that names no reset",
        "s",
        also=("OSRC_DEVIN_PLAN_DOWN_TTL",),
    ),
    _flag("wait_limit", False, "wait for a limit to end, as --wait-limit does"),
)

_GOOGLE = (
    Setting("gemini_vehicle", "text", "auto", "program of the gemini lane", choices=("auto", "agy", "gemini")),
    _flag("gemini_user_mcp", False, "let the user's own MCP servers reach Gemini CLI"),
    _text("gemini_pro_api_id", "model that gemini-pro means on Gemini CLI; none: its own word"),
    _text("gemini_image_api_id", "model that makes images on Gemini's service; none: the last known"),
    _text("gemini_flash_api_id", "model that gemini-flash means on Gemini CLI; none: its own word"),
    _text("gemini_flash_lite_api_id", "model that gemini-flash-lite means on Gemini CLI; none: its own word"),
    _text("agy_pro_default", "model that gemini-pro means on agy; none: the last known"),
    _text("agy_flash_default", "model that gemini-flash means on agy; none: the last known"),
    _text("agy_print_timeout", "how long agy waits for an answer, such as 90s or 60m", "60m"),
    _flag("qwen_user_mcp", False, "let the user's own MCP servers reach Qwen Code"),
    _flag("opencode_user_mcp", False, "let OpenCode use tools of the user's own MCP servers and plugins"),
    _text(
        "opencode_read_agent",
        "agent that OpenCode is given for run and explore; none: one that has no tool that writes",
    ),
    _flag("cline_user_mcp", False, "let the user's own MCP servers reach Cline"),
    _flag("copilot_user_mcp", False, "let the user's own MCP servers start with Copilot CLI"),
    _flag("droid_user_mcp", False, "let Droid use tools of the user's own MCP servers"),
)

_IMAGES = (_number("image_timeout", 180, "longest wait for an image that a service makes"),)

_LATER = (
    _flag("no_autodetach", False, "never move a foreground job to the background", effective=False),
    _flag("force_autodetach", False, "always do", effective=False),
    _flag("require_interactive", True, "detached jobs go to tmux", effective=False),
    _flag("require_tmux", False, "refuse without tmux", effective=False),
    _count("fanout_max", None, "members of a fan-out that run at the same time; 6", "jobs"),
    _text("lane_max", "members of fan-outs that run on a lane at the same time: devin=2 codex=4"),
    _flag("vocab_guard", True, "neutral words in what we tell delegates by ourselves, such as the note of a hand-over"),
    _flag("vocab_guard_aggressive", False, "ordinary words of computing too"),
)

_GRANTS = (
    _count("with_max_bytes", 20_000, "what the list of skills given by --with may add to a prompt", "bytes"),
    _count("with_text_max_bytes", 100_000, "what skills that are given as text may add to a prompt", "bytes"),
    Setting(
        "bundle_max_bytes",
        "count",
        8_388_608.0,
        "all files of the skills given to one job",
        "bytes",
        also=("OSRC_WITH_BUNDLE_MAX_BYTES",),
    ),
)

_LOCAL = (
    _text("local_url", "base URL of the OpenAI-compatible server; none: the usual ports are tried"),
    _flag("local_allow_remote", False, "permit a local_url that is not on this machine"),
    _number("local_timeout", 2, "bound on finding the server"),
    _number("local_gen_timeout", 900, "bound on the silence of one answer"),
    Setting("local_key", "text", "local", "key sent to the local server", secret=True),
    _flag("local_agentic", False, "give a local model tools on read-only verbs too, through Claude Code or Codex"),
    Setting(
        "local_api",
        "text",
        "chat",
        "what the local server speaks: chat is worked with through Claude Code, responses through Codex",
        choices=("chat", "responses"),
    ),
    _text("local_anthropic_url", "base URL where the local server speaks Anthropic's dialect by itself"),
    _text("local_tools", "tools of Claude Code that a local model gets on verbs that may write"),
)

SETTINGS: Mapping[str, Setting] = {
    setting.key: setting
    for setting in (
        *_CHOOSING,
        *_ADVICE,
        *_GATE,
        *_SUPERVISOR,
        *_WATCHDOG,
        *_HEARTBEAT,
        *_CREWS,
        *_LOOKING,
        *_GRANTS,
        *_LOCAL,
        *_CLOUD,
        *_FAILOVER,
        *_GOOGLE,
        *_IMAGES,
        *_LATER,
    )
}
"""Key → setting, in the order people should meet them."""
