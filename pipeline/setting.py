"""Settings of a machine and of a project: the environment, and `[tool.cartwright]`.

The environment comes first, so that a machine can differ from what the project says.
"""

from __future__ import annotations

import os
from typing import Any

from pipeline.disk.file import read_if_there

PYPROJECT, TABLE = "pyproject.toml", "tool.cartwright"
KEYS = (
    "remote_cache",
    "remote_write",
    "remote_wait",
    "remote_patience",
    "remote_least_seconds",
    "executor",
    "scheduler",
    "scheduler_tls_ca",
    "scheduler_tls_cert",
    "scheduler_tls_key",
    "cluster_wait",
    "durable",
    "from_pointers",
    "snapshot",
    "strict",
)
YES, NO = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")
# Projects are committed, so these are read from the environment alone.
SECRETS = ("remote_user", "remote_password", "remote_token", "remote_key", "remote_key_file")


class SettingError(Exception):
    """A setting is wrong; the message names it, and never its value where that may be a secret."""


def variable_of(key: str) -> str:
    """Return the environment variable of a setting."""
    return f"CARTWRIGHT_{key.upper()}"


def is_set(root: str, key: str) -> bool:
    """Tell whether anybody says anything of a setting."""
    return find_setting(root, key)[1] not in (None, "")


def find_setting(root: str, key: str) -> tuple[str, Any]:
    """Return a setting's name as the user wrote it, and its value or None."""
    # The environment first: a machine may differ from what the project says.
    variable = variable_of(key)
    if variable in os.environ:
        return variable, os.environ[variable]
    return f"{PYPROJECT}: {TABLE}.{key}", project_table(root).get(key)


def find_switch(root: str, key: str, default: bool) -> bool:
    """Return a setting that is true or false."""
    name, value = find_setting(root, key)
    if value in (None, "") or isinstance(value, bool):
        return value if isinstance(value, bool) else default
    word = str(value).lower()
    if word not in (*YES, *NO):
        raise SettingError(f"{name}: true or false is needed")
    return word in YES


def project_table(root: str) -> dict[str, Any]:
    """Return the project's table; an unknown key in it is an error."""
    data = read_if_there(f"{root}/{PYPROJECT}") or b""
    if TABLE.encode() not in data:  # most projects: spare them the parser
        return {}
    import tomllib

    try:
        table = tomllib.loads(data.decode()).get("tool", {}).get("cartwright", {})
    except ValueError as error:
        raise SettingError(f"{PYPROJECT}: {error}") from None
    for key in table:
        if key not in KEYS:
            raise SettingError(f"{PYPROJECT}: {TABLE}.{key}: unknown key; {_hint(key)}")
    return dict(table)


def _hint(key: str) -> str:
    if key in SECRETS:
        return f"it is never read from a file of the project, set {variable_of(key)} instead"
    import difflib

    near = difflib.get_close_matches(key, KEYS, 1, 0.5)
    return f'did you mean "{near[0]}"?' if near else f"known here: {', '.join(KEYS)}"
