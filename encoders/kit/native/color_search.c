/* The kernels color_split and color_search: divide weighted colours among few centres.
 *
 * Sums are of integers. Gains are floating-point numbers, computed by the operations of the
 * references in color_search.py, in their order.
 */
#include "color.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As in color_search.py. */
static const double SPLIT_GAIN = 0.64, SPLIT_STEP = 0.8;
enum { LAST_ROUNDS = 4, SETTLE_ROUNDS = 3 };

typedef struct {
    double spread, mean;
    int axis;
} widest;

/* Return the axis along which the points of an entry vary most, the first of equal ones. */
static widest find_widest(const int64_t *total)
{
    widest found = {0, 0, 0};
    double weight = total[COLOR_WEIGHT] > 0 ? (double)total[COLOR_WEIGHT] : 1;
    for (int i = 0; i < COLOR_AXES; i++) {
        double sum = (double)total[COLOR_SUMS + i], mean = sum / weight;
        double spread = (double)total[COLOR_SQUARES + i] - mean * sum;
        if (i == 0 || spread > found.spread)
            found = (widest){spread, mean, i};
    }
    return found;
}

/* Split the points of `from` above the mean of its widest axis off as `to`; 0 where none is. */
static int split_box(const color_points *points, int32_t *labels, color_total *totals, int from,
                     int to)
{
    widest cut = find_widest(totals[from]);
    memset(totals[to], 0, sizeof *totals);
    for (Py_ssize_t n = 0; n < points->count; n++)
        if (labels[n] == from && points->lanes[n][cut.axis] > cut.mean) {
            labels[n] = to;
            color_add(totals[to], points->lanes[n], points->weights[n]);
        }
    for (int i = 0; i < COLOR_COLUMNS; i++)
        totals[from][i] -= totals[to][i];
    return totals[to][COLOR_WEIGHT] > 0 && totals[from][COLOR_WEIGHT] > 0;
}

static void split_points(const color_points *points, int32_t *labels, color_total *totals,
                         int count)
{
    double spread[COLOR_ENTRIES];
    memset(totals, 0, (size_t)count * sizeof *totals);
    for (Py_ssize_t n = 0; n < points->count; n++) {
        labels[n] = 0;
        color_add(totals[0], points->lanes[n], points->weights[n]);
    }
    spread[0] = find_widest(totals[0]).spread;
    for (int boxes = 1; boxes < count; boxes++) {
        int from = 0;
        for (int k = 1; k < boxes; k++)
            from = spread[k] > spread[from] ? k : from;
        if (spread[from] <= 0 || !split_box(points, labels, totals, from, boxes))
            break;
        spread[from] = find_widest(totals[from]).spread;
        spread[boxes] = find_widest(totals[boxes]).spread;
    }
}

/* A search: the palette that moves, and the gains and losses of its entries in the last round. */
typedef struct {
    color_palette now;
    int16_t best[COLOR_ENTRIES][COLOR_LANES];
    int16_t halves[COLOR_ENTRIES][2][COLOR_LANES];
    double gain[COLOR_ENTRIES], loss[COLOR_ENTRIES];
    uint8_t is_refused[COLOR_ENTRIES][COLOR_ENTRIES];
} state;

/* Move entries to the means of their points; return whether one moved. */
static int move_to_means(color_palette *p)
{
    int has_moved = 0;
    for (int k = 0; k < p->count; k++) {
        int64_t weight = p->totals[k][COLOR_WEIGHT];
        for (int i = 0; weight > 0 && i < COLOR_AXES; i++) {
            int16_t mean = (int16_t)((2 * p->totals[k][COLOR_SUMS + i] + weight) / (2 * weight));
            has_moved |= mean != p->entries[k][i];
            p->entries[k][i] = mean;
        }
    }
    return has_moved;
}

static int16_t clamp(double value)
{
    double whole = floor(value + 0.5);
    return (int16_t)(whole < 0 ? 0 : whole > COLOR_VALUES - 1 ? COLOR_VALUES - 1 : whole);
}

/* Estimate what dividing the points of each entry would gain, and where the halves would be. */
static void find_gains(state *s)
{
    for (int k = 0; k < s->now.count; k++) {
        const int64_t *total = s->now.totals[k];
        double weight = total[COLOR_WEIGHT] > 0 ? (double)total[COLOR_WEIGHT] : 1;
        widest cut = find_widest(total);
        double part = cut.spread / weight, step = SPLIT_STEP * sqrt(part > 0 ? part : 0);
        s->gain[k] = SPLIT_GAIN * cut.spread;
        memset(s->halves[k], 0, sizeof s->halves[k]);
        for (int i = 0; i < COLOR_AXES; i++) {
            double mean = (double)total[COLOR_SUMS + i] / weight, off = i == cut.axis ? step : 0;
            s->halves[k][0][i] = clamp(mean - off);
            s->halves[k][1][i] = clamp(mean + off);
        }
    }
}

