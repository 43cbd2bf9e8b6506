"""Pages by number, with GitLab's headers."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from inquest.scenarios import bounds
from inquest.scenarios.gitlab.parameters import integer
from inquest.scenarios.gitlab.refusals import BadParameter, OffsetTooLarge
from inquest.scenarios.http import Reply, Request, go_json
from inquest.scenarios.pack.changes import Object

_PRIVATE = ("private_token", "access_token", "job_token")


def paged(request: Request, found: Sequence[Object], *, counted: bool = True) -> Reply:
    """Give the page asked for. `counted` is false where GitLab does not count: no x-total, no last page.

    Raises BadParameter and OffsetTooLarge.
    """
    if request.first("pagination") == "keyset":
        raise BadParameter("keyset pagination is not available on this endpoint of the recorded backend")
    page = max(integer(request, "page", 1), 1)
    per_page = min(max(integer(request, "per_page", bounds.DEFAULT_PER_PAGE), 1), bounds.MAX_PER_PAGE)
    if page * per_page > bounds.MAX_PAGE_OFFSET:
        raise OffsetTooLarge(
            f"Offset pagination has a maximum allowed offset of {bounds.MAX_PAGE_OFFSET} "
            "for requests that return objects of this type. "
            "Remaining records can be retrieved using keyset pagination.",
        )
    pages = max(-(-len(found) // per_page), 1)
    shown = found[(page - 1) * per_page : page * per_page]
    following = str(page + 1) if page < pages else ""
    before = str(page - 1) if page > 1 else ""
    headers = [
        ("link", _links(request, page=page, pages=pages, per_page=per_page, counted=counted)),
        ("x-next-page", following),
        ("x-page", str(page)),
        ("x-per-page", str(per_page)),
        ("x-prev-page", before),
    ]
    if counted:
        headers += [("x-total", str(len(found))), ("x-total-pages", str(pages))]
    return Reply(200, "application/json", go_json(list(shown)).encode(), tuple(headers))


def _links(request: Request, *, page: int, pages: int, per_page: int, counted: bool) -> str:
    wanted = {"prev": page - 1 if page > 1 else None, "next": page + 1 if page < pages else None, "first": 1}
    if counted:
        wanted["last"] = pages
    kept = [pair for pair in request.parameters if pair[0] not in ("page", "per_page", *_PRIVATE)]

    def address(number: int) -> str:
        query = urlencode([*kept, ("page", str(number)), ("per_page", str(per_page))])
        return f"{request.base_url}{request.raw_path}?{query}"

    return ", ".join(f'<{address(number)}>; rel="{name}"' for name, number in wanted.items() if number is not None)
