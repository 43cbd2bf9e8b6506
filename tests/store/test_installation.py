import pytest

from inquest.errors import ConfigurationError
from inquest.store.installation import agree_on_key
from tests.store.builders import Store


async def test_the_first_worker_writes_the_key_and_the_others_agree(store: Store) -> None:
    await agree_on_key(store.database, "a" * 64)
    await agree_on_key(store.database, "a" * 64)
    assert store.look("select key_fingerprint from installation") == [{"key_fingerprint": "a" * 64}]


async def test_a_worker_with_another_key_is_told_which_file_to_change(store: Store) -> None:
    await agree_on_key(store.database, "a" * 64)
    with pytest.raises(ConfigurationError, match=r"INQUEST_KEY_FILE.*bbbbbbbbbbbb.*aaaaaaaaaaaa"):
        await agree_on_key(store.database, "b" * 64)
    assert store.look("select key_fingerprint from installation") == [{"key_fingerprint": "a" * 64}]
