"""A stated subset of PromQL over samples in memory, with the semantics of Prometheus 2.x.

Times are whole milliseconds. A range `[5m]` at t holds the samples of the closed interval [t - 5 min, t];
an instant selector takes the newest sample not older than the 5 min lookback, its far edge included.
(Prometheus 3 leaves the far edge out of both.)
"""
