/* The kernel search_codebook: divide weighted blocks among 256 entries with little squared error.
 *
 * Rounds of k-means. In the first ones entries that hardly matter move to where another divides
 * with more gain; until the last rounds entries go twice as far as to their means, because they
 * drift the same way for long. Sums are of whole numbers; the reference does all else in the same order.
 */
#include "codebook.h"

#include <stdlib.h>
#include <string.h>

enum { MOVING_ROUNDS = 8, ROUNDS = 13, PLAIN_ROUNDS = 2, ENTRIES = CODEBOOK_ENTRIES };
/* A round that gains less than this part of the error is followed by plain ones: after no moves,
 * and after a few of them. Many moves may gain late. */
static const double LEAST_GAIN = 1.0 / 8192.0, LEAST_GAIN_MOVED = 1.0 / 128.0;
enum { FEW_MOVES = 16 };

typedef struct {
    int64_t weight, sum[CODEBOOK_BYTES];
} block_sums;

typedef struct {
    codebook book;
    codebook_blocks blocks;
    const int32_t *weights;
    uint8_t centers[ENTRIES][CODEBOOK_BYTES];
    block_sums all[ENTRIES], above[ENTRIES];
    int64_t squares[ENTRIES][CODEBOOK_BYTES];
    int axis[ENTRIES];
    double gain[ENTRIES], loss[ENTRIES];
} state;

static void add_block(block_sums *to, const uint8_t *block, int32_t weight)
{
    to->weight += weight;
    for (int i = 0; i < CODEBOOK_BYTES; i++)
        to->sum[i] += weight * (int32_t)block[i];
}

static block_sums without(const block_sums *all, const block_sums *part)
{
    block_sums rest = {all->weight - part->weight, {0}};
    for (int i = 0; i < CODEBOOK_BYTES; i++)
        rest.sum[i] = all->sum[i] - part->sum[i];
    return rest;
}

static int64_t divisor(const block_sums *of)
{
    return of->weight > 0 ? of->weight : 1;
}

/* The rounded mean; zeros where there is no block. */
static void put_mean(const block_sums *of, uint8_t *center)
{
    for (int i = 0; i < CODEBOOK_BYTES; i++)
        center[i] = (uint8_t)((2 * of->sum[i] + of->weight) / (2 * divisor(of)));
}

/* By how much the mean lowers the sum of the squares. */
static double energy(const block_sums *of)
{
    double total = 0.0;
    for (int i = 0; i < CODEBOOK_BYTES; i++)
        total += (double)of->sum[i] * (double)of->sum[i] / (double)divisor(of);
    return total;
}

static void sum_blocks(state *s)
{
    memset(s->all, 0, sizeof s->all);
    for (Py_ssize_t n = 0; n < s->blocks.count; n++)
        add_block(&s->all[s->blocks.labels[n]], s->blocks.bytes + n * CODEBOOK_BYTES,
                  s->weights[n]);
}

/* The axis on which the blocks of an entry vary the most. */
static int widest_axis(const block_sums *of, const int64_t *squares)
{
    int widest = 0;
    double most = 0.0;
    for (int i = 0; i < CODEBOOK_BYTES; i++) {
        double lost = (double)of->sum[i] * (double)of->sum[i] / (double)divisor(of);
        double variance = (double)squares[i] - lost;
        if (i == 0 || variance > most) {
            most = variance;
            widest = i;
        }
    }
    return widest;
}

/* Sum the blocks above the mean of the widest axis. */
static void sum_halves(state *s)
{
    memset(s->squares, 0, sizeof s->squares);
    memset(s->above, 0, sizeof s->above);
    for (Py_ssize_t n = 0; n < s->blocks.count; n++) {
        const uint8_t *block = s->blocks.bytes + n * CODEBOOK_BYTES;
        int64_t *squares = s->squares[s->blocks.labels[n]];
        for (int i = 0; i < CODEBOOK_BYTES; i++)
            squares[i] += (int64_t)s->weights[n] * (block[i] * block[i]);
    }
    for (int k = 0; k < ENTRIES; k++)
        s->axis[k] = widest_axis(&s->all[k], s->squares[k]);
    for (Py_ssize_t n = 0; n < s->blocks.count; n++) {
        const uint8_t *block = s->blocks.bytes + n * CODEBOOK_BYTES;
        int k = s->blocks.labels[n], axis = s->axis[k];
        if (block[axis] * s->all[k].weight > s->all[k].sum[axis])
            add_block(&s->above[k], block, s->weights[n]);
    }
}

/* What entries gain when they divide, and what is lost without them. */
static void weigh_moves(state *s)
{
    int64_t extra[ENTRIES] = {0};
    sum_halves(s);
    for (Py_ssize_t n = 0; n < s->blocks.count; n++)
        extra[s->blocks.labels[n]] +=
            s->weights[n] * (int64_t)(s->blocks.second[n] - s->blocks.nearest[n]);
    for (int k = 0; k < ENTRIES; k++) {
        block_sums below = without(&s->all[k], &s->above[k]);
        s->gain[k] = energy(&below) + energy(&s->above[k]) - energy(&s->all[k]);
        /* An entry without blocks goes first: one with a twin loses nothing either. */
        s->loss[k] = s->all[k].weight > 0 ? (double)extra[k] : -1.0;
    }
}

/* Take the entry of the least cost, the lowest of equal ones. The loop of moves ends long before
 * all are taken. */
static int take_least(const double *cost, double sign, uint8_t *is_taken)
{
    int found = 0;
    for (int k = 1; k < ENTRIES; k++)
        if (is_taken[found] || (!is_taken[k] && sign * cost[k] < sign * cost[found]))
            found = k;
    is_taken[found] = 1;
    return found;
}

