"""Refusals with the status and body that GitLab gives."""

from __future__ import annotations

from inquest.errors import InquestError


class GitlabRefusal(InquestError):
    """A request that gets `status` and a JSON object with one entry, `key`: the message."""

    status = 400
    key = "message"


class Unauthenticated(GitlabRefusal):
    """No token, or a wrong one."""

    status = 401

    def __init__(self) -> None:
        super().__init__("401 Unauthorized")


class Missing(GitlabRefusal):
    """Not there, or not visible with this token: GitLab does not say which."""

    status = 404

    def __init__(self, what: str = "") -> None:
        super().__init__(f"404 {what} Not Found" if what else "404 Not found")


class NoSuchRoute(GitlabRefusal):
    """A path that GitLab has no endpoint for, or that is not recorded."""

    status = 404
    key = "error"

    def __init__(self) -> None:
        super().__init__("404 Not Found")


class BadRequest(GitlabRefusal):
    """A rule of the endpoint said no."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"400 Bad request - {reason}")


class BadParameter(GitlabRefusal):
    """A parameter that the endpoint's declaration refuses."""

    key = "error"


class OffsetTooLarge(GitlabRefusal):
    """Offset paging beyond what GitLab allows."""

    status = 405
    key = "error"
