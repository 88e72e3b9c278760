/* The kernel dither: diffusion of a share of the errors to a palette, row by row, to and fro. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

/* Errors are counted in sixteenths, of which a share in 256ths is taken. */
enum { CHANNELS = 4, ENTRIES = 256, WHOLE = 256, UNIT = 16 * WHOLE };

/* A picture with `channels` bytes a colour; its palette by channel, zeros where it has fewer. */
typedef struct {
    const uint8_t *colors, *mask;
    uint8_t *indices;
    Py_ssize_t width, height;
    int channels, entries, share;
    int16_t palette[CHANNELS][ENTRIES];
} picture;

/* The first of the nearest entries: the distance and then the entry make one number. */
static int nearest(const picture *p, const int16_t value[CHANNELS])
{
    int32_t least = INT32_MAX;
    for (int k = 0; k < p->entries; k++) {
        int16_t red = (int16_t)(p->palette[0][k] - value[0]);
        int16_t green = (int16_t)(p->palette[1][k] - value[1]);
        int16_t blue = (int16_t)(p->palette[2][k] - value[2]);
        int16_t alpha = (int16_t)(p->palette[3][k] - value[3]);
        /* At most 4 * 255^2, so that times 256 it stays below 2^31. */
        int32_t distance = red * red + green * green + blue * blue + alpha * alpha;
        int32_t key = distance * ENTRIES + k;
        least = key < least ? key : least;
    }
    return least % ENTRIES;
}

/* Choose one texel's entry; `here` and `below` point at its own errors in sixteenths. */
static void diffuse(const picture *p, Py_ssize_t texel, int32_t *here, int32_t *below, int step)
{
    int16_t value[CHANNELS] = {0, 0, 0, 0};
    int channels = p->channels;
    for (int c = 0; c < channels; c++) {
        int32_t fine = UNIT * p->colors[texel * channels + c] + p->share * here[c] + UNIT / 2;
        /* Clamping bounds the errors: without it they grow where no entry is near. */
        fine = fine < 0 ? 0 : fine;
        value[c] = (int16_t)(fine > 255 * UNIT ? 255 : fine / UNIT);
    }
    int chosen = nearest(p, value), forth = step * channels;
    p->indices[texel] = (uint8_t)chosen;
    for (int c = 0; c < channels; c++) {
        int32_t error = value[c] - p->palette[c][chosen];
        here[forth + c] += 7 * error;
        /* Floyd-Steinberg: 7 ahead, 3 behind below, 5 below, 1 ahead below. */
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

static void spread_palette(picture *p, const uint8_t *entries)
{
    memset(p->palette, 0, sizeof p->palette);
    for (int k = 0; k < p->entries; k++)
        for (int c = 0; c < p->channels; c++)
            p->palette[c][k] = entries[k * p->channels + c];
}

static int dither_picture(picture *p, const uint8_t *entries)
{
    size_t count = 2 * (size_t)(p->width + 2) * (size_t)p->channels;
    int32_t *errors = calloc(count, sizeof *errors);
    if (errors == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    spread_palette(p, entries);
    Py_BEGIN_ALLOW_THREADS
    dither_rows(p, errors);
    Py_END_ALLOW_THREADS
    free(errors);
    return 1;
}

enum { COLORS, MASK, PALETTE, INDICES, ARRAYS };
enum { HEIGHT = -1, WIDTH = -2, DEPTH = -3, ANY = -4 };

static const kernel_array WANTED[ARRAYS] = {
    {"colors", KERNEL_BYTE, KERNEL_INPUT, 3, {HEIGHT, WIDTH, DEPTH}},
    {"mask", KERNEL_TRUTH, KERNEL_INPUT, 2, {HEIGHT, WIDTH}},
    {"palette", KERNEL_BYTE, KERNEL_INPUT, 2, {ANY, DEPTH}},
    {"indices", KERNEL_BYTE, KERNEL_OUTPUT, 2, {HEIGHT, WIDTH}},
};

/* Fill in the picture from the buffers, or set ValueError where sizes are out of range. */
static int open_picture(picture *p, const Py_buffer *buffers, PyObject *const *numbers)
{
    const Py_ssize_t *shape = buffers[COLORS].shape;
    Py_ssize_t given, share;
    PyObject *width = numbers[0], *channels = numbers[1];
    if (!kernel_number(channels, "shape[1]", 1, CHANNELS, &given) ||
        !kernel_number(channels, "shape[1]", shape[2], shape[2], &given) ||
        !kernel_number(width, "shape[0]", 1, PY_SSIZE_T_MAX / 64, &given) ||
        !kernel_number(width, "shape[0]", shape[1], shape[1], &given) ||
        !kernel_number(numbers[2], "shape[2]", 0, WHOLE, &share) ||
        !kernel_rows(&buffers[PALETTE], "palette", 1, ENTRIES))
        return 0;
    p->height = shape[0];
    p->width = shape[1];
    p->channels = (int)shape[2];
    p->share = (int)share;
    p->entries = (int)buffers[PALETTE].shape[0];
    p->colors = buffers[COLORS].buf;
    p->mask = buffers[MASK].buf;
    p->indices = buffers[INDICES].buf;
    return 1;
}

PyObject *kernel_dither(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *numbers[3];
    Py_buffer buffers[ARRAYS];
    picture p;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO(OOO)O:dither", &objects[COLORS], &objects[MASK],
                          &objects[PALETTE], &numbers[0], &numbers[1], &numbers[2],
                          &objects[INDICES]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_done = open_picture(&p, buffers, numbers) &&
                  dither_picture(&p, buffers[PALETTE].buf);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
