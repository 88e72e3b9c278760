/* The checks of the kernels' arguments; see kernel.h for what each guarantees. */
#include "kernel.h"

#include <string.h>

enum { SHOWN_BYTES = 128, SYMBOLS = 8, UNKNOWN = -1 };

static const char *const ITEM_NAMES[] = {"uint8", "bool or uint8", "int32", "float32", "float64"};
static const Py_ssize_t ITEM_BYTES[] = {1, 1, 4, 4, 8};
/* Codes of the struct module; int32 is `l` where C's long has 32 bits. */
static const char *const ITEM_CODES[] = {"B", "?B", "il", "f", "d"};

static int has_items(const Py_buffer *buffer, const kernel_array *wanted)
{
    /* A buffer without a format holds bytes, says the buffer protocol. */
    const char *format = buffer->format ? buffer->format : "B";
    const char *code = *format == '@' || *format == '=' ? format + 1 : format;
    if (code[0] != '\0' && code[1] == '\0' && strchr(ITEM_CODES[wanted->item], code[0]) &&
        buffer->itemsize == ITEM_BYTES[wanted->item])
        return 1;
    PyErr_Format(PyExc_ValueError, "%s: items of type \"%s\", expected %s", wanted->name, format,
                 ITEM_NAMES[wanted->item]);
    return 0;
}

/* Write a shape as Python would; a negative length is shown as *. */
static void show_shape(char *shown, const Py_ssize_t *shape, int dimensions)
{
    size_t end = 0;
    shown[0] = '\0';
    for (int axis = 0; axis < dimensions && end < SHOWN_BYTES; axis++) {
        const char *comma = axis > 0 ? ", " : "";
        size_t room = SHOWN_BYTES - end;
        end += (size_t)(shape[axis] < 0
                            ? PyOS_snprintf(shown + end, room, "%s*", comma)
                            : PyOS_snprintf(shown + end, room, "%s%lld", comma,
                                            (long long)shape[axis]));
    }
}

/* Compare a shape with the one wanted; `lengths` has what each negative number stands for. */
static int has_shape(const Py_buffer *buffer, const kernel_array *wanted, Py_ssize_t *lengths)
{
    char found[SHOWN_BYTES], expected[SHOWN_BYTES];
    Py_ssize_t shape[KERNEL_MOST_AXES];
    int fits = buffer->ndim == wanted->dimensions;
    for (int axis = 0; axis < wanted->dimensions; axis++) {
        Py_ssize_t *length = wanted->shape[axis] < 0 ? &lengths[-wanted->shape[axis]] : NULL;
        shape[axis] = length ? *length : wanted->shape[axis];
        /* The first array with this symbol decides its length. */
        if (fits && length && *length == UNKNOWN)
            *length = buffer->shape[axis];
        else
            fits = fits && shape[axis] == buffer->shape[axis];
    }
    if (fits)
        return 1;
    show_shape(found, buffer->shape, buffer->ndim);
    show_shape(expected, shape, wanted->dimensions);
    PyErr_Format(PyExc_ValueError, "%s: shape (%s) of %zd bytes, expected (%s)", wanted->name,
                 found, buffer->len, expected);
    return 0;
}

static int has_layout(const Py_buffer *buffer, const kernel_array *wanted)
{
    const char *wrong = NULL;
    if (!PyBuffer_IsContiguous(buffer, 'C'))
        wrong = "not C-contiguous";
    /* numpy may give an empty array any address. */
    else if (buffer->len > 0 && (uintptr_t)buffer->buf % (uintptr_t)ITEM_BYTES[wanted->item] != 0)
        wrong = "not aligned to its items";
    else if (wanted->use == KERNEL_OUTPUT && buffer->readonly)
        wrong = "read-only";
    if (wrong != NULL)
        PyErr_Format(PyExc_ValueError, "%s: %s, expected a%s C-contiguous array", wanted->name,
                     wrong, wanted->use == KERNEL_OUTPUT ? " writable" : "n aligned");
    return wrong == NULL;
}

/* An output that shares memory with an index array would change indices that were checked. */
static int is_apart(const kernel_array *wanted, const Py_buffer *buffers, int one)
{
    uintptr_t start = (uintptr_t)buffers[one].buf, end = start + (uintptr_t)buffers[one].len;
    for (int i = 0; i < one; i++) {
        uintptr_t other = (uintptr_t)buffers[i].buf;
        if (wanted[i].use == KERNEL_INPUT && wanted[one].use == KERNEL_INPUT)
            continue;
        if (buffers[i].len == 0 || buffers[one].len == 0) /* nothing to share, wherever it lies */
            continue;
        if (start < other + (uintptr_t)buffers[i].len && other < end) {
            PyErr_Format(PyExc_ValueError, "%s: shares memory with %s, expected its own",
                         wanted[one].name, wanted[i].name);
            return 0;
        }
    }
    return 1;
}

