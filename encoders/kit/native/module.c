/* The extension module encoders.kit.native._native: its method table and the check of buffers. */
#include "kernel.h"

int kernel_expect(const Py_buffer *buffer, Py_ssize_t count, Py_ssize_t item_size,
                  const char *name)
{
    if (count < 0 || count > PY_SSIZE_T_MAX / item_size || buffer->len != count * item_size) {
        PyErr_Format(PyExc_ValueError, "%s: %zd bytes, expected %zd items of %zd bytes", name,
                     buffer->len, count, item_size);
        return 0;
    }
    if (count > 0 && (uintptr_t)buffer->buf % (uintptr_t)item_size != 0) {
        PyErr_Format(PyExc_ValueError, "%s: not aligned to %zd bytes", name, item_size);
        return 0;
    }
    return 1;
}

void kernel_release(Py_buffer *buffers, int count)
{
    for (int i = 0; i < count; i++)
        PyBuffer_Release(&buffers[i]);
}

#define KERNEL(name, guarantee) {#name, kernel_##name, METH_VARARGS, guarantee},
static PyMethodDef METHODS[] = {KERNELS{NULL, NULL, 0, NULL}};
#undef KERNEL

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_native", "Kernels that give the bytes of their references.", 0,
    METHODS, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&MODULE);
}
