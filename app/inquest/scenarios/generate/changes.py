"""What GitLab would know: projects, deployments, merge requests and commits of the shop."""

from __future__ import annotations

from dataclasses import dataclass

from inquest.domain.value import Json, from_epoch_ms, rfc3339
from inquest.scenarios.generate.noise import commit_sha, noise
from inquest.scenarios.generate.release import NEW_POOL_SIZE, NEW_WORKERS, OLD_POOL_SIZE, OLD_WORKERS, VERSIONS
from inquest.scenarios.generate.timeline import HOUR, MINUTE, SECOND, Timeline
from inquest.scenarios.pack.changes import Changes, Object, RecordedCommit, RecordedMergeRequest, RecordedProject

_HOST = "https://gitlab.shop.example"
_DAY = 24 * HOUR
_PROJECTS = {"checkout": 4201, "payments": 4202, "frontend": 4203, "search": 4204}
_PEOPLE = {"ines": ("Ines Duarte", 71), "tomas": ("Tomas Brandt", 72), "amara": ("Amara Osei", 73)}


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge request of the story: merged at `merged_at`, epoch ms."""

    title: str
    description: str
    author: str
    branch: str
    merged_at: int
    path: str
    diff: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class _Deployment:
    """A deployment of the story: begun and finished, epoch ms, with the merge that is its head."""

    begun_at: int
    finished_at: int
    head: _Merge
    version: str


def changes(seed: int, times: Timeline) -> Changes:
    """Give the changes of variation `seed`."""
    stories = {
        "checkout": _checkout(times),
        "payments": _payments(times),
        "frontend": _quiet("frontend", times, 27 * HOUR, "Lazy-load product images", "web/src/Gallery.tsx", "tomas"),
        "search": _quiet("search", times, 3 * _DAY, "Tune the synonyms list", "config/synonyms.txt", "amara"),
    }
    return Changes(projects=tuple(_project(seed, name, *story) for name, story in stories.items()))


def culprit_number(seed: int) -> int:
    """Give the number (iid) of the merge request that did it."""
    return _numbers(seed, "checkout")[0] + 2


def _numbers(seed: int, project: str) -> tuple[int, int]:
    """Give the first merge request's and the first deployment's number of a project."""
    chance = noise(seed, f"changes/{project}")
    return chance.randrange(120, 900), chance.randrange(60, 400)


def _checkout(times: Timeline) -> tuple[list[_Merge], list[_Deployment]]:
    retry = _Merge(
        "Retry inventory lookups once",
        "The inventory service drops idle connections; one retry hides that from the customer.",
        "tomas", "retry-inventory", times.merged_at - 2 * _DAY, "src/inventory/client.py",
        "@@ -41,1 +41,1 @@ class InventoryClient:\n-    attempts = 1\n+    attempts = 2\n", 1, 1,
    )  # fmt: skip
    mail = _Merge(
        "Fix a typo in the order confirmation mail",
        "Closes #1180.",
        "amara", "fix-mail-typo", times.merged_at - 95 * MINUTE, "templates/confirmation.html",
        "@@ -7,1 +7,1 @@\n-  <p>Your order has been recieved.</p>\n+  <p>Your order has been received.</p>\n", 1, 1,
    )  # fmt: skip
    workers = _Merge(
        "Raise worker concurrency for the spring sale",
        "Load tests leave half of the CPU unused with 16 workers. Raises worker concurrency to 64. The pool gets "
        "smaller so that all pods together stay under the connection limit when we scale out.",
        "ines", "raise-worker-concurrency", times.merged_at, "deploy/values.yaml",
        "@@ -12,9 +12,9 @@ checkout:\n   server:\n-    workers: "
        f"{OLD_WORKERS}\n+    workers: {NEW_WORKERS}\n     port: 8080\n   database:\n     host: orders-db\n"
        f"-    pool_size: {OLD_POOL_SIZE}\n+    pool_size: {NEW_POOL_SIZE}\n     acquire_timeout_ms: 5000\n",
        2, 2,
    )  # fmt: skip
    old, new = VERSIONS["checkout"]
    before = times.merged_at - 2 * _DAY + 3 * HOUR
    deployments = [
        _Deployment(before, before + 170 * SECOND, retry, old),
        _Deployment(times.deploy_started_at, times.deployed_at, workers, new),
    ]
    return [retry, mail, workers], deployments


def _payments(times: Timeline) -> tuple[list[_Merge], list[_Deployment]]:
    done = times.payments_deployed_at
    logging = _Merge(
        "Log the acquirer's response time",
        "Adds duration_ms to the authorisation log line. No change of behaviour.",
        "amara", "log-acquirer-duration", done - 22 * MINUTE, "src/acquirer.go",
        '@@ -88,1 +88,1 @@ func authorise(\n-\tlog.Info("authorisation approved")\n'
        '+\tlog.Info("authorisation approved", "duration_ms", took.Milliseconds())\n', 1, 1,
    )  # fmt: skip
    version = VERSIONS["payments"][1]
    return [logging], [_Deployment(done - 150 * SECOND, done, logging, version)]


def _quiet(
    name: str, times: Timeline, ago: int, title: str, path: str, author: str
) -> tuple[list[_Merge], list[_Deployment]]:
    """Tell of a project in which nothing happened near the incident."""
    diff = "@@ -1,1 +1,1 @@\n-before\n+after\n"
    merge = _Merge(title, "", author, f"{name}-change", times.onset - ago, path, diff, 1, 1)
    done = times.onset - ago + 40 * MINUTE
    return [merge], [_Deployment(done - 2 * MINUTE, done, merge, "1.0.0")]


def _project(seed: int, name: str, merges: list[_Merge], deployments: list[_Deployment]) -> RecordedProject:
    first_merge, first_deployment = _numbers(seed, name)
    numbered = {merge.title: first_merge + index for index, merge in enumerate(merges)}
    return RecordedProject(
        project=_project_object(name),
        deployments=tuple(
            _deployment_object(seed, name, one, first_deployment + index) for index, one in enumerate(deployments)
        ),
        merge_requests=tuple(
            RecordedMergeRequest(
                merge_request=_merge_request_object(seed, name, merge, numbered[merge.title]),
                diffs=(_diff_object(merge),),
            )
            for merge in merges
        ),
        commits=tuple(
            RecordedCommit(commit=_commit_object(seed, name, merge, numbered[merge.title]), paths=(merge.path,))
            for merge in merges
        ),
    )


def _time(at_ms: int) -> str:
    return rfc3339(from_epoch_ms(at_ms))


def _user(name: str) -> Object:
    full_name, number = _PEOPLE[name]
    url = f"{_HOST}/{name}"
    return {"id": number, "username": name, "name": full_name, "state": "active", "avatar_url": None, "web_url": url}


def _project_object(name: str) -> Object:
    return {
        "id": _PROJECTS[name],
        "description": f"The {name} service of the shop",
        "name": name,
        "name_with_namespace": f"shop / {name}",
        "path": name,
        "path_with_namespace": f"shop/{name}",
        "created_at": "2023-05-11T08:00:00.000Z",
        "default_branch": "main",
        "web_url": f"{_HOST}/shop/{name}",
        "namespace": {"id": 420, "name": "shop", "path": "shop", "kind": "group", "full_path": "shop"},
        "archived": False,
        "visibility": "private",
    }


def _commit_object(seed: int, project: str, merge: _Merge, number: int) -> Object:
    sha = commit_sha(seed, f"{project}/{merge.branch}")
    full_name = _PEOPLE[merge.author][0]
    email, at = f"{merge.author}@shop.example", _time(merge.merged_at)
    return {
        "id": sha,
        "short_id": sha[:8],
        "created_at": at,
        "parent_ids": [commit_sha(seed, f"{project}/{merge.branch}/parent")],
        "title": f"Merge branch '{merge.branch}' into 'main'",
        "message": f"Merge branch '{merge.branch}' into 'main'\n\n{merge.title}\n\nSee merge request shop/{project}!{number}",
        "author_name": full_name,
        "author_email": email,
        "authored_date": at,
        "committer_name": full_name,
        "committer_email": email,
        "committed_date": at,
        "web_url": f"{_HOST}/shop/{project}/-/commit/{sha}",
    }


def _merge_request_object(seed: int, project: str, merge: _Merge, number: int) -> Object:
    merged, created = _time(merge.merged_at), _time(merge.merged_at - 26 * HOUR)
    return {
        "id": _PROJECTS[project] * 1000 + number,
        "iid": number,
        "project_id": _PROJECTS[project],
        "title": merge.title,
        "description": merge.description,
        "state": "merged",
        "created_at": created,
        "updated_at": merged,
        "merged_by": _user(merge.author),
        "merge_user": _user(merge.author),
        "merged_at": merged,
        "closed_by": None,
        "closed_at": None,
        "target_branch": "main",
        "source_branch": merge.branch,
        "user_notes_count": 2,
        "author": _user(merge.author),
        "assignees": [],
        "reviewers": [],
        "labels": [],
        "draft": False,
        "merge_status": "can_be_merged",
        "detailed_merge_status": "not_open",
        "sha": commit_sha(seed, f"{project}/{merge.branch}/head"),
        "merge_commit_sha": commit_sha(seed, f"{project}/{merge.branch}"),
        "squash_commit_sha": None,
        "reference": f"!{number}",
        "references": {"short": f"!{number}", "relative": f"!{number}", "full": f"shop/{project}!{number}"},
        "web_url": f"{_HOST}/shop/{project}/-/merge_requests/{number}",
        "has_conflicts": False,
    }


def _diff_object(merge: _Merge) -> Object:
    return {
        "old_path": merge.path,
        "new_path": merge.path,
        "a_mode": "100644",
        "b_mode": "100644",
        "diff": merge.diff,
        "new_file": False,
        "renamed_file": False,
        "deleted_file": False,
        "generated_file": False,
    }


def _deployment_object(seed: int, project: str, one: _Deployment, number: int) -> Object:
    sha = commit_sha(seed, f"{project}/{one.head.branch}")
    begun, finished = _time(one.begun_at), _time(one.finished_at)
    job, pipeline = _PROJECTS[project] * 10_000 + number, _PROJECTS[project] * 20_000 + number
    user: Json = _user(one.head.author)
    return {
        "id": _PROJECTS[project] * 100 + number,
        "iid": number,
        "ref": "main",
        "sha": sha,
        "created_at": begun,
        "updated_at": finished,
        "user": user,
        "environment": {"id": 9, "name": "production", "external_url": f"https://{project}.shop.example"},
        "deployable": {
            "id": job,
            "status": "success",
            "stage": "deploy",
            "name": f"deploy {project} {one.version}",
            "ref": "main",
            "tag": False,
            "created_at": begun,
            "started_at": begun,
            "finished_at": finished,
            "user": user,
            "commit": {
                "id": sha,
                "short_id": sha[:8],
                "title": one.head.title,
                "created_at": _time(one.head.merged_at),
            },
            "pipeline": {"id": pipeline, "ref": "main", "sha": sha, "status": "success"},
            "web_url": f"{_HOST}/shop/{project}/-/jobs/{job}",
        },
        "status": "success",
    }
