"""The shop's alerting rules: the share of requests that fail, of checkout and of the front end."""

from __future__ import annotations

from inquest.scenarios.generate.play import Play
from inquest.scenarios.generate.shop import Part, draw
from inquest.scenarios.generate.timeline import MINUTE, SCRAPE_MS, SECOND
from inquest.scenarios.pack.rules import AlertingRule, RuleGroup

_ENDINGS = ("ErrorRatioHigh", "HighErrorRate", "ErrorsAboveObjective")
_SUMMARIES = (
    "{service} answers {value} of its requests with errors",
    "{value} of the requests to {service} fail",
    "{service}: error ratio {value}",
)
_WINDOWS = ("5m", "3m", "4m")
_TEAMS = ("checkout", "orders", "web", "core")
_FRONTEND_THRESHOLD = 0.03


def rules(play: Play) -> RuleGroup:
    """Give the rules of a variation, that of checkout first."""
    drawn, much = draw(play.seed, "rules"), play.much
    in_percent = drawn.one((False, True))
    value = "{{ $value | humanize }}%" if in_percent else "{{ $value | humanizePercentage }}"
    ending, window, team = drawn.one(_ENDINGS), drawn.one(_WINDOWS), drawn.one(_TEAMS)
    label = f"{{{{ $labels.{play.shop.service_label} }}}}"
    summary = drawn.one(_SUMMARIES).format(service=label, value=value)

    def rule(part: Part, threshold: float, for_ms: int, severity: str) -> AlertingRule:
        ratio = _error_ratio(play, part, window)
        return AlertingRule(
            alert=f"{_camel(play.shop.names[part])}{ending}",
            expr=f"100 * {ratio} > {threshold * 100:g}" if in_percent else f"{ratio} > {threshold:g}",
            for_ms=for_ms,
            labels={"severity": severity, "team": team},
            annotations={"summary": summary, "runbook_url": f"https://runbooks.{play.shop.domain}/errors"},
        )

    return RuleGroup(
        name=f"{play.shop.namespace}-slo",
        interval_ms=SCRAPE_MS,
        rules=(
            rule(Part.CHECKOUT, much.error_threshold, much.fires_after_s * SECOND, "critical"),
            rule(Part.FRONTEND, _FRONTEND_THRESHOLD, 5 * MINUTE, "warning"),
        ),
    )


def _error_ratio(play: Play, part: Part, window: str) -> str:
    shop = play.shop
    by = f"namespace, {shop.service_label}"
    where = ",".join(f'{name}="{value}"' for name, value in shop.scope(part).items())
    errors = f'{shop.http.requests}{{{where},{shop.status_label}=~"5.."}}[{window}]'
    return f"sum by ({by}) (rate({errors})) / sum by ({by}) (rate({shop.http.requests}{{{where}}}[{window}]))"


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))
