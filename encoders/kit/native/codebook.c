/* The kernel nearest_blocks: the two nearest entries of a codebook for blocks of 16 bytes.
 *
 * A search begins at the entry that the caller guesses and goes through the others by their
 * distance from it. It ends where the triangle inequality says that no nearer one follows, so the
 * guess changes only the time.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16, ENTRIES = 256, RADIX = 256 };
/* For fewer blocks, comparing each with every entry is faster than sorting the entries. */
enum { MANY_BLOCKS = 256 };

/* For each entry all entries sorted by their distance from it: distance * 256 + entry. The
 * greatest distance is 16 * 255^2 < 2^20, so that a key has 28 bits. */
typedef struct {
    uint32_t keys[ENTRIES][ENTRIES];
    int16_t entries[ENTRIES][BLOCK_BYTES];
    int count;
} codebook;

static int32_t distance(const int16_t *a, const int16_t *b)
{
    int32_t sum = 0;
    for (int i = 0; i < BLOCK_BYTES; i++) {
        int16_t off = (int16_t)(a[i] - b[i]);
        sum += off * off;
    }
    return sum;
}

/* Sort by the three bytes of the distance; entries of equal distance stay in order. */
static void sort_keys(uint32_t *keys, int count)
{
    uint32_t other[ENTRIES], *from = keys, *to = other;
    for (int shift = 8; shift < 32; shift += 8) {
        int starts[RADIX + 1] = {0};
        for (int i = 0; i < count; i++)
            starts[(from[i] >> shift & (RADIX - 1)) + 1]++;
        for (int i = 0; i < RADIX; i++)
            starts[i + 1] += starts[i];
        for (int i = 0; i < count; i++)
            to[starts[from[i] >> shift & (RADIX - 1)]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    /* Three passes end in the other array. */
    memcpy(keys, other, (size_t)count * sizeof *keys);
}

/* Copy the entries; sort them around each one where `is_sorted`, else give them no distance, so
 * that a search goes through all. */
static void open_codebook(codebook *book, const uint8_t *centers, int is_sorted)
{
    for (int k = 0; k < book->count; k++)
        for (int i = 0; i < BLOCK_BYTES; i++)
            book->entries[k][i] = centers[k * BLOCK_BYTES + i];
    for (int k = 0; k < book->count; k++)
        for (int j = 0; j <= k; j++) {
            int32_t apart = is_sorted ? distance(book->entries[k], book->entries[j]) : 0;
            book->keys[k][j] = (uint32_t)apart * ENTRIES + (uint32_t)j;
            book->keys[j][k] = (uint32_t)apart * ENTRIES + (uint32_t)k;
        }
    for (int k = 0; is_sorted && k < book->count; k++)
        sort_keys(book->keys[k], book->count);
}

/* Find the nearest entry, the lowest of equal ones, and the distance of the next one; begin at
 * `first`, whose distance is `guess`. */
static void search(const codebook *book, const int16_t *block, int32_t first, int32_t guess,
                   int32_t *label, int32_t *nearest, int32_t *second)
{
    const uint32_t *keys = book->keys[first];
    int32_t best = guess * ENTRIES + first, next = INT32_MAX;
    for (int i = 0; i < book->count; i++) {
        int32_t k = (int32_t)(keys[i] % ENTRIES), apart = (int32_t)(keys[i] / ENTRIES);
        /* With distances, not squares: apart <= guess + next. The square of a sum is at most
         * twice the sum of the squares. */
        if (next != INT32_MAX && apart > 2 * (guess + next / ENTRIES))
            break;
        if (k == first)
            continue;
        int32_t key = distance(block, book->entries[k]) * ENTRIES + k;
        if (key < best) {
            next = best;
            best = key;
        } else if (key < next) {
            next = key;
        }
    }
    *label = best % ENTRIES;
    *nearest = best / ENTRIES;
    *second = next / ENTRIES; /* of a codebook with one entry, more than any distance */
}

static void search_all(const codebook *book, const uint8_t *bytes, Py_ssize_t count,
                       int32_t *labels, int32_t *nearest, int32_t *second)
{
    int16_t block[BLOCK_BYTES];
    int32_t before = labels[0];
    for (Py_ssize_t n = 0; n < count; n++) {
        for (int i = 0; i < BLOCK_BYTES; i++)
            block[i] = bytes[n * BLOCK_BYTES + i];
        int32_t own = distance(block, book->entries[labels[n]]);
        /* Callers sort blocks, so that the entry of the one before is a good guess as well. */
        int32_t other = distance(block, book->entries[before]);
        int32_t first = other < own ? before : labels[n];
        search(book, block, first, other < own ? other : own, labels + n, nearest + n, second + n);
        before = labels[n];
    }
}

static int search_blocks(const Py_buffer *blocks, const Py_buffer *centers, int32_t *labels,
                         int32_t *nearest, int32_t *second)
{
    codebook *book = malloc(sizeof *book);
    if (book == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    book->count = (int)centers->shape[0];
    Py_BEGIN_ALLOW_THREADS
    open_codebook(book, centers->buf, blocks->shape[0] >= MANY_BLOCKS);
    if (blocks->shape[0] > 0)
        search_all(book, blocks->buf, blocks->shape[0], labels, nearest, second);
    Py_END_ALLOW_THREADS
    free(book);
    return 1;
}

enum { BLOCKS, CENTERS, LABELS, NEAREST, SECOND, ARRAYS };
enum { COUNT = -1, CENTER_COUNT = -2 };

static const kernel_array WANTED[ARRAYS] = {
    {"blocks", KERNEL_BYTE, KERNEL_INPUT, 2, {COUNT, BLOCK_BYTES}},
    {"centers", KERNEL_BYTE, KERNEL_INPUT, 2, {CENTER_COUNT, BLOCK_BYTES}},
    {"labels", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"nearest", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"second", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
};

PyObject *kernel_nearest_blocks(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO:nearest_blocks", &objects[BLOCKS], &objects[CENTERS],
                          &objects[LABELS], &objects[NEAREST], &objects[SECOND]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_done = kernel_rows(&buffers[CENTERS], "centers", 1, ENTRIES) &&
                  kernel_indices(&buffers[LABELS], "labels", buffers[CENTERS].shape[0]) &&
                  search_blocks(&buffers[BLOCKS], &buffers[CENTERS], buffers[LABELS].buf,
                                buffers[NEAREST].buf, buffers[SECOND].buf);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
