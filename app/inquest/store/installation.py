"""The one key that all workers of an installation share: the first writes its fingerprint, the others compare."""

from __future__ import annotations

from inquest.errors import ConfigurationError
from inquest.store.database import Database

_AGREE = """
insert into inquest.installation (key_fingerprint) values (%(fingerprint)s)
on conflict (only_one) do update set key_fingerprint = installation.key_fingerprint
returning key_fingerprint
"""
_SHOWN = 12


async def agree_on_key(database: Database, fingerprint: str) -> None:
    """Write down `fingerprint` (runtime.keys.InstallationKey.fingerprint), or compare it with what is there.

    Raises ConfigurationError when this worker's key is another than the installation's: it could neither go
    on with what others began (boundaries, cursors) nor sign what readers trust.
    """
    known: str = await database.value(_AGREE, {"fingerprint": fingerprint})
    if known != fingerprint:
        raise ConfigurationError(
            f"INQUEST_KEY_FILE: this worker's key is {fingerprint[:_SHOWN]}, the installation's is {known[:_SHOWN]}; "
            "give every worker the same key file"
        )
