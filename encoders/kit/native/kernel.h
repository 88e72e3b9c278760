/* What every kernel shares: the list of kernels and the checks of their arguments.
 *
 * A kernel is a loop that numpy cannot do well. It lives in a file of its own, takes exactly the
 * arguments of its Python reference, fills arrays that the caller has allocated, and gives the
 * same bytes as the reference: integer arithmetic, or floating-point operations in the same
 * order. To add one: write its file, add its line to KERNELS. Nothing else.
 *
 * A kernel trusts no argument. It checks types, shapes, sizes and every index before it reads or
 * writes the first item, and raises ValueError with the argument's name and the value found. Only
 * then does it release the interpreter's lock: the buffers stay exported, so nobody can free or
 * resize them, and no pointer into them outlives the call. As with numpy, the caller must not
 * write to the arrays from another thread meanwhile.
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
    KERNEL(adpcm_encode, "Encode blocks of 28 samples as SPU-ADPCM, with the least error each.")  \
    KERNEL(bc1_encode, "Encode blocks of 16 RGBA texels, alpha 0 or 255, as BC1.")                \
    KERNEL(chain_matrices, "Multiply matrices by those of their parents, which stand before them.") \
    KERNEL(color_points, "Give red, green, blue and OKLab of colours, as palettes compare them.") \
    KERNEL(color_label, "Find the nearest entries of colours of six numbers each.")               \
    KERNEL(color_search, "Search centres of weighted colours that give little squared error.")    \
    KERNEL(color_split, "Divide weighted colours into boxes, the widest first.")                  \
    KERNEL(compose_matrices, "Make affine matrices of translation, rotation and scale.")          \
    KERNEL(decompose_matrices, "Take affine matrices apart into rotation and scale.")             \
    KERNEL(decode_faces, "Decode lines of corners, each of up to three indices.")                 \
    KERNEL(decode_vectors, "Decode lines of decimal numbers to the nearest float32.")             \
    KERNEL(bc7_encode, "Encode blocks of 16 RGBA texels as BC7.")                                  \
    KERNEL(dither, "Choose palette entries for a picture, spreading the errors.")                 \
    KERNEL(cluster_patches, "Give every triangle a patch of few vertices; return their number.")  \
    KERNEL(strip_patches, "Write every patch as strip commands; return their number.")            \
    KERNEL(add_columns, "Add column n to the rows that its owners name, in order.")               \
    KERNEL(nearest_blocks, "Find the nearest entry of a codebook for blocks of 16 bytes.")        \
    KERNEL(qoa_encode, "Encode 16-bit samples as QOA slices, and the state before each frame.")   \
    KERNEL(search_codebook, "Divide weighted blocks of 16 bytes among 256 entries.")              \
    KERNEL(simplify, "Collapse edges, cheapest first; return the number of triangles left.")      \
    KERNEL(order_triangles, "Order triangles for a small cache of transformed vertices.")         \
    KERNEL(unfilter_rows, "Take the row filters of a PNG off, for pixels of whole bytes.")        \
    KERNEL(weld_rows, "Number equal rows of bytes by first use; return how many differ.")

#define KERNEL(name, guarantee) PyObject *kernel_##name(PyObject *module, PyObject *arguments);
KERNELS
#undef KERNEL

enum { KERNEL_MOST_AXES = 4, KERNEL_MOST_TRIANGLES = INT32_MAX / 6 };

typedef enum {
    KERNEL_BYTE,
    KERNEL_TRUTH,
    KERNEL_INT32,
    KERNEL_FLOAT32,
    KERNEL_FLOAT64
} kernel_item;
typedef enum { KERNEL_INPUT, KERNEL_OUTPUT } kernel_use;

/* An array argument. A negative number in the shape stands for any length; where a kernel's arrays
 * have the same negative number, they have the same length. */
typedef struct {
    const char *name;
    kernel_item item;
    kernel_use use;
    int dimensions;
    Py_ssize_t shape[KERNEL_MOST_AXES];
} kernel_array;

/* Get the buffers of array arguments: C-contiguous, aligned, of the item type and shape wanted,
 * and outputs writable and apart from all others. Returns 0 with an exception set and no buffer
 * held where one is not so. */
int kernel_open(const kernel_array *wanted, int count, PyObject *const *objects,
                Py_buffer *buffers);

/* Release `count` buffers. */
void kernel_release(Py_buffer *buffers, int count);

/* Each of the following returns 0 with ValueError set where the argument is not as wanted. */

/* Read a whole number from `low` to `high`. */
int kernel_number(PyObject *object, const char *name, Py_ssize_t low, Py_ssize_t high,
                  Py_ssize_t *number);

/* Check the length of an array along its first axis. */
int kernel_rows(const Py_buffer *buffer, const char *name, Py_ssize_t low, Py_ssize_t high);

/* Check that every index is at least 0 and below the limit. */
int kernel_indices(const Py_buffer *buffer, const char *name, Py_ssize_t limit);

/* Check that the three corners of each triangle differ; with `place`, that their places do. The
 * indices have been checked before. */
int kernel_distinct(const Py_buffer *triangles, const int32_t *place);

#endif
