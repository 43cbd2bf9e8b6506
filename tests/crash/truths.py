"""What must be true when a run is quiet, by SQL and the vendors' journals alone."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.crash.house import House
from tests.fakes import gitlab_notes, slack


class Kind(StrEnum):
    """What a breach counts as."""

    LOST = "lost"
    DUPLICATE = "duplicate effects"
    MISMATCH = "mismatched replays"
    VACUOUS = "never came to its point"
    LATE = "late first sends of a continued process"


@dataclass(frozen=True)
class Breach:
    """One truth that does not hold."""

    kind: Kind
    words: str


async def breaches(house: House) -> list[Breach]:
    """Look at everything once it is quiet."""
    names = {
        str(title): str(name)
        for title, name in await house.clone.rows("select title, investigation_id from investigation")
    }
    return [
        *await _of_receipts(house),
        *await _of_investigations(house),
        *await _of_journals(house),
        *await _of_deliveries(house),
        *_of_messages(house, names.values()),
        *_of_folders(house.reports, names.values()),
        *await _of_model_calls(house),
        *await _of_queries(house),
        *await _of_replays(house, names.values()),
    ]


# ---- nothing is lost ---------------------------------------------------------------------------------------


async def _of_receipts(house: House) -> list[Breach]:
    stored = {str(one) for (one,) in await house.clone.rows("select receipt_id from intake_receipt")}
    return [
        Breach(Kind.LOST, f"{sent.alert} was answered with 202 and has no receipt")
        for sent in house.sent
        if sent.receipt_id not in stored
    ]


async def _of_investigations(house: House) -> list[Breach]:
    """Check that each alert has one investigation, and that it succeeded."""
    rows = await house.clone.rows("select title, status from investigation")
    opened = Counter(str(title) for title, _ in rows)
    return [
        *(Breach(Kind.LOST, f"{alert} has no investigation") for alert in house.alerts if not opened[alert]),
        *(
            Breach(Kind.DUPLICATE, f"{title} has {count} investigations")
            for title, count in opened.items()
            if count > 1
        ),
        *(Breach(Kind.LOST, f"{title} is {status}") for title, status in rows if status != "succeeded"),
    ]


async def _of_deliveries(house: House) -> list[Breach]:
    """Check that nothing planned was left, and that the newest revision of each message is the one that stands."""
    left = await house.clone.rows(
        "select target_id, revision, kind, state, outcome from delivery where state not in ('sent', 'superseded')"
    )
    unreported = await house.clone.rows(_UNREPORTED)
    return [
        *(
            Breach(Kind.LOST, f"revision {number} ({kind}) of {target} is {state}: {why}")
            for target, number, kind, state, why in left
        ),
        *(Breach(Kind.LOST, f"{name} was never reported at {place}") for name, place in unreported),
    ]


_UNREPORTED = """
select t.investigation_id, t.destination from delivery_target t
where not exists (select from delivery d where d.target_id = t.target_id and d.kind = 'report' and d.state = 'sent')
"""


# ---- a journal is whole ------------------------------------------------------------------------------------


async def _of_journals(house: House) -> list[Breach]:
    rows = await house.clone.rows(_JOURNALS)
    return [
        *(
            Breach(Kind.MISMATCH, f"{name}: {events} events, the last is {last}, the row says {version}")
            for name, version, events, last, _ in rows
            if not version == events == last
        ),
        *(Breach(Kind.MISMATCH, f"{name} has {ends} terminal events") for name, _, _, _, ends in rows if ends != 1),
    ]


_JOURNALS = """
select i.investigation_id, i.version, count(e.seq), coalesce(max(e.seq), 0),
  count(*) filter (where e.kind in ('run_succeeded', 'run_failed', 'run_cancelled'))
