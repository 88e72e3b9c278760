/* BC7: the palette of a subset: endpoints along the principal axis, then alternately the nearest
 * index for every texel and the least-squares endpoints for these indices. */
#include "bc7.h"

#include <string.h>

enum { ROUNDS = 2, WHOLE = 64, MOST_ENTRIES = 16, LANES = 4 };
/* More than any squared distance. */
static const float FAR_AWAY = 1e9f;
/* A palette is not refitted where even this part of its error is too much. */
static const float REFIT_HOPE = 0.5f;
/* Levels are polished where the error a texel is no more than the first, unless even the given part
 * of it is too much. */
static const float POLISH = 3.0f, POLISH_HOPE = 0.8f;
/* Ends that lie in the middle between two levels are rounded away from each other, so that the
 * outermost texels stay between them. */
static const float ROUND_LOWER = 0.48f, ROUND_UPPER = 0.5f;

const int BC7_WEIGHTS[5][MOST_ENTRIES] = {
    {0},
    {0},
    {0, 21, 43, 64},
    {0, 9, 18, 27, 37, 46, 55, 64},
    {0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64},
};

typedef struct {
    float end[2][BC7_CHANNELS];
} line;

static inline float clip(float value)
{
    return value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value;
}

/* Sum products of whole numbers: four sums at a time, so that the compiler vectorises. */
static inline float sum_products(const float *x, const float *y, int lanes)
{
    float total[LANES] = {0.0f};
    for (int start = 0; start < lanes; start += LANES)
        for (int k = 0; k < LANES; k++)
            total[k] += x[start + k] * y[start + k];
    return total[0] + total[1] + total[2] + total[3];
}

/* The line through the mean along the principal axis, from the first texel along it to the last. */
static inline line first_line(const bc7_points *points, int channels)
{
    float sum[BC7_CHANNELS], moment[10], axis[BC7_CHANNELS], along[BC7_TEXELS];
    float low = 0.0f, high = 0.0f, middle = 0.0f, square = 0.0f, count = (float)points->count;
    int at = 0;
    line found;
    for (int c = 0; c < channels; c++)
        sum[c] = sum_products(points->color[c], points->live, points->lanes);
    for (int i = 0; i < channels; i++) {
        float member[BC7_TEXELS];
        for (int t = 0; t < points->lanes; t++)
            member[t] = points->color[i][t] * points->live[t];
        for (int j = i; j < channels; j++)
            moment[at++] = count * sum_products(member, points->color[j], points->lanes) -
                           sum[i] * sum[j];
    }
    bc7_principal_axis(moment, channels, axis);
    for (int t = 0; t < points->lanes; t++)
        along[t] = axis[0] * points->color[0][t];
    for (int c = 1; c < channels; c++)
        for (int t = 0; t < points->lanes; t++)
            along[t] = along[t] + axis[c] * points->color[c][t];
    low = high = along[0];
    for (int t = 1; t < points->lanes; t++) {
        low = along[t] < low ? along[t] : low;
        high = along[t] > high ? along[t] : high;
    }
    for (int c = 0; c < channels; c++) {
        middle = middle + axis[c] * (sum[c] / count);
        square = square + axis[c] * axis[c];
    }
    square = square > 1.0f ? square : 1.0f;
    for (int c = 0; c < channels; c++) {
        found.end[0][c] = clip(sum[c] / count + axis[c] * ((low - middle) / square));
        found.end[1][c] = clip(sum[c] / count + axis[c] * ((high - middle) / square));
    }
    return found;
}

/* The levels nearest to an end whose lowest bit is `low`. */
static inline float round_end(const line *ends, int e, int channels, int bits, int low, int *level)
{
    const float *end = ends->end[e], *other = ends->end[1 - e];
    int top = (1 << bits) - 1;
    float scale = (float)((1 << (bits + 1)) - 1) / 255.0f, error = 0.0f;
    for (int c = 0; c < channels; c++) {
        float half = end[c] < other[c] ? ROUND_LOWER : ROUND_UPPER;
        int high = (int)((end[c] * scale - (float)low) * 0.5f + half);
        high = high > top ? top : high;
        level[c] = 2 * high + low;
        float off = (float)bc7_expand(level[c], bits + 1) - end[c];
        error = error + off * off;
    }
    return error;
}

static inline void round_line(const line *ends, const bc7_palette *palette, int channels,
                              int level[2][BC7_CHANNELS])
{
    int tried[2][2][BC7_CHANNELS];
    float error[2][2];
    if (palette->low_bit == BC7_NO_BIT) {
        float scale = (float)((1 << palette->bits) - 1) / 255.0f;
        for (int e = 0; e < 2; e++)
            for (int c = 0; c < channels; c++)
                level[e][c] = (int)(ends->end[e][c] * scale + 0.5f);
        return;
    }
    for (int e = 0; e < 2; e++)
        for (int low = 0; low < 2; low++)
            error[e][low] =
                round_end(ends, e, channels, palette->bits, low, tried[e][low]);
    if (palette->low_bit == BC7_SHARED_BIT)
        for (int low = 0; low < 2; low++)
            error[0][low] = error[1][low] = error[0][low] + error[1][low];
    for (int e = 0; e < 2; e++) {
        int low = palette->low_bit == BC7_SET_BIT || error[e][1] < error[e][0];
        memcpy(level[e], tried[e][low], sizeof level[e]);
    }
}

