import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from inquest.domain.failure import Failure, FailureCode
from inquest.errors import ConfigurationError
from inquest.wire.answer import Answer
from inquest.wire.endpoint import Anonymous, Basic, Bearer, Credential, Endpoint, HeaderToken, secret_values
from inquest.wire.transport import Transport
from tests.fakes.connections import watch_connections
from tests.fakes.loopback import Act, Handler, Hang, Loopback, Raw, Reply, Stream, loopback

SECRET = "glpat-Zq7Zq7Zq7Zq7Zq7Zq7Zq"
LIMIT_S = 20.0


@asynccontextmanager
async def connected(
    act: Act | Handler, *, credential: Credential | None = None, cap: int = 1_000_000, prefix: str = ""
) -> AsyncIterator[tuple[Loopback, Transport]]:
    handler = act if callable(act) else lambda _: act
    async with loopback(handler) as fake:
        endpoint = Endpoint(base_url=fake.url + prefix)
        door = Transport(endpoint, credential, post_to={("api", "query")}, max_answer_bytes=cap)
        try:
            yield fake, door
        finally:
            await door.aclose()


def code(said: Answer | Failure) -> FailureCode | int:
    return said.code if isinstance(said, Failure) else said.status


async def test_an_answer_is_its_status_the_kept_headers_and_the_bytes() -> None:
    reply = Reply(
        200, b'{"a":1}', {"Content-Type": "application/json; charset=utf-8", "Set-Cookie": "s=1", "X-Next-Page": "2"}
    )
    async with connected(reply) as (_, door):
        said = await door.get(("x",), timeout_s=5)

    assert said == Answer(200, {"content-type": "application/json; charset=utf-8", "x-next-page": "2"}, b'{"a":1}')
    assert said.content_type == "application/json"


async def test_the_request_stays_below_the_pinned_prefix_whatever_the_parts_hold() -> None:
    async with connected(Reply(), prefix="/mon/prom") as (fake, door):
        await door.get(
            ("api", "v1", "label", "a/b?c#d e", "values"), [("match[]", 'up{a="b&c"}'), ("match[]", "é")], timeout_s=5
        )

    (seen,) = fake.seen
    assert seen.target == (
        "/mon/prom/api/v1/label/a%2Fb%3Fc%23d%20e/values?match%5B%5D=up%7Ba%3D%22b%26c%22%7D&match%5B%5D=%C3%A9"
    )
    assert seen.headers["host"] == fake.url.removeprefix("http://")


@pytest.mark.parametrize(
    "part",
    [
        "http://169.254.169.254/", "http://[::1]/", "http://0x7f000001/", "http://2130706433/", "//collect.attacker.test/g",
        "file:///etc/passwd", "@collect.attacker.test", "..\\..\\x", "%2e%2e", "\r\nHost: collect.attacker.test", "?x", "#x",
    ],
)  # fmt: skip
async def test_no_argument_reaches_another_host(part: str) -> None:
    async with connected(Reply()) as (fake, door):
        with watch_connections() as watch:
            await door.get(("label", part), [("q", part)], timeout_s=5)

    assert set(watch.opened) == {f"127.0.0.1:{fake.port}"}
    assert set(watch.resolved) <= {"127.0.0.1"}
    assert [seen.headers["host"] for seen in fake.seen] == [f"127.0.0.1:{fake.port}"]
    assert fake.seen[0].path == f"/label/{part}"


