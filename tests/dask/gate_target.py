"""A target whose nodes wait at a gate, so that a test can do something while they are under way.

A node that has come to the gate leaves a file that is called by the number of its process.
"""

import os
import signal
import time

from encoders.kit.error import EncodeError
from encoders.kit.option import Option, Text
from encoders.kit.plan import Kind, Node, Source, Target


def plan(asset, surveys, settings):
    params = {"gate": asset.options["gate"]}
    inputs = {"source": Source(asset.source)}
    yield Node(asset.name, "encoders.gate:encode", inputs, params, {"data": f"{asset.place}.out"})


def encode(inputs, params):
    data = inputs["source"]
    if data == b"poison":
        os.kill(os.getpid(), signal.SIGKILL)
    if data.startswith(b"wait"):
        with open(f"{params['gate']}/{os.getpid()}", "w"):
            pass
        while not os.path.exists(f"{params['gate']}/open"):
            time.sleep(0.01)
    if data == b"slow":
        time.sleep(0.3)
    if data == b"bad":
        raise EncodeError("it is bad", {"file": "source"}, "Make it good.")
    if data == b"ugly":
        raise EncodeError("it is \x07 ugly")
    outputs = {"data": data * 10_000}
    if data == b"loud":
        outputs["warnings"] = b"\x07 listen"
    return outputs


GATE = Option(Text(), "", "the folder of the gate")
TARGET = Target(kinds={"source": Kind((".src",), {"gate": GATE})}, plan=plan)
