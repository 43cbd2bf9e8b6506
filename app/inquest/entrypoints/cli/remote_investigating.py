"""investigate through a running service (INQUEST_URL): post as a sender does, follow and read through the API."""

from __future__ import annotations

from collections.abc import Mapping

from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.remote import NOT_OURS, ForeignAnswer, Service, connected
from inquest.entrypoints.cli.remote_following import watched_at
from inquest.entrypoints.cli.showing import print_ended
from inquest.entrypoints.cli.tell import Teller
from inquest.errors import ConfigurationError
from inquest.settings import Settings

USUAL_INTAKE = "alertmanager"


async def investigate_remotely(settings: Settings, given: Given, telling: Teller, *, as_json: bool) -> int:
    """Post the body to the service at INQUEST_URL and follow what it opens. Raises ConfigurationError, NotFound."""
    async with (
        connected(settings) as service,
        watched_at(service, await _post(service, settings, given, telling)) as watched,
    ):
        ended = await following.follow(watched, telling)
        return await print_ended(ended, watched.report, as_json=as_json)


async def _post(service: Service, settings: Settings, given: Given, telling: Teller) -> str:
    headers = {"Content-Type": "application/json"}
    if settings.intake_token is not None:
        headers["Authorization"] = f"Bearer {settings.intake_token.get_secret_value()}"
    found = await service.post(given.intake or USUAL_INTAKE, given.raw, headers)
    try:
        opened = [str(one["investigation_id"]) for one in found["investigations"]]
        counts = {str(word): int(count) for word, count in found["counts"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForeignAnswer(NOT_OURS) from error
    if not opened:
        msg = f"{given.name}: opens no investigation: {words_of(counts)}"
        raise ConfigurationError(msg)
    telling.note("accepted", f"{words_of(counts)}: investigation {opened[0]}")
    return opened[0]


def words_of(counts: Mapping[str, int]) -> str:
    """Say what became of the members of a post: "2 heartbeat, 1 resolved_only"."""
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "it holds no alert"
