"""What GitLab would know: projects, deployments, merge requests and commits of the shop, as its API gives them."""

from __future__ import annotations

from dataclasses import dataclass

from inquest.domain.value import Json, from_epoch_ms, rfc3339
from inquest.scenarios.generate.merges import Deployment, Merge, Project, projects
from inquest.scenarios.generate.noise import commit_sha
from inquest.scenarios.generate.play import Play
from inquest.scenarios.generate.shop import Part, Person
from inquest.scenarios.generate.timeline import HOUR
from inquest.scenarios.pack.changes import Changes, Object, RecordedCommit, RecordedMergeRequest, RecordedProject

_IDS = {Part.CHECKOUT: 4201, Part.PAYMENTS: 4202, Part.FRONTEND: 4203, Part.SEARCH: 4204}
_GROUP_ID = 420


def changes(play: Play) -> Changes:
    """Give the changes of a variation."""
    return Changes(projects=tuple(_Writer(play, one).project() for one in projects(play)))


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the objects of one project."""

    play: Play
    of: Project

    @property
    def _name(self) -> str:
        return self.play.shop.names[self.of.part]

    @property
    def _path(self) -> str:
        return self.play.shop.project(self.of.part)

    @property
    def _host(self) -> str:
        return f"https://gitlab.{self.play.shop.domain}"

    @property
    def _id(self) -> int:
        return _IDS[self.of.part]

    def _sha(self, what: str) -> str:
        return commit_sha(self.play.seed, f"{self.of.part}/{what}")

    def project(self) -> RecordedProject:
        """Write everything."""
        return RecordedProject(
            project=self._project(),
            deployments=tuple(
                self._deployment(one, self.of.first_deployment + index) for index, one in enumerate(self.of.deployments)
            ),
            merge_requests=tuple(
                RecordedMergeRequest(merge_request=self._merge_request(merge), diffs=(_diff(merge),))
                for merge in self.of.merges
            ),
            commits=tuple(RecordedCommit(commit=self._commit(merge), paths=(merge.path,)) for merge in self.of.merges),
        )

    def _user(self, person: Person) -> Object:
        return {
            "id": person.number,
            "username": person.username,
            "name": person.name,
            "state": "active",
            "avatar_url": None,
            "web_url": f"{self._host}/{person.username}",
        }

    def _project(self) -> Object:
        group = self.play.shop.group
        return {
            "id": self._id,
            "description": f"The {self._name} service",
            "name": self._name,
            "name_with_namespace": f"{group} / {self._name}",
            "path": self._name,
            "path_with_namespace": self._path,
            "created_at": "2023-05-11T08:00:00.000Z",
            "default_branch": "main",
            "web_url": f"{self._host}/{self._path}",
            "namespace": {"id": _GROUP_ID, "name": group, "path": group, "kind": "group", "full_path": group},
            "archived": False,
            "visibility": "private",
        }

    def _commit(self, merge: Merge) -> Object:
        sha, at = self._sha(merge.branch), _time(merge.merged_at)
        email = f"{merge.author.username}@{self.play.shop.domain}"
        title = f"Merge branch '{merge.branch}' into 'main'"
        return {
            "id": sha,
            "short_id": sha[:8],
            "created_at": at,
            "parent_ids": [self._sha(f"{merge.branch}/parent")],
            "title": title,
            "message": f"{title}\n\n{merge.title}\n\nSee merge request {self._path}!{self.of.number(merge)}",
            "author_name": merge.author.name,
            "author_email": email,
            "authored_date": at,
            "committer_name": merge.author.name,
            "committer_email": email,
            "committed_date": at,
            "web_url": f"{self._host}/{self._path}/-/commit/{sha}",
        }

    def _merge_request(self, merge: Merge) -> Object:
        number, merged = self.of.number(merge), _time(merge.merged_at)
        author: Json = self._user(merge.author)
        return {
            "id": self._id * 1000 + number,
            "iid": number,
            "project_id": self._id,
            "title": merge.title,
            "description": merge.description,
            "state": "merged",
            "created_at": _time(merge.merged_at - 26 * HOUR),
            "updated_at": merged,
            "merged_by": author,
            "merge_user": author,
            "merged_at": merged,
            "closed_by": None,
            "closed_at": None,
            "target_branch": "main",
            "source_branch": merge.branch,
            "user_notes_count": 2,
            "author": author,
            "assignees": [],
            "reviewers": [],
            "labels": [],
            "draft": False,
            "merge_status": "can_be_merged",
            "detailed_merge_status": "not_open",
            "sha": self._sha(f"{merge.branch}/head"),
            "merge_commit_sha": self._sha(merge.branch),
            "squash_commit_sha": None,
            "reference": f"!{number}",
            "references": {"short": f"!{number}", "relative": f"!{number}", "full": f"{self._path}!{number}"},
            "web_url": f"{self._host}/{self._path}/-/merge_requests/{number}",
            "has_conflicts": False,
        }

    def _deployment(self, one: Deployment, number: int) -> Object:
        sha, user = self._sha(one.head.branch), self._user(one.head.author)
        begun, finished = _time(one.begun_at), _time(one.finished_at)
        job, pipeline = self._id * 10_000 + number, self._id * 20_000 + number
        return {
            "id": self._id * 100 + number,
            "iid": number,
            "ref": "main",
            "sha": sha,
            "created_at": begun,
            "updated_at": finished,
            "user": user,
            "environment": {
                "id": 9,
                "name": "production",
                "external_url": f"https://{self._name}.{self.play.shop.domain}",
            },
            "deployable": {
                "id": job,
                "status": "success",
                "stage": "deploy",
                "name": f"deploy {self._name}",
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
                "web_url": f"{self._host}/{self._path}/-/jobs/{job}",
            },
            "status": "success",
        }


def _diff(merge: Merge) -> Object:
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


def _time(at_ms: int) -> str:
    return rfc3339(from_epoch_ms(at_ms))
