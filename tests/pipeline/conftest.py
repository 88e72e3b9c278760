import os
from pathlib import Path

import pytest

from tests.pipeline.game import Game

# No power is cut here, and waiting for the disk after each build would take most of the time.
os.environ.setdefault("CARTWRIGHT_DURABLE", "0")


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return Game(tmp_path / "game")
