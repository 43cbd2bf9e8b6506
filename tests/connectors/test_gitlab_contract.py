from collections.abc import Mapping, Sequence
from datetime import datetime

from inquest.connectors.gitlab import TOKEN_HEADER, GitLabConfig, create_gitlab_connector
from inquest.domain.failure import FailureCode
from inquest.domain.observation import QueryBudget
from inquest.domain.value import Json
from inquest.ports import Connector
from inquest.wire.endpoint import Endpoint, HeaderToken
from inquest.wire.transport import Transport
from tests.connectors.contract import ConnectorContract
from tests.connectors.harness import Fails, Grip, Pages
from tests.fakes.gitlab import commit, deployment, merge_request, page, refusal, serve, user
from tests.fakes.loopback import Act, Handler, Hang, Reply, Seen

AT = "2026-03-01T11:00:00.500Z"


def lists(text: str = "Raise worker concurrency") -> dict[str, Sequence[Json]]:
    """Give the rows of each list, with `text` where GitLab passes on what people wrote."""
    return {
        "deployments": [deployment(created=AT, ref=text, user=user(text), environment={"name": text})],
        "merge_requests": [merge_request(merged=AT, title=text, description=text, author=user(text))],
        "commits": [commit(committed=AT, title=text, message=text, author_name=text)],
    }


class GitLabHarness:
    source = "src"
    vendor = "gitlab"
    arguments: Mapping[str, Mapping[str, Json]] = {
        "gitlab_deployments": {},
        "gitlab_merge_requests": {},
        "gitlab_commits": {},
    }
    foreign_texts: Mapping[str, Sequence[str]] = {
        "gitlab_deployments": ["project", "environment"],
        "gitlab_merge_requests": ["project"],
        "gitlab_commits": ["project", "ref"],
    }
    post_paths: frozenset[str] = frozenset()
    cannot_fail_as = frozenset({FailureCode.CANCELLED})
    own_statuses: Mapping[int, FailureCode] = {}
    holds_no_text: frozenset[str] = frozenset()

    def connect(self, grip: Grip) -> Connector:
        config = GitLabConfig(
            name="src", context=grip.context, url=grip.public_url, projects=("shop/web", "shop/api"), repositories={}
        )
        transport = Transport(Endpoint(base_url=grip.url), HeaderToken(header=TOKEN_HEADER, token=grip.secret))
        return create_gitlab_connector(
            config, transport, clock=grip.clock, cursor_key=grip.cursor_key, redactor=grip.redactor
        )

    def good(self, seen: Seen) -> Act:
        return serve(lists(), seen)

    def good_json(self, tool: str) -> Json:
        return [*lists()[tool.removeprefix("gitlab_")]]

    def telling(self, text: str) -> Handler:
        said = lists(text)
        return lambda seen: serve(said, seen)

    def fails(self) -> Mapping[FailureCode, Fails]:
        return {
            FailureCode.INVALID_QUERY: Fails(refusal(400, "status does not have a valid value", key="error")),
            FailureCode.CONTEXT_MISMATCH: Fails(refusal(404, "404 Project Not Found")),
            FailureCode.SCHEMA_DRIFT: Fails(page([{"iid": "311"}])),
            FailureCode.CAPABILITY_DENIED: Fails(refusal(403, "insufficient_scope", key="error")),
            FailureCode.TIMEOUT: Fails(Hang(), budget=QueryBudget(timeout_ms=200)),
            FailureCode.RATE_LIMITED: Fails(
                Reply(429, b"Retry later\n", {"Content-Type": "text/plain", "Retry-After": "7"})
            ),
            FailureCode.MALFORMED_RESULT: Fails(Reply(200, b"<!doctype html>", {"Content-Type": "text/html"})),
            FailureCode.BUDGET_EXHAUSTED: Fails(
                refusal(405, "Offset pagination has a maximum allowed offset of 50000", key="error")
            ),
            FailureCode.PROVIDER_ERROR: Fails(refusal(500, "500 Internal Server Error")),
        }

    def partial(self) -> Fails | None:
        rows = [merge_request(iid, merged=AT) for iid in range(100)]
        return Fails(
            Reply(200, page(rows).body),  # a proxy that drops the headers of the page
            tool="gitlab_merge_requests",
        )

    def pages(self) -> Pages | None:
        def handler(seen: Seen) -> Act:
            number = int(seen.param("page"))
            return page([deployment(number, created=AT)], number + 1 if number < 9 else None)

        return Pages("gitlab_deployments", handler)

    def asked_window(self, tool: str, seen: Sequence[Seen]) -> tuple[datetime | None, datetime] | None:
        if tool != "gitlab_commits":
            return None  # GitLab has no end for the other two: what is after it is left out here
        return datetime.fromisoformat(seen[0].param("since")), datetime.fromisoformat(seen[0].param("until"))


class TestGitLab(ConnectorContract):
    harness = GitLabHarness()
