/* The kernel color_round: one round of k-means over weighted colours of six numbers each.
 *
 * A search begins at the entry of the last round and goes through the others by their distance
 * from it. It ends where the triangle inequality says that no nearer one follows, so the labels
 * that are given change only the time.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

enum { AXES = 6, LANES = 8, ENTRIES = 256, RADIX = 256, VALUES = 4096, WEIGHTS = 1 << 24 };
/* Columns of a row of totals: the weight, sums, sums of squares, and what the entry is worth. */
enum { WEIGHT = 0, SUMS = 1, SQUARES = SUMS + AXES, LOSS = SQUARES + AXES, COLUMNS = LOSS + 1 };
/* Distances are below 2^27. Their lowest bits are dropped to leave room for the entry in a key. */
enum { DROPPED = 3 };

/* For each entry all entries sorted by their distance from it, rounded down. */
typedef struct {
    uint32_t keys[ENTRIES][ENTRIES];
    int16_t entries[ENTRIES][LANES];
    int64_t totals[ENTRIES][COLUMNS];
    int count;
} palette;

/* Eight lanes of 16 bits, two of them 0, because compilers make few instructions of that. */
static int32_t distance(const int16_t *a, const int16_t *b)
{
    int32_t sum = 0;
    for (int i = 0; i < LANES; i++) {
        int16_t off = (int16_t)(a[i] - b[i]);
        sum += off * off;
    }
    return sum;
}

static void to_lanes(const int32_t *values, int16_t *lanes)
{
    for (int i = 0; i < LANES; i++)
        lanes[i] = i < AXES ? (int16_t)values[i] : 0;
}

/* Sort by the three bytes above the entry; the entry itself does not matter. */
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

static void open_palette(palette *p, const int32_t *centers)
{
    for (int k = 0; k < p->count; k++)
        to_lanes(centers + k * AXES, p->entries[k]);
    memset(p->totals, 0, sizeof p->totals);
    for (int k = 0; k < p->count; k++)
        for (int j = 0; j <= k; j++) {
            uint32_t apart = (uint32_t)distance(p->entries[k], p->entries[j]) >> DROPPED;
            p->keys[k][j] = apart * ENTRIES + (uint32_t)j;
            p->keys[j][k] = apart * ENTRIES + (uint32_t)k;
        }
    for (int k = 0; k < p->count; k++)
        sort_keys(p->keys[k], p->count);
}

/* Return the nearest entry, the lowest of equal ones, and how much farther the next one is. */
static int search(const palette *p, const int16_t *point, int first, int64_t *farther)
{
    const uint32_t *keys = p->keys[first];
    int64_t guess = distance(point, p->entries[first]);
    /* Distance and entry in one number, so that the lowest of equally near entries is first. */
    int64_t best = guess * ENTRIES + first, next = INT64_MAX;
    for (int i = 0; i < p->count; i++) {
        int k = (int)(keys[i] % ENTRIES);
        int64_t apart = (int64_t)(keys[i] / ENTRIES) << DROPPED;
        /* With distances, not squares: apart <= guess + next. The square of a sum is at most
         * twice the sum of the squares. */
        if (next != INT64_MAX && apart > 2 * (guess + next / ENTRIES))
            break;
        if (k == first)
            continue;
        int64_t key = (int64_t)distance(point, p->entries[k]) * ENTRIES + k;
        if (key < best) {
            next = best;
            best = key;
        } else if (key < next) {
            next = key;
        }
    }
    *farther = next == INT64_MAX ? 0 : next / ENTRIES - best / ENTRIES;
    return (int)(best % ENTRIES);
}

static void add_point(int64_t *total, const int32_t *point, int64_t weight, int64_t farther)
{
    total[WEIGHT] += weight;
    for (int i = 0; i < AXES; i++) {
        total[SUMS + i] += weight * point[i];
        total[SQUARES + i] += weight * point[i] * point[i];
    }
    total[LOSS] += weight * farther;
}

static int run_round(const Py_buffer *points, const int32_t *weights, const Py_buffer *centers,
                     int32_t *labels, double *totals)
{
    palette *p = malloc(sizeof *p);
    if (p == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    const int32_t *point = points->buf;
    p->count = (int)centers->shape[0];
    Py_BEGIN_ALLOW_THREADS
    open_palette(p, centers->buf);
    int before = 0;
    for (Py_ssize_t n = 0; n < points->shape[0]; n++, point += AXES) {
        int64_t farther;
        int16_t lanes[LANES];
        to_lanes(point, lanes);
        /* Callers sort colours, so that the entry of the one before is a good guess as well. */
        int32_t own = distance(lanes, p->entries[labels[n]]);
        before = distance(lanes, p->entries[before]) < own ? before : labels[n];
        labels[n] = before = search(p, lanes, before, &farther);
        add_point(p->totals[labels[n]], point, weights[n], farther);
    }
    for (int i = 0; i < p->count * COLUMNS; i++)
        totals[i] = (double)p->totals[i / COLUMNS][i % COLUMNS];
    Py_END_ALLOW_THREADS
    free(p);
    return 1;
}

enum { POINTS, POINT_WEIGHTS, CENTERS, LABELS, TOTALS, ARRAYS };
enum { COUNT = -1, CENTER_COUNT = -2 };

static const kernel_array WANTED[ARRAYS] = {
    {"points", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, AXES}},
    {"weights", KERNEL_INT32, KERNEL_INPUT, 1, {COUNT}},
    {"centers", KERNEL_INT32, KERNEL_INPUT, 2, {CENTER_COUNT, AXES}},
    {"labels", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"totals", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {CENTER_COUNT, COLUMNS}},
};

PyObject *kernel_color_round(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO:color_round", &objects[POINTS],
                          &objects[POINT_WEIGHTS], &objects[CENTERS], &objects[LABELS],
                          &objects[TOTALS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_done = kernel_rows(&buffers[CENTERS], "centers", 1, ENTRIES) &&
                  kernel_indices(&buffers[POINTS], "points", VALUES) &&
                  kernel_indices(&buffers[POINT_WEIGHTS], "weights", WEIGHTS) &&
                  kernel_indices(&buffers[CENTERS], "centers", VALUES) &&
                  kernel_indices(&buffers[LABELS], "labels", buffers[CENTERS].shape[0]) &&
                  run_round(&buffers[POINTS], buffers[POINT_WEIGHTS].buf, &buffers[CENTERS],
                            buffers[LABELS].buf, buffers[TOTALS].buf);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
