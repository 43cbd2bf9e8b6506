"""PromQL under guard: read, bounded, put in scope, and written back as the text that is sent.

The text that a caller gives is never sent. It is parsed, checked against the limits below, every selector
gets the mandatory matchers of the integration, and what is sent is printed from the tree, parsed again and
compared: so no trick of spelling reaches a source.
"""

from inquest.wire.promql.scope import (
    MAX_REACH,
    PromqlLimits,
    Scoped,
    scope,
    scope_selector,
)

__all__ = ["MAX_REACH", "PromqlLimits", "Scoped", "scope", "scope_selector"]
