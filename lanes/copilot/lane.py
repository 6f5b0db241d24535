"""The copilot lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from dataclasses import replace

from ...messages.vocabulary import Tier
from .. import credentials
from ..catalog.pools import COPILOT_PLAN
from ..contract import EffortSupport, Lane, Liveness, Parser, ProbeFacts, Readiness, Road, Task
from ..failures import classify
from ..launching import cli_readiness
from .argv import BINARY, INSTALL, PROVIDER, REPORT, RESUME, VERBS, payer, plan
from .events import CopilotParser
from .servers import OWN_SERVERS, granted
from .session import over
from .terminal import terminal

MIN_VERSION = (1, 0, 0)
TESTED_VERSIONS = ("1.0.102",)
CREDENTIALS = ("~/.config/gh/hosts.yml",)
"""The GitHub CLI's sign-in, which Copilot takes. Its own is in the system's keychain, or in a file that is
written at its first start in any case."""
SIGN_IN = f"copilot login  (or set COPILOT_GITHUB_TOKEN, or {PROVIDER} for a provider of your own)"
KEYS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", PROVIDER)


def parser(_task: Task) -> Parser:
    """Return a parser of ``copilot --output-format json``."""
    return CopilotParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether a token or the GitHub CLI's sign-in is there; none is opened."""
    found = cli_readiness(
        facts,
        binary=BINARY,
        install=INSTALL,
        sign_in=SIGN_IN,
        keys=KEYS,
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
    )
    found = replace(found, signed_in=found.signed_in or None)
    if found.fix != SIGN_IN:
        return found
    known = f"copilot {found.version}" if found.version else "copilot"
    return replace(found, detail=f"{known}; whether it has a sign-in of its own can't be seen from here")


LANE = Lane(
    name="copilot",
    provider="copilot",
    vehicle="copilot",
    summary="GitHub Copilot CLI, headless, on your own plan or your own provider.",
    homepage="https://docs.github.com/copilot/how-tos/copilot-cli",
    install=INSTALL,
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.copilot", "~/.cache/copilot"),
    effort=EffortSupport.NATIVE,
    goes_to="GitHub",
    redirects=("COPILOT_PROVIDER_BASE_URL",),
    rules=("~/.copilot/copilot-instructions.md",),
    billing=COPILOT_PLAN,
    payer=payer,
    # It unpacks itself on its first start, and waits up to 60 s in all between five tries.
    liveness=Liveness(stall_kill_floor_s=180.0, first_output_s=180.0),
    credential_files=CREDENTIALS,
    report=REPORT,
    default_tier=Tier.MID,
    resume=RESUME,
    sessions={"acp": over, "pty": terminal},
    own_servers=OWN_SERVERS,
    skills=Road.BUNDLE,
    own=credentials.COPILOT,
    mcp=True,
    servers=granted,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
