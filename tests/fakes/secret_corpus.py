"""Secrets that nobody ever had: one generator per kind, put together here so that no scanner finds them in this file."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
WIDE = ALNUM + "_-"
BASE32 = string.ascii_uppercase + "234567"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"

Make = Callable[[random.Random], str]


def _(*parts: str | tuple[str, int]) -> Make:
    """Return a maker: a text stands for itself, (alphabet, n) for n random characters of it."""

    def make(rnd: random.Random) -> str:
        return "".join(part if isinstance(part, str) else "".join(rnd.choices(part[0], k=part[1])) for part in parts)

    return make


def uuid(rnd: random.Random) -> str:
    return "-".join("".join(rnd.choices(HEX, k=n)) for n in (8, 4, 4, 4, 12))


def private_key(kind: str) -> Make:
    def make(rnd: random.Random) -> str:
        body = base64.b64encode(rnd.randbytes(600)).decode()
        lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
        return f"-----BEGIN {kind}PRIVATE" + f" KEY-----\n{lines}\n-----END {kind}PRIVATE" + " KEY-----"

    return make


SECRETS: dict[str, Make] = {
    "anthropic": _("sk-", "ant-api03-", (WIDE, 93), "AA"),
    "anthropic oauth": _("sk-", "ant-oat01-", (WIDE, 93), "AA"),
    "openai": _("sk-", (ALNUM, 20), "T3Blbk", "FJ", (ALNUM, 20)),
    "openai project": _("sk-", "proj-", (WIDE, 74), "T3Blbk", "FJ", (WIDE, 74)),
    "openrouter": _("sk-", "or-v1-", (HEX, 64)),
    "deepseek": _("sk-", (HEX, 32)),
    "tokenrouter": _("sk-", (ALNUM, 48)),
    "google api": _("AI", "za", (WIDE, 35)),
    "google oauth secret": _("GOC", "SPX-", (WIDE, 28)),
    "google access token": _("ya", "29.", (WIDE, 120)),
    "groq": _("gs", "k_", (ALNUM, 52)),
    "xai": _("xa", "i-", (ALNUM, 80)),
    "perplexity": _("pp", "lx-", (ALNUM, 48)),
    "replicate": _("r8", "_", (ALNUM, 37)),
    "hugging face": _("hf", "_", (string.ascii_letters, 34)),
    "nvidia": _("nv", "api-", (WIDE, 64)),
    "langsmith": _("ls", "v2_pt_", (HEX, 32), "_", (HEX, 10)),
    "github classic": _("gh", "p_", (ALNUM, 36)),
    "github oauth": _("gh", "o_", (ALNUM, 36)),
    "github server": _("gh", "s_", (ALNUM, 36)),
    "github refresh": _("gh", "r_", (ALNUM, 76)),
    "github fine-grained": _("github", "_pat_", (ALNUM, 22), "_", (ALNUM, 59)),
    "gitlab": _("gl", "pat-", (WIDE, 20)),
    "gitlab runner": _("gl", "rt-", (WIDE, 20)),
    "atlassian": _("AT", "ATT3", (WIDE, 180), "=", (UPPER, 8)),
    "npm": _("np", "m_", (ALNUM, 36)),
    "pypi": _("py", "pi-AgEIcHlwaS5vcmc", (WIDE, 120)),
    "rubygems": _("ruby", "gems_", (HEX, 48)),
    "docker": _("dckr", "_pat_", (WIDE, 27)),
    "circleci": _("CCI", "PAT_", (ALNUM, 22), "_", (HEX, 40)),
    "sourcegraph": _("sg", "p_", (HEX, 16), "_", (HEX, 40)),
    "figma": _("fi", "gd_", (WIDE, 40)),
    "postman": _("PM", "AK-", (HEX, 24), "-", (HEX, 34)),
    "linear": _("lin", "_api_", (ALNUM, 40)),
    "notion": _("nt", "n_", (string.digits, 11), (ALNUM, 35)),
    "airtable": _("pa", "t", (ALNUM, 14), ".", (HEX, 64)),
    "aws secret key": _("aws_secret_", "access_key=", (ALNUM + "/+", 40)),
    "aws access key": _("AK", "IA", (BASE32, 16)),
    "aws session key": _("AS", "IA", (BASE32, 16)),
    "aws bedrock": _("AB", "SK", (ALNUM, 128)),
    "azure client secret": _((ALNUM, 3), "8", "Q~", (WIDE, 34)),
    "azure storage": _("Account", "Key=", (ALNUM, 86), "=="),
    "azure service bus": _("SharedAccess", "Key=", (ALNUM, 43), "="),
    "alibaba": _("LT", "AI", (ALNUM, 20)),
    "digitalocean": _("do", "p_v1_", (HEX, 64)),
    "cloudflare origin": _("v1", ".0-", (HEX, 24), "-", (HEX, 146)),
    "databricks": _("da", "pi", (HEX, 32)),
    "doppler": _("dp", ".pt.", (ALNUM, 43)),
    "vault": _("hv", "s.", (ALNUM, 95)),
    "terraform cloud": _((ALNUM, 14), ".atlas", "v1.", (WIDE, 64)),
    "pulumi": _("pu", "l-", (HEX, 40)),
    "tailscale": _("ts", "key-auth-", (ALNUM, 12), "-", (ALNUM, 32)),
    "1password account": _("A", "3-", (UPPER, 6), "-", (UPPER, 11), "-", (UPPER, 5), "-", (UPPER, 5), "-", (UPPER, 5)),
    "age": _("AGE-", "SECRET-KEY-1", (BECH32, 58)),
    "planetscale": _("ps", "cale_tkn_", (WIDE, 43)),
    "supabase": _("sb", "p_", (HEX, 40)),
    "grafana": _("gl", "sa_", (ALNUM, 32), "_", (HEX, 8)),
    "new relic": _("NR", "AK-", (UPPER, 27)),
    "sentry": _("sn", "tryu_", (HEX, 64)),
    "dynatrace": _("dt", "0c01.", (UPPER, 24), ".", (UPPER, 64)),
    "slack bot": _("xo", "xb-", (string.digits, 12), "-", (string.digits, 12), "-", (ALNUM, 24)),
    "slack user": _("xo", "xp-", (string.digits, 12), "-", (string.digits, 12), "-", (ALNUM, 32)),
    "slack app": _("xa", "pp-1-", (UPPER, 11), "-", (string.digits, 13), "-", (HEX, 64)),
    "slack webhook": _("https://hooks.", "slack.com/services/T", (UPPER, 8), "/B", (UPPER, 8), "/", (ALNUM, 24)),
    "discord webhook": _("https://discord.com/api/", "webhooks/", (string.digits, 18), "/", (WIDE, 68)),
    "discord bot": _("M", (ALNUM, 23), ".", (WIDE, 6), ".", (WIDE, 38)),
    "telegram": _((string.digits, 9), ":A", "A", (WIDE, 33)),
    "twilio": _("S", "K", (HEX, 32)),
    "sendgrid": _("S", "G.", (WIDE, 22), ".", (WIDE, 43)),
    "mailgun": _("ke", "y-", (HEX, 32)),
    "mailchimp": _((HEX, 32), "-u", "s12"),
    "brevo": _("xkey", "sib-", (HEX, 64), "-", (ALNUM, 16)),
    "stripe live": _("sk", "_live_", (ALNUM, 24)),
    "stripe restricted": _("rk", "_live_", (ALNUM, 99)),
    "stripe webhook": _("wh", "sec_", (ALNUM, 32)),
    "square": _("sq0", "atp-", (WIDE, 22)),
    "shopify": _("sh", "pat_", (HEX, 32)),
    "langfuse": lambda rnd: "sk-" + "lf-" + uuid(rnd),
    "rsa private key": private_key("RSA "),
    "openssh private key": private_key("OPENSSH "),
    "pkcs8 private key": private_key(""),
    "encrypted private key": private_key("ENCRYPTED "),
}
"""What must be found, each by its name."""
