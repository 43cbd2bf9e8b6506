"""A line of a table: figures, what they should be, and what went on around them."""

from __future__ import annotations

from inquest.domain.value import Value


class Figure(Value):
    """One number, in `unit`."""

    name: str
    value: float
    unit: str


class Aim(Value):
    """What the figure of this name should be: at most, or at least."""

    figure: str
    most: float | None = None
    least: float | None = None

    def is_met_by(self, value: float) -> bool:
        """Say whether `value` is within the aim, its bounds included."""
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)


DISTURBED_SHARE = 0.1
"""Of all cores: when others kept more of them busy, a figure is not the machine's."""


class Surroundings(Value):
    """What went on while something was measured.

    `other_cores`: cores that processes other than ours kept busy, None where the system does not tell.
    `loop_ms`: what the calibration loop took around it, on average.
    """

    other_cores: float | None
    loop_ms: float

    def disturbed(self, cores: int) -> bool | None:
        """Say whether others used more than DISTURBED_SHARE of `cores`; None where that is not known."""
        return None if self.other_cores is None else self.other_cores > cores * DISTURBED_SHARE


class Row(Value):
    """One line. Without `aims` it is a figure to know, and neither met nor missed."""

    bench: str
    what: str
    figures: tuple[Figure, ...]
    aims: tuple[Aim, ...] = ()
    surroundings: Surroundings
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Say whether every aim is met; None without one. Raises KeyError for an aim at a figure that is not there."""
        if not self.aims:
            return None
        values = {figure.name: figure.value for figure in self.figures}
        return all(aim.is_met_by(values[aim.figure]) for aim in self.aims)
