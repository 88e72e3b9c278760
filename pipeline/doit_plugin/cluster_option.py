"""The options and settings of a Dask cluster, which does the nodes instead of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from doit.exceptions import InvalidCommand

from pipeline.session import Session
from pipeline.setting import SettingError, find_setting, variable_of

if TYPE_CHECKING:
    from pipeline.build.lookup import Waitable

LOCAL, DASK = "local", "dask"
WAIT_SECONDS = 30.0

opt_executor = {
    "name": "executor",
    "long": "executor",
    "type": str,
    "default": "",
    "help": f"where nodes are encoded: {LOCAL}, or on a {DASK} cluster",
}
opt_scheduler = {
    "name": "scheduler",
    "long": "scheduler",
    "type": str,
    "default": "",
    "help": "the cluster's scheduler, such as tcp://host:8786 or tls://host:8786; local starts one",
}


def make_cluster(session: Session, executor: str, scheduler: str) -> Waitable | None:
    """Connect to a cluster, where one is asked for and there is something to build.

    A setting that is missing or wrong is an error of the command line.
    """
    try:
        address = _find_scheduler(session.project.root, executor, scheduler)
        if address is None or session.build is None:
            return None
        return _connect(session, address, session.build.log.warnings)
    except SettingError as error:
        raise InvalidCommand(str(error)) from None


def _find_scheduler(root: str, executor: str, scheduler: str) -> str | None:
    """Return the address of the scheduler, or None to build on this machine."""
    name, chosen = ("--executor", executor) if executor else find_setting(root, "executor")
    if chosen in (None, "", LOCAL):
        return None
    if chosen != DASK:
        raise SettingError(f'{name}: "{chosen}" is none; there are {LOCAL} and {DASK}')
    address = scheduler or find_setting(root, "scheduler")[1]
    if not isinstance(address, str) or not address:
        raise SettingError(
            f"--scheduler: the executor {DASK} needs an address, such as tcp://host:8786, "
            f"or {LOCAL} for a cluster of this machine; "
            f"{variable_of('scheduler')} gives it as well"
        )
    return address


def _connect(session: Session, address: str, warnings: list[str]) -> Waitable:
    needed = f"the executor {DASK} needs a shared cache that it may write to"
    if session.shared is None:
        raise SettingError(f"{needed}: set {variable_of('remote_cache')}")
    if not session.shared.takes_uploads:
        raise SettingError(f"{needed}: set {variable_of('remote_write')}=1")
    root = session.project.root
    wait_seconds = _seconds(*find_setting(root, "cluster_wait"))
    files = {one: _file(root, f"scheduler_tls_{one}") for one in ("ca", "cert", "key")}
    try:
        from pipeline.build.dask.cluster import Cluster
        from pipeline.build.dask.local_cluster import LocalScheduler
        from pipeline.build.dask.scheduler import Scheduler, TlsFiles
    except ModuleNotFoundError as error:
        raise SettingError(
            f"the executor {DASK} needs the module {error.name}: "
            'pip install "cartwright-build[dask]"'
        ) from None
    from pipeline.build.dask.error import ClusterError

    scheduler: Scheduler | LocalScheduler
    if address == LOCAL:
        from pipeline.process.capacity import cores

        scheduler = LocalScheduler(wait_seconds, cores())
    else:
        scheduler = Scheduler(address, wait_seconds, TlsFiles(**files))
    try:
        return Cluster(scheduler, session.shared, session.project.code.table, warnings)
    except ClusterError as error:
        raise SettingError(str(error)) from None


def _file(root: str, key: str) -> str:
    """Return the file that a setting names, relative to the project; "" where it is not set."""
    name, value = find_setting(root, key)
    if value in (None, ""):
        return ""
    path = os.path.join(root, os.path.expanduser(value)) if isinstance(value, str) else ""
    if not os.path.isfile(path):
        raise SettingError(f"{name}: no such file: {value}")
    return path


def _seconds(name: str, value: Any) -> float:
    try:
        seconds = WAIT_SECONDS if value in (None, "") else float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise SettingError(f"{name}: a number of seconds is needed, up to 86400")
    return seconds
