"""What was merged and deployed in a variation. Titles say the same whatever came of it; only numbers differ."""

from __future__ import annotations

from dataclasses import dataclass

from inquest.scenarios.generate.magnitudes import Setting
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.play import Play
from inquest.scenarios.generate.shop import SERVICES, Part, Person, draw
from inquest.scenarios.generate.timeline import DAY, HOUR, MINUTE, SECOND, Rollout

_CHECKOUT_TITLES = (
    "Raise worker concurrency for the spring sale",
    "Change worker and pool settings after the load test",
    "Adjust concurrency so that we can scale out",
    "Use more of the CPU",
    "Tune server settings for the campaign",
    "Settle worker and connection limits",
)
_CHECKOUT_BRANCHES = ("raise-worker-concurrency", "server-settings", "concurrency", "sale-readiness", "limits-2")
_PAYMENTS_TITLES = (
    "Limit requests in flight to the acquirer",
    "Tune the acquirer's client",
    "Be kinder to the acquirer",
    "Settings of the acquirer's client after the incident review",
    "Align the acquirer's limits with the contract",
)
_PAYMENTS_BRANCHES = ("acquirer-limits", "acquirer-client", "in-flight", "review-actions")
_MAIL_TITLES = ("Fix a typo in the order confirmation mail", "Shorten the confirmation mail", "New footer in mails")
_RETRY_TITLES = ("Retry inventory lookups once", "Time out inventory lookups", "Cache inventory lookups for a second")
_QUIET_TITLES = {
    Part.FRONTEND: ("Lazy-load product images", "Replace the icon font", "Fix focus order in the menu"),
    Part.SEARCH: ("Tune the synonyms list", "Boost exact matches", "Drop unused fields from the index"),
}
_QUIET_PATHS = {Part.FRONTEND: "web/src/Gallery.tsx", Part.SEARCH: "config/synonyms.txt"}


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge request: merged at `merged_at`, epoch ms."""

    title: str
    description: str
    author: Person
    branch: str
    merged_at: int
    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment: begun and finished, epoch ms, with the merge that is its head."""

    begun_at: int
    finished_at: int
    head: Merge


@dataclass(frozen=True, slots=True)
class Project:
    """The history of one project, oldest first. The numbers (iid) of both kinds count up from the first."""

    part: Part
    merges: tuple[Merge, ...]
    deployments: tuple[Deployment, ...]
    first_merge: int
    first_deployment: int

    def number(self, merge: Merge) -> int:
        """Give the number of a merge request."""
        return self.first_merge + self.merges.index(merge)


def projects(play: Play) -> tuple[Project, ...]:
    """Give the history of every project of the shop."""
    return tuple(project(play, part) for part in SERVICES)


def project(play: Play, part: Part) -> Project:
    """Give the history of the project of `part`."""
    chance = noise(play.seed, f"changes/{part}")
    match part:
        case Part.CHECKOUT:
            merges, deployments = _checkout(play)
        case Part.PAYMENTS:
            merges, deployments = _payments(play)
        case _:
            merges, deployments = _quiet(play, part, chance.randrange(26 * HOUR, 90 * HOUR))
    return Project(part, tuple(merges), tuple(deployments), chance.randrange(120, 900), chance.randrange(60, 400))


def _checkout(play: Play) -> tuple[list[Merge], list[Deployment]]:
    drawn, times, much = draw(play.seed, "merges/checkout"), play.times, play.much
    first, second, third = drawn.some(play.shop.staff, len(play.shop.staff))
    retry = Merge(
        drawn.one(_RETRY_TITLES), "The inventory service drops idle connections.",
        second, "inventory-lookups", times.merged_at - 2 * DAY, "src/inventory/client.py",
        "@@ -41,1 +41,1 @@ class InventoryClient:\n-    attempts = 1\n+    attempts = 2\n",
    )  # fmt: skip
    mail = Merge(
        drawn.one(_MAIL_TITLES), "Closes #1180.", third, "confirmation-mail", times.merged_at - 95 * MINUTE,
        "templates/confirmation.html",
        "@@ -7,1 +7,1 @@\n-  <p>Your order has been recieved.</p>\n+  <p>Your order has been received.</p>\n",
    )  # fmt: skip
    settings = Merge(
        drawn.one(_CHECKOUT_TITLES), "Load tests leave half of the CPU unused. All pods together stay under the "
        "connection limit of the database when we scale out.",
        first, drawn.one(_CHECKOUT_BRANCHES), times.merged_at, "deploy/values.yaml",
        _settings("server", ("workers", much.workers), ("pool_size", much.pool_size)),
    )  # fmt: skip
    before = times.merged_at - 2 * DAY + 3 * HOUR
    deployments = [Deployment(before, before + 170 * SECOND, retry)]
    return [retry, mail, settings], [*deployments, *_rolled_out(times.rollouts.get(Part.CHECKOUT), settings)]


def _payments(play: Play) -> tuple[list[Merge], list[Deployment]]:
    drawn, times = draw(play.seed, "merges/payments"), play.times
    rollout = times.rollouts.get(Part.PAYMENTS)
    settings = Merge(
        drawn.one(_PAYMENTS_TITLES), "Agreed with the acquirer.",
        drawn.one(play.shop.staff[::-1]), drawn.one(_PAYMENTS_BRANCHES),
        times.onset - 9 * DAY if rollout is None else rollout.merged_at, "config/acquirer.yaml",
        _settings("acquirer", ("max_in_flight", play.much.in_flight)),
    )  # fmt: skip
    done = settings.merged_at + 30 * MINUTE
    long_ago = Rollout(settings.merged_at, done - 3 * MINUTE, done - 2 * MINUTE, done)
    return [settings], _rolled_out(rollout or long_ago, settings)


def _rolled_out(rollout: Rollout | None, head: Merge) -> list[Deployment]:
    return [] if rollout is None else [Deployment(rollout.begun_at, rollout.finished_at, head)]


def _quiet(play: Play, part: Part, ago: int) -> tuple[list[Merge], list[Deployment]]:
    """Tell of a project in which nothing happened near the incident."""
    drawn, merged_at = draw(play.seed, f"merges/{part}"), play.times.onset - ago
    diff = "@@ -1,1 +1,1 @@\n-before\n+after\n"
    author = drawn.one(play.shop.staff)
    merge = Merge(drawn.one(_QUIET_TITLES[part]), "", author, "small-change", merged_at, _QUIET_PATHS[part], diff)
    done = merged_at + 40 * MINUTE
    return [merge], [Deployment(done - 2 * MINUTE, done, merge)]


def _settings(section: str, *changed: tuple[str, Setting]) -> str:
    """Write the diff of settings in a section of a YAML file."""
    size = len(changed) + 2
    lines = [f"-  {name}: {one.before}\n+  {name}: {one.after}\n" for name, one in changed]
    return f"@@ -12,{size} +12,{size} @@\n {section}:\n" + "".join(lines) + "   port: 8080\n"
