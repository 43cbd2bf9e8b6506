import base64
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inquest.domain.value import Json
from inquest.wire.assignments import is_secret_name
from inquest.wire.redaction import Redactor, find_secret
from inquest.wire.secret_formats import PHRASE_FORMATS, TOKEN_FORMATS

CPU_LIMIT_S = 20.0

ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
HEX = "0123456789abcdef"


def run(alphabet: str, low: int, high: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=low, max_size=high)


def alnum(low: int, high: int) -> st.SearchStrategy[str]:
    return run(ALNUM, low, high)


DIGIT_RUN = st.builds(lambda a, d, b: f"{a}{d}{b}", alnum(8, 30), st.sampled_from("0123456789"), alnum(8, 30))
WORD = alnum(8, 24).map("{}7Q".format)  # no word of ours ends so

# Each row writes a secret of its kind: the oracle is the one who wrote it.
WRITTEN: dict[str, st.SearchStrategy[tuple[str, str]]] = {
    "jwt": st.builds(lambda a, b, c: (f"eyJ{a}.eyJ{b}.{c}",) * 2, WORD, WORD, WORD),
    "aws": st.builds(lambda p, s: (p + s,) * 2, st.sampled_from(["AKIA", "ASIA", "AROA"]), run(UPPER, 16, 16)),
    "slack": st.builds(lambda k, s: (f"xox{k}-{s}",) * 2, st.sampled_from("abeprs"), alnum(12, 40)),
    "slack-app": st.builds(lambda s: (f"xapp-1-{s}",) * 2, alnum(12, 40)),
    "slack-webhook": st.builds(lambda s: (f"https://hooks.slack.com/services/T0/B0/{s}", s), alnum(16, 30)),
    "gitlab": st.builds(lambda k, s: (f"gl{k}-{s}",) * 2, st.sampled_from(["pat", "rt", "dt", "cbt"]), alnum(20, 30)),
    "github": st.builds(lambda k, s: (f"gh{k}_{s}",) * 2, st.sampled_from("pousr"), alnum(36, 40)),
    "github-fine": st.builds(lambda a, b: (f"github_pat_{a}_{b}",) * 2, alnum(22, 22), alnum(40, 59)),
    "openai": st.builds(lambda s: (f"sk-proj-{s}",) * 2, DIGIT_RUN),
    "anthropic": st.builds(lambda s: (f"sk-ant-api03-{s}",) * 2, DIGIT_RUN),
    "stripe": st.builds(lambda s: (f"sk_live_{s}",) * 2, alnum(24, 30)),
    "google": st.builds(lambda s: (f"AIza{s}",) * 2, alnum(35, 35)),
    "npm": st.builds(lambda s: (f"npm_{s}",) * 2, alnum(36, 36)),
    "vault": st.builds(lambda s: (f"hvs.{s}",) * 2, alnum(24, 90)),
    "grafana": st.builds(lambda s, h: (f"glsa_{s}_{h}",) * 2, alnum(32, 32), run(HEX, 8, 8)),
    "twilio": st.builds(lambda s: (f"SK{s}",) * 2, run(HEX, 32, 32)),
    "square": st.builds(lambda s: (f"sq0csp-{s}",) * 2, alnum(43, 43)),
    "mailchimp": st.builds(lambda s: (f"{s}-us12",) * 2, run(HEX, 32, 32)),
    "artifactory": st.builds(lambda s: (f"AKCp{s}",) * 2, alnum(60, 70)),
    "discord": st.builds(lambda a, b, c: (f"M{a}.{b}.{c}",) * 2, alnum(23, 25), alnum(6, 6), alnum(27, 27)),
    "sendgrid": st.builds(lambda a, b: (f"SG.{a}.{b}",) * 2, alnum(22, 22), alnum(43, 43)),
    "telegram": st.builds(lambda s: (f"123456789:AA{s}",) * 2, alnum(33, 33)),
    "pem": st.builds(
        lambda kind, s: (f"-----BEGIN {kind}PRIVATE KEY-----\n{s[:64]}\n{s[64:]}\n-----END {kind}PRIVATE KEY-----", s[:64]),
        st.sampled_from(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]), alnum(100, 300),
    ),
    "bearer": st.builds(lambda s: (f"bearer {s}", s), DIGIT_RUN),
    "basic": st.builds(lambda u, p: (f"Basic {_b64(f'{u}:{p}')}", _b64(f"{u}:{p}")), alnum(1, 9), alnum(8, 20)),
    "authorization": st.builds(lambda s: (f"Authorization: {s}", s), WORD),
    "authorization-json": st.builds(lambda s: (json.dumps({"authorization": f"Token {s}"}), s), WORD),
    "cookie": st.builds(lambda s: (f"Set-Cookie: sid={s}; Path=/; HttpOnly", s), WORD),
    "dsn": st.builds(lambda s: (f"postgresql://shop:{s}@db:5432/shop?sslmode=require", s), WORD),
    "dsn-at": st.builds(lambda s, t: (f"amqp://shop:{s}@{t}@mq:5672/", f"{s}@{t}"), WORD, WORD),
    "dsn-no-user": st.builds(lambda s: (f"redis://:{s}@cache:6379/0", s), WORD),
    "sentry-dsn": st.builds(lambda s: (f"https://{s}@errors.example.org/4", s), run(HEX, 32, 32)),
    "odbc": st.builds(lambda s: (f"Server=db;Uid=sa;Pwd={s};Encrypt=yes", s), WORD),
    "env": st.builds(lambda s: (f"DB_PASSWORD={s}", s), WORD),
    "yaml": st.builds(lambda s: (f"  adminPassword: {s}9", f"{s}9"), WORD),
    "json": st.builds(lambda s: (json.dumps({"api_key": s, "x": 1}), s), WORD),
    "json-in-json": st.builds(lambda s: (json.dumps(json.dumps({"client_secret": s})), s), WORD),
    "spaced": st.builds(lambda s: (f'password = "{s} and {s}"', s), WORD),
    "query-string": st.builds(lambda s: (f"GET /cb?access_token={s}&state=1 HTTP/1.1", s), WORD),
    "flag": st.builds(lambda s: (f"mysqldump --password {s} shop", s), WORD),
    "sql": st.builds(lambda s: (f"ALTER ROLE shop WITH PASSWORD '{s}'", s), WORD),
    "signed-url": st.builds(lambda s: (f"https://b.example.org/o?sv=1&sig={s}%3D", s), WORD),
    "bcrypt": st.builds(lambda s: (f"$2b$12${s}", s), alnum(53, 53)),
    "docker": st.builds(lambda u, p: (json.dumps({"auth": _b64(f"{u}:{p}")}), _b64(f"{u}:{p}")), alnum(3, 9), alnum(8, 20)),
}  # fmt: skip

