"""Run every check of the house and print what each found; exit 1 when any found something."""

import sys

from tools import check_dependencies, check_locks, check_pth, check_shape, check_tracked, check_words

CHECKS = {
    "dependencies": check_dependencies.problems,
    "locks": check_locks.problems,
    "pth": check_pth.problems,
    "shape": check_shape.problems,
    "tracked": check_tracked.problems,
    "words": check_words.problems,
}


def main() -> int:
    found = [f"{name}: {problem}" for name, check in CHECKS.items() for problem in check()]
    print("\n".join(found) or f"house: {', '.join(CHECKS)} are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
