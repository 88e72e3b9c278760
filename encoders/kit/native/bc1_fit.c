/* The line through a block's colours; the reference is encoders/kit/image/bc/bc1_fit.py. */
#include "bc1.h"

#include <math.h>

enum { ROUNDS = 2, SETTLING_ROUNDS = 2, POWER_STEPS = 4, INSET = 16 };

static void unit(float v[3])
{
    float longest = fabsf(v[0]);
    longest = fabsf(v[1]) > longest ? fabsf(v[1]) : longest;
    longest = fabsf(v[2]) > longest ? fabsf(v[2]) : longest;
    /* A block of one colour has no axis. */
    if (longest == 0.0f)
        longest = 1.0f;
    for (int c = 0; c < 3; c++)
        v[c] = v[c] / longest;
}

/* Multiply a vector by the covariance. */
static void turn(float m[3][3], float v[3])
{
    float x = m[0][0] * v[0] + m[0][1] * v[1] + m[0][2] * v[2];
    float y = m[1][0] * v[0] + m[1][1] * v[1] + m[1][2] * v[2];
    float z = m[2][0] * v[0] + m[2][1] * v[1] + m[2][2] * v[2];
    v[0] = x;
    v[1] = y;
    v[2] = z;
}

static float covariance(const bc1_texels *texels, int i, int j)
{
    int32_t products = 0;
    for (int t = 0; t < TEXELS; t++)
        /* Transparent texels are zero and add nothing. */
        products += texels->color[i][t] * texels->color[j][t];
    return (float)(texels->count * products - texels->sum[i] * texels->sum[j]);
}

void bc1_principal_axis(bc1_texels *texels)
{
    float m[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++)
            m[i][j] = m[j][i] = covariance(texels, i, j);
    int widest = m[1][1] > m[0][0] ? 1 : 0;
    if (m[2][2] > m[widest][widest])
        widest = 2;
    float v[3] = {m[widest][0], m[widest][1], m[widest][2]};
    for (int step = 0; step < POWER_STEPS; step++) {
        /* Float has the range for two products with the covariance, not for four. */
        if (step % 2 == 0)
            unit(v);
        turn(m, v);
    }
    unit(v);
    for (int c = 0; c < 3; c++)
        texels->axis[c] = (int16_t)(v[c] * 1023.0f);
}

void bc1_project(const bc1_texels *texels, const int16_t axis[3], int32_t place[TEXELS])
{
    for (int t = 0; t < TEXELS; t++)
        place[t] = texels->color[0][t] * axis[0] + texels->color[1][t] * axis[1] +
                   texels->color[2][t] * axis[2];
}

static void cut(const bc1_texels *texels, const int32_t place[TEXELS], int32_t start,
                int32_t length, int16_t steps[TEXELS])
{
    /* Thresholds halfway between the steps. Written out, so that the compiler can vectorise. */
    if (texels->steps == 3) {
        int32_t first = start + length / 6, second = start + 3 * length / 6;
        int32_t third = start + 5 * length / 6;
        for (int t = 0; t < TEXELS; t++)
            steps[t] = (place[t] > first) + (place[t] > second) + (place[t] > third);
        return;
    }
    int32_t first = start + length / 4, second = start + 3 * length / 4;
    for (int t = 0; t < TEXELS; t++)
        steps[t] = ((place[t] > first) + (place[t] > second)) * texels->opaque[t];
}

static void first_steps(const bc1_texels *texels, int16_t steps[TEXELS])
{
    int32_t place[TEXELS], low = FAR_AWAY, high = -FAR_AWAY;
    bc1_project(texels, texels->axis, place);
    for (int t = 0; t < TEXELS; t++) {
        if (!texels->opaque[t])
            continue;
        low = place[t] < low ? place[t] : low;
        high = place[t] > high ? place[t] : high;
    }
    /* Outliers cost less than a line that is too long. */
    int32_t inset = (high - low) / INSET;
    cut(texels, place, low + inset, high - low - 2 * inset, steps);
}

