"""Cartwright's content build. Tasks of your own can stand below, as in any doit project."""

from pipeline.doit_plugin.config import task_cartwright

__all__ = ["task_cartwright"]
