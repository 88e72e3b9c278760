/* Take the row filters of a PNG off: the kernel of encoders/kit/source/png/unfilter.py.
 *
 * Each row begins with the number of its filter (PNG specification, section 9). The numbers are
 * checked in a first pass, so that nothing is written for a picture that is refused.
 */
#include "kernel.h"

#include <string.h>

enum { NONE, SUB, UP, AVERAGE, PAETH, FILTERS };
enum { MOST_PIXEL_BYTES = 4 };

/* Return the first row whose filter does not exist, or -1. */
static Py_ssize_t find_wrong(const uint8_t *rows, Py_ssize_t height, Py_ssize_t stride)
{
    for (Py_ssize_t y = 0; y < height; y++)
        if (rows[y * stride] >= FILTERS)
            return y;
    return -1;
}

/* The nearest to left + above - corner, of equally near ones in this order. Written without the
 * specification's three distances and their branches, which noise makes a processor mispredict. */
static inline int paeth(int left, int above, int corner)
{
    int threshold = 3 * corner - (left + above);
    int low = left < above ? left : above, high = left < above ? above : left;
    int nearest = high <= threshold ? low : corner;
    return threshold <= low ? high : nearest;
}

/* The filters that look at the pixel to the left. Its bytes are kept aside, one for each of a
 * pixel's: read back from the row, each byte would wait for the one before. */

static inline void add_left(const uint8_t *source, uint8_t *row, Py_ssize_t width, int pixel)
{
    uint8_t left[MOST_PIXEL_BYTES] = {0};
    for (Py_ssize_t x = 0; x < width; x += pixel)
        for (int k = 0; k < pixel; k++)
            row[x + k] = left[k] = (uint8_t)(source[x + k] + left[k]);
}

static inline void add_average(const uint8_t *source, const uint8_t *above, uint8_t *row,
                               Py_ssize_t width, int pixel)
{
    uint8_t left[MOST_PIXEL_BYTES] = {0};
    for (Py_ssize_t x = 0; x < width; x += pixel)
        for (int k = 0; k < pixel; k++) {
            int up = above != NULL ? above[x + k] : 0;
            row[x + k] = left[k] = (uint8_t)(source[x + k] + (left[k] + up) / 2);
        }
}

static inline void add_paeth(const uint8_t *source, const uint8_t *above, uint8_t *row,
                             Py_ssize_t width, int pixel)
{
    int left[MOST_PIXEL_BYTES] = {0}, corner[MOST_PIXEL_BYTES] = {0};
    for (Py_ssize_t x = 0; x < width; x += pixel)
        for (int k = 0; k < pixel; k++) {
            int up = above[x + k];
            left[k] = (uint8_t)(source[x + k] + paeth(left[k], up, corner[k]));
            corner[k] = up;
            row[x + k] = (uint8_t)left[k];
        }
}

/* Above the first row all bytes are 0, so that there the nearest of Paeth's three is the left. */
static inline void unfilter_row(int filter, const uint8_t *source, const uint8_t *above,
                                uint8_t *row, Py_ssize_t width, int pixel)
{
    if (filter == AVERAGE)
        add_average(source, above, row, width, pixel);
    else if (filter == PAETH && above != NULL)
        add_paeth(source, above, row, width, pixel);
    else if (filter == PAETH || filter == SUB)
        add_left(source, row, width, pixel);
    else if (filter == UP && above != NULL)
        for (Py_ssize_t x = 0; x < width; x++)
            row[x] = (uint8_t)(source[x] + above[x]);
    else
        memcpy(row, source, (size_t)width);
}

static void unfilter(const uint8_t *rows, Py_ssize_t height, Py_ssize_t width, Py_ssize_t pixel,
                     uint8_t *pixels)
{
    for (Py_ssize_t y = 0; y < height; y++) {
        const uint8_t *source = rows + y * (width + 1) + 1;
        uint8_t *row = pixels + y * width;
        const uint8_t *above = y > 0 ? row - width : NULL;
        int filter = source[-1];
        /* A loop for each size of a pixel: the compiler unrolls those of known length. */
        if (pixel == 3)
            unfilter_row(filter, source, above, row, width, 3);
        else if (pixel == 4)
            unfilter_row(filter, source, above, row, width, 4);
        else
            unfilter_row(filter, source, above, row, width, (int)pixel);
    }
}

enum { ROWS, PIXELS, ARRAYS };

static const kernel_array WANTED[ARRAYS] = {
    {"rows", KERNEL_BYTE, KERNEL_INPUT, 2, {-1, -2}},
    {"pixels", KERNEL_BYTE, KERNEL_OUTPUT, 2, {-1, -3}},
};

/* Check what shapes alone do not show; set an exception and return 0 where it is wrong. */
static int is_sound(const Py_buffer *rows, const Py_buffer *pixels, Py_ssize_t pixel_bytes)
{
    if (rows->shape[1] != pixels->shape[1] + 1) {
        PyErr_Format(PyExc_ValueError, "rows: %zd bytes each, expected %zd", rows->shape[1],
                     pixels->shape[1] + 1);
        return 0;
    }
    if (pixels->shape[1] % pixel_bytes) {
        PyErr_Format(PyExc_ValueError, "pixels: rows of %zd bytes, expected a multiple of %zd",
                     pixels->shape[1], pixel_bytes);
        return 0;
    }
    Py_ssize_t wrong = find_wrong(rows->buf, rows->shape[0], rows->shape[1]);
    if (wrong >= 0)
        PyErr_Format(PyExc_ValueError, "rows: the filter of row %zd does not exist", wrong);
    return wrong < 0;
}

PyObject *kernel_unfilter_rows(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *number;
    Py_buffer buffers[ARRAYS];
    Py_ssize_t pixel_bytes;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO:unfilter_rows", &objects[ROWS], &objects[PIXELS],
                          &number) ||
        !kernel_number(number, "pixel_bytes", 1, MOST_PIXEL_BYTES, &pixel_bytes) ||
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
