from hypothesis import given
from hypothesis import strategies as st

from inquest.stages.scoring import ScoreInputs, TimeOrder, validity_score

ORDERS: list[TimeOrder] = ["violated", "unknown", "holds"]
inputs = st.builds(
    ScoreInputs,
    validated=st.integers(0, 40),
    non_validated=st.integers(0, 40),
    independent_sources=st.integers(0, 8),
    integrations=st.integers(0, 4),
    time_order=st.sampled_from(ORDERS),
    contradictions=st.integers(0, 40),
    coverage=st.floats(0, 1),
)


def score(**changed: object) -> float:
    everything = ScoreInputs(
        validated=4,
        non_validated=0,
        independent_sources=3,
        integrations=2,
        time_order="holds",
        contradictions=0,
        coverage=1.0,
    )
    return validity_score(everything.but(**changed))


def test_all_that_can_be_shown_is_one() -> None:
    assert score() == 1.0


def test_nothing_shown_is_nothing() -> None:
    assert score(validated=0) == 0.0


def test_the_score_has_known_values() -> None:
    assert score(non_validated=4) == 0.8
    assert score(independent_sources=1) == 0.833
    assert score(time_order="unknown") == 0.925
    assert score(contradictions=1) == 0.5
    assert score(coverage=0.5) == 0.9


def test_what_one_integration_says_alone_stays_below_one() -> None:
    assert score(integrations=1) == 0.8
    assert score(integrations=0) == 0.8
    assert score(integrations=1, non_validated=4) == 0.8
    assert score(integrations=1, non_validated=12) == 0.7
    assert score(integrations=1, contradictions=1) == 0.5


@given(inputs)
def test_the_score_is_between_nothing_and_one(given_inputs: ScoreInputs) -> None:
    assert 0.0 <= validity_score(given_inputs) <= 1.0


@given(inputs, st.integers(1, 5))
def test_more_proof_never_lowers_it(one: ScoreInputs, more: int) -> None:
    base = validity_score(one)
    assert validity_score(one.but(validated=one.validated + more)) >= base
    assert validity_score(one.but(independent_sources=one.independent_sources + more)) >= base
    assert validity_score(one.but(integrations=one.integrations + more)) >= base
    assert validity_score(one.but(coverage=1.0)) >= base
    assert validity_score(one.but(time_order="holds")) >= base


@given(inputs, st.integers(1, 5))
def test_more_doubt_never_raises_it(one: ScoreInputs, more: int) -> None:
    base = validity_score(one)
    assert validity_score(one.but(non_validated=one.non_validated + more)) <= base
    assert validity_score(one.but(contradictions=one.contradictions + more)) <= base
    assert validity_score(one.but(time_order="violated")) <= base
