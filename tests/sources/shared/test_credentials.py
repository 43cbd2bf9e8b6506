from __future__ import annotations

import base64
import hmac

import pytest
from pydantic import SecretStr, ValidationError

from inquest.domain.intake import Auth, BasicAuth, BearerAuth, HeaderAuth, NoAuth
from inquest.errors import Unauthorized
from inquest.sources.shared import credentials
from inquest.sources.shared.credentials import check_authorization

BEARER = BearerAuth(tokens=(SecretStr("first"), SecretStr("second")))
HEADER = HeaderAuth(header="X-Inquest-Token", tokens=(SecretStr("first"), SecretStr("日本")))
BASIC = BasicAuth(username="am", passwords=(SecretStr("a:b"), SecretStr("日本")))


def sent(value: str) -> dict[str, tuple[str, ...]]:
    return {"authorization": (value,)}


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (BEARER, "Bearer first"),
        (BEARER, "bearer  second "),
        (BASIC, basic("am", "a:b")),
        (BASIC, basic("am", "日本")),
        (BearerAuth(tokens=(SecretStr("日本"),)), "Bearer " + "日本".encode().decode("latin-1")),
    ],
)
def test_any_of_the_keys_opens(keys: Auth, value: str) -> None:
    check_authorization(sent(value), keys)


@pytest.mark.parametrize("value", ["first", " first\t", "日本".encode().decode("latin-1")])
def test_any_of_the_keys_in_the_header_of_its_own_opens(value: str) -> None:
    check_authorization({"x-inquest-token": (value,), "authorization": ("Bearer other",)}, HEADER)


@pytest.mark.parametrize(
    ("keys", "headers", "why"),
    [
        (BEARER, {}, "the authorization header is missing"),
        (BEARER, {"authorization": ("Bearer first", "Bearer first")}, "more than once"),
        (BEARER, sent("Basic first"), "not of scheme bearer"),
        (BEARER, sent("Bearer"), "wrong"),
        (BEARER, sent("Bearer third"), "wrong"),
        (BEARER, sent("Bearer ¹²³"), "wrong"),
        (BEARER, sent("Bearer \u0661"), "wrong"),
        (HEADER, {}, "the x-inquest-token header is missing"),
        (HEADER, {"authorization": ("first",)}, "the x-inquest-token header is missing"),
        (HEADER, {"authorization": ("Bearer first",)}, "the x-inquest-token header is missing"),
        (HEADER, {"x-inquest-token": ("first", "first")}, "more than once"),
        (HEADER, {"x-inquest-token": ("Bearer first",)}, "wrong"),
        (HEADER, {"x-inquest-token": ("",)}, "wrong"),
        (HEADER, {"x-inquest-token": ("firs",)}, "wrong"),
        (HEADER, {"x-inquest-token": ("FIRST",)}, "wrong"),
        (HEADER, {"x-inquest-token": ("\uff46irst",)}, "wrong"),
        (HEADER, {"x-inquest-token": ("$INQUEST_TOKEN",)}, "wrong"),
        (BASIC, sent("Basic \xb9"), "not base64"),
        (BASIC, sent("Basic a"), "not base64"),
        (BASIC, sent(basic("am", "")), "wrong"),
        (BASIC, sent(basic("am:a", "b")), None),
        (BASIC, sent(basic("a", "m:a:b")), "wrong"),
    ],
)
def test_everything_else_is_refused_without_saying_a_secret(
    keys: Auth, headers: dict[str, tuple[str, ...]], why: str | None
) -> None:
    if why is None:  # "am:a" + ":" + "b" is "am" + ":" + "a:b": RFC 7617 allows no colon in a user name
        check_authorization(headers, keys)
        return
    with pytest.raises(Unauthorized, match=why) as refusal:
        check_authorization(headers, keys)
    assert "first" not in str(refusal.value)


def test_an_open_intake_asks_for_nothing() -> None:
    check_authorization({}, NoAuth())


@pytest.mark.parametrize("secret", ["", " ", "\t\n"])
def test_an_empty_secret_is_refused_in_configuration(secret: str) -> None:
    with pytest.raises(ValidationError, match="empty secret"):
        BearerAuth(tokens=(SecretStr("good"), SecretStr(secret)))
    with pytest.raises(ValidationError, match="empty secret"):
        BasicAuth(username="am", passwords=(SecretStr(secret),))
    with pytest.raises(ValidationError, match="empty secret"):
        HeaderAuth(header="X-Token", tokens=(SecretStr("good"), SecretStr(secret)))


@pytest.mark.parametrize("name", ["", "X Token", "X-Token:", "X-Token\n", "\uff38", "x" * 65])
def test_a_header_of_another_name_than_a_request_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=r"auth\.header: write the name of a header"):
        HeaderAuth(header=name, tokens=(SecretStr("good"),))


def test_no_secrets_at_all_are_refused() -> None:
    with pytest.raises(ValidationError):
        BearerAuth(tokens=())


def test_secrets_are_not_in_what_is_printed() -> None:
    for keys in (BEARER, HEADER):
        assert "first" not in repr(keys)
        assert "first" not in str(keys.model_dump())


def test_every_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    class Counted:
        @staticmethod
        def compare_digest(given: bytes, key: bytes) -> bool:
            compared.append(key)
            return hmac.compare_digest(given, key)

    monkeypatch.setattr(credentials, "hmac", Counted)
    check_authorization(sent("Bearer first"), BEARER)
    check_authorization({"x-inquest-token": ("first",)}, HEADER)
    assert compared == [b"first", b"second", b"first", "日本".encode()]
