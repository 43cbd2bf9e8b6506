"""What a seed moves, and that nothing in names or texts tells its story."""

from __future__ import annotations

from collections import defaultdict

from inquest.domain.value import from_epoch_ms
from inquest.scenarios.generate.changes import changes
from inquest.scenarios.generate.merges import project
from inquest.scenarios.generate.play import play
from inquest.scenarios.generate.shop import SERVICES, Part
from inquest.scenarios.generate.slo import rules
from inquest.scenarios.generate.stories import Story

MANY = range(1, 700)


def texts_of(seed: int) -> dict[str, str]:
    """Everything that is named or said in a variation, numbers apart."""
    one = play(seed)
    shop = one.shop
    said = {f"name of {part}": shop.names[part] for part in Part}
    said |= {
        "namespace": shop.namespace,
        "group": shop.group,
        "service label": shop.service_label,
        "status label": shop.status_label,
        "requests": shop.http.requests,
        "pool": shop.pool.in_use,
        "statements": shop.query_duration,
        "fails as": one.much.fails_as,
        "alert": rules(one).rules[0].alert.removeprefix(shop.names[Part.CHECKOUT].title().replace("-", "")),
        "summary": rules(one).rules[0].annotations["summary"].replace(shop.service_label, ""),
    }
    for part in SERVICES:
        for number, merge in enumerate(project(one, part).merges):
            at = f"{part} {number}"
            said |= {f"title {at}": merge.title, f"branch {at}": merge.branch, f"text {at}": merge.description}
            said |= {f"path {at}": merge.path, f"author {at}": merge.author.name.partition(" ")[0]}
    return said


def test_every_name_and_text_occurs_in_every_story() -> None:
    stories: dict[tuple[str, str], set[Story]] = defaultdict(set)
    for seed in MANY:
        for field, text in texts_of(seed).items():
            stories[field, text].add(play(seed).story)

    telling = {said: told for said, told in stories.items() if told != set(Story)}
    assert telling == {}


def test_a_seed_moves_names_people_numbers_and_the_minute_of_the_day() -> None:
    plays = [play(seed) for seed in range(40)]
    moments = [from_epoch_ms(one.times.onset) for one in plays]

    assert len({(at.hour, at.minute) for at in moments}) > 35
    for part in Part:
        assert len({one.shop.names[part] for one in plays}) > 3
    for drawn in (
        {one.shop.cluster for one in plays},
        {one.shop.staff for one in plays},
        {one.much.pool_size.before for one in plays},
        {one.much.workers.before for one in plays},
        {round(one.much.requests_per_second) for one in plays},
        {project(one, Part.CHECKOUT).merges[-1].title for one in plays},
        {project(one, Part.CHECKOUT).merges[-1].branch for one in plays},
        {project(one, Part.CHECKOUT).merges[-1].author.name for one in plays},
    ):
        assert len(drawn) > 3
    for drawn_of_three in (
        {one.shop.service_label for one in plays},
        {one.shop.status_label for one in plays},
        {one.shop.http for one in plays},
        {one.shop.pool for one in plays},
        {one.much.replicas for one in plays},
        {one.much.error_threshold for one in plays},
    ):
        assert len(drawn_of_three) >= 3


def test_two_parts_never_share_a_name() -> None:
    for seed in MANY:
        names = play(seed).shop.names
        assert len(set(names.values())) == len(Part)


def test_the_variation_that_the_pages_describe_has_the_plain_names() -> None:
    shop = play(0).shop

    assert {str(part): name for part, name in shop.names.items()} == {
        **{str(part): str(part) for part in SERVICES}, "database": "orders-db",
    }  # fmt: skip
    assert (shop.service_label, shop.status_label, play(0).story) == ("service", "status", Story.OWN_RELEASE)
    assert [one.project["path_with_namespace"] for one in changes(play(0)).projects] == [
        "shop/frontend", "shop/checkout", "shop/payments", "shop/search",
    ]  # fmt: skip
