/* The kernel color_points: red, green, blue and OKLab of 8-bit colours, as palettes compare them. */
#include "color.h"

/* As in oklab.py and quantise.py. */
enum { FRACTION_BITS = 20, ROOT_BITS = 14, UNIT_BITS = 12, FINE = 8, MIDDLE = 2048 };
enum { CODES = 256, ROOTS = 1 << 17, SIDE = 3 };

/* Divide by a power of two and round down, also below zero, where C leaves >> open. */
static int64_t shift_down(int64_t value, int bits)
{
    int64_t above = INT64_C(1) << 56;
    return ((value + above) >> bits) - (above >> bits);
}

static int64_t dot(const int32_t *row, const int64_t *column)
{
    return row[0] * column[0] + row[1] * column[1] + row[2] * column[2];
}

static void to_point(const uint8_t *rgb, const int32_t *light, const int32_t *matrices,
                     const int32_t *roots, int64_t scale, int32_t *point)
{
    int64_t linear[SIDE], root[SIDE];
    for (int c = 0; c < SIDE; c++)
        linear[c] = light[rgb[c]];
    for (int c = 0; c < SIDE; c++)
        root[c] = roots[dot(matrices + c * SIDE, linear) >> FRACTION_BITS];
    for (int c = 0; c < SIDE; c++) {
        int64_t lab = shift_down(dot(matrices + (SIDE + c) * SIDE, root),
                                 FRACTION_BITS + ROOT_BITS - UNIT_BITS);
        point[c] = rgb[c] * FINE;
        point[SIDE + c] = (int32_t)shift_down(2 * lab * scale + (1 << UNIT_BITS), UNIT_BITS + 1);
        point[SIDE + c] += c == 0 ? 0 : MIDDLE;
    }
}

/* Check that no light reaches beyond the last root. */
static int check_roots(const int32_t *light, const int32_t *matrices, const Py_buffer *roots)
{
    int64_t most = 0, limit = roots->shape[0];
    for (int i = 0; i < CODES; i++)
        most = light[i] > most ? light[i] : most;
    for (int c = 0; c < SIDE; c++) {
        int64_t column[SIDE] = {most, most, most};
        const int32_t *row = matrices + c * SIDE;
        if (row[0] < 0 || row[1] < 0 || row[2] < 0 ||
            dot(row, column) >> FRACTION_BITS >= limit) {
            PyErr_Format(PyExc_ValueError, "roots: expected one for all light, found %lld",
                         (long long)limit);
            return 0;
        }
    }
    return 1;
}

enum { RGB, LIGHT, MATRICES, ROOT_TABLE, POINTS, ARRAYS };
enum { COUNT = -1, ROOT_COUNT = -2 };

static const kernel_array WANTED[ARRAYS] = {
    {"rgb", KERNEL_BYTE, KERNEL_INPUT, 2, {COUNT, SIDE}},
    {"light", KERNEL_INT32, KERNEL_INPUT, 1, {CODES}},
    {"matrices", KERNEL_INT32, KERNEL_INPUT, 3, {2, SIDE, SIDE}},
    {"roots", KERNEL_INT32, KERNEL_INPUT, 1, {ROOT_COUNT}},
    {"points", KERNEL_INT32, KERNEL_OUTPUT, 2, {COUNT, COLOR_AXES}},
};

static void fill_points(const Py_buffer *buffers, Py_ssize_t scale)
{
    const uint8_t *rgb = buffers[RGB].buf;
    int32_t *points = buffers[POINTS].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t n = 0; n < buffers[RGB].shape[0]; n++)
        to_point(rgb + n * SIDE, buffers[LIGHT].buf, buffers[MATRICES].buf,
                 buffers[ROOT_TABLE].buf, scale, points + n * COLOR_AXES);
    Py_END_ALLOW_THREADS
}

PyObject *kernel_color_points(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *scale;
    Py_buffer buffers[ARRAYS];
    Py_ssize_t factor;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOO:color_points", &objects[RGB], &objects[LIGHT],
                          &objects[MATRICES], &objects[ROOT_TABLE], &scale, &objects[POINTS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_done = kernel_number(scale, "scale", 0, COLOR_VALUES, &factor) &&
                  kernel_indices(&buffers[LIGHT], "light", ROOTS) &&
                  kernel_indices(&buffers[ROOT_TABLE], "roots", 1 << (ROOT_BITS + 1)) &&
                  check_roots(buffers[LIGHT].buf, buffers[MATRICES].buf, &buffers[ROOT_TABLE]);
    if (is_done)
        fill_points(buffers, factor);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
