import pytest

from inquest import address


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("http://prometheus:9090", "http://prometheus:9090"),
        ("https://h/", "https://h"),
        ("https://h.example./select/0/prometheus/", "https://h.example./select/0/prometheus"),
        ("http://[::1]:9090", "http://[::1]:9090"),
        ("http://under_score", "http://under_score"),
        ("http://h:", "http://h"),
    ],
)
def test_an_address_has_one_form(written: str, plain: str) -> None:
    assert address.plain(written) == plain
    assert address.checked(written) == written


@pytest.mark.parametrize(
    "written",
    [
        "http://[::1", "http://::1]", "http://[zz]", "http://[fe80::1%25eth0]", "http://h:99999", "http://h:0", "http://h:port",
        "http://", "http:///x", "http://u:p@h", "http://h/?q=1", "http://h#f", "http://h?", "ftp://h", "h:9090", "//h",
        "http://h h", "http://h\t", "http://a\nb", "http://h/../x", "http://h//x", "http://h/%2e", "http://..", "http://-h",
    ],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused_without_repeating_it(written: str) -> None:
    assert address.plain(written) is None
    with pytest.raises(ValueError, match=r"^write http"):
        address.checked(written)
