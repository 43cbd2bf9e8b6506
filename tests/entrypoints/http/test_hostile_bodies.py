"""Bodies that are hostile on purpose: a final answer for each, stored where it is a post, and readable after it."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

from inquest.entrypoints.http.bodies import MAX_BODY_BYTES
from tests.bootstrap.files import OPEN_INTAKE, build, file_of
from tests.entrypoints.http.service import AUTH, serving
from tests.store.door import Door

BUGS = [
    json.loads(line) for line in (Path(__file__).parents[2] / "data" / "bugs" / "intake.jsonl").read_text().splitlines()
]
INJECTED = [
    json.loads(line)["text"]
    for line in (Path(__file__).parents[2] / "data" / "cases" / "injection.jsonl").read_text().splitlines()
]
MANY = 250_000


def alertmanager(label: bytes, *, name: bytes = b'"Broken"') -> bytes:
    """Write a post of one alert with a label of this JSON."""
    labels = b'{"alertname":%s,"service":"checkout","odd":%s}' % (name, label)
    return b'{"version":"4","status":"firing","groupKey":"{}","alerts":[{"status":"firing","labels":%s}]}' % labels


def datadog(label: bytes) -> bytes:
    return b'{"alert_id":"7","alert_transition":"Triggered","alert_title":"Broken","text":%s,"tags":%s}' % (
        label,
        label,
    )


def text(value: str) -> bytes:
    return json.dumps(value).encode()


VALUES = {
    "NUL": rb'"a\u0000b"',
    "lone surrogates": rb'"\ud800 \udc00\ud800"',
    "invalid UTF-8": b'"\xff\xfe\xc0\x80\xed\xa0\x80 \xe2\x96"',
    "a noncharacter": '"\ufffe\uffff\U0010ffff"'.encode(),
    "controls and direction marks": rb'"\u001b[2J\u202egnp.exe\u202c\u2028\u0007"',
    "raw controls": b'"line1\nline2\x01\x1b[2J"',
    "NaN": b"NaN",
    "infinities": b"[Infinity,-Infinity]",
    "5,000 digits": b"9" * 5_000,
    "5,000 digits after the point": b"0." + b"1" * 5_000,
    "1e400": b"1e400",
    "1e130000": b"1e130000",
    "2**64": b"18446744073709551616",
    "-0.0": b"-0.0",
    "a long text": text("x" * 200_000),
    "a long run of NULs": rb'"' + rb"\u0000" * 30_000 + rb'"',
    "an array": b'[{"a":[1,[2,[3]]]}]',
    "depth 60": b"[" * 58 + b"]" * 58,
    "empty": b'""',
    "null": b"null",
    "a quick action and a mention": text("\n/close\n@all <!channel> ![](https://x.test/?d=1)"),
    "a query": text("x' or 1=1; drop table alert; --"),
    "a path": text("../../../../etc/cron.d/x"),
    **{f"injected {number}": text(value) for number, value in enumerate(INJECTED)},
    **{f"of {row['id']}": text(row["input"]) for row in BUGS},
}
"""JSON values that are understood or left out: the post is taken either way."""

WHOLE = {
    "nothing": b"",
    "white space": b" " * 10_000,
    "a byte order mark": b"\xef\xbb\xbf" + alertmanager(b'"x"'),
    "UTF-16": alertmanager(b'"x"').decode().encode("utf-16"),
    "UTF-16 without a mark": alertmanager(b'"x"').decode().encode("utf-16-be"),
    "UTF-32": alertmanager(b'"x"').decode().encode("utf-32"),
    "half of UTF-16": alertmanager(b'"x"').decode().encode("utf-16")[:-1],
    "not UTF-8 at all": bytes(range(256)) * 100,
    "not JSON": b"<xml/>",
    "half of JSON": alertmanager(b'"x"')[:-5],
    "two values": b"{}{}",
    "a number": b"1",
    "a text": b'"x"',
    "null": b"null",
    "an array": b"[1,2,3]",
    "depth 100,000": b"[" * 100_000,
    "depth 100,000, closed": b"[" * 100_000 + b"]" * 100_000,
    "depth 100,000 of objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a million keys": b"{" + b",".join(b'"%d":1' % number for number in range(1_000_000)) + b"}",
    "duplicate keys": alertmanager(b'{"a":1,"a":2}').replace(b'"groupKey"', b'"status":"resolved","status":"firing","groupKey"'),
    "a key of 200 kB": b'{"version":"4","alerts":[{"labels":{"%s":"x"}}]}' % (b"k" * 200_000),
    "many alerts of nothing": b'{"version":"4","alerts":[%s]}' % b",".join([b"{}"] * 3_000),
    "many alerts that are none": b'{"version":"4","alerts":[%s]}' % b",".join([b"null", b"1", b'"x"'] * 10_000),
    "many commas": b"[" + b"," * MANY,
    "many colons": b"{" + b":" * MANY,
    "a form": b"payload=%7B%7D",
}  # fmt: skip


async def test_whatever_is_in_a_post_it_is_taken_told_what_it_was_and_read_back(rows: Door, tmp_path: Path) -> None:
    intakes = {"am": OPEN_INTAKE, "dd": {**OPEN_INTAKE, "type": "datadog"}}
    workspaces = build(file_of(intakes=intakes), tmp_path)
    posts = {
        **{("am", name): alertmanager(value) for name, value in VALUES.items()},
        **{("am", f"{name} as a name"): alertmanager(b'"x"', name=value) for name, value in VALUES.items()},
        **{("dd", name): datadog(value) for name, value in VALUES.items()},
        **{(intake, name): body for name, body in WHOLE.items() for intake in intakes},
    }
    repeated = set(VALUES)
    async with serving(rows.database, workspaces) as service:
        for (intake, name), body in posts.items():
            for _ in range(2 if name in repeated else 1):  # as a sender does that missed the answer
                answer = await service.client.post(f"/v1/alerts/{intake}", content=body)
                assert answer.status_code == 202, (intake, name, answer.text)
                assert answer.json()["state"] in {"accepted", "quarantined"}

        listed = (await service.get("/v1/investigations", AUTH, limit=200)).json()["investigations"]
        for one in listed:
            assert (await service.get(f"/v1/investigations/{one['id']}")).status_code == 200

    assert len(listed) > 1
    assert rows.column("select count(*) from intake_receipt") == [
        len(posts) + sum(name in repeated for _, name in posts)
    ]
    rows.accounts("default")


def zeros(size: int, wbits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    piece = b"\0" * 1_048_576
    return b"".join([*(packer.compress(piece) for _ in range(size // len(piece))), packer.flush()])


async def test_what_grows_past_the_cap_or_cannot_be_inflated_is_refused_for_good(rows: Door, tmp_path: Path) -> None:
    bomb, whole = zeros(2 * MAX_BODY_BYTES, 31), alertmanager(b'"x"')
    refused = {
        "a bomb of gzip": (bomb, "gzip", 413),
        "a bomb of zlib": (zeros(2 * MAX_BODY_BYTES, 15), "deflate", 413),
        "a bomb of raw deflate": (zeros(2 * MAX_BODY_BYTES, -15), "deflate", 413),
        "a bomb in a bomb": (gzip.compress(bomb), "gzip, gzip", 415),
        "a bomb in a bomb, said once": (gzip.compress(bomb), "gzip", 202),
        "zstd": (b"\x28\xb5\x2f\xfd" + b"\0" * 100, "zstd", 415),
        "brotli": (whole, "br", 415),
        "an encoding that nobody knows": (whole, "x-nothing", 415),
        "cut off": (gzip.compress(whole)[:-4], "gzip", 400),
        "no gzip": (whole, "gzip", 400),
        "another checksum": (gzip.compress(whole)[:-8] + b"\0" * 8, "gzip", 400),
        "bytes behind its end": (gzip.compress(whole) + b"x", "gzip", 400),
        "members of nothing": (gzip.compress(b"") * 2_000, "gzip", 202),
        "above the cap as it is": (b" " * (MAX_BODY_BYTES + 1), "", 413),
    }
    async with serving(rows.database, build(file_of(intakes={"am": OPEN_INTAKE}), tmp_path)) as service:
        for name, (body, encoding, status) in refused.items():
            headers = {"Content-Encoding": encoding} if encoding else {}
            answer = await service.client.post("/v1/alerts/am", content=body, headers=headers)
            assert (answer.status_code, answer.is_redirect) == (status, False), (name, answer.text)
            assert status == 202 or answer.json()["error"]["message"]
        assert (await service.client.post("/v1/alerts/am", content=whole)).json()["state"] == "accepted"
