"""An investigation is rebuilt from its bundle with nothing else: no network, no engine, no model."""

from __future__ import annotations

from pathlib import Path

from inquest.bundles.reading import open_bundle
from inquest.bundles.verification import replay_bundle, verify_bundle
from tests.bundles.made import KEY, made
from tests.fakes.connections import watch_connections


async def test_a_replay_opens_no_connection_and_looks_no_name_up(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar"
    path.write_bytes(await (await made()).bundle())

    with watch_connections() as watch:
        with open_bundle(path) as bundle:
            replay_bundle(bundle)
        assert verify_bundle(path, key=KEY.public_key).ok

    assert (watch.opened, watch.resolved) == ([], [])
