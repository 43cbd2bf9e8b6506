"""The configuration file: its whole shape, as closed values. Read by `file.read`.

Secrets are never in it, only where they are: `*_env` names a variable, `*_file` a file.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from inquest.configuration.destination import DestinationSection
from inquest.configuration.shape import MAX_DURATION, NAME, Address, AddressOrNone, Duration, Section
from inquest.domain.alert import DEFAULT_GROUP_BY, DEFAULT_UNSTABLE_LABELS
from inquest.domain.budget import MAX_QUESTIONS, Limits
from inquest.domain.intake import MAX_NEW_PER_HOUR, RetentionAges

MAX_USD = 1_000_000
MAX_RETENTION = timedelta(days=3_650)


class Credential(Section):
    """How a request is authenticated. `profile` names the credential; no two integrations share one."""

    profile: str = Field(default="", pattern=r"^[A-Za-z0-9_.-]{0,64}$")
    bearer_env: str | None = None
    bearer_file: str | None = None
    basic_username: str | None = None
    basic_password_env: str | None = None
    basic_password_file: str | None = None
    token_env: str | None = None
    token_file: str | None = None
    header: str | None = None
    """The header that carries the token: GitLab's PRIVATE-TOKEN, for instance."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [
            any((self.bearer_env, self.bearer_file)),
            any((self.basic_password_env, self.basic_password_file)),
            any((self.token_env, self.token_file)),
        ]
        if sum(kinds) > 1:
            msg = "give one of bearer_*, basic_* and token_*, not several"
            raise ValueError(msg)
        if (self.basic_username is None) != (not kinds[1]):
            msg = "basic_username and basic_password_env (or _file) go together"
            raise ValueError(msg)
        return self

    @property
    def is_given(self) -> bool:
        """Say whether any secret is named."""
        return any((
            self.bearer_env, self.bearer_file, self.basic_password_env, self.basic_password_file,
            self.token_env, self.token_file,
        ))  # fmt: skip


class IntakeSection(Section):
    """A named, authenticated way in: POST /v1/alerts/NAME."""

    type: Literal["alertmanager", "datadog"]
    auth: Credential = Credential()
    insecure_without_auth: bool = False
    """Only on a loopback address: take posts from anybody."""
    group_by: tuple[str, ...] = DEFAULT_GROUP_BY
    unstable_labels: frozenset[str] = DEFAULT_UNSTABLE_LABELS
    quiet_for: Duration = Field(default=timedelta(minutes=15), gt=timedelta(0), le=MAX_DURATION)
    cooldown: Duration = Field(default=timedelta(minutes=30), ge=timedelta(0), le=MAX_DURATION)
    stale_after: Duration = Field(default=timedelta(hours=5), gt=timedelta(0), le=MAX_DURATION)

    @model_validator(mode="after")
    def _authenticated(self) -> Self:
        if not self.auth.is_given and not self.insecure_without_auth:
            msg = (
                "an intake needs auth (bearer_*, basic_*, or token_* with a header), "
                "or insecure_without_auth: true on loopback"
            )
            raise ValueError(msg)
        return self


class Pins(Section):
    """Who the source must be; a difference is context_mismatch and nothing is sent."""

    issuer: str = ""
    audience: str = ""
    resource: str = ""
    tenant: str = ""


KEYS_OF_TYPES: dict[str, tuple[str, ...]] = {
    "mandatory_matchers": ("prometheus", "loki"),
    "scrape_interval": ("prometheus",),
    "org_id": ("loki",),
    "datasource": ("loki",),
    "max_scan_bytes": ("loki",),
    "projects": ("gitlab",),
    "environments": ("gitlab",),
}
"""Which types of integration read a key that not all do."""


