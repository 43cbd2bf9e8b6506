"""What really happened in a variation, and what an engineer can find out about it."""

from __future__ import annotations

from inquest.domain.diagnosis import UNKNOWN_CAUSE, Verdict
from inquest.domain.value import from_epoch_ms
from inquest.scenarios.generate.merges import project
from inquest.scenarios.generate.play import Play
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Story
from inquest.scenarios.pack.format import RedHerring, Truth


def truth(play: Play) -> Truth:
    """Tell the truth of a variation."""
    common = {
        "onset": from_epoch_ms(play.times.onset),
        "victims": (play.shop.workload(Part.FRONTEND),),
        "red_herrings": _red_herrings(play),
    }
    return Truth.model_validate({**_cause(play), **common})


def _cause(play: Play) -> dict[str, object]:
    shop, much = play.shop, play.much
    checkout, payments, database = (shop.names[part] for part in (Part.CHECKOUT, Part.PAYMENTS, Part.DATABASE))
    full = (
        f"All connections of {checkout} are in use, and requests time out waiting for one after "
        f"{much.acquire_timeout_s} seconds."
    )
    match play.story:
        case Story.OWN_RELEASE:
            return {
                "verdict": Verdict.CAUSE_FOUND,
                "root_cause": f"The deployment of {checkout} changed workers from {much.workers.before} to "
                f"{much.workers.after} and the connection pool from {much.pool_size.before} to "
                f"{much.pool_size.after} a pod. {full}",
                "category": "change.deployment",
                "also_accepted": ("change.*",),
                "affected_object": shop.workload(Part.CHECKOUT),
                "culprit_change": _deployed(play, Part.CHECKOUT),
            }
        case Story.THEIR_RELEASE:
            return {
                "verdict": Verdict.CAUSE_FOUND,
                "root_cause": f"The deployment of {payments} lets {much.in_flight.after} requests in flight to the "
                f"acquirer instead of {much.in_flight.before}: {payments} answers late, and {checkout} holds its "
                f"database connections while it waits. {full}",
                "category": "change.deployment",
                "also_accepted": ("change.*",),
                "affected_object": shop.workload(Part.PAYMENTS),
                "culprit_change": _deployed(play, Part.PAYMENTS),
            }
        case Story.SURGE:
            return {
                "verdict": Verdict.CAUSE_FOUND,
                "root_cause": f"More customers came than the connections of {checkout} carry. {full}",
                "category": "traffic.surge",
                "also_accepted": ("traffic.*",),
                "affected_object": shop.workload(Part.CHECKOUT),
            }
        case Story.SLOW_DATABASE:
            return {
                "verdict": Verdict.CAUSE_FOUND,
                "root_cause": f"{database} became slow by itself: {checkout} holds its connections longer. {full}",
                "category": "dependency.slow",
                "also_accepted": ("dependency.*", "data_store.*"),
                "affected_object": shop.workload(Part.DATABASE),
            }
        case Story.UNSEEN:
            return {
                "verdict": Verdict.INCONCLUSIVE,
                "root_cause": f"The key that {checkout} signs receipts with is no longer accepted. Only its log says so.",
                "category": UNKNOWN_CAUSE,
                "missing": ("logs",),
            }


def _deployed(play: Play, part: Part) -> str:
    """Name the merge request that the last deployment of `part` brought."""
    of = project(play, part)
    return f"{play.shop.project(part)}!{of.number(of.deployments[-1].head)}"


def _red_herrings(play: Play) -> tuple[RedHerring, ...]:
    shop, times = play.shop, play.times
    fatal = {Story.OWN_RELEASE: Part.CHECKOUT, Story.THEIR_RELEASE: Part.PAYMENTS}.get(play.story)
    harmless = [
        RedHerring(
            what=f"deployment of {shop.names[part]}",
            why_not="Nothing moved after it: errors, latency and connections stay as they were until the trouble.",
            at=from_epoch_ms(rollout.finished_at),
        )
        for part, rollout in times.rollouts.items()
        if part is not fatal
    ]
    if Part.CHECKOUT not in times.rollouts:
        merged = RedHerring(
            what=f"merge request of {shop.names[Part.CHECKOUT]}",
            why_not="It was merged and never deployed.",
            at=from_epoch_ms(times.merged_at),
        )
        harmless.append(merged)
    reindex = RedHerring(
        what=f"CPU of {shop.names[Part.SEARCH]}",
        why_not="A reindex on its own pods; it answers as before and is not called.",
        at=from_epoch_ms(times.reindex_from),
    )
    return (*harmless, reindex)
