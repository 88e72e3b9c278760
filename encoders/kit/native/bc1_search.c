/* Every way to cut a block's sorted colours into steps.
 *
 * The reference is encoders/kit/image/bc/bc1_reference.py.
 */
#include "bc1.h"

/* Sums over the sorted texels from each place on: three colours, and the opaque ones' count.
 * Cuts are the places where the colour changes, and both ends. */
typedef struct {
    int32_t color[3][TEXELS + 1];
    int32_t count[TEXELS + 1];
    int cuts[TEXELS + 1];
    int cut_count;
} suffix;

static void sort_texels(const bc1_texels *texels, int order[TEXELS])
{
    int16_t axis[3];
    int32_t place[TEXELS];
    bc1_principal_axis(texels, axis);
    bc1_project(texels, axis, place);
    for (int t = 0; t < TEXELS; t++) {
        int k = t;
        if (!texels->opaque[t])
            /* Behind all others, where they add nothing to any sum. */
            place[t] = FAR_AWAY;
        /* Insertion sort is stable, as the reference's sort is, and fast for sixteen. */
        for (; k > 0 && place[order[k - 1]] > place[t]; k--)
            order[k] = order[k - 1];
        order[k] = t;
    }
}

static void find_cuts(const bc1_texels *texels, const int order[TEXELS], suffix *sums)
{
    sums->cuts[0] = 0;
    sums->cut_count = 1;
    for (int k = 1; k < TEXELS; k++) {
        int differs = 0;
        for (int c = 0; c < 3; c++)
            differs |= texels->color[c][order[k]] != texels->color[c][order[k - 1]];
        if (differs && texels->opaque[order[k]])
            sums->cuts[sums->cut_count++] = k;
    }
    sums->cuts[sums->cut_count++] = texels->count;
}

static suffix suffix_sums(const bc1_texels *texels)
{
    int order[TEXELS];
    suffix sums;
    sort_texels(texels, order);
    for (int c = 0; c < 3; c++) {
        sums.color[c][TEXELS] = 0;
        for (int t = TEXELS - 1; t >= 0; t--)
            sums.color[c][t] = sums.color[c][t + 1] + texels->color[c][order[t]];
    }
    sums.count[TEXELS] = 0;
    for (int t = TEXELS - 1; t >= 0; t--)
        sums.count[t] = sums.count[t + 1] + texels->opaque[order[t]];
    find_cuts(texels, order, &sums);
    return sums;
}

/* What the first cuts add to the moments: shares of b, their squares, weighted colours. */
typedef struct {
    int32_t once, twice, red, green, blue;
} partial;

static inline partial add_cut(partial sum, const suffix *sums, int k, int cut)
{
    sum.once += sums->count[cut];
    /* The squares 1, 4, 9 grow by 1, 3, 5. */
    sum.twice += (2 * k + 1) * sums->count[cut];
    sum.red += sums->color[0][cut];
    sum.green += sums->color[1][cut];
    sum.blue += sums->color[2][cut];
    return sum;
}

static inline bc1_moments cut_moments(const suffix *sums, partial sum, int32_t d)
{
    bc1_moments found;
    found.aa = d * d * sums->count[0] - 2 * d * sum.once + sum.twice;
    found.ab = d * sum.once - sum.twice;
    found.bb = sum.twice;
    found.b_color[0] = sum.red;
    found.b_color[1] = sum.green;
    found.b_color[2] = sum.blue;
    for (int c = 0; c < 3; c++)
        found.a_color[c] = d * sums->color[c][0] - found.b_color[c];
    return found;
}

/* Would the unrounded fit of these steps be better than the least error? */
static inline int promising(const bc1_moments *found, int32_t least, int32_t d)
{
    int64_t aa = found->aa, ab = found->ab, bb = found->bb, gain = 0;
    int64_t determinant = aa * bb - ab * ab;
    for (int c = 0; c < 3; c++) {
        int64_t a = found->a_color[c], b = found->b_color[c];
        gain += bb * (a * a) - 2 * ab * (a * b) + aa * (b * b);
    }
    /* Without a division. Errors lack a constant of the block, so the best unrounded fit has an
     * error of minus its gain. */
    return determinant > 0 && gain * (d * d) > -(int64_t)least * determinant;
}

static inline void try_cut(const suffix *sums, partial sum, int32_t d, bc1_line *best)
{
    bc1_moments found = cut_moments(sums, sum, d);
    if (!promising(&found, best->error, d))
        return;
    bc1_line line = bc1_fit(&found, d);
    line.error = bc1_error(&found, &line, d);
    if (line.error < best->error)
        *best = line;
}

/* Has a block at most so many colours? Decided without sorting, because most blocks have more. */
static int has_at_most(const bc1_texels *texels, int most)
{
    uint32_t found[TEXELS];
    int count = 0;
    for (int t = 0; t < TEXELS; t++) {
        uint32_t color = (uint32_t)texels->color[0][t] << 16 | (uint32_t)texels->color[1][t] << 8 |
                         (uint32_t)texels->color[2][t];
        int k = 0;
        while (k < count && found[k] != color)
            k++;
        if (!texels->opaque[t] || k < count)
            continue;
        if (count == most)
            return 0;
        found[count++] = color;
    }
    return 1;
}

bc1_line bc1_search(const bc1_texels *texels, bc1_line line, int most_colors)
{
    const partial none = {0, 0, 0, 0, 0};
    if (!has_at_most(texels, most_colors))
        return line;
    suffix sums = suffix_sums(texels);
    int count = sums.cut_count;
    for (int first = 0; first < count; first++) {
        partial one = add_cut(none, &sums, 0, sums.cuts[first]);
        for (int second = first; second < count; second++) {
            partial two = add_cut(one, &sums, 1, sums.cuts[second]);
            if (texels->steps == 2) {
                try_cut(&sums, two, 2, &line);
                continue;
            }
            for (int third = second; third < count; third++)
                try_cut(&sums, add_cut(two, &sums, 2, sums.cuts[third]), 3, &line);
        }
    }
    return bc1_settle(texels, line);
}
