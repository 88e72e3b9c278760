/* Number equal rows of bytes by first use: the kernel of encoders/kit/mesh/weld.py. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY (-1)

/* Mix eight bytes at a time; the hash only decides where to look, never what is equal. */
static uint64_t row_hash(const uint8_t *row, size_t width)
{
    uint64_t hash = 0x9E3779B97F4A7C15u ^ width;
    for (size_t at = 0; at < width; at += 8) {
        uint64_t word = 0;
        if (width - at >= 8)
            memcpy(&word, row + at, 8);
        else
            for (size_t i = at; i < width; i++)
                word = word << 8 | row[i];
        hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    }
    hash *= 0xC4CEB9FE1A85EC53u;
    return hash ^ (hash >> 29);
}

/* Compare rows; a loop is faster than a call for the few bytes of a colour. */
static int is_equal(const uint8_t *a, const uint8_t *b, size_t width)
{
    if (width > 8)
        return memcmp(a, b, width) == 0;
    for (size_t i = 0; i < width; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

/* Return a power of two that leaves at least half of the table empty. */
static size_t table_size(size_t count)
{
    size_t size = 16;
    while (size < 2 * count)
        size *= 2;
    return size;
}

static int32_t number_rows(const uint8_t *rows, size_t count, size_t width, int32_t *table,
                           size_t size, int32_t *number, int32_t *first)
{
    int32_t found = 0;
    for (size_t i = 0; i < size; i++)
        table[i] = EMPTY;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = rows + i * width;
        size_t slot = (size_t)row_hash(row, width) & (size - 1);
        while (table[slot] != EMPTY &&
               !is_equal(rows + (size_t)first[table[slot]] * width, row, width))
            slot = (slot + 1) & (size - 1);
        if (table[slot] == EMPTY) {
            first[found] = (int32_t)i;
            table[slot] = found++;
        }
        number[i] = table[slot];
    }
    /* What is not used is zero, so that the array never holds what was there before. */
    memset(first + found, 0, (count - (size_t)found) * sizeof(int32_t));
    return found;
}

enum { ROWS, NUMBER, FIRST, ARRAYS };
enum { COUNT = -1, WIDTH = -2 };

static const kernel_array WANTED[ARRAYS] = {
    {"rows", KERNEL_BYTE, KERNEL_INPUT, 2, {COUNT, WIDTH}},
    {"number", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"first", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
};

static PyObject *weld_buffers(Py_buffer *buffers)
{
    size_t count = (size_t)buffers[ROWS].shape[0], size = table_size(count);
    int32_t found = 0, *table = malloc(size * sizeof(int32_t));
    if (table == NULL)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    found = number_rows(buffers[ROWS].buf, count, (size_t)buffers[ROWS].shape[1], table, size,
                        buffers[NUMBER].buf, buffers[FIRST].buf);
    free(table);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(found);
}

PyObject *kernel_weld_rows(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *result = NULL;
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO:weld_rows", &objects[ROWS], &objects[NUMBER],
                          &objects[FIRST]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    if (kernel_rows(&buffers[ROWS], "rows", 0, INT32_MAX))
        result = weld_buffers(buffers);
    kernel_release(buffers, ARRAYS);
    return result;
}
