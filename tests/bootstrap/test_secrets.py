"""Secrets of a workspace that only some of its parts may show."""

from __future__ import annotations

from pathlib import Path

from tests.bootstrap.files import build, file_of, prometheus
from tests.fakes.loopback import Reply, loopback

SECRET = "wizard-of-the-door"


async def test_further_headers_are_sent_and_masked_but_a_tenants_name_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "headers").write_text(f"X-Scope-OrgID: payments\nX-Door: {SECRET}\n")
    async with loopback(lambda _: Reply(body=b"{}")) as fake:
        section = prometheus(fake.url, headers_file="headers")
        workspace = build(file_of(integrations={"prometheus": section}), tmp_path)["default"]
        await workspace.connectors[0].health()
        await workspace.aclose()

    assert (fake.seen[0].headers["x-scope-orgid"], fake.seen[0].headers["x-door"]) == ("payments", SECRET)
    assert workspace.redactor.text(f"payments said {SECRET}") == "payments said [redacted-configured]"
