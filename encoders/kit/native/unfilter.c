/* Take the row filters of a PNG off: the kernel of encoders/kit/source/png/unfilter.py.
 *
 * Each row begins with the number of its filter (PNG specification, section 9). The numbers are
 * checked in a first pass, so that nothing is written for a picture that is refused.
 */
#include "kernel.h"

enum { NONE, SUB, UP, AVERAGE, PAETH, FILTERS };
enum { MOST_PIXEL_BYTES = 8 };

/* Return the first row whose filter does not exist, or -1. */
static Py_ssize_t find_wrong(const uint8_t *rows, Py_ssize_t height, Py_ssize_t stride)
{
    for (Py_ssize_t y = 0; y < height; y++)
        if (rows[y * stride] >= FILTERS)
            return y;
    return -1;
}

static uint8_t paeth(int left, int above, int corner)
{
    int estimate = left + above - corner;
    int to_left = estimate > left ? estimate - left : left - estimate;
    int to_above = estimate > above ? estimate - above : above - estimate;
    int to_corner = estimate > corner ? estimate - corner : corner - estimate;
    if (to_left <= to_above && to_left <= to_corner)
        return (uint8_t)left;
    return (uint8_t)(to_above <= to_corner ? above : corner);
}

/* What a filter adds to byte x; bytes outside of the picture are 0. */
static uint8_t predict(int filter, const uint8_t *row, const uint8_t *above, Py_ssize_t x,
                       Py_ssize_t pixel)
{
    int a = x >= pixel ? row[x - pixel] : 0;
    int b = above != NULL ? above[x] : 0;
    int c = x >= pixel && above != NULL ? above[x - pixel] : 0;
    if (filter == SUB)
        return (uint8_t)a;
    if (filter == UP)
        return (uint8_t)b;
    if (filter == AVERAGE)
        return (uint8_t)((a + b) / 2);
    return filter == PAETH ? paeth(a, b, c) : 0;
}

static void unfilter(const uint8_t *rows, Py_ssize_t height, Py_ssize_t width, Py_ssize_t pixel,
                     uint8_t *pixels)
{
    for (Py_ssize_t y = 0; y < height; y++) {
        const uint8_t *source = rows + y * (width + 1);
        uint8_t *row = pixels + y * width;
        const uint8_t *above = y > 0 ? row - width : NULL;
        for (Py_ssize_t x = 0; x < width; x++)
            row[x] = (uint8_t)(source[x + 1] + predict(source[0], row, above, x, pixel));
    }
}

enum { ROWS, PIXELS, ARRAYS };

static const kernel_array WANTED[ARRAYS] = {
    {"rows", KERNEL_BYTE, KERNEL_INPUT, 2, {-1, -2}},
    {"pixels", KERNEL_BYTE, KERNEL_OUTPUT, 2, {-1, -3}},
};

/* Check what shapes alone do not show; set an exception and return 0 where it is wrong. */
static int is_sound(const Py_buffer *rows, const Py_buffer *pixels, int pixel_bytes)
{
    if (rows->shape[1] != pixels->shape[1] + 1) {
        PyErr_Format(PyExc_ValueError, "rows: %zd bytes each, expected %zd", rows->shape[1],
                     pixels->shape[1] + 1);
        return 0;
    }
    if (pixel_bytes < 1 || pixel_bytes > MOST_PIXEL_BYTES) {
        PyErr_Format(PyExc_ValueError, "pixel_bytes: %d, expected 1 to %d", pixel_bytes,
                     MOST_PIXEL_BYTES);
        return 0;
    }
    Py_ssize_t wrong = find_wrong(rows->buf, rows->shape[0], rows->shape[1]);
    if (wrong >= 0)
        PyErr_Format(PyExc_ValueError, "rows: the filter of row %zd does not exist", wrong);
    return wrong < 0;
}

PyObject *kernel_unfilter_rows(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    int pixel_bytes;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOi:unfilter_rows", &objects[ROWS], &objects[PIXELS],
                          &pixel_bytes) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    const Py_buffer *rows = &buffers[ROWS], *pixels = &buffers[PIXELS];
    int sound = is_sound(rows, pixels, pixel_bytes);
    if (sound) {
        Py_BEGIN_ALLOW_THREADS
        unfilter(rows->buf, pixels->shape[0], pixels->shape[1], pixel_bytes, pixels->buf);
        Py_END_ALLOW_THREADS
    }
    kernel_release(buffers, ARRAYS);
    if (!sound)
        return NULL;
    Py_RETURN_NONE;
}
