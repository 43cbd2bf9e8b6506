"""What --dry-run prints: what would be asked, of whom, at what cost, and what would be sent where. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from inquest.bootstrap.foresight.foreseen import Foreseen, ForeseenCall
from inquest.destinations.shared.escape import terminal
from inquest.domain.budget import MAX_CONCURRENT_CALLS
from inquest.domain.window import Window
from inquest.entrypoints.cli.columns import columns

USD_MICROS = 1_000_000


def told(foreseen: Foreseen) -> str:
    """Give all of it for a terminal, a section a subject."""
    sections = (_first(foreseen), _alert(foreseen), _hypotheses(foreseen), _tools(foreseen), _calls(foreseen))
    lines = ["Nothing was asked, and nothing will be: this is what would happen.", *foreseen.assumed]
    for section in (*sections, _cost(foreseen), _deliveries(foreseen)):
        lines += ["", *section]
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def _first(foreseen: Foreseen) -> Iterator[str]:
    if foreseen.asked_first:
        yield "asked first, to find the alert"
        yield from (f"  {question}" for question in foreseen.asked_first)


def _alert(foreseen: Foreseen) -> Iterator[str]:
    facts, service = foreseen.facts, foreseen.service
    known = f"{service.service_id} (by {service.how})" if service.service_id else "unknown"
    rows = [
        ("alert", f"{facts.alert_name} {f'({facts.severity})' if facts.severity else ''}".rstrip()),
        ("alerts", f"{foreseen.alerts} in its group, {foreseen.further_groups} further groups in the post"),
        ("service", known),
        ("namespace", facts.namespace or "unknown"),
        ("workload", facts.workload or "unknown"),
        ("expression", facts.expression or "unknown: its rule is looked up"),
        ("window", _window(facts.window.incident)),
        ("baseline", _window(facts.window.baseline)),
    ]
    if facts.noise is not None:
        rows.append(("noise", f"{facts.noise}: it ends at once, and nothing is asked"))
    yield from columns(rows)


def _window(window: Window) -> str:
    return f"{_moment(window.start)} to {_moment(window.end)} UTC"


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def _hypotheses(foreseen: Foreseen) -> Iterator[str]:
    yield "hypotheses"
    for one in foreseen.hypotheses:
        yield f"  {one.name} {terminal(one.text)}"
        yield f"     refuted by: {terminal(one.refuted_by)}"


def _tools(foreseen: Foreseen) -> Iterator[str]:
    yield "tools, by what they promise"
    rows = [(f"{one.score:.2f}", one.name, one.rationale) for one in foreseen.tools]
    yield from columns(rows, indent="  ")


def _calls(foreseen: Foreseen) -> Iterator[str]:
    yield f"calls before the first turn, {MAX_CONCURRENT_CALLS} at once"
    for number, call in enumerate(foreseen.calls, start=1):
        yield from _call(number, call)
    hosts = ", ".join(dict.fromkeys(call.host for call in foreseen.calls)) or "the integrations' hosts"
    yield f"  then at most {foreseen.further_calls} more, as the investigator decides: the same tools and hosts ({hosts})"
    yield "  beside these, each source is asked once a minute whether it is well"


def _call(number: int, call: ForeseenCall) -> Iterator[str]:
    yield f"  {number:>2} {call.tool} of {call.integration} at {call.host}: {terminal(call.why)}"
    typed = {name: value for name, value in call.arguments.items() if name != "expression"}
    if call.expression:
        yield f"     {terminal(call.expression)}"
    if typed:
        yield f"     {terminal(json.dumps(typed, ensure_ascii=False, sort_keys=True))}"
    window = f"{_moment(call.start)} to {_moment(call.end)} UTC"
    yield f"     {window}; at most {call.max_items} items, {call.max_bytes:,} bytes, {call.timeout_ms / 1000:g} s"


def _cost(foreseen: Foreseen) -> Iterator[str]:
    limits, model = foreseen.limits, foreseen.model
    clock = timedelta(seconds=limits.wall_clock_s)
    worst = model.worst
    if model.hosts:
        cost = f"{worst.requests} requests, {worst.tokens:,} tokens, {_usd(worst.usd_micros)}"
        asked = f"{', '.join(model.names)} at {', '.join(model.hosts)}"
    else:
        cost, asked = "nothing: no model is asked", ", ".join(model.names)
    yield "ceilings and cost"
    yield from columns(
        [
            ("turns", str(limits.max_model_turns)),
            ("calls", str(limits.max_connector_effects)),
            ("wall clock", str(clock)),
            ("tokens", f"{limits.max_tokens:,}"),
            ("dollars", _usd(limits.max_usd_micros)),
            ("investigator", asked),
            ("at the worst", cost),
        ],
        indent="  ",
    )


def _usd(micros: int) -> str:
    return f"{micros / USD_MICROS:.4f} USD"


def _deliveries(foreseen: Foreseen) -> Sequence[str]:
    if not foreseen.deliveries:
        return ["sent nowhere: no destination is configured for it"]
    rows = [(one.destination, one.type, one.where, one.what) for one in foreseen.deliveries]
    return ["what would be sent where", *columns(rows, indent="  ")]