class IntegrationSection(Section):
    """A configured connection to a source of evidence."""

    type: Literal["prometheus", "loki", "gitlab"]
    url: Address
    external_url: AddressOrNone = ""
    """Where a human opens it; `url` when empty."""
    ca_file: str | None = None
    credential: Credential = Credential()
    headers_file: str | None = None
    """Further headers of every request, a line `Name: value` each; their values are secret."""
    pins: Pins = Pins()
    mandatory_matchers: dict[str, str] = Field(default_factory=dict)
    scrape_interval: Duration = Field(default=timedelta(seconds=15), ge=timedelta(seconds=1), le=timedelta(hours=1))
    """Prometheus: no range query asks for points closer than this."""
    org_id: str | None = None
    """Loki's X-Scope-OrgID."""
    datasource: str = Field(default="loki", pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """Loki: its uid in the Grafana at external_url, for links."""
    max_scan_bytes: int = Field(default=2 * 1024**3, gt=0)
    """Loki: what one query over more than an hour may read, as its index says beforehand."""
    projects: tuple[str, ...] = ()
    """GitLab: the projects that may be read, by path."""
    environments: tuple[str, ...] = ()
    """GitLab: when not empty, only deployments to these are read."""

    @model_validator(mode="after")
    def _keys_have_an_effect(self) -> Self:
        """Refuse a key that this type does not read: whoever writes it counts on it."""
        for key in sorted(self.model_fields_set & KEYS_OF_TYPES.keys()):
            if self.type not in KEYS_OF_TYPES[key]:
                msg = f"{key} has no effect on a {self.type} integration; it is for {' and '.join(KEYS_OF_TYPES[key])}"
                raise ValueError(msg)
        return self


class KubernetesWorkload(Section):
    """Where a service runs."""

    namespace: str = ""
    workload: str = ""


class ServiceSection(Section):
    """An entry of the service catalogue."""

    match: dict[str, str] = Field(min_length=1)
    prometheus: dict[str, str] = Field(default_factory=dict)
    loki: dict[str, str] = Field(default_factory=dict)
    kubernetes: KubernetesWorkload = KubernetesWorkload()
    repository: str = ""
    depends_on: tuple[str, ...] = ()


class RouteSection(Section):
    """Which destinations a report goes to: the first route whose conditions all hold."""

    to: tuple[str, ...] = Field(min_length=1)
    intakes: tuple[str, ...] = ()


class PriceSection(Section):
    """Dollars per million tokens."""

    input_usd: float = Field(ge=0)
    output_usd: float = Field(ge=0)


class ModelSection(Section):
    """The models to ask, in order; none: the analyst investigates."""

    names: tuple[str, ...] = ()
    base_url: Address | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None
    context_window_tokens: int | None = Field(default=None, ge=4_000)
    price: PriceSection | None = None


class BudgetsSection(Section):
    """Ceilings of one investigation, and of the workspace."""

    max_model_turns: int = Field(default=Limits().max_model_turns, ge=1, le=20)
    max_connector_effects: int = Field(default=Limits().max_connector_effects, ge=0, le=60)
    wall_clock: Duration = Field(default=timedelta(minutes=10), ge=timedelta(seconds=10), le=timedelta(hours=1))
    max_tokens: int = Field(default=Limits().max_tokens, ge=1_000, le=1_000_000_000)
    max_usd: float = Field(default=2.0, ge=0, le=MAX_USD)
    max_questions: int = Field(default=Limits().max_questions, ge=0, le=MAX_QUESTIONS)
    max_running: int = Field(default=4, ge=1, le=100)
    max_new_per_hour: int = Field(default=60, ge=1, le=MAX_NEW_PER_HOUR)
    max_usd_per_day: float = Field(default=50.0, ge=0, le=MAX_USD)


class RetentionSection(Section):
    """How long what has ended is kept. What goes on, and episodes that are not over, are not touched."""

    investigations: Duration = Field(default=RetentionAges().investigations, ge=timedelta(hours=1), le=MAX_RETENTION)
    intake: Duration = Field(default=RetentionAges().intake, ge=timedelta(hours=1), le=MAX_RETENTION)


class WorkspaceSection(Section):
    """The unit of configuration and isolation."""

    intakes: dict[Annotated[str, Field(pattern=NAME)], IntakeSection] = Field(default_factory=dict)
    integrations: dict[Annotated[str, Field(pattern=NAME)], IntegrationSection] = Field(default_factory=dict)
    services: dict[str, ServiceSection] = Field(default_factory=dict)
    destinations: dict[Annotated[str, Field(pattern=NAME)], DestinationSection] = Field(default_factory=dict)
    routes: tuple[RouteSection, ...] = ()
    model: ModelSection = ModelSection()
    budgets: BudgetsSection = BudgetsSection()
    retention: RetentionSection = RetentionSection()

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        for route in self.routes:
            for name in route.to:
                if name not in self.destinations:
                    msg = f"a route names the destination {name!r}, which is not among {sorted(self.destinations)}"
                    raise ValueError(msg)
            for name in route.intakes:
                if name not in self.intakes:
                    msg = f"a route names the intake {name!r}, which is not among {sorted(self.intakes)}"
                    raise ValueError(msg)
        for name, integration in self.integrations.items():
            if integration.credential.is_given and not integration.credential.profile:
                msg = f"integrations.{name}.credential needs a profile: the name under which its secret is known"
                raise ValueError(msg)
        return self


class Configuration(Section):
    """The whole file."""

    version: Literal[1] = 1
    max_usd_per_day: float | None = Field(default=None, ge=0, le=MAX_USD)
    """Of all workspaces together; each has one of its own among its budgets."""
    workspaces: dict[Annotated[str, Field(pattern=NAME)], WorkspaceSection] = Field(min_length=1)

    @model_validator(mode="after")
    def _intakes_are_unique(self) -> Self:
        seen: dict[str, str] = {}
        for workspace, section in self.workspaces.items():
            for intake in section.intakes:
                if intake in seen:
                    msg = f"the intake {intake!r} is in workspace {seen[intake]!r} and in {workspace!r}: rename one"
                    raise ValueError(msg)
                seen[intake] = workspace
        return self

    @model_validator(mode="after")
    def _profiles_are_unique(self) -> Self:
        """Refuse two of one name, of other workspaces too: it names one credential of the whole installation."""
        seen: dict[str, str] = {}
        for workspace, section in self.workspaces.items():
            for name, integration in section.integrations.items():
                profile, place = integration.credential.profile, f"workspaces.{workspace}.integrations.{name}"
                if profile and profile in seen:
                    msg = f"{seen[profile]} and {place} share the credential profile {profile!r}: each needs its own"
                    raise ValueError(msg)
                seen[profile] = place
        return self
