/* Decode lines of corners, each of up to three indices: the kernel of
 * encoders/kit/source/obj/block.py.
 *
 * A plain line is an f, then one blank and a corner as often as wanted, then the line end. A
 * corner is an index and up to two more behind a slash each, which may be left out and are 0 then.
 * An index is negative or not and has up to eight digits, of which the first is not 0.
 */
#include "cursor.h"
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 8, PLACES = 3 };

/* Read an index, or nothing; 0 is no index. */
static int32_t read_index(text_cursor *text)
{
    int32_t index = 0;
    text_cursor next = *text;
    int is_negative = next_is(&next, '-');
    next.at += is_negative;
    if (next_is(&next, '0'))
        return 0;
    for (int digits = 0; digits < MOST_DIGITS && next_is_digit(&next); digits++)
        index = index * 10 + (*next.at++ - '0');
    if (index == 0) /* a sign alone, or nothing */
        return 0;
    *text = next;
    return is_negative ? -index : index;
}

/* Read a corner; return 0 where there is none. What is behind its indices is not looked at. */
static int read_corner(text_cursor *text, int32_t corner[PLACES])
{
    corner[0] = read_index(text);
    for (int place = 1; place < PLACES; place++) {
        int has_place = next_is(text, '/');
        text->at += has_place;
        corner[place] = has_place ? read_index(text) : 0;
    }
    return corner[0] != 0;
}

typedef struct {
    int32_t *indices; /* PLACES rows of `most` */
    Py_ssize_t count, most;
} Corners;

/* Read the corners of a line; return how many, or 0 where the line is not plain. */
static int32_t read_line(text_cursor *text, Corners *corners)
{
    Py_ssize_t before = corners->count;
    if (!next_is(text, 'f'))
        return 0;
    text->at++;
    while (next_is(text, ' ')) {
        int32_t corner[PLACES];
        text->at++;
        if (!read_corner(text, corner) || corners->count == corners->most)
            return 0;
        for (int place = 0; place < PLACES; place++)
            corners->indices[place * corners->most + corners->count] = corner[place];
        corners->count++;
    }
    if (!next_is(text, '\n'))
        return 0;
    text->at++;
    return (int32_t)(corners->count - before);
}

enum { INPUT_TEXT, SIZES, INDICES, ARRAYS };
enum { BYTES = -1, LINES = -2, CORNERS = -3 };

static const kernel_array WANTED[ARRAYS] = {
    {"text", KERNEL_BYTE, KERNEL_INPUT, 1, {BYTES}},
    {"sizes", KERNEL_INT32, KERNEL_OUTPUT, 1, {LINES}},
    {"indices", KERNEL_INT32, KERNEL_OUTPUT, 2, {PLACES, CORNERS}},
};

/* Decode all lines; return how many are plain, one more where bytes or corners are left. */
static Py_ssize_t read_lines(const Py_buffer *buffers, int32_t *sizes, int32_t *indices)
{
    const uint8_t *start = buffers[INPUT_TEXT].buf;
    text_cursor text = {start, start + buffers[INPUT_TEXT].len};
    Corners corners = {indices, 0, buffers[INDICES].shape[1]};
    Py_ssize_t lines = buffers[SIZES].shape[0];
    for (Py_ssize_t line = 0; line < lines; line++) {
        sizes[line] = read_line(&text, &corners);
        if (sizes[line] == 0)
            return line;
    }
    return text.at == text.end && corners.count == corners.most ? lines : lines + 1;
}

/* Decode into memory of our own, so that nothing is written for a text that is refused. */
static int decode_buffers(Py_buffer *buffers)
{
    Py_ssize_t lines = buffers[SIZES].shape[0], plain = -1;
    size_t sizes_bytes = (size_t)buffers[SIZES].len, indices_bytes = (size_t)buffers[INDICES].len;
    int32_t *sizes = malloc(sizes_bytes + 1); /* no length of 0 */
    int32_t *indices = malloc(indices_bytes + 1);
    if (sizes == NULL || indices == NULL) {
        PyErr_NoMemory();
    } else {
        Py_BEGIN_ALLOW_THREADS
        plain = read_lines(buffers, sizes, indices);
        if (plain == lines) {
            memcpy(buffers[SIZES].buf, sizes, sizes_bytes);
            memcpy(buffers[INDICES].buf, indices, indices_bytes);
        }
        Py_END_ALLOW_THREADS
        if (plain != lines)
            PyErr_Format(PyExc_ValueError,
                         "text: line %zd, expected %zd plain lines of %zd corners", plain, lines,
                         buffers[INDICES].shape[1]);
    }
    free(sizes);
    free(indices);
    return plain == lines;
}

PyObject *kernel_decode_faces(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO:decode_faces", &objects[INPUT_TEXT], &objects[SIZES],
                          &objects[INDICES]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    /* No text has more corners, so a size fits 32 bits. */
    int is_sound =
        kernel_rows(&buffers[INPUT_TEXT], "text", 0, INT32_MAX) && decode_buffers(buffers);
    kernel_release(buffers, ARRAYS);
    if (!is_sound)
        return NULL;
    Py_RETURN_NONE;
}
