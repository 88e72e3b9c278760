"""A target to test the engine with: one to one, one to as many as the content says, many to one."""

from encoders.kit.error import EncodeError
from encoders.kit.option import Choice, Number, Option, Text
from encoders.kit.plan import Family, Kind, Node, Product, Reader, Source, Target


def survey_lines(data, name):
    if b"\xff" in data:
        raise EncodeError("not a text", {"file": name}, "Write it again.")
    lines = data.decode().splitlines()
    refs = [line.removeprefix("ref ") for line in lines if line.startswith("ref ")]
    return {"lines": len(lines), "refs": sorted(set(refs))}


def plan(asset, surveys, settings):
    source = Source(asset.source)
    if asset.kind == "text":
        refs = surveys[asset.source]["refs"]
        inputs = {"source": source}
        for ref in refs:
            folder = asset.source.rpartition("/")[0]
            inputs[f"ref/{ref}"] = Source(f"{folder}/{ref}")
        if asset.options["beside"]:
            inputs["ref/beside"] = Source(asset.options["beside"])
        params = {"case": asset.options["case"], "times": asset.options["times"]}
        yield Node(
            asset.name,
            "encoders.toy:encode_text",
            inputs,
            params,
            {"text": f"{asset.place}.out", "length": None},
        )
    if asset.kind == "list":
        for number in range(surveys[asset.source]["lines"]):
            yield Node(
                f"{asset.name}.{number}",
                "encoders.toy:encode_line",
                {"source": source},
                {"number": number},
                {"line": f"{asset.place}/{number}.line"},
            )
    if asset.kind == "burst":
        yield Node(
            asset.name,
            "encoders.toy:encode_burst",
            {"source": source},
            {},
            {"part": Family(f"{asset.place}_", ".part", f"{asset.place}.part"), "count": None},
        )


def link(assets, nodes, settings):
    lengths = {
        node.name: Product(node.name, "length") for node in nodes if "length" in node.outputs
    }
    if lengths:
        yield Node("pack", "encoders.toy:encode_pack", lengths, {}, {"pack": "all.pack"})
    parts = {node.name: Product(node.name, "part") for node in nodes if "part" in node.outputs}
    if parts:
        yield Node("parts", "encoders.toy:encode_parts", parts, {}, {"parts": "parts.pack"})


def encode_text(inputs, params):
    text = inputs["source"].decode()
    if "boom" in text:
        raise EncodeError("it went boom", {"file": "source"}, "Take the boom out.")
    if "bug" in text:
        raise ValueError("a bug")
    for name in sorted(inputs):
        if name.startswith("ref/"):
            text += inputs[name].decode()
    text = text.upper() if params["case"] == "upper" else text.lower()
    outputs = {"text": (text * params["times"]).encode(), "length": str(len(text)).encode()}
    if "tell" in text.lower():
        outputs["report"] = b"told"
    if "lossy" in text.lower():
        outputs["warnings"] = b"something was lost"
    return outputs


def encode_line(inputs, params):
    return {"line": inputs["source"].decode().splitlines()[params["number"]].encode()}


def encode_burst(inputs, params):
    words = inputs["source"].decode().split()
    if len(words) == 1:
        return {"count": b"1", "part": words[0].encode()}
    return {"count": str(len(words)).encode()} | {
        f"part/{number}": word.encode() for number, word in enumerate(words)
    }


def encode_pack(inputs, params):
    return {"pack": b"".join(name.encode() + b"=" + data + b"\n" for name, data in inputs.items())}


def encode_parts(inputs, params):
    return {"parts": b"|".join(data for _, data in sorted(inputs.items()))}


def decode_pack(data, name):
    if not data.endswith(b"\n"):
        raise EncodeError("pack is cut off", {"file": name})
    return {"entries": len(data.splitlines())}


SURVEYS = dict.fromkeys((".txt", ".lst", ".inc"), "encoders.toy:survey_lines")
TARGET = Target(
    kinds={
        "text": Kind(
            (".txt",),
            {
                "case": Option(Choice(("upper", "lower")), "upper", "how letters come out"),
                "times": Option(Number(1, 9, whole=True), 1, "how often"),
                "beside": Option(Text(), "", "a file that no survey leads to"),
            },
        ),
        "list": Kind((".lst",)),
        "burst": Kind((".bst",)),
    },
    plan=plan,
    link=link,
    surveys=SURVEYS,
    readers=(Reader(".pack", b"", "encoders.toy:decode_pack"),),
)
