"""The formats in which secrets are written: anchored patterns, each linear in the length of the text.

Each pattern begins behind a character that cannot be part of what it takes (or at a fixed word), and takes
runs possessively: from one run of characters there is one start, so that no text makes it slow. `hints` are
lower-case words, one of which is in every text that the pattern can match: most texts are passed by on that
alone.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """One format. `secret` is the group to mask (0: all of it); `real` may look closer at that group."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    secret: int = 0
    real: Callable[[str], bool] = bool


def _holds_a_pair(encoded: str) -> bool:
    """Say whether `encoded` is the base64 of user:password."""
    try:
        plain = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    return ":" in plain and plain.isprintable()


def _tokens(*shapes: str, left: str = "A-Za-z0-9_-") -> re.Pattern[str]:
    """Compile shapes that stand alone: no character of `left` before them."""
    return re.compile(rf"(?<![{left}])(?:{'|'.join(shapes)})")


TOKEN_FORMATS: tuple[SecretFormat, ...] = (
    SecretFormat(
        "private-key",
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[A-Za-z0-9+/=\s:,.]|\\[nr]|-(?!-))*+(?:-----END [A-Z0-9 ]{0,60}-----)?"
        ),
    ),
    SecretFormat(
        "jwt",
        ("eyj",),
        _tokens(r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{4,}+(?:\.[A-Za-z0-9_-]*+){1,3}"),
    ),
    SecretFormat(
        "aws-key",
        ("akia", "asia", "agpa", "aida", "aroa", "anpa", "abia", "acca"),
        _tokens(r"A(?:KIA|SIA|GPA|IDA|ROA|NPA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])", left="A-Za-z0-9"),
    ),
    SecretFormat("slack-token", ("xox", "xapp-"), _tokens(r"xox[a-z]-[A-Za-z0-9-]{10,}+", r"xapp-[A-Za-z0-9-]{10,}+")),
    SecretFormat(
        "slack-webhook",
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/+-]{8,}+)"),
        secret=1,
    ),
    SecretFormat(
        "gitlab-token",
        ("gl",),
        _tokens(r"gl(?:pat|oas|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_.-]{15,}+"),
    ),
    SecretFormat(
        "github-token", ("gh", "github_pat_"), _tokens(r"gh[pousr]_[A-Za-z0-9]{20,}+", r"github_pat_\w{20,}+")
    ),
    SecretFormat("sk-key", ("sk-",), _tokens(r"sk-(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{16,}+")),
    SecretFormat(
        "stripe-key",
        ("_live_", "_test_", "whsec_"),
        _tokens(r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}+", r"whsec_[A-Za-z0-9+/=]{16,}+"),
    ),
    SecretFormat(
        "google-key",
        ("aiza", "ya29.", "gocspx-"),
        _tokens(r"AIza[A-Za-z0-9_-]{35}", r"ya29\.[A-Za-z0-9_-]{20,}+", r"GOCSPX-[A-Za-z0-9_-]{20,}+"),
    ),
    SecretFormat(
        "registry-token",
        ("npm_", "pypi-", "hf_", "dckr_pat_"),
        _tokens(
            r"npm_[A-Za-z0-9]{30,}+",
            r"pypi-[A-Za-z0-9_-]{40,}+",
            r"hf_[A-Za-z0-9]{30,}+",
            r"dckr_pat_[A-Za-z0-9_-]{20,}+",
        ),
    ),
    SecretFormat(
        "platform-token",
        (
            "hvs.",
            "hvb.",
            "glsa_",
            "glc_",
            "dapi",
            "dop_v1_",
            "sntrys_",
            "nrak-",
            "lin_api_",
            "shpat_",
            "age-secret-key-",
        ),
        _tokens(
            r"hv[sb]\.[A-Za-z0-9_-]{20,}+",
            r"glsa_[A-Za-z0-9]{20,}+_[0-9a-f]{8}",
            r"glc_[A-Za-z0-9+/=]{20,}+",
            r"dapi[0-9a-f]{32}",
            r"do[opr]_v1_[0-9a-f]{40,}+",
            r"sntrys_[A-Za-z0-9+/=_-]{20,}+",
            r"NRAK-[A-Z0-9]{20,}+",
            r"lin_api_[A-Za-z0-9]{20,}+",
            r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{20,}+",
            r"AGE-SECRET-KEY-1[A-Z0-9]{20,}+",
        ),
    ),
    SecretFormat(
        "vendor-key",
        ("sk", "sq0", "-us", "akcp", "."),
        _tokens(
            r"SK[0-9a-f]{32}(?![0-9a-f])",  # Twilio
            r"sq0[a-z]{3}-[A-Za-z0-9_-]{20,}+",  # Square
            r"[0-9a-f]{32}-us\d{1,2}(?!\d)",  # Mailchimp
            r"AKCp[A-Za-z0-9]{10,}+",  # Artifactory
            r"[MNO][A-Za-z0-9_-]{23,27}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+",  # Discord
        ),
    ),
    SecretFormat(
        "sendgrid-key", ("sg.",), _tokens(r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+", left=r"A-Za-z0-9_.-")
    ),
    SecretFormat("telegram-token", (":aa",), _tokens(r"\d{8,10}:AA[A-Za-z0-9_-]{32,}+", left="A-Za-z0-9")),
    SecretFormat(
        "bearer",
        ("bearer",),
        re.compile(r"(?i)(?<![a-z])bearer[ \t]{1,4}((?=[\w.~+/=-]*\d)[\w.~+/=-]{12,}+)", re.ASCII),
        secret=1,
    ),
    SecretFormat(
        "basic",
        ("basic",),
        re.compile(r"(?i)(?<![a-z])basic[ \t]{1,4}([A-Za-z0-9+/]{6,}+={0,2})"),
        secret=1,
        real=_holds_a_pair,
    ),
    SecretFormat("url-password", ("://",), re.compile(r"://[^\s/?#@:\"'<>]{0,256}+:([^\s/?#\"'<>]{1,512})@"), secret=1),
    SecretFormat("url-token", ("://",), re.compile(r"://([A-Za-z0-9_.~-]{16,512}+)@"), secret=1),
    SecretFormat(
        "password-hash", ("$",), re.compile(r"\$(?:2[abxy]|5|6|y|argon2(?:id|i|d))\$[./A-Za-z0-9$,=+-]{20,}+")
    ),
    SecretFormat(
        "signed-url",
        ("sig=", "signature=", "credential="),
        re.compile(r"(?i)[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|credential))=([^&\s\"'<>]{8,}+)"),
        secret=1,
    ),
)
"""Formats that give themselves away: what `find_secret` refuses in a query, too."""