@pytest.mark.parametrize("part", ["", ".", ".."])
async def test_a_part_of_dots_or_nothing_is_refused_before_anything_is_sent(part: str) -> None:
    async with connected(Reply()) as (fake, door):
        said = await door.get(("label", part), timeout_s=5)

    assert code(said) is FailureCode.INVALID_QUERY
    assert fake.seen == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_never_followed(status: int) -> None:
    async with loopback(lambda _: Reply()) as elsewhere:
        headers = {"Location": f"{elsewhere.url}/x"}
        async with connected(Reply(status, b"", headers)) as (fake, door):
            with watch_connections() as watch:
                said = await door.get(("x",), timeout_s=5)

    assert code(said) == status
    assert set(watch.opened) == {f"127.0.0.1:{fake.port}"}
    assert elsewhere.seen == []


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(lambda _: Reply(502)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv("NO_PROXY", "")
        async with connected(Reply(200)) as (fake, door):
            said = await door.get(("x",), timeout_s=5)

    assert code(said) == 200
    assert (len(fake.seen), proxy.seen) == (1, [])


async def test_cookies_are_not_kept() -> None:
    async with connected(Reply(200, b"", {"Set-Cookie": "session=1"})) as (fake, door):
        await door.get(("x",), timeout_s=5)
        await door.get(("x",), timeout_s=5)

    assert ["cookie" in seen.headers for seen in fake.seen] == [False, False]


async def test_post_is_only_for_the_query_endpoints_that_were_named() -> None:
    async with connected(Reply()) as (fake, door):
        refused = await door.post_json(("api", "admin"), {}, timeout_s=5)
        taken = await door.post_form(("api", "query"), [("q", "up")], timeout_s=5)
        also = await door.post_json(("api", "query"), {"q": "é"}, timeout_s=5)

    assert [code(said) for said in (refused, taken, also)] == [FailureCode.CAPABILITY_DENIED, 200, 200]
    assert [(seen.method, seen.path, seen.body) for seen in fake.seen] == [
        ("POST", "/api/query", b"q=up"),
        ("POST", "/api/query", b'{"q": "\\u00e9"}'),
    ]


async def test_the_cap_counts_inflated_bytes() -> None:
    bomb = gzip.compress(b"x" * 50_000_000)
    assert len(bomb) < 100_000
    async with connected(Reply(200, bomb, {"Content-Encoding": "gzip"}), cap=1_000_000) as (_, door):
        said = await door.get(("x",), timeout_s=LIMIT_S)

    assert isinstance(said, Answer)
    assert (said.cut, len(said.body)) == (True, 1_000_000)


async def test_gzip_in_several_members_is_read_whole() -> None:
    body = gzip.compress(b"a" * 200_000) + gzip.compress(b"b")
    async with connected(Reply(200, body, {"Content-Encoding": "gzip"})) as (_, door):
        said = await door.get(("x",), timeout_s=5)

    assert isinstance(said, Answer)
    assert said.body == b"a" * 200_000 + b"b"


@pytest.mark.parametrize("cut_at", [1, 50])
async def test_gzip_that_breaks_off_is_malformed(cut_at: int) -> None:
    body = gzip.compress(json.dumps(list(range(1000))).encode())[:-cut_at]
    async with connected(Reply(200, body, {"Content-Encoding": "gzip"})) as (_, door):
        assert code(await door.get(("x",), timeout_s=5)) is FailureCode.MALFORMED_RESULT


async def test_an_encoding_that_was_not_asked_for_is_malformed() -> None:
    async with connected(Reply(200, b"x", {"Content-Encoding": "br"})) as (_, door):
        assert code(await door.get(("x",), timeout_s=5)) is FailureCode.MALFORMED_RESULT


async def test_an_answer_at_the_cap_is_whole_and_one_byte_more_is_cut() -> None:
    for length, cut in ((1000, False), (1001, True)):
        async with connected(Reply(200, b"x" * length), cap=1000) as (_, door):
            said = await door.get(("x",), timeout_s=5)
        assert isinstance(said, Answer)
        assert (said.cut, len(said.body)) == (cut, 1000)


async def test_what_is_above_the_cap_is_not_read() -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 65_536

    async with connected(Stream(endless()), cap=1_000_000) as (fake, door):
        said = await door.get(("x",), timeout_s=LIMIT_S)
        await asyncio.wait_for(fake.left.wait(), LIMIT_S)

    assert isinstance(said, Answer)
    assert said.cut
    assert sent * 65_536 < 16_000_000  # the cap and what the sockets hold


async def test_a_dripping_answer_ends_at_the_total_timeout() -> None:
    async with connected(Stream((b"x" for _ in range(1_000_000)), pause_s=0.01)) as (fake, door):
        said = await asyncio.wait_for(door.get(("x",), timeout_s=0.3), LIMIT_S)
        await asyncio.wait_for(fake.left.wait(), LIMIT_S)

    assert code(said) is FailureCode.TIMEOUT


async def test_a_hanging_source_is_a_timeout_and_its_slot_is_free_again() -> None:
    acts: list[Act] = [Hang(), Reply()]
    async with loopback(lambda _: acts.pop(0)) as fake:
        door = Transport(Endpoint(base_url=fake.url, max_concurrent=1))
        first = await asyncio.wait_for(door.get(("x",), timeout_s=0.2), LIMIT_S)
        second = await asyncio.wait_for(door.get(("x",), timeout_s=5), LIMIT_S)
        await door.aclose()

    assert [code(first), code(second)] == [FailureCode.TIMEOUT, 200]


async def test_waiting_for_a_slot_counts_in_the_timeout() -> None:
    async with loopback(lambda _: Hang()) as fake:
        door = Transport(Endpoint(base_url=fake.url, max_concurrent=2))
        holding = [asyncio.create_task(door.get(("x",), timeout_s=LIMIT_S)) for _ in range(2)]
        await asyncio.wait_for(fake.asked.wait(), LIMIT_S)
        said = await asyncio.gather(*(door.get(("x",), timeout_s=0.2) for _ in range(3)))
        for task in holding:
            task.cancel()
        await asyncio.gather(*holding, return_exceptions=True)
        await door.aclose()

    assert [code(one) for one in said] == [FailureCode.TIMEOUT] * 3
    assert len(fake.seen) == 2


async def test_a_callers_cancel_is_no_timeout() -> None:
    async with connected(Hang()) as (fake, door):
        task = asyncio.create_task(door.get(("x",), timeout_s=LIMIT_S))
        await asyncio.wait_for(fake.asked.wait(), LIMIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(fake.left.wait(), LIMIT_S)


@pytest.mark.parametrize(
    ("act", "hint"),
    [
        (Raw(b""), "the source broke off or speaks no HTTP"),
        (Raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "the source broke off or speaks no HTTP"),
        (Stream([b"abc"], length=10), "the source broke off or speaks no HTTP"),
    ],
)
async def test_a_broken_connection_is_a_provider_error_in_our_words(act: Act, hint: str) -> None:
    async with connected(act) as (_, door):
        said = await door.get(("x",), timeout_s=5)

    assert isinstance(said, Failure)
    assert (said.code, said.hint) == (FailureCode.PROVIDER_ERROR, hint)


async def test_a_closed_port_is_a_provider_error() -> None:
    async with loopback(lambda _: Reply()) as fake:
        url = fake.url
    door = Transport(Endpoint(base_url=url))
    said = await door.get(("x",), timeout_s=5)
    await door.aclose()

    assert isinstance(said, Failure)
    assert (said.code, said.hint) == (FailureCode.PROVIDER_ERROR, "the source refuses connections")


async def test_a_certificate_is_verified_and_a_ca_file_is_honoured() -> None:
    folder = Path(__file__).parents[1] / "data" / "tls"
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "loopback.pem", folder / "loopback.key")
    async with loopback(lambda _: Reply(), tls=server) as fake:
        stranger = Transport(Endpoint(base_url=fake.url))
        friend = Transport(Endpoint(base_url=fake.url, ca_file=str(folder / "ca.pem")))
        refused = await stranger.get(("x",), timeout_s=5)
        taken = await friend.get(("x",), timeout_s=5)
        await stranger.aclose()
        await friend.aclose()

    assert isinstance(refused, Failure)
    assert refused.hint == "TLS: the certificate of the source is not accepted"
    assert code(taken) == 200


@pytest.mark.parametrize(
    ("credential", "header", "value"),
    [
        (Bearer(token=SecretStr(SECRET)), "authorization", f"Bearer {SECRET}"),
        (
            Basic(username="ana", password=SecretStr(SECRET)),
            "authorization",
            "Basic YW5hOmdscGF0LVpxN1pxN1pxN1pxN1pxN1pxN1px",
        ),
        (HeaderToken(header="PRIVATE-TOKEN", token=SecretStr(SECRET)), "private-token", SECRET),
    ],
)
async def test_a_credential_is_sent_and_never_shown(credential: Credential, header: str, value: str) -> None:
    async with connected(Reply(), credential=credential) as (fake, door):
        await door.get(("x",), timeout_s=5)
        shown = f"{door!r} {door} {credential!r} {credential.model_dump_json()}"

    assert fake.seen[0].headers[header] == value
    assert SECRET not in shown
    assert value.rsplit(maxsplit=1)[-1] in secret_values(credential)


@pytest.mark.parametrize("token", ["", "line\r\nend", "end\n", "größe", " x"])
def test_a_token_that_cannot_be_a_header_is_refused_without_being_repeated(token: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Transport(Endpoint(base_url="http://127.0.0.1:1"), HeaderToken(header="X", token=SecretStr(token)))
    assert token.strip() == "" or token not in str(refused.value)


async def test_a_constant_header_is_sent() -> None:
    async with loopback(lambda _: Reply()) as fake:
        door = Transport(Endpoint(base_url=fake.url, headers={"X-Scope-OrgID": "shop"}), Anonymous())
        await door.get(("x",), timeout_s=5)
        await door.aclose()
    assert fake.seen[0].headers["x-scope-orgid"] == "shop"


async def test_a_secret_header_is_sent_and_never_shown() -> None:
    async with loopback(lambda _: Reply()) as fake:
        endpoint = Endpoint(base_url=fake.url, secret_headers={"CF-Access-Client-Secret": SecretStr(SECRET)})
        door = Transport(endpoint, Bearer(token=SecretStr("another")))
        await door.get(("x",), timeout_s=5)
        await door.aclose()
    assert fake.seen[0].headers["cf-access-client-secret"] == SECRET
    assert fake.seen[0].headers["authorization"] == "Bearer another"
    assert SECRET not in f"{door!r} {endpoint!r} {endpoint.model_dump_json()}"


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "Cookie", "X Y", ""])
def test_a_header_of_the_transports_own_is_refused_without_its_value(name: str) -> None:
    with pytest.raises(ValidationError, match="the header") as refused:
        Endpoint(base_url="http://127.0.0.1:1", secret_headers={name: SecretStr(SECRET)})
    assert SECRET not in str(refused.value)


def test_a_header_that_the_credential_gives_too_is_refused() -> None:
    endpoint = Endpoint(base_url="http://127.0.0.1:1", secret_headers={"authorization": SecretStr(SECRET)})
    with pytest.raises(
        ConfigurationError, match="the header authorization is given by the credential and by the headers"
    ):
        Transport(endpoint, Bearer(token=SecretStr("another")))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h", "http://", "http://u:p@h", "http://h?x=1", "http://h#x", "http://h/../x", "http://h/a b", " http://h",
        "http://h:99999", "http://h\\@x", "//h/x", "h", "http://h/%2e%2e", "http://h\n", "http://[::1", "http://h//x",
    ],
)  # fmt: skip
def test_an_endpoint_is_scheme_host_port_and_prefix(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Endpoint(base_url=url)
    assert "u:p" not in str(refused.value.errors(include_input=False))


@pytest.mark.parametrize(
    ("url", "pinned"),
    [
        ("http://h/", "http://h"),
        ("https://h:9090/prom/", "https://h:9090/prom"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_an_endpoint_loses_only_its_last_slash(url: str, pinned: str) -> None:
    assert Endpoint(base_url=url).base_url == pinned
