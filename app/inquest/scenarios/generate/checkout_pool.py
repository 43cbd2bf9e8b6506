"""A checkout that answers with errors, for one of several reasons.

Requests wait for a database connection and time out, or fail at once; the front end, which calls checkout,
suffers a while later. Why it is so differs by seed (`stories`), and so does what everything is called
(`shop`), how much there is of it (`magnitudes`) and when it happens (`timeline`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from inquest.errors import InvariantBroken
from inquest.scenarios.generate.alert_series import record_alerts
from inquest.scenarios.generate.alertmanager import firing_body
from inquest.scenarios.generate.changes import changes
from inquest.scenarios.generate.fleet import fleet
from inquest.scenarios.generate.log_lines import record_logs
from inquest.scenarios.generate.metrics import metadata, record_metrics
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.play import Play, play
from inquest.scenarios.generate.recorder import Recorder
from inquest.scenarios.generate.shop import SERVICES, Part
from inquest.scenarios.generate.slo import rules
from inquest.scenarios.generate.stories import Logs, logs_of
from inquest.scenarios.generate.timeline import SCRAPE_MS, SECOND, Timeline
from inquest.scenarios.generate.truth import truth
from inquest.scenarios.pack.format import VERSION, CatalogueEntry, Clock, Header, Scenario
from inquest.scenarios.pack.rules import RuleGroup
from inquest.scenarios.prometheus.alerts import ActiveAlert, active_alerts
from inquest.scenarios.promql.grid import every
from inquest.scenarios.promql.samples import Samples

NAME_OF_PACK = "checkout_pool"
_NOTIFIED_AFTER_S = range(75, 150)  # group_wait, the way here, and somebody to look
_CALLS = {Part.FRONTEND: (Part.CHECKOUT, Part.SEARCH), Part.CHECKOUT: (Part.PAYMENTS, Part.DATABASE)}


def generate(seed: int = 0) -> Scenario:
    """Make the recording of variation `seed`. The same seed gives the same recording."""
    drawn = play(seed)
    times = drawn.times
    pods = fleet(drawn)
    group = rules(drawn)
    recorder = Recorder()
    record_metrics(recorder, pods, drawn)
    samples = Samples(recorder.series(times.end))
    phase_ms = noise(seed, "rules/phase").randrange(SCRAPE_MS)
    alert, fired_at = _first_firing(samples, group, times, phase_ms)
    record_alerts(recorder, samples, group, every(_evaluation(times.start, phase_ms), times.end, SCRAPE_MS))
    return Scenario(
        header=_header(drawn, fired_at),
        alert=firing_body(
            labels={**alert.labels, "cluster": drawn.shop.cluster},
            annotations=alert.annotations,
            starts_at=fired_at,
            expr=group.rules[0].expr,
            receiver="inquest",
            domain=drawn.shop.domain,
        ),
        groups=(group,),
        series=tuple(recorder.series(times.end)),
        metadata=metadata(drawn.shop),
        streams=tuple(record_logs(pods, drawn)),
        changes=changes(drawn),
    )


def _evaluation(at_or_before: int, phase_ms: int) -> int:
    """Give a moment at which the rules are evaluated: once each interval, `phase_ms` into it."""
    return at_or_before - at_or_before % SCRAPE_MS + phase_ms


def _first_firing(samples: Samples, group: RuleGroup, times: Timeline, phase_ms: int) -> tuple[ActiveAlert, datetime]:
    """Give the checkout alert as of the evaluation that made it fire, and when. Raises InvariantBroken."""
    rule = group.rules[0]
    for now in range(_evaluation(times.onset, phase_ms), times.end, SCRAPE_MS):
        for alert in active_alerts(rule, group, samples, now_ms=now, anchor_ms=now):
            if alert.fired_at is not None:
                return alert, alert.fired_at
    raise InvariantBroken(f"the recording raises no {rule.alert}")


def _header(drawn: Play, fired_at: datetime) -> Header:
    shop = drawn.shop
    notified = timedelta(seconds=noise(drawn.seed, "notified").choice(_NOTIFIED_AFTER_S))
    return Header(
        version=VERSION,
        name=NAME_OF_PACK,
        title=f"{shop.names[Part.CHECKOUT].capitalize()} answers with errors",
        summary=f"Requests to {shop.names[Part.CHECKOUT]} fail; {shop.names[Part.FRONTEND]} suffers with it.",
        clock=Clock(anchor=fired_at, ends_at=fired_at + notified),
        scrape_interval_seconds=SCRAPE_MS // SECOND,
        services=_catalogue(drawn),
        unreachable=("loki",) if logs_of(drawn.seed) is Logs.UNREACHABLE else (),
        truth=truth(drawn),
    )


def _catalogue(drawn: Play) -> tuple[CatalogueEntry, ...]:
    shop = drawn.shop
    return tuple(
        CatalogueEntry(
            name=shop.names[part],
            match=shop.scope(part),
            namespace=shop.namespace,
            workload=shop.names[part],
            repository=shop.project(part) if part in SERVICES else "",
            depends_on=tuple(shop.names[called] for called in _CALLS.get(part, ())),
        )
        for part in Part
    )
