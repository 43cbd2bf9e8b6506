"""PromQL out of a recording's own metrics, labels and values: the subset that the recorded backend states."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from inquest.scenarios.pack.format import Scenario
from inquest.scenarios.promql.samples import NAME

RANGES = ("1m", "90s", "2m", "5m", "7m13s", "20m")
OFFSETS = ("30s", "3m", "1h")
OVER_TIME = ("avg", "min", "max", "sum", "count", "last", "present", "stddev", "stdvar")
AGGREGATIONS = ("sum", "avg", "min", "max", "count")
COMPARISONS = ("==", "!=", ">", "<", ">=", "<=")


@dataclass(frozen=True)
class Asker:
    """Draws expressions about the samples of `scenario`."""

    scenario: Scenario
    chance: random.Random

    def draw(self, kind: str) -> str:
        """Give an expression of a kind of KINDS."""
        return KINDS[kind](self)

    # ---- what there is

    @cached_property
    def labels(self) -> dict[str, list[dict[str, str]]]:
        """Label sets by metric."""
        found: dict[str, list[dict[str, str]]] = {}
        for one in self.scenario.series:
            pairs = dict(one.labels)
            found.setdefault(pairs.pop(NAME), []).append(pairs)
        return found

    def names(self, *types: str) -> list[str]:
        """Metrics of these types, as the exposition has them: of a histogram its buckets."""
        typed = {name: one.type for name, one in self.scenario.metadata.items() if one.type in types}
        return sorted(f"{name}_bucket" if kind == "histogram" else name for name, kind in typed.items())

    def one(self, options: Sequence[str]) -> str:
        return self.chance.choice(options)

    def sample(self, metric: str) -> float:
        """Give a value that the metric has somewhere."""
        series = [one for one in self.scenario.series if dict(one.labels)[NAME] == metric]
        return self.chance.choice(self.chance.choice(series).values)

    # ---- parts of expressions

    def selector(self, metric: str) -> str:
        """Select some series of `metric`, or all."""
        label, value = self.chance.choice(sorted(self.chance.choice(self.labels[metric]).items()))
        matcher = self.chance.choice(
            [
                "",
                f'{label}="{value}"',
                f'{label}!="{value}"',
                f'{label}=~"{_literal(value[:4])}.*"',
                f'{label}!~".*{_literal(value[-2:])}"',
                f'{label}=~"{_literal(value)}|nothing",nosuch=""',
            ]
        )
        return f"{metric}{{{matcher}}}"

    def some_labels(self, metric: str) -> str:
        known = sorted(self.labels[metric][0])
        return ", ".join(self.chance.sample(known, self.chance.randrange(len(known) + 1)))

    def rate(self, metric: str) -> str:
        function = self.one(("rate", "rate", "increase", "irate"))
        return f"{function}({self.selector(metric)}[{self.one(RANGES)}]{self.offset()})"

    def offset(self) -> str:
        return self.chance.choice(["", "", f" offset {self.one(OFFSETS)}"])

    def vector(self) -> str:
        """Give a vector whose series have no metric name in common with another's."""
        if self.chance.random() < 0.5:
            return self.rate(self.one(self.names("counter", "histogram")))
        return self.selector(self.one(self.names("gauge")))

    # ---- the kinds

    def instant(self) -> str:
        return self.selector(self.one(sorted(self.labels))) + self.offset()

    def counted(self) -> str:
        return self.rate(self.one(self.names("counter", "histogram")))

    def over_time(self) -> str:
        metric = self.one(self.names("gauge"))
        return f"{self.one(OVER_TIME)}_over_time({self.selector(metric)}[{self.one(RANGES)}]{self.offset()})"

    def changed(self) -> str:
        return f"delta({self.selector(self.one(self.names('gauge')))}[{self.one(RANGES)}])"

    def aggregated(self) -> str:
        metric = self.one(sorted(self.labels))
        inner = self.rate(metric) if metric in self.names("counter", "histogram") else self.selector(metric)
        grouping = self.chance.choice(["", f"{self.one(('by', 'without'))} ({self.some_labels(metric)}) "])
        return f"{self.one(AGGREGATIONS)} {grouping}({inner})"

    def calculated(self) -> str:
        number = self.chance.choice(["2", "0.25", "1e3", "-7", "60"])
        operator = self.one(("+", "-", "*", "/", "%", "^"))
        sides = [self.vector(), number]
        if self.chance.random() < 0.4:
            sides.reverse()
        return f"-({sides[0]} {operator} {sides[1]})" if self.chance.random() < 0.2 else f" {operator} ".join(sides)

    def compared(self) -> str:
        metric = self.one(self.names("gauge"))
        mode = self.one(("", "", " bool"))
        sides = [self.selector(metric), repr(self.sample(metric))]
        if self.chance.random() < 0.3:
            sides.reverse()
        return f"{sides[0]} {self.one(COMPARISONS)}{mode} {sides[1]}"

    def quantile(self) -> str:
        metric = self.one(self.names("histogram"))
        quantile = self.chance.choice(["0", "0.5", "0.9", "0.99", "1"])
        known = [name for name in sorted(self.labels[metric][0]) if name != "le"]
        by = ", ".join(["le", *self.chance.sample(known, self.chance.randrange(len(known)))])
        return f"histogram_quantile({quantile}, sum by ({by}) ({self.rate(metric)}))"

    def divided(self) -> str:
        """Divide two sums that have the same labels left: one to one."""
        metric = self.one(self.names("counter"))
        by, window = self.some_labels(metric), self.one(RANGES)
        part = f"sum by ({by}) (rate({self.selector(metric)}[{window}]))"
        return f"{part} / sum by ({by}) (rate({metric}[{window}]))"

    def ruled(self) -> str:
        """Take a rule of the recording itself, or what it measures: above its threshold is little."""
        rule = self.one([rule.expr for group in self.scenario.groups for rule in group.rules])
        return rule if self.chance.random() < 0.3 else rule.rsplit(" > ", 1)[0]


def _literal(value: str) -> str:
    """Write a value into a regular expression in a PromQL string: `+Inf` is `\\\\+Inf` there."""
    return re.sub(r"([^\w-])", r"\\\\\1", value)


KINDS: dict[str, Callable[[Asker], str]] = {
    "selectors": Asker.instant,
    "rate and increase": Asker.counted,
    "over time": Asker.over_time,
    "delta": Asker.changed,
    "aggregations": Asker.aggregated,
    "arithmetic": Asker.calculated,
    "comparisons": Asker.compared,
    "quantiles": Asker.quantile,
    "ratios": Asker.divided,
    "rules": Asker.ruled,
}
