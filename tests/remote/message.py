"""The messages of Bazel's remote execution protocol, as Google's own library reads and writes them.

The field numbers are those of build.bazel.remote.execution.v2; nothing here comes from our codec.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

STRING, BYTES, MESSAGE = 9, 12, 11
INT32, INT64, BOOL = 5, 3, 8
ONE, MANY = 1, 3
PACKAGE = "build.bazel.remote.execution.v2"
# fmt: off
MESSAGES: dict[str, list[tuple[str, int, int, int, str]]] = {
    "Digest": [
        ("hash",               1, STRING,  ONE,  ""),
        ("size_bytes",         2, INT64,   ONE,  ""),
    ],
    "OutputFile": [
        ("path",               1, STRING,  ONE,  ""),
        ("digest",             2, MESSAGE, ONE,  "Digest"),
        ("is_executable",      4, BOOL,    ONE,  ""),
        ("contents",           5, BYTES,   ONE,  ""),
    ],
    "OutputSymlink": [
        ("path",               1, STRING,  ONE,  ""),
        ("target",             2, STRING,  ONE,  ""),
    ],
    "OutputDirectory": [
        ("path",               1, STRING,  ONE,  ""),
        ("tree_digest",        3, MESSAGE, ONE,  "Digest"),
    ],
    "ExecutedActionMetadata": [
        ("worker",             1, STRING,  ONE,  ""),
    ],
    "ActionResult": [
        ("output_files",       2, MESSAGE, MANY, "OutputFile"),
        ("output_directories", 3, MESSAGE, MANY, "OutputDirectory"),
        ("exit_code",          4, INT32,   ONE,  ""),
        ("stdout_raw",         5, BYTES,   ONE,  ""),
        ("stdout_digest",      6, MESSAGE, ONE,  "Digest"),
        ("stderr_raw",         7, BYTES,   ONE,  ""),
        ("stderr_digest",      8, MESSAGE, ONE,  "Digest"),
        ("execution_metadata", 9, MESSAGE, ONE,  "ExecutedActionMetadata"),
        ("output_symlinks",   12, MESSAGE, MANY, "OutputSymlink"),
    ],
}
# fmt: on


def _describe() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="cartwright_test_remote_execution.proto", package=PACKAGE, syntax="proto3"
    )
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, label, of in fields:
            one = message.field.add(name=field, number=number, type=kind, label=label)
            if of:
                one.type_name = f".{PACKAGE}.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool.FindMessageTypeByName(f"{PACKAGE}.ActionResult")


ActionResult: Any = message_factory.GetMessageClass(_describe())