/* Set the index of the nearest entry for each lane, and the error. */
static inline void choose_indices(const bc7_points *points, const bc7_palette *palette,
                                  int channels, bc7_fit *fit)
{
    float entry[MOST_ENTRIES][BC7_CHANNELS], total[LANES] = {0.0f};
    int bits = palette->bits + (palette->low_bit != BC7_NO_BIT), entries = 1 << palette->index_bits;
    const int *weight = BC7_WEIGHTS[palette->index_bits];
    for (int c = 0; c < channels; c++) {
        int a = bc7_expand(fit->level[0][c], bits), b = bc7_expand(fit->level[1][c], bits);
        for (int i = 0; i < entries; i++)
            entry[i][c] = (float)(((WHOLE - weight[i]) * a + weight[i] * b + WHOLE / 2) / WHOLE);
    }
    /* Lanes in fours, in local arrays, so that the compiler vectorises. */
    for (int start = 0; start < points->lanes; start += LANES) {
        float least[LANES], color[BC7_CHANNELS][LANES];
        int32_t index[LANES] = {0};
        for (int k = 0; k < LANES; k++)
            least[k] = FAR_AWAY;
        for (int c = 0; c < channels; c++)
            memcpy(color[c], points->color[c] + start, sizeof color[c]);
        for (int32_t i = 0; i < entries; i++)
            for (int k = 0; k < LANES; k++) {
                float error = 0.0f;
                for (int c = 0; c < channels; c++)
                    error += (color[c][k] - entry[i][c]) * (color[c][k] - entry[i][c]);
                int32_t is_less = -(error < least[k]);
                index[k] = (i & is_less) | (index[k] & ~is_less);
                least[k] = error < least[k] ? error : least[k];
            }
        memcpy(fit->index + start, index, sizeof index);
        for (int k = 0; k < LANES; k++)
            total[k] += least[k] * points->live[start + k];
    }
    fit->error = total[0] + total[1] + total[2] + total[3];
}

/* The endpoints with the least squared error for the chosen indices. */
static inline line refit(const bc7_points *points, const bc7_palette *palette, int channels,
                         const bc7_fit *fit)
{
    const int *weight = BC7_WEIGHTS[palette->index_bits];
    float share[BC7_TEXELS];
    line found;
    for (int t = 0; t < points->lanes; t++)
        share[t] = (float)weight[fit->index[t]] * points->live[t];
    float once = sum_products(share, points->live, points->lanes);
    double bb = sum_products(share, share, points->lanes), ab = WHOLE * (double)once - bb;
    double aa = WHOLE * (WHOLE * (double)points->count) - 2 * (WHOLE * (double)once) + bb;
    /* 0 where all indices are equal: then both ends are the mean. */
    double determinant = aa * bb - ab * ab, scale = WHOLE / (determinant > 1 ? determinant : 1);
    for (int c = 0; c < channels; c++) {
        float sum = sum_products(points->color[c], points->live, points->lanes);
        double b = sum_products(points->color[c], share, points->lanes);
        double a = WHOLE * (double)sum - b;
        found.end[0][c] = clip((float)((bb * a - ab * b) * scale));
        found.end[1][c] = clip((float)((aa * b - ab * a) * scale));
        if (determinant < 1)
            found.end[0][c] = found.end[1][c] = sum / (float)points->count;
    }
    return found;
}

/* Look for better levels with the indices as they are, and with all of them moved inwards: between
 * entries that are not the ends, more values can be had than levels have. Palettes of more than
 * four entries gain nothing from it. */
static inline void polish(const bc7_points *points, const bc7_palette *palette, int channels,
                          bc7_fit *best)
{
    int tries = palette->index_bits == 2 ? 2 : 1;
    for (int inwards = 0; inwards < tries && best->error > 0; inwards++) {
        bc7_fit fit = *best;
        for (int t = 0; t < points->lanes && inwards; t++)
            fit.index[t] = fit.index[t] < 2 ? 1 : 2;
        line ends = refit(points, palette, channels, &fit);
        bc7_polish_levels(points, palette, channels, ends.end, &fit);
        choose_indices(points, palette, channels, &fit);
        if (fit.error < best->error)
            *best = fit;
    }
}

static inline bc7_fit fit_palette(const bc7_points *points, const bc7_palette *palette,
                                  int channels, float limit)
{
    bc7_fit best, fit;
    line ends = first_line(points, channels);
    memset(&fit, 0, sizeof fit);
    round_line(&ends, palette, channels, fit.level);
    choose_indices(points, palette, channels, &fit);
    best = fit;
    if (fit.error * REFIT_HOPE >= limit)
        return best;
    for (int round = 0; round < ROUNDS && fit.error > 0; round++) {
        ends = refit(points, palette, channels, &fit);
        round_line(&ends, palette, channels, fit.level);
        choose_indices(points, palette, channels, &fit);
        if (fit.error < best.error)
            best = fit;
    }
    if (best.error <= POLISH * (float)points->count && best.error * POLISH_HOPE < limit)
        polish(points, palette, channels, &best);
    return best;
}

/* Copies with a constant number of channels, for the compiler to unroll. */
bc7_fit bc7_fit_palette(const bc7_points *points, const bc7_palette *palette, int channels,
                        float limit)
{
    if (channels == 1)
        return fit_palette(points, palette, 1, limit);
    if (channels == 3)
        return fit_palette(points, palette, 3, limit);
    return fit_palette(points, palette, 4, limit);
}