from investigation i left join event e using (investigation_id) group by i.investigation_id, i.version
"""


async def _of_replays(house: House, names: Iterable[str]) -> list[Breach]:
    """Rebuild each from its journal, as an operator would, and compare byte for byte."""
    found = list[Breach]()
    for name in names:
        code, printed = await house.run("replay", name, "--json")
        if code != 0 or not _is_equal(printed):
            found.append(Breach(Kind.MISMATCH, f"replay of {name} gave {code}: {printed[-400:]}"))
    return found


def _is_equal(printed: str) -> bool:
    return any(json.loads(line).get("equal") is True for line in printed.splitlines() if line.startswith('{"id"'))


# ---- nothing is done twice ---------------------------------------------------------------------------------


def _of_messages(house: House, names: Iterable[str]) -> Iterator[Breach]:
    """Check that each investigation has one root, one reply and one note, and that no text replaced a newer one."""
    came = defaultdict[str, list[float]](list)
    for message in house.vendors.slack.messages:
        came[slack.first_messages([message])[0]].append(float(message.ts))
    for note in house.vendors.gitlab.on():
        came[f"{note.markers[0].partition('/')[0]}#note"].append(note.created_at.timestamp())
    for name in names:
        for part in ("thread", "report", "note"):
            times = came[f"{name}#{part}"]
            if len(times) != 1:
                yield Breach(_kind_of(times, house.continued_at), f"{part} of {name} is there {len(times)} times")
    for message in house.vendors.slack.messages:
        if not slack.is_never_older(message):
            yield Breach(Kind.DUPLICATE, f"a Slack message went back: {message.markers}")
    for note in house.vendors.gitlab.on():
        if not gitlab_notes.is_never_older(note):
            yield Breach(Kind.DUPLICATE, f"a note went back: {note.markers}")


def _kind_of(times: list[float], continued_at: float | None) -> Kind:
    """Say what it is when a first message did not come once.

    One that a continued process let go, which stood still while its request left, is the limit that the page on
    durability names: no fence reaches it, and it is counted apart.
    """
    if not times:
        return Kind.LOST
    *before, last = sorted(times)
    late = continued_at is not None and last >= continued_at and len(before) == 1
    return Kind.LATE if late else Kind.DUPLICATE


def _of_folders(reports: Path, names: Iterable[str]) -> Iterator[Breach]:
    """Check that each revision is whole, holds what its name says, and that `latest` names the newest."""
    for name in names:
        found = {path.name for path in (reports / name).glob("r*")}
        if not found:
            yield Breach(Kind.LOST, f"{name} has no folder")
            continue
        newest = max(found, key=lambda revision: int(re.sub(r"\D", "", revision)))
        latest = (reports / name / "latest").read_text("utf-8").strip()
        if latest != newest:
            yield Breach(Kind.DUPLICATE, f"latest of {name} is {latest}, there is {newest}")
        for revision in sorted(found):
            report = json.loads((reports / name / revision / "report.json").read_bytes())["report"]
            if (report["investigation_id"], f"r{report['revision']}") != (name, revision):
                yield Breach(Kind.DUPLICATE, f"{name}/{revision} holds revision {report['revision']}")


async def _of_model_calls(house: House) -> list[Breach]:
    """Check that a kill repeats one call of an investigation at most, and that no call went out unreserved."""
    found = list[Breach]()
    for alert, requests in house.vendors.asked_models.items():
        repeated = requests.total() - len(requests)
        if repeated > house.blows:
            found.append(Breach(Kind.DUPLICATE, f"{alert}: {repeated} model calls repeated after {house.blows} blows"))
        dispatched = await house.clone.value(_DISPATCHED, alert, "model", "%")
        if not house.was_asked_to_leave and requests.total() > dispatched:
            found.append(Breach(Kind.DUPLICATE, f"{alert}: {requests.total()} model calls, {dispatched} reserved"))
    return found


async def _of_queries(house: House) -> list[Breach]:
    """Check that each call of a turn went out no more often than its reservation says: never after its receipt."""
    found = list[Breach]()
    for (alert, key), asked in house.vendors.asked_series.items():
        dispatched = await house.clone.value(_DISPATCHED, alert, "query", key)
        if not house.was_asked_to_leave and asked > dispatched:
            found.append(Breach(Kind.DUPLICATE, f"{alert}: {key} was asked {asked} times and reserved {dispatched}"))
    return found


_DISPATCHED = """
select coalesce(sum(f.dispatches), 0) from effect f join investigation i using (investigation_id)
where i.title = %s and f.kind = %s and f.key like %s
"""
