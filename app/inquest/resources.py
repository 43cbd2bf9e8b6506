"""Where the files that ship beside the code are: migrations and configuration (example, prompts).

A wheel carries them inside the package, as `_migrations` and `_config`. An editable install has
them where the repository has them: two folders above the package.
"""

from pathlib import Path

from inquest.errors import ConfigurationError

_PACKAGE = Path(__file__).resolve().parent
_REPOSITORY = _PACKAGE.parent.parent


def migrations_dir() -> Path:
    """Give the folder of the alembic environment. Raises ConfigurationError when the install lacks it."""
    return _locate("migrations")


def config_dir() -> Path:
    """Give the folder of inquest.example.yaml and prompts/. Raises ConfigurationError when the install lacks it."""
    return _locate("config")


def _locate(name: str) -> Path:
    """Prefer the wheel's copy: a checkout has none, so the order cannot pick a stale one."""
    candidates = (_PACKAGE / f"_{name}", _REPOSITORY / name)
    for folder in candidates:
        if folder.is_dir():
            return folder
    looked = " nor ".join(str(folder) for folder in candidates)
    raise ConfigurationError(f"this installation is incomplete: there is neither {looked}; install inquest again")
