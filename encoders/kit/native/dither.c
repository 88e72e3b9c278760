/* The kernel dither: error diffusion to a palette, row by row, to and fro. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 4, ENTRIES = 256 };

/* A picture and its palette, both with `channels` bytes a colour. */
typedef struct {
    const uint8_t *colors, *mask, *palette;
    uint8_t *indices;
    Py_ssize_t width, height;
    int channels, entries;
} picture;

/* The first of the nearest entries. */
static int nearest(const picture *p, const int32_t value[CHANNELS])
{
    int chosen = 0;
    int32_t least = INT32_MAX;
    for (int k = 0; k < p->entries; k++) {
        int32_t distance = 0;
        for (int c = 0; c < p->channels; c++) {
            int32_t off = p->palette[k * p->channels + c] - value[c];
            distance += off * off;
        }
        if (distance < least)
            least = distance, chosen = k;
    }
    return chosen;
}

static int32_t clamp(int32_t value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/* Choose one texel's entry; `here` and `below` point at its own errors in sixteenths. */
static void diffuse(const picture *p, Py_ssize_t texel, int32_t *here, int32_t *below, int step)
{
    int32_t value[CHANNELS];
    int channels = p->channels;
    for (int c = 0; c < channels; c++) {
        int32_t sixteenths = 16 * p->colors[texel * channels + c] + here[c] + 8;
        /* Shifting a negative number is the compiler's choice; it would be clamped anyway. */
        value[c] = sixteenths < 0 ? 0 : clamp(sixteenths >> 4);
    }
    int chosen = nearest(p, value), forth = step * channels;
    p->indices[texel] = (uint8_t)chosen;
    for (int c = 0; c < channels; c++) {
        int32_t error = value[c] - p->palette[chosen * channels + c];
        here[forth + c] += 7 * error;
        below[c - forth] += 3 * error;
        below[c] += 5 * error;
        below[forth + c] += error;
    }
}

/* `errors` has two rows of width + 2 colours: a texel of margin at either side. */
static void dither_rows(const picture *p, int32_t *errors)
{
    Py_ssize_t stride = (p->width + 2) * p->channels;
    for (Py_ssize_t y = 0; y < p->height; y++) {
        int32_t *here = errors + (y % 2) * stride, *below = errors + (1 - y % 2) * stride;
        int step = y % 2 == 0 ? 1 : -1;
        memset(below, 0, (size_t)stride * sizeof *below);
        for (Py_ssize_t k = 0; k < p->width; k++) {
            Py_ssize_t x = step > 0 ? k : p->width - 1 - k, at = (x + 1) * p->channels;
            Py_ssize_t texel = y * p->width + x;
            if (p->mask[texel])
                diffuse(p, texel, here + at, below + at, step);
            else
                p->indices[texel] = 0;
        }
    }
}

/* Fill in the picture from the buffers, or set ValueError. */
static int open_picture(picture *p, const Py_buffer buffers[4])
{
    Py_ssize_t texels = buffers[3].len, entries = 0;
    if (p->channels < 1 || p->channels > CHANNELS || p->width < 1 ||
        p->width > PY_SSIZE_T_MAX / 64) {
        PyErr_SetString(PyExc_ValueError, "shape: expected a width and 1 to 4 channels");
        return 0;
    }
    p->height = texels / p->width;
    entries = buffers[2].len / p->channels;
    p->entries = entries > 0 && entries <= ENTRIES ? (int)entries : 1;
    p->colors = buffers[0].buf;
    p->mask = buffers[1].buf;
    p->palette = buffers[2].buf;
    p->indices = buffers[3].buf;
    return kernel_expect(&buffers[3], p->width * p->height, 1, "indices") &&
           kernel_expect(&buffers[0], texels * p->channels, 1, "colors") &&
           kernel_expect(&buffers[1], texels, 1, "mask") &&
           kernel_expect(&buffers[2], (Py_ssize_t)p->entries * p->channels, 1, "palette");
}

static int dither_picture(const picture *p)
{
    size_t count = 2 * (size_t)(p->width + 2) * (size_t)p->channels;
    int32_t *errors = calloc(count, sizeof *errors);
    if (errors == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    Py_BEGIN_ALLOW_THREADS
    dither_rows(p, errors);
    Py_END_ALLOW_THREADS
    free(errors);
    return 1;
}

PyObject *kernel_dither(PyObject *module, PyObject *arguments)
{
    Py_buffer buffers[4];
    picture p;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*y*(ni)w*:dither", &buffers[0], &buffers[1], &buffers[2],
                          &p.width, &p.channels, &buffers[3]))
        return NULL;
    int done = open_picture(&p, buffers) && dither_picture(&p);
    kernel_release(buffers, 4);
    if (!done)
        return NULL;
    Py_RETURN_NONE;
}