LEFT = st.sampled_from(["", "line ", "\n", '"', "[", "(", "level=error msg=", "\t", "é "])
RIGHT = st.sampled_from(["", " next", "\n", '"', "]", ")", ", more", "\t"])

ORDINARY = [
    'FATAL: password authentication failed for user "shop"',
    "author=bob oauth_provider=github authority=x",
    "max_tokens=4096 token_count=12 tokens: 7 tokenizer=bpe",
    "invalid password: user not found",
    "syntax error: unexpected token: }",
    "the bearer of this authentication header was refused",
    "basic authentication is off; basic troubleshootingguide",
    "secretName: db-creds",
    'secret "db-creds" not found',
    "ssh://git@gitlab.example.org/shop/web.git",
    "http://web.shop.svc:8080/healthz?x=1",
    "2026-03-01T10:00:00Z sk-SK locale, task-runner, risk-assessment",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 3a44beadeadbeefdeadbeefdeadbeefdeadbeef0",
    "pod checkout-7d9f4c6b5d-x2lkq restarted 3 times, key=value monkey=1 keyboard: de",
    'sum by (token) (rate(x{secret=~"db-.*"}[5m])) == 1',
    "password: [redacted-assigned]",
    "DB_PASSWORD=${DB_PASSWORD} TOKEN=$TOKEN password: {{ .Values.password }}",
    "cookies are off; the cookie jar is full",
    "550e8400-e29b-41d4-a716-446655440000",
]


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_secret_of_every_kind_is_masked_whatever_stands_around_it(kind: str) -> None:
    @given(WRITTEN[kind], LEFT, RIGHT)
    def masked(written: tuple[str, str], left: str, right: str) -> None:
        text, secret = written
        shown = Redactor().text(f"{left}{text}{right}")

        assert secret not in shown
        assert "[redacted-" in shown
        assert Redactor().text(shown) == shown

    masked()


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_stay(text: str) -> None:
    assert Redactor().text(text) == text
    assert Redactor().tree({"line": text}) == {"line": text}


@pytest.mark.parametrize(
    "kind",
    sorted(set(WRITTEN) & {"jwt", "aws", "slack", "gitlab", "github", "openai", "bearer", "basic", "dsn", "pem"}),
)
def test_a_secret_in_a_query_is_found(kind: str) -> None:
    @given(WRITTEN[kind])
    def found(written: tuple[str, str]) -> None:
        assert find_secret(f'{{app="x"}} |= `{written[0]}`') is not None

    found()


@pytest.mark.parametrize(
    "text", [*ORDINARY, '{secret="db-creds",token="abc"}', '{app="x"} |= "password="', 'x{user="a"}']
)
def test_an_ordinary_query_holds_no_secret(text: str) -> None:
    assert find_secret(text) is None