/* Move the least useful entries to where others divide, half of all at most; return how many. */
static int move_entries(state *s)
{
    uint8_t is_off[ENTRIES] = {0}, is_apart[ENTRIES] = {0}, is_moved[ENTRIES] = {0};
    int count = 0;
    weigh_moves(s);
    for (; count < ENTRIES / 2; count++) {
        int off = take_least(s->loss, 1.0, is_off), apart = take_least(s->gain, -1.0, is_apart);
        if (s->gain[apart] <= s->loss[off] || off == apart || is_moved[off] || is_moved[apart])
            break;
        block_sums below = without(&s->all[apart], &s->above[apart]);
        put_mean(&below, s->centers[off]);
        put_mean(&s->above[apart], s->centers[apart]);
        is_moved[off] = is_moved[apart] = 1;
    }
    return count;
}

/* Move entries to the means of their blocks, or as far again. */
static void center_entries(state *s, int overshoots)
{
    for (int k = 0; k < ENTRIES; k++) {
        uint8_t mean[CODEBOOK_BYTES];
        put_mean(&s->all[k], mean);
        for (int i = 0; i < CODEBOOK_BYTES; i++) {
            int to = overshoots ? 2 * mean[i] - s->centers[k][i] : mean[i];
            s->centers[k][i] = (uint8_t)(to < 0 ? 0 : to > 255 ? 255 : to);
        }
    }
}

static int64_t find_nearest(state *s, int wants_second)
{
    codebook_blocks blocks = s->blocks;
    int64_t error = 0;
    blocks.second = wants_second ? s->blocks.second : NULL;
    codebook_open(&s->book, s->centers[0], ENTRIES, blocks.count);
    codebook_search(&s->book, &blocks);
    for (Py_ssize_t n = 0; n < blocks.count; n++)
        error += s->weights[n] * (int64_t)blocks.nearest[n];
    return error;
}

/* Leave the labels of the round with the least error in `best`. */
static void search_rounds(state *s, int32_t *best)
{
    const int last = ROUNDS - PLAIN_ROUNDS;
    int64_t least = INT64_MAX, before = INT64_MAX;
    /* How many entries moved in the round before, as pairs: all at first. */
    int moves = ENTRIES;
    for (int number = 0; number < ROUNDS; number++) {
        int may_move = moves > 0 && number < MOVING_ROUNDS;
        int64_t error = find_nearest(s, may_move);
        if (error < least)
            memcpy(best, s->blocks.labels, (size_t)s->blocks.count * sizeof *best);
        least = error < least ? error : least;
        if (error == 0)
            return;
        double least_gain = may_move ? LEAST_GAIN_MOVED : LEAST_GAIN;
        if (number < last && moves <= FEW_MOVES &&
            (double)error > (double)before * (1.0 - least_gain)) {
            number = last;
            may_move = 0;
        }
        before = error;
        sum_blocks(s);
        center_entries(s, number > 0 && number < last);
        moves = may_move ? move_entries(s) : 0;
    }
}

static int is_weight_fit(const int32_t *weights, Py_ssize_t count)
{
    int64_t total = 0;
    for (Py_ssize_t n = 0; n < count && total < INT32_MAX; n++)
        total += weights[n];
    if (total < INT32_MAX)
        return 1;
    PyErr_Format(PyExc_ValueError, "weights: the sum is not below %d", INT32_MAX);
    return 0;
}

enum { BLOCKS, WEIGHTS, CENTERS, LABELS, ARRAYS };
enum { COUNT = -1 };

static const kernel_array WANTED[ARRAYS] = {
    {"blocks", KERNEL_BYTE, KERNEL_INPUT, 2, {COUNT, CODEBOOK_BYTES}},
    {"weights", KERNEL_INT32, KERNEL_INPUT, 1, {COUNT}},
    {"centers", KERNEL_BYTE, KERNEL_INPUT, 2, {ENTRIES, CODEBOOK_BYTES}},
    {"labels", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
};

static int search_labels(Py_buffer *buffers)
{
    Py_ssize_t count = buffers[BLOCKS].shape[0];
    state *s = malloc(sizeof *s);
    int32_t *scratch = malloc((size_t)(count + 1) * 3 * sizeof *scratch);
    if (s == NULL || scratch == NULL) {
        free(s);
        free(scratch);
        PyErr_NoMemory();
        return 0;
    }
    s->blocks = (codebook_blocks){buffers[BLOCKS].buf, count, scratch, scratch + count,
                                  scratch + 2 * count};
    s->weights = buffers[WEIGHTS].buf;
    memcpy(s->centers, buffers[CENTERS].buf, sizeof s->centers);
    Py_BEGIN_ALLOW_THREADS
    memcpy(scratch, buffers[LABELS].buf, (size_t)count * sizeof *scratch);
    search_rounds(s, buffers[LABELS].buf);
    Py_END_ALLOW_THREADS
    free(s);
    free(scratch);
    return 1;
}

PyObject *kernel_search_codebook(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO:search_codebook", &objects[BLOCKS], &objects[WEIGHTS],
                          &objects[CENTERS], &objects[LABELS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_done = kernel_indices(&buffers[WEIGHTS], "weights", INT32_MAX) &&
                  kernel_indices(&buffers[LABELS], "labels", ENTRIES) &&
                  is_weight_fit(buffers[WEIGHTS].buf, buffers[WEIGHTS].shape[0]) &&
                  search_labels(buffers);
    kernel_release(buffers, ARRAYS);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
