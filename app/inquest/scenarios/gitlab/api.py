"""The endpoints of GitLab that an investigation reads."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.gitlab.paging import paged
from inquest.scenarios.gitlab.parameters import choice, moment_ns, refuse_unrecorded
from inquest.scenarios.gitlab.refusals import BadRequest, GitlabRefusal, Missing, NoSuchRoute, Unauthenticated
from inquest.scenarios.gitlab.throttle import Throttle
from inquest.scenarios.http import Reply, Request, go_json
from inquest.scenarios.moments import rfc3339_ns
from inquest.scenarios.pack.changes import Changes, Object, RecordedMergeRequest, RecordedProject

_JSON = "application/json"
_DIRECTIONS = ("asc", "desc")
_DEPLOYMENT_STATUSES = ("created", "running", "success", "failed", "canceled", "skipped", "blocked")
_DEPLOYMENT_ORDERS = ("id", "iid", "created_at", "updated_at", "finished_at", "ref")
_MERGE_REQUEST_STATES = ("opened", "closed", "locked", "merged", "all")
_MERGE_REQUEST_ORDERS = ("created_at", "updated_at", "merged_at", "title")
_MERGE_REQUEST_SCOPES = ("created_by_me", "assigned_to_me", "all", "created-by-me", "assigned-to-me")
_UNRECORDED_MERGE_REQUEST_FILTERS = (
    *("labels", "milestone", "search", "author_id", "author_username", "assignee_id", "reviewer_id", "iids[]"),
    *("my_reaction_emoji", "environment", "deployed_before", "deployed_after", "wip", "draft", "not"),
)
_UNRECORDED_COMMIT_FILTERS = ("author", "all", "with_stats", "first_parent", "trailers")


class GitlabApi:
    """Answers requests over recorded `changes`, as of the clock's moment. `token` opens it."""

    def __init__(self, changes: Changes, *, clock: RecordedClock, token: str, throttle: Throttle) -> None:
        self._changes = changes
        self._clock = clock
        self._token = token
        self._throttle = throttle

    def answer(self, request: Request) -> Reply:
        """Answer one request; every refusal is a reply too."""
        try:
            self._authenticate(request)
            if (refused := self._throttle.refusal()) is not None:
                return refused
            return self._route(request)
        except GitlabRefusal as refusal:
            return Reply(refusal.status, _JSON, go_json({refusal.key: str(refusal)}).encode())

    def _authenticate(self, request: Request) -> None:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        shown = (
            request.headers.get("private-token", ""),
            bearer.strip() if scheme.lower() == "bearer" else "",
            request.first("private_token"),
            request.first("access_token"),
        )
        if not any(hmac.compare_digest(one.encode(), self._token.encode()) for one in shown if one):
            raise Unauthenticated

    def _route(self, request: Request) -> Reply:
        if request.method not in ("GET", "HEAD"):
            raise NoSuchRoute
        match request.segments:
            case ("api", "v4", "version"):
                return _object({"version": "17.0.0-ee", "revision": "recorded"})
            case ("api", "v4", "projects", name, *rest):
                return self._route_project(request, self._project(name), tuple(rest))
            case _:
                raise NoSuchRoute

    def _route_project(self, request: Request, project: RecordedProject, rest: tuple[str, ...]) -> Reply:  # noqa: PLR0911 - one arm for each endpoint
        match rest:
            case ():
                return _object(project.project)
            case ("deployments",):
                return paged(request, self._deployments(request, project))
            case ("deployments", number):
                return _object(_by_key(self._visible(project.deployments), "id", number))
            case ("merge_requests",):
                return paged(request, self._merge_requests(request, project))
            case ("merge_requests", number):
                return _object(self._merge_request(project, number).merge_request)
            case ("merge_requests", number, "changes"):
                found = self._merge_request(project, number)
                count = str(len(found.diffs))
                return _object(
                    {**found.merge_request, "changes": list(found.diffs), "overflow": False, "changes_count": count}
                )
            case ("merge_requests", number, "diffs"):
                return paged(request, self._merge_request(project, number).diffs)
            case ("repository", "commits"):
                return paged(request, self._commits(request, project), counted=False)
            case ("repository", "commits", sha):
                return _object(self._commit(project, sha))
            case _:
                raise NoSuchRoute

    def _project(self, name: str) -> RecordedProject:
        for one in self._changes.projects:
            if name in (str(one.project["id"]), one.project["path_with_namespace"]):
                return one
        raise Missing("Project")

    def _visible(self, found: Sequence[Object], created: str = "created_at") -> list[Object]:
        """Leave out what had not been created at the clock's moment."""
        now_ns = self._clock.now_ms() * 1_000_000
        return [one for one in found if (moment := _moment(one, created)) is not None and moment <= now_ns]

    def _deployments(self, request: Request, project: RecordedProject) -> list[Object]:
        order = choice(request, "order_by", _DEPLOYMENT_ORDERS, "id")
        direction = choice(request, "sort", _DIRECTIONS, "asc")
        finished = (moment_ns(request, "finished_after"), moment_ns(request, "finished_before"))
        status = request.first("status")
        if status:
            choice(request, "status", _DEPLOYMENT_STATUSES, "")
        if any(bound is not None for bound in finished):
            _check_finished(order, status)
        environment = request.first("environment")
        found = [
            one
            for one in self._visible(project.deployments)
            if _within(one, "updated_at", moment_ns(request, "updated_after"), moment_ns(request, "updated_before"))
            and _within(one, "finished_at", *finished)
            and status in ("", one["status"])
            and environment in ("", _environment(one))
        ]
        return _ordered(found, order, direction)

    def _merge_requests(self, request: Request, project: RecordedProject) -> list[Object]:
        state = choice(request, "state", _MERGE_REQUEST_STATES, "all")
        scope = choice(request, "scope", _MERGE_REQUEST_SCOPES, "all")
        order = choice(request, "order_by", _MERGE_REQUEST_ORDERS, "created_at")
        direction = choice(request, "sort", _DIRECTIONS, "desc")
        refuse_unrecorded(request, _UNRECORDED_MERGE_REQUEST_FILTERS)
        if scope != "all":
            return []  # the token belongs to no person
        branches = {name: request.first(name) for name in ("source_branch", "target_branch") if request.first(name)}
        found = [
            one
            for one in self._visible([recorded.merge_request for recorded in project.merge_requests])
            if state in ("all", one["state"])
            and all(
                _within(one, f"{key}_at", moment_ns(request, f"{key}_after"), moment_ns(request, f"{key}_before"))
                for key in ("created", "updated", "merged")
            )
            and all(one.get(name) == branch for name, branch in branches.items())
        ]
        return _ordered(found, order, direction)

    def _merge_request(self, project: RecordedProject, number: str) -> RecordedMergeRequest:
        visible = self._visible([one.merge_request for one in project.merge_requests])
        wanted = _by_key(visible, "iid", number)
        return next(one for one in project.merge_requests if one.merge_request is wanted)

    def _commits(self, request: Request, project: RecordedProject) -> list[Object]:
        refuse_unrecorded(request, _UNRECORDED_COMMIT_FILTERS)
        if request.first("ref_name") not in ("", project.project["default_branch"]):
            raise Missing  # only the default branch is recorded
        path = request.first("path").strip("/")
        touching = [
            one.commit
            for one in project.commits
            if not path or any(name == path or name.startswith(f"{path}/") for name in one.paths)
        ]
        since, until = moment_ns(request, "since"), moment_ns(request, "until")
        found = [
            one for one in self._visible(touching, "committed_date") if _within(one, "committed_date", since, until)
        ]
        return _ordered(found, "committed_date", "desc")

    def _commit(self, project: RecordedProject, sha: str) -> Object:
        for one in self._visible([recorded.commit for recorded in project.commits], "committed_date"):
            if sha and str(one["id"]).startswith(sha):
                return one
        raise Missing("Commit")


