/* The extension module encoders.kit._native: its method table and the digest of its sources. */
#include "kernel.h"

#define TEXT(token) #token
#define TEXT_OF(macro) TEXT(macro)

#define KERNEL(name, guarantee) {#name, kernel_##name, METH_VARARGS, guarantee},
static PyMethodDef METHODS[] = {KERNELS{NULL, NULL, 0, NULL}};
#undef KERNEL

/* The build compares this with the sources that are there, so that no stale kernel is used. */
static int add_digest(PyObject *module)
{
    return PyModule_AddStringConstant(module, "SOURCE_DIGEST", TEXT_OF(CARTWRIGHT_SOURCE_DIGEST));
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, add_digest}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_native", "Kernels that give the bytes of their references.", 0,
    METHODS, SLOTS, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&MODULE);
}
