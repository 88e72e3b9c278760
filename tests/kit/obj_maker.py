"""OBJ text for tests: grids of any size, and random files in every spelling that OBJ allows."""

from __future__ import annotations

from hypothesis import strategies as st

CORNER = ("{v}", "{v}/{vt}", "{v}//{vn}", "{v}/{vt}/{vn}", "{v}/{vt}/", "{v}/", "{v}//")


def make_grid(side: int) -> bytes:
    """Two triangles for each of side * side cells, with UVs and normals."""
    across = range(side + 1)
    points = [(x, y) for y in across for x in across]
    lines = ["mtllib grid.mtl", "o grid"]
    lines += [f"v {x * 0.01:.6f} {y * 0.01:.6f} {(x * y % 97) * 0.001:.6f}" for x, y in points]
    lines += [f"vt {x / side:.6f} {y / side:.6f}" for x, y in points]
    lines += [f"vn {(x % 7) * 0.1:.4f} {(y % 5) * 0.1:.4f} 0.8000" for x, y in points]
    lines += ["usemtl stone", "s 1"]
    for y in range(side):
        for x in range(side):
            a = y * (side + 1) + x + 1
            b, c, d = a + 1, a + side + 2, a + side + 1
            lines += [f"f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}"]
            lines += [f"f {a}/{a}/{a} {c}/{c}/{c} {d}/{d}/{d}"]
    return "\n".join([*lines, ""]).encode()


@st.composite
def numbers(draw: st.DrawFn) -> str:
    value = draw(st.floats(-1e6, 1e6, allow_nan=False, width=32))
    return draw(st.sampled_from(["{:g}", "{:.6f}", "{:+.3e}", "{:.0f}", "{!r}"])).format(value)


@st.composite
def corners(draw: st.DrawFn, count: int) -> str:
    def index() -> int:
        return draw(st.integers(1, count) | st.integers(-count, -1))

    return draw(st.sampled_from(CORNER)).format(v=index(), vt=index(), vn=index())


@st.composite
def obj_files(draw: st.DrawFn) -> bytes:
    """Valid files: vectors, then faces of mixed forms among statements, in mixed spelling."""
    count = draw(st.integers(3, 6))
    blank = draw(st.sampled_from([" ", "  ", "\t", " \\\n "]))
    end = draw(st.sampled_from(["\n", "\r\n", " \n", " # note\n"]))
    lines = []
    for keyword, least, most in (("v", 3, 7), ("vt", 1, 3), ("vn", 3, 3)):
        for _ in range(count):
            words = draw(st.lists(numbers(), min_size=least, max_size=most))
            lines.append(blank.join([keyword, *words]))
    for _ in range(draw(st.integers(1, 5))):
        words = draw(st.lists(corners(count), min_size=3, max_size=6))
        lines.append(blank.join(["f", *words]))
        lines += draw(st.sampled_from([[], ["g a b"], ["o c"], ["usemtl d e"], ["s off"], ["#"]]))
    return "".join(line + end for line in lines).encode()


FRAGMENTS = [
    b"nan",
    b"inf",
    b"1e999",
    b"0",
    b"-0",
    b"-1",
    b"9" * 30,
    b"/",
    b"//",
    b"1/0/1",
    b"\\\n",
]
FRAGMENTS += [
    b"#",
    b" ",
    b"\n",
    b"\r",
    b"\t",
    b"\x0b",
    b"f ",
    b"v ",
    b"vt ",
    b"vn ",
    b"_",
    b"+",
    b".",
]
FRAGMENTS += [b"f\n", b"v\n", b"e", b"1_0", b"\xff\xfe", b"\0", b"\xc3", b"o ", b"g ", b"usemtl "]
FRAGMENTS += [b"mtllib ", b"s ", b"newmtl ", b"Kd ", b"map_Kd ", b"-s ", b"-clamp on ", b"d "]


@st.composite
def damaged(draw: st.DrawFn, seeds: st.SearchStrategy[bytes]) -> bytes:
    """A good file with a few bytes cut, repeated or replaced by what a reader may stumble over."""
    data = draw(seeds)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.sampled_from([0, 0, 1, 2, 9]))
        repeated = data[start : start + 30]
        insert = draw(st.sampled_from([*FRAGMENTS, repeated]) | st.binary(max_size=3))
        data = data[:start] + insert + data[end:]
    return data
