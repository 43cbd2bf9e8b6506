"""Which environment a change ran in, and which one an alert is about."""

from __future__ import annotations

import pytest

from inquest.analysis.environments import may_be_there

PRODUCTION, STAGING = {"env": "prod-eu"}, {"environment": "Staging"}


@pytest.mark.parametrize(
    ("environment", "labels", "may"),
    [
        ("", STAGING, True),
        ("blue", STAGING, True),
        ("production", {}, True),
        ("production", PRODUCTION, True),
        ("prod/eu-1", PRODUCTION, True),
        ("production", STAGING, False),
        ("staging", {}, False),
        ("staging", PRODUCTION, False),
        ("stg-2", STAGING, True),
        ("pre-prod", {}, False),
        ("nonprod", {}, False),
        ("review/12-fix-production-login", {}, False),
        ("qa", {"env": "qa"}, True),
        ("staging", {"namespace": "shop-staging"}, True),
        ("production", {"namespace": "shop-staging"}, True),
        ("staging", {"namespace": "shop-staging", "env": "prod"}, False),
        ("testing", {"cluster": "latest-1"}, False),
    ],
)
def test_only_what_is_clearly_elsewhere_is_left_out(environment: str, labels: dict[str, str], may: bool) -> None:
    assert may_be_there(environment, labels) is may
