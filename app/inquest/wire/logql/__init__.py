"""LogQL under guard: read, bounded, put in scope, and written back as the text that is sent.

A stated part of the language: a stream selector; the line filters |= != |~ !~; `| json` and `| logfmt`; label
filters with `and`, `or` and brackets; `| line_format` with texts and fields; counts and rates of lines over a
range, and sums, averages, extremes and top lists of those. What is not in it is refused with its position,
and no text of a caller is sent: what is sent is printed from the tree, parsed again and compared.
"""

from inquest.wire.logql.lexical import MAX_EXPRESSION_CHARS
from inquest.wire.logql.scope import MAX_REACH, LogqlLimits, Scoped, scope, scope_selector

__all__ = ["MAX_EXPRESSION_CHARS", "MAX_REACH", "LogqlLimits", "Scoped", "scope", "scope_selector"]
