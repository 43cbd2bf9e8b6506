"""What a recording knows of changes: GitLab's own objects, by project."""

from __future__ import annotations

from inquest.domain.value import Json, Value

Object = dict[str, Json]
"""A JSON object as GitLab's API gives it."""


class RecordedMergeRequest(Value):
    """A merge request and the diffs of its files."""

    merge_request: Object
    diffs: tuple[Object, ...] = ()


class RecordedCommit(Value):
    """A commit of the default branch and the paths that it touches."""

    commit: Object
    paths: tuple[str, ...] = ()


class RecordedProject(Value):
    """One project with all that is recorded of it."""

    project: Object
    deployments: tuple[Object, ...] = ()
    merge_requests: tuple[RecordedMergeRequest, ...] = ()
    commits: tuple[RecordedCommit, ...] = ()


class Changes(Value):
    """All projects of a recording: the content of changes.json."""

    projects: tuple[RecordedProject, ...] = ()


# What the API filters, sorts or addresses by must be there; each is a string unless said otherwise.
REQUIRED_OF_PROJECT = ("id:int", "path_with_namespace", "default_branch")
REQUIRED_OF_DEPLOYMENT = ("id:int", "iid:int", "created_at", "updated_at", "status", "environment:object", "ref")
REQUIRED_OF_MERGE_REQUEST = ("id:int", "iid:int", "created_at", "updated_at", "state", "title")
REQUIRED_OF_COMMIT = ("id", "committed_date", "created_at")
