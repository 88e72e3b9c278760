"""Cartwright's content build. Tasks of your own can stand below, as in any doit project."""

from pipeline.front.config import DOIT_CONFIG, task_cartwright

__all__ = ["DOIT_CONFIG", "task_cartwright"]