int kernel_open(const kernel_array *wanted, int count, PyObject *const *objects,
                Py_buffer *buffers)
{
    Py_ssize_t lengths[SYMBOLS];
    for (int i = 0; i < SYMBOLS; i++)
        lengths[i] = UNKNOWN;
    for (int i = 0; i < count; i++) {
        if (!PyObject_CheckBuffer(objects[i])) {
            PyErr_Format(PyExc_TypeError, "%s: %R, expected an array of %s", wanted[i].name,
                         (PyObject *)Py_TYPE(objects[i]), ITEM_NAMES[wanted[i].item]);
            kernel_release(buffers, i);
            return 0;
        }
        if (PyObject_GetBuffer(objects[i], &buffers[i], PyBUF_FULL_RO) < 0) {
            kernel_release(buffers, i);
            return 0;
        }
        if (!has_items(&buffers[i], &wanted[i]) || !has_layout(&buffers[i], &wanted[i]) ||
            !has_shape(&buffers[i], &wanted[i], lengths) || !is_apart(wanted, buffers, i)) {
            /* This buffer is held as well, unlike in the two cases above. */
            kernel_release(buffers, i + 1);
            return 0;
        }
    }
    return 1;
}

void kernel_release(Py_buffer *buffers, int count)
{
    for (int i = 0; i < count; i++)
        PyBuffer_Release(&buffers[i]);
}

/* Say what numbers are allowed: one, or those from low to high. */
static void show_range(char *shown, Py_ssize_t low, Py_ssize_t high)
{
    if (low == high)
        PyOS_snprintf(shown, SHOWN_BYTES, "%lld", (long long)low);
    else
        PyOS_snprintf(shown, SHOWN_BYTES, "%lld to %lld", (long long)low, (long long)high);
}

int kernel_number(PyObject *object, const char *name, Py_ssize_t low, Py_ssize_t high,
                  Py_ssize_t *number)
{
    char expected[SHOWN_BYTES];
    int overflow = 0;
    long long found = PyLong_AsLongLongAndOverflow(object, &overflow);
    /* -1 is a valid number too; only then is there an exception to look for. */
    if (found == -1 && !overflow && PyErr_Occurred())
        return 0;
    if (overflow || found < low || found > high) {
        show_range(expected, low, high);
        PyErr_Format(PyExc_ValueError, "%s: %R, expected %s", name, object, expected);
        return 0;
    }
    *number = (Py_ssize_t)found;
    return 1;
}

int kernel_rows(const Py_buffer *buffer, const char *name, Py_ssize_t low, Py_ssize_t high)
{
    char expected[SHOWN_BYTES];
    Py_ssize_t rows = buffer->shape[0];
    if (rows >= low && rows <= high)
        return 1;
    show_range(expected, low, high);
    PyErr_Format(PyExc_ValueError, "%s: length %zd, expected %s", name, rows, expected);
    return 0;
}

int kernel_indices(const Py_buffer *buffer, const char *name, Py_ssize_t limit)
{
    const int32_t *index = buffer->buf;
    Py_ssize_t count = buffer->len / (Py_ssize_t)sizeof(int32_t), wrong = 0;
    /* A negative index counts as one above all others. */
    uint32_t highest = 0, bits = 0;
    /* All bits together are no less than the highest index, and take a fraction of its time. */
    for (Py_ssize_t i = 0; i < count; i++)
        bits |= (uint32_t)index[i];
    if (bits <= INT32_MAX && (Py_ssize_t)bits < limit)
        return 1;
    for (Py_ssize_t i = 0; i < count; i++)
        highest = (uint32_t)index[i] > highest ? (uint32_t)index[i] : highest;
    if (count == 0 || (highest <= INT32_MAX && (Py_ssize_t)highest < limit))
        return 1;
    while (index[wrong] >= 0 && index[wrong] < limit)
        wrong++;
    PyErr_Format(PyExc_ValueError, "%s: item %zd is %d, expected 0 to %zd", name, wrong,
                 (int)index[wrong], limit - 1);
    return 0;
}

int kernel_distinct(const Py_buffer *triangles, const int32_t *place)
{
    const int32_t *corner = triangles->buf;
    for (Py_ssize_t row = 0; row < triangles->shape[0]; row++, corner += 3) {
        int32_t a = place ? place[corner[0]] : corner[0];
        int32_t b = place ? place[corner[1]] : corner[1];
        int32_t c = place ? place[corner[2]] : corner[2];
        if (a == b || b == c || c == a) {
            PyErr_Format(PyExc_ValueError, "triangles: row %zd has %s %d, %d, %d, expected three",
                         row, place ? "places" : "corners", (int)a, (int)b, (int)c);
            return 0;
        }
    }
    return 1;
}
