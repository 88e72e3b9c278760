/* What the parts of the BC1 kernel share; the names and the arithmetic are the reference's. */
#ifndef CARTWRIGHT_BC1_H
#define CARTWRIGHT_BC1_H

#include "wider.h"

#include <stdint.h>

enum { TEXELS = 16, FAR_AWAY = 1 << 30 };

/* The line to any mean colour: levels of both ends by mode, channel and 8-bit value. */
typedef uint8_t bc1_table[2][3][256][2];

/* A block of one mode: colours by channel, which texels count, how many do, D, the principal axis.
 */
typedef struct {
    int16_t color[3][TEXELS];
    int16_t opaque[TEXELS];
    int32_t count;
    int32_t sum[3];
    int32_t steps;
    int16_t axis[3];
} bc1_texels;

/* Sums over the texels, sorted along the axis, from each place on: three colours, and the opaque
 * ones' count. */
typedef struct {
    int order[TEXELS];
    int32_t color[3][TEXELS + 1];
    int32_t count[TEXELS + 1];
} bc1_suffix;

/* A pair of endpoints as 5-6-5 levels, and its error. */
typedef struct {
    int32_t a[3], b[3];
    int32_t error;
} bc1_line;

/* What the error of a line depends on, once the steps are chosen. */
typedef struct {
    int32_t aa, ab, bb;
    int32_t a_color[3], b_color[3];
} bc1_moments;

static const float BC1_TOP[3] = {31.0f, 63.0f, 31.0f};
static const float BC1_LEVELS_PER_UNIT[3] = {31.0f / 255.0f, 63.0f / 255.0f, 31.0f / 255.0f};

static inline int32_t bc1_expand(int32_t level, int channel)
{
    return channel == 1 ? (level << 2) | (level >> 4) : (level << 3) | (level >> 2);
}

/* The level of a colour, given as a quotient: `half` 0 rounds it down, 0.5 to the nearest. `scale`
 * is levels per unit, divided by the denominator. */
static inline int32_t bc1_level(int32_t numerator, float scale, int channel, float half)
{
    /* One division and one product in this order: the reference rounds the same way. Clamped as an
     * integer, because compilers make no vectors of choices between floats; all quotients fit. */
    int32_t level = (int32_t)((float)numerator * scale + half), top = (int32_t)BC1_TOP[channel];
    level = level > 0 ? level : 0;
    return level < top ? level : top;
}

/* The moments that matter to one channel. */
typedef struct {
    int32_t aa, ab, bb, a_color, b_color;
} bc1_channel;

static inline bc1_channel bc1_channel_of(const bc1_moments *found, int c)
{
    const bc1_channel of = {found->aa, found->ab, found->bb, found->a_color[c], found->b_color[c]};
    return of;
}

/* The part of one channel in `bc1_error`. */
static inline int32_t bc1_channel_error(bc1_channel found, int32_t a, int32_t b, int32_t steps)
{
    return found.aa * (a * a) + 2 * found.ab * (a * b) + found.bb * (b * b) -
           2 * steps * (a * found.a_color + b * found.b_color);
}

/* The levels of a line's ends in one channel, and its part of the error. */
typedef struct {
    int32_t a, b, error;
} bc1_ends;

/* Round the least-squares line in one channel: a down or up, each with the b that suits. `solve`
 * and `match` are levels per unit, divided by the determinant and by bb. */
static inline bc1_ends bc1_fit_channel(bc1_channel found, float solve, float match, int channel,
                                       int32_t steps)
{
    int32_t solution = steps * (found.bb * found.a_color - found.ab * found.b_color);
    int32_t down = bc1_level(solution, solve, channel, 0.0f);
    int32_t up = down + (down < (int32_t)BC1_TOP[channel]);
    int32_t target = steps * found.b_color;
    int32_t wide_down = bc1_expand(down, channel), wide_up = bc1_expand(up, channel);
    int32_t b_down = bc1_level(target - found.ab * wide_down, match, channel, 0.5f);
    int32_t b_up = bc1_level(target - found.ab * wide_up, match, channel, 0.5f);
    int32_t error_down =
        bc1_channel_error(found, wide_down, bc1_expand(b_down, channel), steps);
    int32_t error_up = bc1_channel_error(found, wide_up, bc1_expand(b_up, channel), steps);
    /* Chosen without a branch: neither is likelier. */
    int is_up = error_up < error_down;
    const bc1_ends ends = {is_up ? up : down, is_up ? b_up : b_down,
                           is_up ? error_up : error_down};
    return ends;
}

