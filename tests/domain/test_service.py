"""Which service an alert is about, and how that is known."""

from __future__ import annotations

import pytest

from inquest.domain.investigation import ServiceGuess
from inquest.domain.service import Service, dependency_matchers, resolve_service
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


def test_what_it_calls_is_selected_as_its_entry_says_else_where_the_service_itself_is() -> None:
    catalogue = (
        Service(name="checkout", match={"app": "checkout", "cluster": "eu"}, depends_on=("payments", "orders-db")),
        Service(name="orders-db", match={"job": "postgres"}, matchers={"loki": {"unit": "postgresql"}}),
    )
    guess = resolve_service({"app": "checkout", "cluster": "eu"}, catalogue)

    beside = {"app": "payments", "cluster": "eu"}
    assert dependency_matchers(guess, catalogue) == {
        "payments": {"prometheus": beside, "loki": beside},
        "orders-db": {"prometheus": {"job": "postgres"}, "loki": {"unit": "postgresql"}},
    }


def test_what_cannot_be_guessed_is_left_out() -> None:
    catalogue = (Service(name="checkout", match={"team": "orders"}, depends_on=("payments",)),)

    assert dependency_matchers(resolve_service({"team": "orders"}, catalogue), catalogue) == {}
