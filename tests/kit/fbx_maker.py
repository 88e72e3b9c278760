"""FBX files as text, by hand: a sign of one quad, its material and texture, and what tests add."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

HEAD = """; FBX 7.4.0 project file
FBXHeaderExtension:  {
	FBXHeaderVersion: 1003
	FBXVersion: 7400
}
GlobalSettings:  {
	Version: 1000
	Properties70:  {
		P: "UpAxis", "int", "Integer", "",%(up)d
		P: "UpAxisSign", "int", "Integer", "",1
		P: "FrontAxis", "int", "Integer", "",%(front)d
		P: "FrontAxisSign", "int", "Integer", "",%(sign)d
		P: "CoordAxis", "int", "Integer", "",0
		P: "CoordAxisSign", "int", "Integer", "",1
		P: "UnitScaleFactor", "double", "Number", "",%(unit)g
	}
}
Definitions:  {
	Version: 100
	Count: 0
}
"""
QUAD = ((0, 0, 0), (1, 0, 0), (1, 2, 0), (0, 2, 0))


def array(name: str, values: Sequence[float]) -> str:
    return f"{name}: *{len(values)} {{\n a: {','.join(f'{one:g}' for one in values)}\n}}\n"


def _row(values: Sequence[float]) -> str:
    return ",".join(f"{one:g}" for one in values)


def layer(kind: str, body: str, mapping: str = "ByPolygonVertex", how: str = "Direct") -> str:
    name = "map1" if kind == "UV" else ""
    return (
        f'LayerElement{kind}: 0 {{\nVersion: 101\nName: "{name}"\n'
        f'MappingInformationType: "{mapping}"\nReferenceInformationType: "{how}"\n{body}}}\n'
    )


class Fbx:
    """What a file holds so far: objects and the connections between them."""

    def __init__(self, unit: float = 100, z_up: bool = False) -> None:
        axes = {"up": 2, "front": 1, "sign": -1} if z_up else {"up": 1, "front": 2, "sign": 1}
        self.head = HEAD % {**axes, "unit": unit}
        self.objects: list[str] = []
        self.connections: list[str] = []

    def connect(self, child: int, parent: int, prop: str = "") -> None:
        kind, more = ("OP", f', "{prop}"') if prop else ("OO", "")
        self.connections.append(f'C: "{kind}",{child},{parent}{more}\n')

    def mesh(
        self,
        number: int = 100,
        points: Sequence[Sequence[float]] = QUAD,
        faces: Sequence[Sequence[int]] = ((0, 1, 2, 3),),
        materials: Sequence[int] = (),
        by_point: tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]] | None = None,
    ) -> None:
        """Add a mesh; `by_point` are normals and coordinates, else these follow from the points."""
        normals, coordinates = by_point or ([(0, 0, 1)] * len(points), [one[:2] for one in points])
        corners = [corner for face in faces for corner in face]
        ends = [c if at < len(f) - 1 else -c - 1 for f in faces for at, c in enumerate(f)]
        uvs = [value for corner in corners for value in coordinates[corner]]
        directions = [value for corner in corners for value in normals[corner]]
        body = array("Vertices", [value for point in points for value in point])
        body += array("PolygonVertexIndex", ends) + "GeometryVersion: 124\n"
        body += layer("Normal", array("Normals", directions))
        body += layer("UV", array("UV", uvs))
        mapping = "ByPolygon" if materials else "AllSame"
        indices = array("Materials", list(materials) or [0])
        body += layer("Material", indices, mapping, "IndexToDirect")
        kinds = "".join(
            f'LayerElement: {{\nType: "LayerElement{kind}"\nTypedIndex: 0\n}}\n'
            for kind in ("Normal", "UV", "Material")
        )
        body += f"Layer: 0 {{\nVersion: 100\n{kinds}}}\n"
        self.objects.append(f'Geometry: {number}, "Geometry::sign", "Mesh" {{\n{body}}}\n')

    def node(
        self,
        number: int,
        name: str,
        kind: str = "Mesh",
        parent: int = 0,
        at=(0, 0, 0),
        turn=(0, 0, 0),
        scale=(1, 1, 1),
    ) -> None:
        places = {"Lcl Translation": at, "Lcl Rotation": turn, "Lcl Scaling": scale}
        placed = "".join(
            f'P: "{key}", "{key}", "", "A",{_row(one)}\n' for key, one in places.items()
        )
        self.objects.append(
            f'Model: {number}, "Model::{name}", "{kind}" {{\nVersion: 232\n'
            f"Properties70:  {{\n{placed}}}\n}}\n"
        )
        self.connect(number, parent)

    def material(self, number: int = 300, name: str = "wood", **props: Sequence[float]) -> None:
        lines = "".join(
            f'P: "{key}", "{"Color" if len(values) == 3 else "Number"}", "", "A",'
            f"{','.join(f'{one:g}' for one in values)}\n"
            for key, values in props.items()
        )
        self.objects.append(
            f'Material: {number}, "Material::{name}", "" {{\nVersion: 102\nShadingModel: "phong"\n'
            f"Properties70:  {{\n{lines}}}\n}}\n"
        )

    def texture(self, number: int, path: str, content: bytes = b"", more: str = "") -> None:
        names = f'FileName: "C:\\models\\{path}"\nRelativeFilename: "{path}"\n'
        inside = ""
        if content:
            inside = f'Content: , "{base64.b64encode(content).decode()}"\n'
        self.objects.append(
            f'Texture: {number}, "Texture::t{number}", "" {{\nType: "TextureVideoClip"\n'
            f"Version: 202\n{names}{more}}}\n"
            f'Video: {number + 1}, "Video::v{number}", "Clip" {{\nType: "Clip"\n{names}{inside}}}\n'
        )
        self.connect(number + 1, number)

    def bone(self, number: int, name: str, parent: int = 0, at=(0, 0, 0), turn=(0, 0, 0)) -> None:
        self.node(number, name, "LimbNode", parent, at, turn)
        self.objects.append(
            f'NodeAttribute: {number + 1000}, "NodeAttribute::{name}", "LimbNode" {{\n'
            'TypeFlags: "Skeleton"\n}\n'
        )
        self.connect(number + 1000, number)

    def attribute(self, number: int, name: str, kind: str, turn=(0, 0, 0), at=(0, 0, 0), **props):
        """Add a node with a light or a camera, turned by degrees about x, y and z."""
        places = {"Lcl Translation": at, "Lcl Rotation": turn}
        placed = "".join(
            f'P: "{key}", "{key}", "", "A",{_row(one)}\n' for key, one in places.items()
        )
        lines = "".join(f'P: "{key}", "", "", "A",{_row(one)}\n' for key, one in props.items())
        self.objects.append(
            f'Model: {number}, "Model::{name}", "{kind}" {{\nVersion: 232\n'
            f"Properties70:  {{\n{placed}}}\n}}\n"
            f'NodeAttribute: {number + 1000}, "NodeAttribute::{name}", "{kind}" {{\n'
            f'TypeFlags: "{kind}"\nProperties70:  {{\n{lines}}}\n}}\n'
        )
        self.connect(number, 0)
        self.connect(number + 1000, number)

    def skin(
        self,
        mesh: int,
        weights: dict[int, Sequence[tuple[int, float]]],
        number: int = 500,
        at: Sequence[float] = (0, 0, 0),
        binds: Mapping[int, tuple[Sequence[float], Sequence[float]]] | None = None,
    ) -> None:
        """Bind vertices to bones: for each bone its vertices and their weights.

        `binds` has the columns of the matrices from the mesh to the bone, and to the world.
        """
        self.objects.append(
            f'Deformer: {number}, "Deformer::rig{number}", "Skin" {{\nVersion: 101\n'
            "Link_DeformAcuracy: 50\n}\n"
        )
        self.connect(number, mesh)
        unit = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
        for cluster, (bone, rows) in enumerate(weights.items(), number + 1):
            body = array("Indexes", [vertex for vertex, _ in rows])
            body += array("Weights", [weight for _, weight in rows])
            to_bone, to_world = (binds or {}).get(bone, ([*unit[:12], *at, 1], unit))
            body += array("Transform", to_bone) + array("TransformLink", to_world)
            self.objects.append(
                f'Deformer: {cluster}, "SubDeformer::c{cluster}", "Cluster" {{\nVersion: 100\n'
                f'UserData: "", ""\n{body}}}\n'
            )
            self.connect(cluster, number)
            self.connect(bone, cluster)

    def shape(self, mesh: int, names: Sequence[str], number: int = 700) -> None:
        """Give a mesh blend shapes that move its first vertex."""
        head = 'Deformer: {}, "{}::{}", "{}" {{\nVersion: 100\n}}\n'
        self.objects.append(head.format(number, "Deformer", "shapes", "BlendShape"))
        self.connect(number, mesh)
        for place, name in enumerate(names):
            channel, shape = number + 1 + 2 * place, number + 2 + 2 * place
            self.objects.append(
                head.format(channel, "SubDeformer", name, "BlendShapeChannel")
                + f'Geometry: {shape}, "Geometry::{name}", "Shape" {{\nVersion: 100\n'
                + array("Indexes", [0])
                + array("Vertices", [0, 0, 1])
                + "}\n"
            )
            self.connect(channel, number)
            self.connect(shape, channel)

    def data(self) -> bytes:
        objects, connections = "".join(self.objects), "".join(self.connections)
        text = f"{self.head}Objects:  {{\n{objects}}}\nConnections:  {{\n{connections}}}\n"
        return text.encode()


def sign(texture: str = "textures\\wood grain.png", content: bytes = b"", **options) -> Fbx:
    """A quad of one by two metres, three metres to the right, with a textured material."""
    fbx = Fbx(**options)
    fbx.mesh()
    fbx.node(200, "sign", at=(3, 0, 0))
    fbx.connect(100, 200)
    fbx.material(DiffuseColor=(0.5, 0.25, 1))
    fbx.connect(300, 200)
    if texture:
        fbx.texture(400, texture, content)
        fbx.connect(400, 300, "DiffuseColor")
    return fbx