def _check_finished(order: str, status: str) -> None:
    """Refuse what GitLab refuses: a filter on finished_at goes with its order and with successes alone."""
    if order != "finished_at":
        raise BadRequest("`finished_at` filter and `finished_at` sorting must be paired")
    if status != "success":
        raise BadRequest("`finished_at` filter must be combined with `success` status filter.")


def _environment(deployment: Object) -> str:
    environment = deployment["environment"]
    return str(environment.get("name", "")) if isinstance(environment, dict) else ""


def _by_key(found: Sequence[Object], key: str, number: str) -> Object:
    for one in found:
        if str(one[key]) == number:
            return one
    raise Missing


def _moment(one: Object, key: str) -> int | None:
    text = one.get(key)
    if text is None and key == "finished_at" and isinstance(job := one.get("deployable"), dict):
        text = job.get(key)  # GitLab filters deployments by it, and shows it only with the job
    return rfc3339_ns(text) if isinstance(text, str) else None


def _within(one: Object, key: str, after: int | None, before: int | None) -> bool:
    if after is None and before is None:
        return True
    moment = _moment(one, key)
    return moment is not None and (after is None or moment >= after) and (before is None or moment <= before)


def _ordered(found: list[Object], key: str, direction: str) -> list[Object]:
    """Sort by `key`; ties by id, so that pages do not overlap."""
    return sorted(found, key=lambda one: _rank(one, key), reverse=direction == "desc")


def _rank(one: Object, key: str) -> tuple[int, str, str]:
    """Give what to sort by: a number, a text or a time, then the id."""
    if key in ("id", "iid"):
        return int(str(one[key])), "", ""
    if key in ("ref", "title"):
        return 0, str(one.get(key, "")), str(one["id"])
    return _moment(one, key) or 0, "", str(one["id"])


def _object(value: Object) -> Reply:
    return Reply(200, _JSON, go_json(value).encode())
