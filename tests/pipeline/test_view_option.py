"""The options of `doit inspect` that place a camera."""

from __future__ import annotations

import subprocess
import sys

import pytest
from doit.exceptions import InvalidCommand

from encoders.kit.view.camera import SIDES, START
from encoders.kit.view.request import ViewRequest
from pipeline.doit_plugin.command.inspect import refuse_other_formats
from pipeline.doit_plugin.view_option import CAMERAS, HELP, parse_request

NOTHING = {**dict.fromkeys(HELP, ""), "render": "out.png"}


def test_options_become_a_request():
    assert parse_request(NOTHING) == ViewRequest()
    options = {**NOTHING, "eye": "-1,2.5,3e1", "at": "0,0,0", "size": "64X48", "frame": "7"}
    found = parse_request(options)
    assert found == ViewRequest(None, (-1, 2.5, 30), (0, 0, 0), (64, 48), 7)
    assert parse_request({**NOTHING, "camera": "top"}).camera == "top"


def test_cameras_on_the_command_line_are_those_that_can_be_drawn():
    assert {*CAMERAS} == {*SIDES, START}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("camera", "behind"),
        ("eye", "1,2"),
        ("eye", "1,2,nan"),
        ("at", "a,b,c"),
        ("size", "640"),
        ("size", "0x5"),
        ("size", "9999x5"),
        ("size", "5x-5"),
        ("frame", "-1"),
        ("frame", "x"),
    ],
)
def test_values_that_make_no_sense_are_refused_by_name(option, value):
    with pytest.raises(InvalidCommand, match=f"--{option}"):
        parse_request({**NOTHING, option: value})


def test_options_of_a_picture_need_one_and_no_two_cameras():
    with pytest.raises(InvalidCommand, match="--size goes with --render"):
        parse_request({**NOTHING, "render": "", "size": "6x6"})
    with pytest.raises(InvalidCommand, match="not both"):
        parse_request({**NOTHING, "camera": "top", "eye": "1,2,3"})


def test_the_command_line_does_not_import_numpy():
    code = "import sys, pipeline.doit_plugin.command.inspect; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("option", "place"), [("render", "a.jpg"), ("glb", "a.gltf")])
def test_a_name_of_another_format_is_refused(option, place):
    exports = {"render": "", "glb": "", "obj": "", "extract": ""}
    with pytest.raises(InvalidCommand, match=f"--{option} writes"):
        refuse_other_formats({**exports, option: place})
    refuse_other_formats({**exports, "render": "A.PNG", "extract": "folder.jpg"})