PHRASE_FORMATS: tuple[SecretFormat, ...] = (
    SecretFormat(
        "authorization",
        ("authorization",),
        re.compile(
            r"(?i)authorization(?:\\?[\"'])?[ \t]{0,3}[:=][ \t]{0,3}(?:\\?[\"'])?"
            r"((?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)[ \t]{1,4})?[^\s\"'\\]{1,}+)"
        ),
        secret=1,
    ),
    SecretFormat(
        "cookie",
        ("cookie",),
        re.compile(
            r"(?i)(?<![a-z])(?:set-)?cookie(?:\\?[\"'])?[ \t]{0,3}:[ \t]{0,3}(?:\\?[\"'])?([^\s\"'\\][^\r\n\"']*+)"
        ),
        secret=1,
    ),
    SecretFormat(
        "sql-password",
        ("password", "identified"),
        re.compile(r"(?i)(?<![a-z])(?:identified[ \t]{1,4}by|password)[ \t]{1,4}'([^'\r\n]{1,}+)"),
        secret=1,
    ),
    SecretFormat(
        "flag",
        ("--",),
        re.compile(
            r"(?i)(?<![\w-])--?[a-z0-9-]{0,40}(?:password|passwd|secret|token|api-?key)[ \t]{1,4}([^\s-][^\s]*+)"
        ),
        secret=1,
    ),
    SecretFormat(
        "registry-auth",
        ("auth",),
        re.compile(r"[\"']auth\\?[\"'][ \t]{0,3}:[ \t]{0,3}\\?[\"']([A-Za-z0-9+/]{6,}+={0,2})"),
        secret=1,
        real=_holds_a_pair,
    ),
)
"""Secrets known by the words before them: masked in evidence, but no reason to refuse a query."""