void bc1_nearest_steps(const bc1_texels *texels, const bc1_line *line, int16_t steps[TEXELS])
{
    int16_t axis[3];
    int32_t place[TEXELS], start = 0, length = 0;
    for (int c = 0; c < 3; c++) {
        int32_t a = bc1_expand(line->a[c], c);
        axis[c] = (int16_t)(bc1_expand(line->b[c], c) - a);
        start += axis[c] * a;
        length += axis[c] * axis[c];
    }
    bc1_project(texels, axis, place);
    cut(texels, place, start, length, steps);
}

static bc1_moments moments(const bc1_texels *texels, const int16_t steps[TEXELS])
{
    int32_t d = texels->steps, once = 0, twice = 0;
    bc1_moments found;
    for (int t = 0; t < TEXELS; t++) {
        once += steps[t];
        twice += steps[t] * steps[t];
    }
    for (int c = 0; c < 3; c++) {
        int32_t b_color = 0;
        for (int t = 0; t < TEXELS; t++)
            b_color += steps[t] * texels->color[c][t];
        found.b_color[c] = b_color;
        found.a_color[c] = d * texels->sum[c] - b_color;
    }
    found.aa = d * d * texels->count - 2 * d * once + twice;
    found.ab = d * once - twice;
    found.bb = twice;
    return found;
}

/* Set the error of a line at its nearest steps, and give their moments. */
static bc1_moments judge(const bc1_texels *texels, bc1_line *line)
{
    int16_t steps[TEXELS];
    bc1_nearest_steps(texels, line, steps);
    bc1_moments found = moments(texels, steps);
    line->error = bc1_error(&found, line, texels->steps);
    return found;
}

static int same_ends(const bc1_line *one, const bc1_line *two)
{
    int same = 1;
    for (int c = 0; c < 3; c++)
        same &= one->a[c] == two->a[c] && one->b[c] == two->b[c];
    return same;
}

static bc1_line alternate(const bc1_texels *texels, bc1_moments found, bc1_line best, int rounds)
{
    bc1_line last = {{-1, -1, -1}, {-1, -1, -1}, 0};
    for (int round = 0; round < rounds; round++) {
        bc1_line line = bc1_fit(&found, texels->steps);
        if (same_ends(&line, &last))
            break; /* every later round would find this line again */
        found = judge(texels, &line);
        if (line.error < best.error)
            best = line;
        last = line;
    }
    return best;
}

/* The line whose first step is nearest to the mean, all texels at that step. */
static bc1_line flat_line(const bc1_texels *texels, const bc1_table table)
{
    bc1_line flat;
    int32_t d = texels->steps, count = texels->count;
    bc1_moments found;
    found.aa = (d - 1) * (d - 1) * count;
    found.ab = (d - 1) * count;
    found.bb = count;
    for (int c = 0; c < 3; c++) {
        /* The mean, rounded half up, in integers. */
        const uint8_t *ends = table[3 - d][c][(2 * texels->sum[c] + count) / (2 * count)];
        flat.a[c] = ends[0];
        flat.b[c] = ends[1];
        found.a_color[c] = (d - 1) * texels->sum[c];
        found.b_color[c] = texels->sum[c];
    }
    flat.error = bc1_error(&found, &flat, d);
    return flat;
}

bc1_line bc1_refine(const bc1_texels *texels, const bc1_table table)
{
    int16_t steps[TEXELS];
    first_steps(texels, steps);
    return alternate(texels, moments(texels, steps), flat_line(texels, table), ROUNDS);
}

bc1_line bc1_settle(const bc1_texels *texels, bc1_line line)
{
    /* Keeps the error that `line` was chosen by; `judge` would overwrite it. */
    bc1_line start = line;
    bc1_moments found = judge(texels, &start);
    return alternate(texels, found, line, SETTLING_ROUNDS);
}
