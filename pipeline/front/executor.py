"""Who does the nodes: this process, worker processes of this machine, or a Dask cluster."""

from __future__ import annotations

from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.session import Session
from pipeline.setting import SettingError, find_setting, variable_of

LOCAL, DASK = "local", "dask"
PATIENCE_SECONDS = 30.0

opt_executor = {
    "name": "executor",
    "long": "executor",
    "type": str,
    "default": "",
    "help": f"who does the work: {LOCAL}, or the workers of a {DASK} cluster",
}
opt_scheduler = {
    "name": "scheduler",
    "long": "scheduler",
    "type": str,
    "default": "",
    "help": "the cluster's scheduler, such as tcp://host:8786",
}


def find_executor(session: Session, executor: str, scheduler: str) -> tuple[str, str]:
    """Say who does the work, and where the scheduler is."""
    root = session.project.root
    try:
        name, chosen = ("--executor", executor) if executor else find_setting(root, "executor")
        _, address = ("", scheduler) if scheduler else find_setting(root, "scheduler")
    except SettingError as error:
        raise InvalidCommand(str(error)) from None
    if (chosen or LOCAL) not in (LOCAL, DASK):
        raise InvalidCommand(f'{name}: "{chosen}" is none; there are {LOCAL} and {DASK}')
    if chosen == DASK and not address:
        raise InvalidCommand(
            f"--scheduler: the executor {DASK} needs one, such as tcp://host:8786; "
            f"{variable_of('scheduler')} does as well"
        )
    return chosen or LOCAL, address or ""


def make_cluster(session: Session, scheduler: str, shared: Any) -> Any:
    """Connect to a cluster; whatever is missing for that is an error of the command line."""
    needed = f"the executor {DASK} needs a shared cache that it may write to"
    if shared is None:
        raise InvalidCommand(f"{needed}: set {variable_of('remote_cache')}")
    if not shared.takes_uploads:
        raise InvalidCommand(f"{needed}: set {variable_of('remote_write')}=1")
    try:
        from pipeline.dask.cluster import Cluster
        from pipeline.dask.crew import ClusterError
    except ModuleNotFoundError as error:
        raise InvalidCommand(
            f'the executor {DASK} needs the module {error.name}: pip install "cartwright[dask]"'
        ) from None
    try:
        patience = _seconds(*find_setting(session.project.root, "cluster_wait"))
        return Cluster(scheduler, shared, session.project.code.table, patience)
    except (ClusterError, SettingError) as error:
        raise InvalidCommand(str(error)) from None


def _seconds(name: str, value: Any) -> float:
    try:
        seconds = PATIENCE_SECONDS if value in (None, "") else float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise SettingError(f"{name}: a number of seconds is needed, up to 86400")
    return seconds
