/* Add up the quadrics of triangles at their vertices: the kernel of encoders/kit/mesh/simplify/quadric.py.
 */
#include "kernel.h"

static void add(const double *columns, Py_ssize_t width, Py_ssize_t length,
                const int32_t *owners, Py_ssize_t each, double *sums)
{
    for (Py_ssize_t n = 0; n < length; n++)
        for (Py_ssize_t i = 0; i < each; i++) {
            /* One addition after another, in the order of the triangles: floating-point sums
             * depend on it. */
            double *row = sums + (size_t)owners[n * each + i] * (size_t)width;
            for (Py_ssize_t column = 0; column < width; column++)
                row[column] += columns[column * length + n];
        }
}

enum { COLUMNS, OWNERS, SUMS, ARRAYS };
enum { WIDTH = -1, LENGTH = -2, EACH = -3, ROWS = -4 };

static const kernel_array WANTED[ARRAYS] = {
    {"columns", KERNEL_FLOAT64, KERNEL_INPUT, 2, {WIDTH, LENGTH}},
    {"owners", KERNEL_INT32, KERNEL_INPUT, 2, {LENGTH, EACH}},
    {"sums", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {ROWS, WIDTH}},
};

PyObject *kernel_add_columns(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO:add_columns", &objects[COLUMNS], &objects[OWNERS],
                          &objects[SUMS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_sound = kernel_indices(&buffers[OWNERS], "owners", buffers[SUMS].shape[0]);
    if (is_sound && buffers[OWNERS].len > 0) { /* an array of no items can have any length */
        Py_BEGIN_ALLOW_THREADS
        add(buffers[COLUMNS].buf, buffers[COLUMNS].shape[0], buffers[COLUMNS].shape[1],
            buffers[OWNERS].buf, buffers[OWNERS].shape[1], buffers[SUMS].buf);
        Py_END_ALLOW_THREADS
    }
    kernel_release(buffers, ARRAYS);
    if (!is_sound)
        return NULL;
    Py_RETURN_NONE;
}
