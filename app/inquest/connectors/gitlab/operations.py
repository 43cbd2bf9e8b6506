"""The operations: up to ten pages of up to ten projects in, one page of changes out, in time order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from inquest.connectors.gitlab.answers import Listed, read_list
from inquest.connectors.gitlab.config import API, LATER, MAX_REQUESTS, PER_PAGE, GitLabConfig
from inquest.connectors.gitlab.listing import Work
from inquest.connectors.gitlab.shapes import Read, Reader
from inquest.connectors.shared.asking import Pairs, written
from inquest.connectors.shared.reading import rows, shaped
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.signals import ChangeRecord, Changes
from inquest.domain.value import epoch_ms, rfc3339
from inquest.domain.window import Window
from inquest.wire.apart import apart
from inquest.wire.ask import Ask, Page
from inquest.wire.read_tool import Arguments
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Segments

_MORE = failure(
    FailureCode.BUDGET_EXHAUSTED,
    f"{MAX_REQUESTS} requests found none yet and there are more; ask the next page, or a shorter time range",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is read of each project: where, with which parameters, and how a row of it is read."""

    below: Segments
    pairs: Pairs
    read: Callable[[Reader], Read]
    keeps: Callable[[ChangeRecord], bool] = lambda _: True
    of_ref: bool = False


@dataclass(slots=True)
class Found:
    """What has come so far. `failures` are in the order of the projects."""

    changes: dict[tuple[str, str], ChangeRecord] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    answered: int = 0


