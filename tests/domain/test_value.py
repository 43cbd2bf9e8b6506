from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.value import Json, Value

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


class _Holder(Value):
    body: Json


@given(_JSON)
def test_a_json_value_is_dumped_as_it_is(value: Json) -> None:
    dumped = _Holder(body=value).model_dump(mode="json")["body"]

    assert repr(dumped) == repr(value)  # 1, 1.0 and True are equal; 0.0 and -0.0 too
