/* BC7: the levels near the least-squares ends that suit chosen indices best, low bits included.
 *
 * With the indices fixed, channels depend on each other through the low bits alone: for each channel
 * all pairs of levels in a small window around both ends are judged, then the low bits are chosen
 * for all channels together. */
#include "bc7.h"

#include <string.h>

enum { WINDOW = 6, LANES = 8, WHOLE_BITS = 6, WHOLE = 64, MOST_ENTRIES = 16 };

/* What the texels of one index sum to in a channel. */
typedef struct {
    int32_t count[MOST_ENTRIES], sum[MOST_ENTRIES], square;
} index_sums;

/* The window's first level, even, so that it has as many levels with a low bit of 1 as of 0. */
static inline int window_start(float end, int bits)
{
    int last = (1 << bits) - WINDOW;
    float scale = (float)((1 << bits) - 1) / 255.0f;
    int start = 2 * (int)(end * scale * 0.5f + 0.5f) - 2;
    return start < 0 ? 0 : start > last ? last : start;
}

static inline void sum_indices(const bc7_points *points, const bc7_fit *fit, int c, index_sums *of)
{
    memset(of, 0, sizeof *of);
    for (int t = 0; t < points->count; t++) {
        int32_t color = (int32_t)points->color[c][t];
        of->count[fit->index[t]]++;
        of->sum[fit->index[t]] += color;
        of->square += color * color;
    }
}

/* The squared errors of all pairs of levels; the second level runs in lanes. */
static inline void judge_pairs(const index_sums *of, const int *weight, int entries, int bits,
                               const int *start, int32_t error[WINDOW][LANES])
{
    int32_t second[LANES] = {0};
    for (int k = 0; k < WINDOW; k++)
        second[k] = bc7_expand(start[1] + k, bits);
    for (int j = 0; j < WINDOW; j++) {
        int32_t first = bc7_expand(start[0] + j, bits);
        for (int k = 0; k < LANES; k++)
            error[j][k] = of->square;
        for (int i = 0; i < entries; i++) {
            if (of->count[i] == 0)
                continue;
            int32_t base = (WHOLE - weight[i]) * first + WHOLE / 2;
            for (int k = 0; k < LANES; k++) {
                int32_t entry = (base + weight[i] * second[k]) >> WHOLE_BITS;
                error[j][k] += entry * (of->count[i] * entry - 2 * of->sum[i]);
            }
        }
    }
}

/* One choice of low bits, for all channels: -1 where any will do. */
typedef struct {
    int low[2];
    int32_t error;
    int level[2][BC7_CHANNELS];
} low_choice;

/* Add the best pair of one channel to a choice. */
static inline void take_pair(int32_t error[WINDOW][LANES], const int *start, int c, low_choice *to)
{
    int first = to->low[0] < 0 ? 0 : to->low[0], step = to->low[0] < 0 ? 1 : 2, best_j = 0, best_k = 0;
    int second = to->low[1] < 0 ? 0 : to->low[1];
    int32_t least = INT32_MAX;
    for (int j = first; j < WINDOW; j += step)
        for (int k = second; k < WINDOW; k += step)
            if (error[j][k] < least) {
                least = error[j][k];
                best_j = j;
                best_k = k;
            }
    to->error += least;
    to->level[0][c] = start[0] + best_j;
    to->level[1][c] = start[1] + best_k;
}

/* The low bits that a palette can have. */
static inline int list_choices(bc7_low_bit low_bit, low_choice *choices)
{
    static const int LOW[][2] = {{-1, -1}, {0, 0}, {1, 1}, {0, 1}, {1, 0}};
    static const int FIRST[] = {0, 1, 1, 2}, COUNT[] = {1, 4, 2, 1};
    for (int n = 0; n < COUNT[low_bit]; n++) {
        memset(&choices[n], 0, sizeof choices[n]);
        memcpy(choices[n].low, LOW[FIRST[low_bit] + n], sizeof choices[n].low);
    }
    return COUNT[low_bit];
}

void bc7_polish_levels(const bc7_points *points, const bc7_palette *palette, int channels,
                       float (*ends)[BC7_CHANNELS], bc7_fit *fit)
{
    int bits = palette->bits + (palette->low_bit != BC7_NO_BIT), best = 0;
    int32_t error[WINDOW][LANES];
    low_choice choices[4];
    int count = list_choices(palette->low_bit, choices);
    for (int c = 0; c < channels; c++) {
        index_sums of;
        int start[2] = {window_start(ends[0][c], bits), window_start(ends[1][c], bits)};
        sum_indices(points, fit, c, &of);
        judge_pairs(&of, BC7_WEIGHTS[palette->index_bits], 1 << palette->index_bits, bits, start,
                    error);
        for (int n = 0; n < count; n++)
            take_pair(error, start, c, &choices[n]);
    }
    for (int n = 1; n < count; n++)
        if (choices[n].error < choices[best].error)
            best = n;
    memcpy(fit->level, choices[best].level, sizeof fit->level);
}