/* Estimate what the loss of each entry costs: half of what merging it with its nearest one does,
 * because its points go to several. */
static void find_losses(state *s)
{
    const color_palette *p = &s->now;
    for (int k = 0; k < p->count; k++) {
        int32_t least = INT32_MAX;
        int nearest = k;
        for (int j = 0; j < p->count; j++) {
            int32_t apart = color_distance(p->entries[k], p->entries[j]);
            if (j != k && apart < least) {
                least = apart;
                nearest = j;
            }
        }
        double own = (double)p->totals[k][COLOR_WEIGHT];
        double other = (double)p->totals[nearest][COLOR_WEIGHT];
        double both = own + other > 0 ? own + other : 1;
        s->loss[k] = p->count > 1 ? own * other / both * least / 2 : 0;
    }
}

/* Return the entry of the least cost that is not taken, the lowest of equal ones; there is one. */
static int take_least(const double *cost, double sign, uint8_t *is_taken, int count)
{
    int found = 0;
    for (int k = 1; k < count; k++)
        if (is_taken[found] || (!is_taken[k] && sign * cost[k] < sign * cost[found]))
            found = k;
    is_taken[found] = 1;
    return found;
}

static void leap(state *s, int off, int apart)
{
    memcpy(s->now.entries[off], s->halves[apart][0], sizeof s->now.entries[off]);
    memcpy(s->now.entries[apart], s->halves[apart][1], sizeof s->now.entries[apart]);
}

/* Let the least useful entries leap to where another divides with more gain. */
static void leap_many(state *s, int most)
{
    uint8_t is_useless[COLOR_ENTRIES] = {0}, is_costly[COLOR_ENTRIES] = {0};
    uint8_t has_leapt[COLOR_ENTRIES] = {0};
    int count = s->now.count;
    for (int i = 0; i < most && i < count; i++) {
        int off = take_least(s->loss, 1, is_useless, count);
        int apart = take_least(s->gain, -1, is_costly, count);
        if (s->gain[apart] <= s->loss[off] || off == apart || has_leapt[off] || has_leapt[apart])
            break;
        has_leapt[off] = has_leapt[apart] = 1;
        leap(s, off, apart);
    }
}

static void run_rounds(state *s, const color_points *points, int32_t *labels, int rounds)
{
    int64_t least = INT64_MAX;
    int count = s->now.count, is_moving = 1;
    memcpy(s->best, s->now.entries, sizeof s->best);
    for (int number = 0; number < rounds && is_moving; number++) {
        color_run_round(&s->now, points, labels);
        int64_t error = color_error(&s->now);
        if (error < least) {
            least = error;
            memcpy(s->best, s->now.entries, sizeof s->best);
        }
        find_losses(s);
        is_moving = move_to_means(&s->now);
        int left = rounds - LAST_ROUNDS - number;
        if (left > 0) {
            int16_t before[COLOR_ENTRIES][COLOR_LANES];
            memcpy(before, s->now.entries, sizeof before);
            find_gains(s);
            leap_many(s, count * left / (4 * rounds) + 1);
            is_moving |= memcmp(before, s->now.entries, sizeof before) != 0;
        }
    }
    memcpy(s->now.entries, s->best, sizeof s->best);
}

/* Let the entry leap that promises most and was not refused; return 0 after all of them. */
static int leap_once(state *s)
{
    int count = s->now.count, off = 0, apart = 0;
    double most = 0;
    for (int k = 0; k < count; k++)
        for (int j = 0; j < count; j++) {
            double net = s->gain[j] - s->loss[k];
            if (k != j && !s->is_refused[k][j] && net > most) {
                most = net;
                off = k;
                apart = j;
            }
        }
    if (most <= 0)
        return 0;
    s->is_refused[off][apart] = 1;
    leap(s, off, apart);
    return 1;
}

/* Try single leaps, and keep those that lower the error. */
static void try_leaps(state *s, const color_points *points, int32_t *labels, int tries)
{
    memset(s->is_refused, 0, sizeof s->is_refused);
    color_run_round(&s->now, points, labels);
    int64_t least = color_error(&s->now);
    find_losses(s);
    find_gains(s);
    for (int number = 0; number < tries; number++) {
        memcpy(s->best, s->now.entries, sizeof s->best);
        if (!leap_once(s))
            break;
        int is_moving = 1;
        for (int round = 0; round < SETTLE_ROUNDS && is_moving; round++) {
            color_run_round(&s->now, points, labels);
            is_moving = move_to_means(&s->now);
        }
        /* Where none has moved, the totals are those of these entries. */
        if (is_moving)
            color_run_round(&s->now, points, labels);
        int64_t error = color_error(&s->now);
        if (error < least) {
            least = error;
            memset(s->is_refused, 0, sizeof s->is_refused);
            find_losses(s);
            find_gains(s);
        } else {
            memcpy(s->now.entries, s->best, sizeof s->best);
        }
    }
}

