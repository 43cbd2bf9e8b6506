"""Write docs/reference/report.schema.json from the code: after a change of the report's values."""

import json

from inquest.destinations.shared.sheet import report_schema
from tools.tree import ROOT


def main() -> None:
    path = ROOT / "docs/reference/report.schema.json"
    path.write_text(json.dumps(report_schema(), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
