/* Add up the quadrics of triangles at their vertices: the kernel of encoders/kit/mesh/quadric.py. */
#include "kernel.h"

static int is_within(const int32_t *owners, Py_ssize_t count, Py_ssize_t limit)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (owners[i] < 0 || owners[i] >= limit)
            return 0;
    return 1;
}

static void add(const double *columns, Py_ssize_t width, Py_ssize_t length,
                const int32_t *owners, Py_ssize_t each, double *sums)
{
    for (Py_ssize_t n = 0; n < length; n++)
        for (Py_ssize_t i = 0; i < each; i++) {
            double *row = sums + (size_t)owners[n * each + i] * (size_t)width;
            for (Py_ssize_t column = 0; column < width; column++)
                row[column] += columns[column * length + n];
        }
}

/* The shapes: columns (width, length), owners (length, each), sums (any, width). */
PyObject *kernel_add_columns(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *objects[3], *result = NULL;
    Py_buffer buffers[3];
    int filled = 0;
    if (!PyArg_ParseTuple(arguments, "OOO", &objects[0], &objects[1], &objects[2]))
        return NULL;
    for (; filled < 3; filled++) {
        int flags = PyBUF_ND | (filled == 2 ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(objects[filled], &buffers[filled], flags) < 0)
            goto done;
        if (buffers[filled].ndim != 2) {
            PyErr_SetString(PyExc_ValueError, "not a table");
            filled++;
            goto done;
        }
    }
    Py_ssize_t width = buffers[0].shape[0], length = buffers[0].shape[1];
    Py_ssize_t each = buffers[1].shape[1], rows = buffers[2].shape[0];
    if (!kernel_expect(&buffers[0], width * length, 8, "columns") ||
        !kernel_expect(&buffers[1], length * each, 4, "owners") ||
        !kernel_expect(&buffers[2], rows * width, 8, "sums"))
        goto done;
    if (!is_within(buffers[1].buf, length * each, rows)) {
        PyErr_SetString(PyExc_ValueError, "an owner is out of range");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    add(buffers[0].buf, width, length, buffers[1].buf, each, buffers[2].buf);
    Py_END_ALLOW_THREADS
    Py_INCREF(Py_None);
    result = Py_None;
done:
    kernel_release(buffers, filled);
    return result;
}