class Operations:
    """What the tools of one integration do."""

    def __init__(self, config: GitLabConfig, redactor: Redactor) -> None:
        self._config = config
        self._redactor = redactor

    # ---- arguments: pure, and applying one again changes nothing

    def arguments(self, arguments: Arguments, _: Window) -> Arguments:
        """Take them as they are: the schema says all but which projects there are."""
        return arguments

    def merge_request_arguments(self, arguments: Arguments, _: Window) -> Arguments:
        """Fill the state."""
        return {"state": "merged", **arguments}

    # ---- the three lists

    async def deployments(self, ask: Ask) -> Page | Failure:
        """List the deployments that began in the time range.

        GitLab selects them by when they were last updated, and wants them ordered so then.
        """
        asked, allowed = ask.query.arguments, self._config.environments
        environment, status = asked.get("environment"), asked.get("status")
        if environment is not None and allowed and environment not in allowed:
            return failure(FailureCode.CAPABILITY_DENIED, "environment: not one that this integration may read")
        pairs = [*_updated_since(ask.query.time_range)]
        wanted = environment if environment is not None or len(allowed) != 1 else allowed[0]
        pairs += [
            (name, str(value)) for name, value in (("environment", wanted), ("status", status)) if value is not None
        ]

        def keeps(change: ChangeRecord) -> bool:
            return not allowed or change.environment in allowed

        return await self._changes(ask, Asked(("deployments",), pairs, lambda reader: reader.deployment, keeps))

    async def merge_requests(self, ask: Ask) -> Page | Failure:
        """List the merge requests that came into the state in the time range."""
        state = str(ask.query.arguments["state"])
        pairs = [("state", state), ("scope", "all"), *_updated_since(ask.query.time_range)]
        return await self._changes(
            ask,
            Asked(
                ("merge_requests",), pairs, lambda reader: reader.merge_request, lambda change: change.status == state
            ),
        )

    async def commits(self, ask: Ask) -> Page | Failure:
        """List the commits of the time range."""
        window, ref = ask.query.time_range, ask.query.arguments.get("ref")
        pairs = [("since", rfc3339(window.start)), ("until", rfc3339(window.end))]
        if ref is not None:
            pairs = [("ref_name", str(ref)), *pairs]
        return await self._changes(
            ask, Asked(("repository", "commits"), pairs, lambda reader: reader.commit, of_ref=ref is not None)
        )

    # ---- reading them

    async def _changes(self, ask: Ask, asked: Asked) -> Page | Failure:
        """Read pages until there is a change or a failure, there are no more pages, or MAX_REQUESTS were sent.

        A page of GitLab may hold nothing of the time range and yet not be the last: it is not given as "none".
        """
        work = self._work(ask)
        if isinstance(work, Failure):
            return work
        found, left = Found(), MAX_REQUESTS
        while work and left > 0 and not found.changes and not found.failures:
            taken = work.take(left)
            left -= len(taken)
            told = await asyncio.gather(*(self._page(ask, asked, work.projects[place], page) for place, page in taken))
            for (place, page), one in zip(taken, told, strict=True):
                self._add(found, one, work, place)
                found.sent.append(_sent(work.projects[place], asked, page))
        if not found.answered:
            return found.failures[0]
        missing = found.failures[0] if found.failures else None
        if work and not found.changes:
            missing = missing or _MORE
        changes = sorted(found.changes.values(), key=lambda one: (one.time, one.change_id))
        return Page(Changes(changes=tuple(changes)), " ".join(found.sent), next=work.write(), error=missing)

    def _work(self, ask: Ask) -> Work | Failure:
        project = ask.query.arguments.get("project")
        targets = self._config.targets(None if project is None else str(project), ask.query.service_id)
        if not targets:
            return failure(FailureCode.CAPABILITY_DENIED, "project: not one that this integration may read")
        if ask.cursor is None:
            return Work(targets)
        work = Work.read(targets, ask.cursor)
        return work or failure(FailureCode.INVALID_QUERY, "cursor: the projects of this integration have changed")

    async def _page(
        self, ask: Ask, asked: Asked, project: str, page: int
    ) -> tuple[tuple[ChangeRecord, ...], Listed] | Failure:
        """Read one page of one project, and keep what is in the time range."""
        answer = await ask.get((*API, "projects", project, *asked.below), _paged(asked.pairs, page))
        if isinstance(answer, Failure):
            return _of(project, answer)
        # In a thread: a large answer takes a while, and other reads go on meanwhile.
        listed = await apart(read_list, answer, page=page, of_ref=asked.of_ref, now=ask.clock.now())
        if isinstance(listed, Failure):
            return _of(project, listed)
        read, window = asked.read(Reader(project, self._redactor)), ask.query.time_range
        start, end = epoch_ms(window.start), epoch_ms(window.end)
        changes = await shaped(
            lambda: tuple(
                one for one in map(read, rows(listed.rows, "the list")) if start <= one.time < end and asked.keeps(one)
            )
        )
        return _of(project, changes) if isinstance(changes, Failure) else (changes, listed)

    def _add(
        self, found: Found, one: tuple[tuple[ChangeRecord, ...], Listed] | Failure, work: Work, place: int
    ) -> None:
        """Take a page in. A change that moved between two pages is there once."""
        if isinstance(one, Failure):
            found.failures.append(one)
            return
        changes, listed = one
        found.answered += 1
        for change in changes:
            found.changes.setdefault((change.change, change.change_id), change)
        if listed.next_page is not None:
            work.later.append((place, listed.next_page))
        if listed.unsure:
            unsure = failure(FailureCode.SCHEMA_DRIFT, "GitLab does not say whether there are more")
            found.failures.append(_of(work.projects[place], unsure))


def _updated_since(window: Window) -> Pairs:
    """Select by last update, which is never much before what happened: there is no filter on that itself."""
    since = rfc3339(window.start - LATER)
    return [("updated_after", since), ("order_by", "updated_at"), ("sort", "desc")]


def _paged(pairs: Pairs, page: int) -> Pairs:
    return [*pairs, ("per_page", str(PER_PAGE)), ("page", str(page))]


def _sent(project: str, asked: Asked, page: int) -> str:
    return written((*API, "projects", quote(project, safe=""), *asked.below), _paged(asked.pairs, page))


def _of(project: str, why: Failure) -> Failure:
    return failure(why.code, f"{project}: {why.hint}", retry_after_ms=why.retry_after_ms)
