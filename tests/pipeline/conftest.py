from pathlib import Path

import pytest

from tests.pipeline.game import Game


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return Game(tmp_path / "game")
