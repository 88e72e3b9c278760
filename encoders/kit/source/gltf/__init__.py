"""glTF 2.0 and GLB, read with msgspec and numpy: bytes in, typed values and arrays out.

`source.decode_gltf` opens a file; the modules beside it take what it gives. This package imports
nothing by itself, so that a survey may use `container`, `document` and `uri` without numpy.
"""
