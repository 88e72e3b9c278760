/* What the kernels of colour palettes share: a round of k-means over points of six numbers. */
#ifndef CARTWRIGHT_COLOR_H
#define CARTWRIGHT_COLOR_H

#include "kernel.h"

enum { COLOR_AXES = 6, COLOR_LANES = 8, COLOR_ENTRIES = 256, COLOR_CHUNK = 256 };
enum { COLOR_VALUES = 4096, COLOR_WEIGHTS = 1 << 24 };
/* Columns of a row of totals: the weight, sums, sums of squares. */
enum { COLOR_WEIGHT = 0, COLOR_SUMS = 1, COLOR_SQUARES = 7, COLOR_COLUMNS = 13 };

typedef int64_t color_total[COLOR_COLUMNS];

/* Entries, with all entries sorted by their distance from each, rounded down; and sums over the
 * points of each entry. */
typedef struct {
    uint32_t keys[COLOR_ENTRIES][COLOR_ENTRIES];
    int16_t entries[COLOR_ENTRIES][COLOR_LANES];
    color_total totals[COLOR_ENTRIES];
    int count;
} color_palette;

/* As many points by axis, to compare all of them with one entry. */
typedef int16_t color_chunk[COLOR_AXES][COLOR_CHUNK];

/* Points in eight lanes of 16 bits, two of them 0, because compilers make few instructions of
 * distances between such; and in chunks, whose last one repeats the last point. */
typedef struct {
    int16_t (*lanes)[COLOR_LANES];
    color_chunk *chunks;
    const int32_t *weights;
    Py_ssize_t count;
} color_points;

/* Copy points, as lanes and chunks where they are needed: chunks for few entries, lanes for many or
 * to be added up. Returns 0 where there is no memory. Close them in any case. */
int color_open_points(color_points *p, const Py_buffer *points, const int32_t *weights,
                      Py_ssize_t entries);
void color_close_points(color_points *p);

void color_to_lanes(const int32_t *values, int16_t *lanes);
int32_t color_distance(const int16_t *a, const int16_t *b);
/* Add a point to the totals of its entry. */
static inline void color_add(int64_t *total, const int16_t *point, int32_t weight)
{
    total[COLOR_WEIGHT] += weight;
    for (int i = 0; i < COLOR_AXES; i++) {
        total[COLOR_SUMS + i] += (int64_t)weight * point[i];
        total[COLOR_SQUARES + i] += (int64_t)weight * (point[i] * point[i]);
    }
}

/* Set the totals of labelled points. */
void color_add_up(color_palette *p, const color_points *points, const int32_t *labels);

/* Find the nearest entry of each point, the lowest of equal ones, and the totals. The labels that
 * are given change only the time. */
void color_run_round(color_palette *p, const color_points *points, int32_t *labels);

/* Return the sum of weighted squared distances to the entries. */
int64_t color_error(const color_palette *p);

#endif
