/* The kernel color_round: one round of k-means over weighted colours of six numbers each.
 *
 * A search begins at the entry of the last round and goes through the others by their distance
 * from it. It ends where the triangle inequality says that no nearer one follows, so the labels
 * that are given change only the time.
 */
#include "color.h"

#include <stdlib.h>
#include <string.h>

enum { RADIX = 256 };
/* Distances are below 2^27. Their lowest bits are dropped to leave room for the entry in a key. */
enum { DROPPED = 3 };

int32_t color_distance(const int16_t *a, const int16_t *b)
{
    int32_t sum = 0;
    for (int i = 0; i < COLOR_LANES; i++) {
        int16_t off = (int16_t)(a[i] - b[i]);
        sum += off * off;
    }
    return sum;
}

void color_to_lanes(const int32_t *values, int16_t *lanes)
{
    for (int i = 0; i < COLOR_LANES; i++)
        lanes[i] = i < COLOR_AXES ? (int16_t)values[i] : 0;
}

int color_open_points(color_points *p, const Py_buffer *points, const int32_t *weights)
{
    p->count = points->shape[0];
    p->weights = weights;
    p->lanes = malloc((size_t)(p->count + 1) * sizeof *p->lanes);
    for (Py_ssize_t n = 0; p->lanes != NULL && n < p->count; n++)
        color_to_lanes((const int32_t *)points->buf + n * COLOR_AXES, p->lanes[n]);
    return p->lanes != NULL;
}

/* Sort by the three bytes above the entry; the entry itself does not matter. */
static void sort_keys(uint32_t *keys, int count)
{
    uint32_t other[COLOR_ENTRIES], *from = keys, *to = other;
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

/* For few keys, which are nearly in order, faster than three passes over 256 counters. */
static void insert_keys(uint32_t *keys, int count)
{
    for (int i = 1; i < count; i++) {
        uint32_t key = keys[i];
        int at = i;
        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

static void sort_entries(color_palette *p)
{
    for (int k = 0; k < p->count; k++)
        for (int j = 0; j <= k; j++) {
            uint32_t apart = (uint32_t)color_distance(p->entries[k], p->entries[j]) >> DROPPED;
            p->keys[k][j] = apart * COLOR_ENTRIES + (uint32_t)j;
            p->keys[j][k] = apart * COLOR_ENTRIES + (uint32_t)k;
        }
    for (int k = 0; k < p->count; k++)
        (p->count > 32 ? sort_keys : insert_keys)(p->keys[k], p->count);
}

static int search(const color_palette *p, const int16_t *point, int first, int32_t guess)
{
    const uint32_t *keys = p->keys[first];
    /* Distance and entry in one number, so that the lowest of equally near entries is first. */
    int64_t best = (int64_t)guess * COLOR_ENTRIES + first;
    for (int i = 0; i < p->count; i++) {
        int k = (int)(keys[i] % COLOR_ENTRIES);
        int64_t apart = (int64_t)(keys[i] / COLOR_ENTRIES) << DROPPED;
        /* With distances, not squares: apart <= guess + best. The square of a sum is at most
         * twice the sum of the squares. */
        if (apart > 2 * (guess + best / COLOR_ENTRIES))
            break;
        int64_t key = (int64_t)color_distance(point, p->entries[k]) * COLOR_ENTRIES + k;
        best = key < best ? key : best;
    }
    return (int)(best % COLOR_ENTRIES);
}

void color_add(int64_t *total, const int16_t *point, int64_t weight)
{
    total[COLOR_WEIGHT] += weight;
    for (int i = 0; i < COLOR_AXES; i++) {
        total[COLOR_SUMS + i] += weight * point[i];
        total[COLOR_SQUARES + i] += weight * (point[i] * point[i]);
    }
}

void color_run_round(color_palette *p, const color_points *points, int32_t *labels)
{
    int before = 0;
    sort_entries(p);
    memset(p->totals, 0, sizeof p->totals);
    for (Py_ssize_t n = 0; n < points->count; n++) {
        const int16_t *point = points->lanes[n];
        /* Callers sort colours, so that the entry of the one before is a good guess as well. */
        int32_t own = color_distance(point, p->entries[labels[n]]);
        int32_t other = color_distance(point, p->entries[before]);
        int first = other < own ? before : labels[n];
        labels[n] = before = search(p, point, first, other < own ? other : own);
        color_add(p->totals[before], point, points->weights[n]);
    }
}

int64_t color_error(const color_palette *p)
{
    int64_t error = 0;
    for (int k = 0; k < p->count; k++)
        for (int i = 0; i < COLOR_AXES; i++) {
            int64_t at = p->entries[k][i];
            error += p->totals[k][COLOR_SQUARES + i] - 2 * at * p->totals[k][COLOR_SUMS + i] +
                     at * at * p->totals[k][COLOR_WEIGHT];
        }
    return error;
}

static int run_round(const Py_buffer *points, const int32_t *weights, const Py_buffer *centers,
                     int32_t *labels, double *totals)
{
    color_palette *p = malloc(sizeof *p);
    color_points all = {0};
    int is_done = p != NULL && color_open_points(&all, points, weights);
    if (is_done) {
        p->count = (int)centers->shape[0];
        Py_BEGIN_ALLOW_THREADS
        for (int k = 0; k < p->count; k++)
            color_to_lanes((const int32_t *)centers->buf + k * COLOR_AXES, p->entries[k]);
        color_run_round(p, &all, labels);
        for (int i = 0; i < p->count * COLOR_COLUMNS; i++)
            totals[i] = (double)p->totals[i / COLOR_COLUMNS][i % COLOR_COLUMNS];
        Py_END_ALLOW_THREADS
    } else {
        PyErr_NoMemory();
    }
    free(all.lanes);
    free(p);
    return is_done;
}

enum { POINTS, POINT_WEIGHTS, CENTERS, LABELS, TOTALS, ARRAYS };
enum { COUNT = -1, CENTER_COUNT = -2 };

static const kernel_array WANTED[ARRAYS] = {
    {"points", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, COLOR_AXES}},
    {"weights", KERNEL_INT32, KERNEL_INPUT, 1, {COUNT}},
    {"centers", KERNEL_INT32, KERNEL_INPUT, 2, {CENTER_COUNT, COLOR_AXES}},
    {"labels", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"totals", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {CENTER_COUNT, COLOR_COLUMNS}},
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
    int is_done = kernel_rows(&buffers[CENTERS], "centers", 1, COLOR_ENTRIES) &&
                  kernel_indices(&buffers[POINTS], "points", COLOR_VALUES) &&
                  kernel_indices(&buffers[POINT_WEIGHTS], "weights", COLOR_WEIGHTS) &&
                  kernel_indices(&buffers[CENTERS], "centers", COLOR_VALUES) &&
                  kernel_indices(&buffers[LABELS], "labels", buffers[CENTERS].shape[0]) &&
                  run_round(&buffers[POINTS], buffers[POINT_WEIGHTS].buf, &buffers[CENTERS],
                            buffers[LABELS].buf, buffers[TOTALS].buf);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
