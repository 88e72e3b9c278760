/* What every kernel shares: the list of kernels and the check of their buffers.
 *
 * A kernel is a loop that numpy cannot do well. It lives in a file of its own, takes exactly the
 * arguments of its Python reference, fills arrays that the caller has allocated, and gives the
 * same bytes as the reference: integer arithmetic, or floating-point operations in the same
 * order. It checks every buffer before it touches one and releases the interpreter's lock while
 * it works. To add one: write its file, add its line to KERNELS. Nothing else.
 */
#ifndef CARTWRIGHT_KERNEL_H
#define CARTWRIGHT_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <float.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0
#error "This machine computes in excess precision; the references have to serve."
#endif

/* KERNEL(name, what it guarantees); the function is kernel_<name>. */
#define KERNELS                                                                                   \
    KERNEL(bc1_encode, "Encode blocks of 16 RGBA texels, alpha 0 or 255, as BC1.")                \
    KERNEL(dither, "Choose palette entries for a picture, spreading the errors.")                 \
    KERNEL(cluster_patches, "Give every triangle a patch of few vertices; return their number.")  \
    KERNEL(strip_patches, "Write every patch as strip commands; return their number.")            \
    KERNEL(add_columns, "Add column n to the rows that its owners name, in order.")               \
    KERNEL(simplify, "Collapse edges, cheapest first; return the number of triangles left.")

#define KERNEL(name, guarantee) PyObject *kernel_##name(PyObject *module, PyObject *arguments);
KERNELS
#undef KERNEL

/* Is `buffer` exactly `count` numbers of `item_size` bytes, aligned to them? Else sets ValueError. */
int kernel_expect(const Py_buffer *buffer, Py_ssize_t count, Py_ssize_t item_size,
                  const char *name);

/* Release `count` buffers that PyArg_ParseTuple has filled. */
void kernel_release(Py_buffer *buffers, int count);

#endif
