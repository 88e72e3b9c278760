/* The kernel nearest_blocks: the nearest entry of a codebook for blocks of 16 bytes.
 *
 * A search begins at the entry that the caller guesses and goes through the others by their
 * distance from it. It ends where the triangle inequality says that no nearer one follows, so the
 * guess changes only the time.
 */
#include "codebook.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distances are sorted by their exponent and three bits more. */
enum { BUCKET_SHIFT = 20, FIRST_BUCKET = 127 << 3, BUCKETS = 2 + (20 << 3) };
/* For fewer blocks, comparing each with every entry is faster than sorting the entries. */
enum { MANY_BLOCKS = 512 };
/* So many entries are compared before the limit is looked at again. */
enum { STEP = 8 };

static int32_t distance(const int16_t *a, const int16_t *b)
{
    int32_t sum = 0;
    /* GCC makes no vectors of a loop that it has unrolled: this is four times as fast. */
#ifdef __GNUC__
#pragma GCC unroll 1
#endif
    for (int i = 0; i < CODEBOOK_BYTES; i++) {
        int16_t off = (int16_t)(a[i] - b[i]);
        sum += off * off;
    }
    return sum;
}

/* 0 for a distance of 0, then steps of an eighth of a power of two. */
static int bucket_of(int32_t apart)
{
    float number = (float)apart;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return apart ? (int)(bits >> BUCKET_SHIFT) - FIRST_BUCKET + 1 : 0;
}

/* The least distance in a bucket. */
static uint32_t bucket_floor(int bucket)
{
    uint32_t bits = (uint32_t)(bucket + FIRST_BUCKET - 1) << BUCKET_SHIFT;
    float number;
    memcpy(&number, &bits, sizeof number);
    return bucket ? (uint32_t)number : 0;
}

/* Order entries by the buckets of their distances; those of one bucket stay in order. */
static void sort_keys(uint32_t *keys, const uint8_t *bucket, const uint32_t *floors, int count)
{
    int starts[BUCKETS + 1] = {0};
    for (int i = 0; i < count; i++)
        starts[bucket[i] + 1]++;
    for (int i = 0; i < BUCKETS; i++)
        starts[i + 1] += starts[i];
    for (int i = 0; i < count; i++)
        keys[starts[bucket[i]]++] = floors[bucket[i]] * CODEBOOK_ENTRIES + (uint32_t)i;
}

void codebook_open(codebook *book, const uint8_t *entries, int count, Py_ssize_t blocks)
{
    uint32_t floors[BUCKETS];
    book->count = count;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < CODEBOOK_BYTES; i++)
            book->entries[k][i] = entries[k * CODEBOOK_BYTES + i];
    for (int i = 0; i < BUCKETS; i++)
        floors[i] = bucket_floor(i);
    memset(book->buckets, 0, sizeof book->buckets);
    /* Without distances a search goes through all. */
    for (int k = 0; k < count && blocks >= MANY_BLOCKS; k++)
        for (int j = 0; j < k; j++)
            book->buckets[k][j] = book->buckets[j][k] =
                (uint8_t)bucket_of(distance(book->entries[k], book->entries[j]));
    for (int k = 0; k < count; k++)
        sort_keys(book->keys[k], book->buckets[k], floors, count);
}

/* The nearest entry so far, as distance * 256 + entry, and the next one. */
typedef struct {
    int32_t best, next;
} pair;

/* The squared distance from the first entry beyond which none is nearer to the block than `limit`:
 * by the triangle inequality, the square of the sum of both distances, or a little more. */
static int32_t reach(int32_t guess, int32_t limit)
{
    return guess + limit + 2 * ((int32_t)sqrt((double)guess * (double)limit) + 1);
}

