"""What a worker must not be able to do: answers that are not those of Cartwright."""

from __future__ import annotations

import pickle


def reply_pickle(version: str, message: bytes) -> bytes:
    return pickle.dumps((version, message))


def reply_object(version: str, message: bytes) -> object:
    return {"version": version, "message": message}
