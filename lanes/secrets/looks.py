"""The looks inside a file that may be a credential: each tells whether it is one. Linear, on the file's first bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .matching import compiled, counted, filler_word, private_keys, spans_in

_DIGIT = re.compile(rb"[0-9]")
_LETTER = re.compile(rb"[A-Za-z]")
_AGE = compiled("AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}")
_WIREGUARD = compiled(r"(?i:privatekey|presharedkey)[ \t]*=[ \t]*[A-Za-z0-9+/]{43}=")
_JSON_SECRET = compiled(r'"(?:client_secret|refresh_token|private_key_id|secret_key|api_key)"\s*:\s*"([^"\n]{16,})"')
_KUBE = compiled(r"(?:client-key-data|token|password|id-token|refresh-token)['\"]?:[ \t]*['\"]?([^\s'\"{}$<]{8,})")
_DOCKER = compiled(r'"(?:auth|identitytoken|registrytoken)"\s*:\s*"([^"\s$]{8,})"')
_REGISTRY = compiled(
    r"(?i)(?:_auth(?:token)?|_password|npmauthtoken|npmauthident|oauth_token|auth_?token|api_?key|token|password|secret)"
    r"['\"]?[ \t]*(?:=|:)[ \t]*['\"]?([^\s'\"#<>{}$%]{6,})|"
    r"<(?:password|passphrase)>\s*([^\s<{$]{4,})|"
    r'key="(?:cleartext)?password"\s+value="([^"%\n]{4,})"|'
    r"://[^\s/:@'\"<>$]{1,200}:([^\s/@'\"<>${}]{3,200})@"
)
_REMOTE = compiled(
    r"://[^\s/:@'\"<>$]{0,100}:([^\s/@'\"<>${}]{3,200})@|"
    r"(?i:extraheader)[ \t]*=[ \t]*[\"']?(?i:authorization):[ \t]*\w+[ \t]+(\S{8,})"
)
_HASHES = compiled(r"(?m)^[^:\s]{1,100}:(?:\$(?:1|2[abxy]|5|6|7|y|apr1|argon2\w{1,2}|gy)\$|\{SHA\})")
_WALLET = compiled(
    r'"(?:ciphertext|mnemonic|seed_?phrase|private_?key|secret_?key)"\s*:\s*"?[^"\s]{8,}|'
    r"^\s*\[(?:\s*[0-9]{1,3},){31,63}\s*[0-9]{1,3}\s*\]"
)
_PLACEHOLDERS = frozenset(
    (
        b"password",
        b"passwd",
        b"secret",
        b"token",
        b"postgres",
        b"undefined",
        b"true",
        b"false",
        b"null",
        b"none",
        b"user",
    )
)
"""What stands for a password in files that everybody may read."""


def has_token(head: bytes) -> bool:
    """Tell whether a token or a private key stands here that tells by its own form what it is."""
    return any(span.confidence == "high" for span in spans_in(head)) or _private_key(head)


def _private_key(head: bytes) -> bool:
    return next(private_keys(head), None) is not None or b"\nPrivate-Lines: " in head


def _assignments(head: bytes) -> bool:
    """Tell whether something is set that is called a secret and looks random enough to be one."""
    values = (head[span.start : span.end] for span in counted(head))
    return any(_DIGIT.search(value) and _LETTER.search(value) for value in values) or has_token(head)


def _sets(pattern: Any) -> Callable[[bytes], bool]:  # noqa: ANN401  google-re2 has no types
    """Return a look for a value that is set, to something else than a word that stands for one."""

    def look(head: bytes) -> bool:
        for match in pattern.finditer(head):
            value = head[slice(*match.span(match.lastindex))].lower()
            if value not in _PLACEHOLDERS and len(set(value)) > 2 and not filler_word(value):
                return True
        return has_token(head)

    return look


def _matches(pattern: Any) -> Callable[[bytes], bool]:  # noqa: ANN401  google-re2 has no types
    return lambda head: pattern.search(head) is not None


LOOKS: Mapping[str, Callable[[bytes], bool]] = {
    "private key": _private_key,
    "age key": _matches(_AGE),
    "wireguard": _matches(_WIREGUARD),
    "assignments": _assignments,
    "hex key": lambda head: re.fullmatch(rb"\s*[0-9a-fA-F]{32,128}\s*", head[:256]) is not None,
    "json secret": _sets(_JSON_SECRET),
    "kube": _sets(_KUBE),
    "registry login": _sets(_DOCKER),
    "registry": _sets(_REGISTRY),
    "remote": _sets(_REMOTE),
    "hashes": _matches(_HASHES),
    "sqlite": lambda head: head.startswith(b"SQLite format 3\0"),
    "browser logins": lambda head: b'"encryptedPassword"' in head,
    "wallet": _matches(_WALLET),
}
"""The looks that ``places.PLACES`` names."""