/* Round the least-squares line for the chosen steps. Its error is that of `bc1_error`. */
static inline bc1_line bc1_fit(const bc1_moments *found, int32_t steps)
{
    bc1_line line;
    line.error = 0;
    int32_t determinant = found->aa * found->bb - found->ab * found->ab;
    int32_t weight = found->bb > 1 ? found->bb : 1;
    /* 0 where all texels have one step; the quotient is then useless, but its error is judged
     * too. */
    determinant = determinant > 1 ? determinant : 1;
    /* Red and blue have as many levels, so that two divisions are enough for each. */
    float solve[2], match[2];
    for (int c = 0; c < 2; c++) {
        solve[c] = BC1_LEVELS_PER_UNIT[c] / (float)determinant;
        match[c] = BC1_LEVELS_PER_UNIT[c] / (float)weight;
    }
    for (int c = 0; c < 3; c++) {
        bc1_ends ends =
            bc1_fit_channel(bc1_channel_of(found, c), solve[c & 1], match[c & 1], c, steps);
        line.a[c] = ends.a;
        line.b[c] = ends.b;
        line.error += ends.error;
    }
    return line;
}

/* Give D squared times the squared error of a line, less a constant of the block. */
static inline int32_t bc1_error(const bc1_moments *found, const bc1_line *line, int32_t steps)
{
    int32_t error = 0;
    for (int c = 0; c < 3; c++) {
        int32_t a = bc1_expand(line->a[c], c), b = bc1_expand(line->b[c], c);
        error += bc1_channel_error(bc1_channel_of(found, c), a, b, steps);
    }
    return error;
}

/* Cuts of one block that are fitted together, as vectors of so many numbers; which of the texels'
 * moments differ between them. */
enum { BC1_LANES = 8 };
typedef struct {
    int32_t aa[BC1_LANES], ab[BC1_LANES], bb[BC1_LANES];
    int32_t b_color[3][BC1_LANES];
    int count;
} bc1_batch;

/* Their rounded lines. */
typedef struct {
    int32_t a[3][BC1_LANES], b[3][BC1_LANES];
    int32_t error[BC1_LANES];
} bc1_batch_lines;

void bc1_principal_axis(bc1_texels *texels);
void bc1_project(const bc1_texels *texels, const int16_t axis[3], int32_t place[TEXELS]);
void bc1_nearest_steps(const bc1_texels *texels, const bc1_line *line, int16_t steps[TEXELS]);

/* Alternate between fitting the line and choosing steps; return the best line met. */
bc1_line bc1_refine(const bc1_texels *texels, const bc1_table table);

/* Go on alternating from a line. */
bc1_line bc1_settle(const bc1_texels *texels, bc1_line line);

int bc1_has_at_most(const bc1_texels *texels, int most_colors);
void bc1_sum_up(const bc1_texels *texels, bc1_suffix *sums);

/* Add a cut into four steps to those that are fitted together. */
void bc1_add_cuts(bc1_batch *batch, const bc1_suffix *sums, const int cuts[3]);

/* Fit the lines as `bc1_fit` does; where all texels have one step, the error is FAR_AWAY. */
void bc1_fit_batch(const bc1_batch *batch, const int32_t sum[3], int32_t steps,
                   bc1_batch_lines *lines);
bc1_line bc1_batch_line(const bc1_batch_lines *lines, int lane);

/* Try every cut between the sorted colours, then settle. */
bc1_line bc1_search(const bc1_texels *texels, bc1_line line);

/* The ways to place a second and a third cut, the last ones first; and for each first cut what
 * turns the square of a sum of colours into what the cut explains. */
enum { BC1_PAIRS = (TEXELS + 1) * (TEXELS + 2) / 2 };
typedef struct {
    float factor[TEXELS + 1][BC1_PAIRS];
    uint8_t second[BC1_PAIRS], third[BC1_PAIRS];
} bc1_cuts;

void bc1_fill_cuts(bc1_cuts *cuts);

/* Try the cuts of sixteen opaque texels whose unrounded lines are best. */
bc1_line bc1_scan(const bc1_texels *texels, const bc1_cuts *cuts, bc1_line line);

/* Take small steps of the ends while they come nearer; the error is then that of the colours that
 * decoders show. */
bc1_line bc1_polish(const bc1_texels *texels, bc1_line line);
void bc1_shown_steps(const bc1_texels *texels, const bc1_line *line, int16_t steps[TEXELS]);

#endif
