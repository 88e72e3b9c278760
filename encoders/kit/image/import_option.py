"""Options of a manifest that change a picture when it is read, the same for every target.

A target adds `IMAGE_IMPORT` to the options of a kind, gives its node the params
`chosen(asset.options, IMAGE_IMPORT)`, and its encoder calls `import_image` on the decoded picture.
Imported while planning, so it must not import numpy.
"""

from __future__ import annotations

from encoders.kit.option import Choice, Number, Option

KEEP_SIZE = "none"
POWER_OF_TWO = "power_of_two"
IMAGE_IMPORT = {
    "max_size": Option(
        Number(1, 65535, whole=True), None, "scale larger pictures down to this longest side"
    ),
    "scale_to": Option(
        Choice((KEEP_SIZE, POWER_OF_TWO)), KEEP_SIZE, "scale each side to the nearest power of two"
    ),
}