static void first_means(color_palette *p, const color_points *points, const int32_t *labels)
{
    memset(p->entries, 0, sizeof p->entries);
    color_add_up(p, points, labels);
    move_to_means(p);
}

static int search_centers(const Py_buffer *points, const int32_t *weights, int32_t *labels,
                          Py_buffer *centers, const Py_ssize_t *limits)
{
    state *s = malloc(sizeof *s);
    color_points all = {0};
    int is_done = s != NULL && color_open_points(&all, points, weights, centers->shape[0]);
    if (is_done) {
        int32_t *center = centers->buf;
        s->now.count = (int)centers->shape[0];
        Py_BEGIN_ALLOW_THREADS
        first_means(&s->now, &all, labels);
        run_rounds(s, &all, labels, (int)limits[0]);
        if (limits[1] > 0)
            try_leaps(s, &all, labels, (int)limits[1]);
        for (int i = 0; i < s->now.count * COLOR_AXES; i++)
            center[i] = s->now.entries[i / COLOR_AXES][i % COLOR_AXES];
        Py_END_ALLOW_THREADS
    } else {
        PyErr_NoMemory();
    }
    color_close_points(&all);
    free(s);
    return is_done;
}

static int split_all(const Py_buffer *points, const int32_t *weights, int32_t *labels,
                     const Py_buffer *totals)
{
    color_total found[COLOR_ENTRIES];
    color_points all;
    if (!color_open_points(&all, points, weights, COLOR_ENTRIES)) {
        color_close_points(&all);
        PyErr_NoMemory();
        return 0;
    }
    int count = (int)totals->shape[0];
    double *total = totals->buf;
    Py_BEGIN_ALLOW_THREADS
    split_points(&all, labels, found, count);
    for (int i = 0; i < count * COLOR_COLUMNS; i++)
        total[i] = (double)found[i / COLOR_COLUMNS][i % COLOR_COLUMNS];
    Py_END_ALLOW_THREADS
    color_close_points(&all);
    return 1;
}

enum { POINTS, POINT_WEIGHTS, LABELS, RESULT, ARRAYS };
enum { COUNT = -1, CENTER_COUNT = -2, MOST_ROUNDS = 1 << 16 };

static const kernel_array SPLIT_WANTED[ARRAYS] = {
    {"points", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, COLOR_AXES}},
    {"weights", KERNEL_INT32, KERNEL_INPUT, 1, {COUNT}},
    {"labels", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"totals", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {CENTER_COUNT, COLOR_COLUMNS}},
};
static const kernel_array SEARCH_WANTED[ARRAYS] = {
    {"points", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, COLOR_AXES}},
    {"weights", KERNEL_INT32, KERNEL_INPUT, 1, {COUNT}},
    {"labels", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"centers", KERNEL_INT32, KERNEL_OUTPUT, 2, {CENTER_COUNT, COLOR_AXES}},
};

/* Check what both kernels need of points and weights, and the number of entries wanted. */
static int check(const Py_buffer *buffers, const char *result)
{
    return kernel_rows(&buffers[RESULT], result, 1, COLOR_ENTRIES) &&
           kernel_indices(&buffers[POINTS], "points", COLOR_VALUES) &&
           kernel_indices(&buffers[POINT_WEIGHTS], "weights", COLOR_WEIGHTS);
}

PyObject *kernel_color_split(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO:color_split", &objects[POINTS],
                          &objects[POINT_WEIGHTS], &objects[LABELS], &objects[RESULT]) ||
        !kernel_open(SPLIT_WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_done = check(buffers, "totals") && split_all(&buffers[POINTS],
                                                        buffers[POINT_WEIGHTS].buf,
                                                        buffers[LABELS].buf, &buffers[RESULT]);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *kernel_color_search(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *rounds, *tries;
    Py_buffer buffers[ARRAYS];
    Py_ssize_t limits[2];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO(OO):color_search", &objects[POINTS],
                          &objects[POINT_WEIGHTS], &objects[LABELS], &objects[RESULT], &rounds,
                          &tries) ||
        !kernel_open(SEARCH_WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_done = check(buffers, "centers") &&
                  kernel_number(rounds, "limits[0]", 1, MOST_ROUNDS, &limits[0]) &&
                  kernel_number(tries, "limits[1]", 0, MOST_ROUNDS, &limits[1]) &&
                  kernel_indices(&buffers[LABELS], "labels", buffers[RESULT].shape[0]) &&
                  search_centers(&buffers[POINTS], buffers[POINT_WEIGHTS].buf,
                                 buffers[LABELS].buf, &buffers[RESULT], limits);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
