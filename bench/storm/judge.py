"""What must be true after a storm. From rows and the provider's own count; never from a time."""

from __future__ import annotations

from collections.abc import Iterator

from bench.posts import STORM_PODS, storm_service
from bench.stand_in import TOKENS_IN, TOKENS_OUT
from bench.storm.storm import INPUT_USD, MAX_RUNNING, OUTPUT_USD, USD_A_DAY, Ran
from bench.summary import percentile
from inquest.domain.value import Value

P99_MS = 250.0
_INVESTIGATIONS = """
select i.service, i.status, i.started_at, i.ended_at, (i.spend ->> 'usd_micros')::bigint,
  (select sum(a.occurrences) from alert a where a.episode_id = i.episode_id),
  (select count(*) from alert a where a.episode_id = i.episode_id)
from investigation i order by i.service
"""
_EPISODES = "select count(*), count(distinct group_key) from episode"
_SENT = """
select count(distinct t.investigation_id) from delivery_target t
join delivery r on r.target_id = t.target_id and r.kind = 'report'
join delivery d on d.target_id = t.target_id and d.state = 'sent' and d.revision >= r.revision
"""
_DOUBLE = "select count(*) from delivery where state in ('unknown_outcome', 'failed')"
_ACCOUNTS = "select accepted, opened, joined + duplicate + linked, balanced from accounting('default')"
_RECEIPTS = "select count(*), coalesce(sum(members), 0) from intake_receipt"
_DAY = "select workspace, usd_micros, investigations from spend_day order by workspace"


class Judged(Value):
    """What was found, and every way in which it is not as it must be."""

    investigations: int
    most_sampled: int
    most_overlapping: int
    reports: int
    usd: float
    p99_ms: float
    wrong: tuple[str, ...]


def judge(ran: Ran) -> Judged:
    """Look at everything that a storm left."""
    rows = ran.one.rows(_INVESTIGATIONS)
    overlapping = most_at_once([(row[2], row[3]) for row in rows])
    ((_, micros, _), *_) = ran.one.rows(_DAY)
    reports = ran.one.value(_SENT)
    wrong = (
        *_alerts(ran, rows),
        *_accounts(ran),
        *_spend(ran, rows),
        *_said("running at once, sampled", ran.most_running <= MAX_RUNNING, ran.most_running),
        *_said("running at once, by their times", overlapping <= MAX_RUNNING, overlapping),
        *_said("reports sent", reports == ran.storm.groups, reports),
        *_said("sends that failed", ran.one.value(_DOUBLE) == 0, ran.one.value(_DOUBLE)),
    )
    return Judged(
        investigations=len(rows),
        most_sampled=ran.most_running,
        most_overlapping=overlapping,
        reports=reports,
        usd=micros / 1e6,
        p99_ms=percentile(ran.sent.latencies_ms, 99),
        wrong=wrong,
    )


def _alerts(ran: Ran, rows: list[tuple[object, ...]]) -> Iterator[str]:
    """Want one investigation a group, all succeeded, each with the occurrences that were sent."""
    storm = ran.storm
    yield from _said("posts that were not answered 202", ran.sent.accepted == storm.alerts, ran.sent.statuses)
    yield from _said("episodes", ran.one.rows(_EPISODES) == [(storm.groups, storm.groups)], ran.one.rows(_EPISODES))
    found = {row[0]: (row[1], row[5], row[6]) for row in rows}
    wanted = {
        storm_service(group): ("succeeded", each, min(each, STORM_PODS) if storm.labels == "pods" else each)
        for group in range(storm.groups)
        for each in [len(range(group, storm.alerts, storm.groups))]
    }
    for service in sorted(wanted.keys() | {str(name) for name in found}):
        here, there = wanted.get(service), found.get(service)
        yield from _said(f"{service} (status, occurrences, alerts; wanted {here})", here == there, there)
    yield from _said("investigations", len(rows) == storm.groups, len(rows))


def _accounts(ran: Ran) -> Iterator[str]:
    """Want the equation to the row: every alert that was sent was accepted, and is one of its words."""
    storm = ran.storm
    wanted = (storm.alerts, storm.groups, storm.alerts - storm.groups, True)
    (found,) = ran.one.rows(_ACCOUNTS)
    yield from _said(f"the equation (accepted, opened, others, balanced; wanted {wanted})", found == wanted, found)
    receipts = ran.one.rows(_RECEIPTS)
    yield from _said("receipts, and their members", receipts == [(storm.alerts, storm.alerts)], receipts)


def _spend(ran: Ran, rows: list[tuple[object, ...]]) -> Iterator[str]:
    """Want in the ledger what the provider answered, to the millionth of a dollar, and less than the cap."""
    each = TOKENS_IN * INPUT_USD + TOKENS_OUT * OUTPUT_USD
    days = ran.one.rows(_DAY)
    sums = {row[0]: row[1] for row in days}
    of_rows = sum(row[4] for row in rows if isinstance(row[4], int))
    answered = round(ran.completions * each)
    yield from _said(f"the ledger against the provider ({answered})", sums.get("default") == answered, sums)
    yield from _said(f"the ledger against the investigations ({of_rows})", sums.get("") == of_rows, sums)
    yield from _said("dollars under the cap", of_rows <= USD_A_DAY * 1e6, of_rows)
    yield from _said("investigations in the ledger", days[-1][2] == ran.storm.groups, days)


def most_at_once(spans: list[tuple[object, object]]) -> int:
    """Give how many of `spans`, from a first claim to an end, overlap at most; one that ends as another begins does not."""
    moments = sorted(
        [(begin, 1) for begin, end in spans if end is not None] + [(end, -1) for _, end in spans if end is not None],
        key=lambda moment: (moment[0], moment[1]),
    )
    running = most = 0
    for _, change in moments:
        running += change
        most = max(most, running)
    return most


def _said(what: str, is_right: bool, found: object) -> Iterator[str]:  # noqa: FBT001  # a judgement
    if not is_right:
        yield f"{what}: {found}"