def test_the_tree_is_redacted_in_values_keys_and_by_name() -> None:
    key = "AKIA" + "Q" * 16
    tree: Json = {
        "author": "bob",
        "oauth_provider": "x",
        "authorization": "secret",
        "labels": [{key: "v", f"{key[:-1]}R": "w", "dbPassword": 7, "token": None}],
        "credentials": {"user": "u", "note": [True, "x"]},
        "points": [[1, 2.5], [2, None]],
    }

    assert Redactor().tree(tree) == {
        "author": "bob",
        "oauth_provider": "x",
        "authorization": "[redacted-named]",
        "labels": [
            {"[redacted-aws-key]": "v", "[redacted-aws-key]#2": "w", "dbPassword": "[redacted-named]", "token": None}
        ],
        "credentials": {"user": "[redacted-named]", "note": [True, "[redacted-named]"]},
        "points": [[1, 2.5], [2, None]],
    }


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("password", True), ("DB_PASSWORD", True), ("dbPassword", True), ("X-Api-Key", True), ("apiKey", True),
        ("AWSSecretAccessKey", True), ("token", True), ("refreshToken", True), ("Set-Cookie", True), ("PWD", True),
        ("author", False), ("oauth_provider", False), ("authorized", False), ("secretName", False), ("tokens", False),
        ("token_count", False), ("key", False), ("monkey", False), ("passwordPolicy", False), ("x" * 300 + "password", False),
    ],
)  # fmt: skip
def test_a_name_is_a_secrets_only_by_its_last_word(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


CONFIGURED = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=6, max_size=40).filter(
    lambda secret: "[redacted-" not in secret
)


@given(CONFIGURED, st.text(ALNUM + " ", max_size=5), st.text(ALNUM + " ", max_size=5))
def test_a_configured_secret_is_masked_however_it_is_written(secret: str, left: str, right: str) -> None:
    redactor = Redactor([secret])
    for text in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], secret.encode().hex()):
        assert text not in redactor.text(f"{left} {text} {right}")
        assert redactor.find_secret(f"{left} {text} {right}") is not None
    inside = _b64(f"{left}{secret}{right}")
    assert redactor.text(inside) != inside or len(secret.encode()) < 8
    assert secret not in json.dumps(
        redactor.tree({"a": [f"{left}{secret}"], f"{secret}{right}": 1}), ensure_ascii=False
    )


@given(CONFIGURED, st.integers(1, 20))
@example(secret="T\t\U000bc35f\U000d37f4Bx", width=2)
def test_a_configured_secret_broken_over_lines_is_masked(secret: str, width: int) -> None:
    broken = "\r\n".join(secret[at : at + width] for at in range(0, len(secret), width))
    redactor = Redactor([secret])

    assert redactor.text(f"x {broken} y") == "x [redacted-configured] y"
    assert redactor.tree({"line": f"x {broken} y"}) == {"line": "x [redacted-configured] y"}


def test_a_configured_value_too_short_to_be_told_from_words_is_not_matched() -> None:
    assert Redactor(["shop"]).text("the shop is open") == "the shop is open"


def test_a_redactor_shows_none_of_its_secrets() -> None:
    assert "hunter2-hunter2" not in f"{Redactor(['hunter2-hunter2'])!r}"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_redacting_twice_is_redacting_once(tree: Json) -> None:
    once = Redactor(["hunter2-hunter2"]).tree(tree)
    assert Redactor(["hunter2-hunter2"]).tree(once) == once


class TookTooLong(Exception):
    pass


@contextmanager
def cpu_limit() -> Iterator[None]:
    """End what runs away: a pattern that is not linear would run for hours here."""

    def stop(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


HOSTILE = [
    "M" + "a" * 24 + ".", "0123456789abcdef" * 2 + "-", "sq0aaa-", "AKCp",
    "eyJ-", "eyJ.", "a.", "://a:", "://", "@", "password=", 'password="', "password:", "token", "-----BEGIN PRIVATE KEY-----",
    "-", "--a", "--password ", "bearer ", "bearer a", "basic aaaaaa", "glpat-.", "xoxb-", "$2b$", "$5$", "AKIA", "sk-", "SG.",
    "cookie:", "cookie: x", "authorization:", "?sig=", "'", '\\"', "password '", "1:AA", "A", " ", "\n", "(", "\t=", "h\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_makes_redaction_slow(piece: str) -> None:
    hints = " ".join(hint for form in TOKEN_FORMATS + PHRASE_FORMATS for hint in form.hints)
    text = piece * (300_000 // len(piece)) + hints
    with cpu_limit():
        Redactor(["hunter2-hunter2"]).text(text)
