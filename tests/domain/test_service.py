"""Which service an alert is about, and how that is known."""

from __future__ import annotations

import pytest

from inquest.domain.investigation import ServiceGuess
from inquest.domain.service import Service, resolve_service
from inquest.domain.value import Labels

CATALOGUE = (
    Service(name="checkout", match={"service": "checkout"}, matchers={"loki": {"app": "co"}}, namespace="shop"),
    Service(name="checkout-eu", match={"service": "checkout", "cluster": "eu"}),
)


@pytest.mark.parametrize(
    ("labels", "service_id", "how"),
    [
        ({"service": "checkout"}, "checkout", "catalogue"),
        ({"service": "checkout", "cluster": "eu"}, "checkout-eu", "catalogue"),
        ({"service": "orders"}, "orders", "label"),
        ({"job": "node", "app": "orders"}, "orders", "convention"),
        ({"instance": "10.0.0.1:9100"}, "", "none"),
        ({"service": ""}, "", "none"),
    ],
)
def test_the_catalogue_decides_then_the_first_conventional_label(labels: Labels, service_id: str, how: str) -> None:
    guess = resolve_service(labels, CATALOGUE)

    assert (guess.service_id, guess.how) == (service_id, how)


def test_a_catalogue_entry_says_how_each_source_selects_the_service() -> None:
    guess = resolve_service({"service": "checkout"}, CATALOGUE)

    assert guess.matchers == {"prometheus": {"service": "checkout"}, "loki": {"app": "co"}}


def test_a_guess_keeps_to_the_alerts_namespace() -> None:
    guess = resolve_service({"service": "orders", "namespace": "shop"}, ())

    assert guess == ServiceGuess(
        service_id="orders",
        how="label",
        namespace="shop",
        matchers={
            "prometheus": {"namespace": "shop", "service": "orders"},
            "loki": {"namespace": "shop", "service": "orders"},
        },
    )
