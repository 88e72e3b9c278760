/* The kernel color_label, the nearest entries of colours of six numbers each; rounds of k-means.
 *
 * A search begins at the entry of the last round and goes through the others by their distance
 * from it. It ends where the triangle inequality says that no nearer one follows, so the labels
 * that are given change only the time.
 */
#include "color.h"

#include "wider.h"

#include <stdlib.h>
#include <string.h>

enum { RADIX = 256, FEW = 16 };
/* Distances are below 6 * 4096^2, which is below 2^27. Their lowest bits are dropped to leave room
 * for the entry in a key. */
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

static void fill_chunks(color_points *p, const int32_t *values)
{
    for (Py_ssize_t n = 0; n < p->count; n++)
        for (int i = 0; i < COLOR_AXES; i++)
            p->chunks[n / COLOR_CHUNK][i][n % COLOR_CHUNK] = (int16_t)values[n * COLOR_AXES + i];
    for (Py_ssize_t n = p->count; n % COLOR_CHUNK != 0; n++)
        for (int i = 0; i < COLOR_AXES; i++) {
            int16_t *side = p->chunks[n / COLOR_CHUNK][i];
            side[n % COLOR_CHUNK] = side[n % COLOR_CHUNK - 1];
        }
}

static void fill_lanes(color_points *p, const int32_t *values)
{
    for (Py_ssize_t n = 0; n < p->count; n++)
        color_to_lanes(values + n * COLOR_AXES, p->lanes[n]);
}

int color_open_points(color_points *p, const Py_buffer *points, const int32_t *weights,
                      Py_ssize_t entries)
{
    int has_chunks = entries <= FEW, has_lanes = weights != NULL || !has_chunks;
    p->count = points->shape[0];
    p->weights = weights;
    p->lanes = NULL;
    p->chunks = NULL;
    if (has_lanes)
        p->lanes = malloc((size_t)(p->count + 1) * sizeof *p->lanes);
    if (has_chunks)
        p->chunks = malloc((size_t)(p->count / COLOR_CHUNK + 1) * sizeof *p->chunks);
    if ((has_lanes && p->lanes == NULL) || (has_chunks && p->chunks == NULL))
        return 0;
    if (has_lanes)
        fill_lanes(p, points->buf);
    if (has_chunks)
        fill_chunks(p, points->buf);
    return 1;
}

void color_close_points(color_points *p)
{
    free(p->lanes);
    free(p->chunks);
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

/* Take the entry where it is nearer than the key says. Distances are below 2^27, so that sixteen
 * times as much is below 2^31. */
static inline void compare_chunk(const int16_t sides[COLOR_AXES][COLOR_CHUNK],
                                 const int16_t *entry, int32_t number, int32_t *keys)
{
    for (int n = 0; n < COLOR_CHUNK; n++) {
        int16_t x = (int16_t)(sides[0][n] - entry[0]), y = (int16_t)(sides[1][n] - entry[1]);
        int16_t z = (int16_t)(sides[2][n] - entry[2]), u = (int16_t)(sides[3][n] - entry[3]);
        int16_t v = (int16_t)(sides[4][n] - entry[4]), w = (int16_t)(sides[5][n] - entry[5]);
        int32_t apart = x * x + y * y + z * z + u * u + v * v + w * w;
        int32_t key = apart * FEW + number;
        keys[n] = key < keys[n] ? key : keys[n];
    }
}

/* With few entries, comparing with all of them takes less time than choosing some. */
WIDER static void label_few(const color_palette *p, const color_points *points, int32_t *labels)
{
    /* The least distance of each point, with its entry. */
    int32_t keys[COLOR_CHUNK];
    for (Py_ssize_t start = 0; start < points->count; start += COLOR_CHUNK) {
        Py_ssize_t left = points->count - start;
        for (int n = 0; n < COLOR_CHUNK; n++)
            keys[n] = INT32_MAX;
        for (int k = 0; k < p->count; k++)
            compare_chunk((const int16_t(*)[COLOR_CHUNK])points->chunks[start / COLOR_CHUNK],
                          p->entries[k], k, keys);
        for (int n = 0; n < COLOR_CHUNK && n < left; n++)
            labels[start + n] = keys[n] & (FEW - 1);
    }
}

static void label_many(color_palette *p, const color_points *points, int32_t *labels)
{
    int before = 0;
    sort_entries(p);
    for (Py_ssize_t n = 0; n < points->count; n++) {
        const int16_t *point = points->lanes[n];
        /* Callers sort colours, so that the entry of the one before is a good guess as well. */
        int32_t own = color_distance(point, p->entries[labels[n]]);
        int32_t other = color_distance(point, p->entries[before]);
        int first = other < own ? before : labels[n];
        labels[n] = before = search(p, point, first, other < own ? other : own);
    }
}

static void label_points(color_palette *p, const color_points *points, int32_t *labels)
{
    if (p->count <= FEW)
        label_few(p, points, labels);
    else
        label_many(p, points, labels);
}

WIDER void color_add_up(color_palette *p, const color_points *points, const int32_t *labels)
{
    memset(p->totals, 0, sizeof p->totals);
    for (Py_ssize_t n = 0; n < points->count; n++)
        color_add(p->totals[labels[n]], points->lanes[n], points->weights[n]);
}

void color_run_round(color_palette *p, const color_points *points, int32_t *labels)
{
    label_points(p, points, labels);
    color_add_up(p, points, labels);
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

static int label_all(const Py_buffer *points, const Py_buffer *centers, int32_t *labels)
{
    color_palette *p = malloc(sizeof *p);
    color_points all = {0};
    int is_done = p != NULL && color_open_points(&all, points, NULL, centers->shape[0]);
    if (is_done) {
        p->count = (int)centers->shape[0];
        Py_BEGIN_ALLOW_THREADS
        for (int k = 0; k < p->count; k++)
            color_to_lanes((const int32_t *)centers->buf + k * COLOR_AXES, p->entries[k]);
        label_points(p, &all, labels);
        Py_END_ALLOW_THREADS
    } else {
        PyErr_NoMemory();
    }
    color_close_points(&all);
    free(p);
    return is_done;
}

enum { POINTS, CENTERS, LABELS, ARRAYS };
enum { COUNT = -1, CENTER_COUNT = -2 };

static const kernel_array WANTED[ARRAYS] = {
    {"points", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, COLOR_AXES}},
    {"centers", KERNEL_INT32, KERNEL_INPUT, 2, {CENTER_COUNT, COLOR_AXES}},
    {"labels", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
};

PyObject *kernel_color_label(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO:color_label", &objects[POINTS], &objects[CENTERS],
                          &objects[LABELS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_done = kernel_rows(&buffers[CENTERS], "centers", 1, COLOR_ENTRIES) &&
                  kernel_indices(&buffers[POINTS], "points", COLOR_VALUES) &&
                  kernel_indices(&buffers[CENTERS], "centers", COLOR_VALUES) &&
                  kernel_indices(&buffers[LABELS], "labels", buffers[CENTERS].shape[0]) &&
                  label_all(&buffers[POINTS], &buffers[CENTERS], buffers[LABELS].buf);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