/* Put entry `k` where it belongs in the pair, without a branch: which way it goes is not foreseen. */
static void compare(const codebook *book, const int16_t *block, int32_t k, int32_t first,
                    pair *found)
{
    int32_t key = distance(block, book->entries[k]) * CODEBOOK_ENTRIES + k;
    /* The first one is in the pair from the beginning. */
    key = k == first ? INT32_MAX : key;
    int32_t worse = key > found->best ? key : found->best;
    found->best = key < found->best ? key : found->best;
    found->next = worse < found->next ? worse : found->next;
}

/* Begin at `first`, whose distance is `guess`; look for two where `wants_two`. */
static pair search(const codebook *book, const int16_t *block, int32_t first, int32_t guess,
                   int wants_two)
{
    const uint32_t *keys = book->keys[first];
    pair found = {guess * CODEBOOK_ENTRIES + first, INT32_MAX};
    int32_t limit = wants_two ? INT32_MAX : reach(guess, guess);
    for (int i = 0; i < book->count && (int32_t)(keys[i] / CODEBOOK_ENTRIES) <= limit; i += STEP) {
        int32_t before = wants_two ? found.next : found.best;
        int end = i + STEP < book->count ? i + STEP : book->count;
        for (int j = i; j < end; j++)
            compare(book, block, (int32_t)(keys[j] % CODEBOOK_ENTRIES), first, &found);
        int32_t after = wants_two ? found.next : found.best;
        if (after < before)
            limit = reach(guess, after / CODEBOOK_ENTRIES);
    }
    return found;
}

void codebook_search(const codebook *book, const codebook_blocks *blocks)
{
    int16_t block[CODEBOOK_BYTES];
    int32_t before = blocks->count > 0 ? blocks->labels[0] : 0;
    for (Py_ssize_t n = 0; n < blocks->count; n++) {
        for (int i = 0; i < CODEBOOK_BYTES; i++)
            block[i] = blocks->bytes[n * CODEBOOK_BYTES + i];
        int32_t own = distance(block, book->entries[blocks->labels[n]]);
        /* Callers sort blocks, so that the entry of the one before is a good guess as well. */
        int32_t other = distance(block, book->entries[before]);
        int32_t first = other < own ? before : blocks->labels[n];
        pair found = search(book, block, first, other < own ? other : own, blocks->second != NULL);
        before = found.best % CODEBOOK_ENTRIES;
        blocks->labels[n] = before;
        blocks->nearest[n] = found.best / CODEBOOK_ENTRIES;
        if (blocks->second != NULL)
            blocks->second[n] = found.next / CODEBOOK_ENTRIES;
    }
}

static int search_blocks(const codebook_blocks *blocks, const Py_buffer *centers)
{
    codebook *book = malloc(sizeof *book);
    if (book == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    Py_BEGIN_ALLOW_THREADS
    codebook_open(book, centers->buf, (int)centers->shape[0], blocks->count);
    codebook_search(book, blocks);
    Py_END_ALLOW_THREADS
    free(book);
    return 1;
}

enum { BLOCKS, CENTERS, LABELS, NEAREST, ARRAYS };
enum { COUNT = -1, CENTER_COUNT = -2 };

static const kernel_array WANTED[ARRAYS] = {
    {"blocks", KERNEL_BYTE, KERNEL_INPUT, 2, {COUNT, CODEBOOK_BYTES}},
    {"centers", KERNEL_BYTE, KERNEL_INPUT, 2, {CENTER_COUNT, CODEBOOK_BYTES}},
    {"labels", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"nearest", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
};

PyObject *kernel_nearest_blocks(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO:nearest_blocks", &objects[BLOCKS], &objects[CENTERS],
                          &objects[LABELS], &objects[NEAREST]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    codebook_blocks blocks = {buffers[BLOCKS].buf, buffers[BLOCKS].shape[0], buffers[LABELS].buf,
                              buffers[NEAREST].buf, NULL};
    int is_done = kernel_rows(&buffers[CENTERS], "centers", 1, CODEBOOK_ENTRIES) &&
                  kernel_indices(&buffers[LABELS], "labels", buffers[CENTERS].shape[0]) &&
                  search_blocks(&blocks, &buffers[CENTERS]);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
