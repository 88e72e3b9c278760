/* Every way to cut a block's sorted colours into steps.
 *
 * The reference is encoders/kit/image/bc/bc1_search.py.
 */
#include "bc1.h"

/* Cuts are the places where the colour changes, and both ends. */
typedef struct {
    int places[TEXELS + 1];
    int count;
} cut_list;

static void sort_texels(const bc1_texels *texels, int order[TEXELS])
{
    int32_t place[TEXELS], rank[TEXELS] = {0};
    bc1_project(texels, texels->axis, place);
    for (int t = 0; t < TEXELS; t++)
        /* Those that do not count come last, where they add nothing to any sum. The number of the
         * texel keeps equal places in order, as the reference's sort does. */
        place[t] = (texels->opaque[t] ? place[t] : FAR_AWAY / TEXELS) * TEXELS + t;
    /* Counting the texels below has no branches, unlike sorting. */
    for (int u = 0; u < TEXELS; u++)
        for (int t = 0; t < TEXELS; t++)
            rank[t] += place[u] < place[t];
    for (int t = 0; t < TEXELS; t++)
        order[rank[t]] = t;
}

static cut_list find_cuts(const bc1_texels *texels, const int order[TEXELS])
{
    cut_list cuts = {{0}, 1};
    for (int k = 1; k < TEXELS; k++) {
        int differs = 0;
        for (int c = 0; c < 3; c++)
            differs |= texels->color[c][order[k]] != texels->color[c][order[k - 1]];
        if (differs && texels->opaque[order[k]])
            cuts.places[cuts.count++] = k;
    }
    cuts.places[cuts.count++] = texels->count;
    return cuts;
}

void bc1_sum_up(const bc1_texels *texels, bc1_suffix *sums)
{
    sort_texels(texels, sums->order);
    for (int c = 0; c < 3; c++) {
        sums->color[c][TEXELS] = 0;
        for (int t = TEXELS - 1; t >= 0; t--)
            sums->color[c][t] = sums->color[c][t + 1] + texels->color[c][sums->order[t]];
    }
    sums->count[TEXELS] = 0;
    for (int t = TEXELS - 1; t >= 0; t--)
        sums->count[t] = sums->count[t + 1] + texels->opaque[sums->order[t]];
}

/* What the first cuts add to the moments: shares of b, their squares, weighted colours. */
typedef struct {
    int32_t once, twice, red, green, blue;
} partial;

static inline partial add_cut(partial sum, const bc1_suffix *sums, int k, int cut)
{
    sum.once += sums->count[cut];
    /* The squares 1, 4, 9 grow by 1, 3, 5. */
    sum.twice += (2 * k + 1) * sums->count[cut];
    sum.red += sums->color[0][cut];
    sum.green += sums->color[1][cut];
    sum.blue += sums->color[2][cut];
    return sum;
}

static inline void add_to_batch(bc1_batch *batch, const bc1_suffix *sums, partial sum, int32_t d)
{
    int lane = batch->count++;
    batch->aa[lane] = d * d * sums->count[0] - 2 * d * sum.once + sum.twice;
    batch->ab[lane] = d * sum.once - sum.twice;
    batch->bb[lane] = sum.twice;
    batch->b_color[0][lane] = sum.red;
    batch->b_color[1][lane] = sum.green;
    batch->b_color[2][lane] = sum.blue;
}

void bc1_add_cuts(bc1_batch *batch, const bc1_suffix *sums, const int cuts[3])
{
    partial sum = {0, 0, 0, 0, 0};
    for (int k = 0; k < 3; k++)
        sum = add_cut(sum, sums, k, cuts[k]);
    add_to_batch(batch, sums, sum, 3);
}

/* Would the unrounded fit of the cut added last be better than the least error? */
static inline int promising(const bc1_batch *batch, const bc1_suffix *sums, int32_t least, int32_t d)
{
    int lane = batch->count - 1;
    int64_t aa = batch->aa[lane], ab = batch->ab[lane], bb = batch->bb[lane], gain = 0;
    int64_t determinant = aa * bb - ab * ab;
    for (int c = 0; c < 3; c++) {
        int64_t b = batch->b_color[c][lane], a = d * sums->color[c][0] - b;
        gain += bb * (a * a) - 2 * ab * (a * b) + aa * (b * b);
    }
    /* Without a division. Errors lack a constant of the block, so the best unrounded fit has an
     * error of minus its gain. */
    return determinant > 0 && gain * (d * d) > -(int64_t)least * determinant;
}

/* Take the first of the best lines of the cuts that wait, where it is better than the best. */
static void fit_waiting(const bc1_suffix *sums, bc1_batch *batch, int32_t d, bc1_line *best)
{
    const int32_t sum[3] = {sums->color[0][0], sums->color[1][0], sums->color[2][0]};
    bc1_batch_lines lines;
    bc1_fit_batch(batch, sum, d, &lines);
    for (int lane = 0; lane < batch->count; lane++)
        if (lines.error[lane] < best->error)
            *best = bc1_batch_line(&lines, lane);
    batch->count = 0;
}

static inline void try_cut(const bc1_suffix *sums, partial sum, int32_t d, bc1_batch *batch,
                           bc1_line *best)
{
    add_to_batch(batch, sums, sum, d);
    if (!promising(batch, sums, best->error, d)) {
        batch->count--;
        return;
    }
    if (batch->count == BC1_LANES)
        fit_waiting(sums, batch, d, best);
}

/* Has a block at most so many colours? Decided without sorting, because most blocks have more. */
int bc1_has_at_most(const bc1_texels *texels, int most)
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

bc1_line bc1_search(const bc1_texels *texels, bc1_line line)
{
    const partial none = {0, 0, 0, 0, 0};
    bc1_suffix sums;
    bc1_batch batch = {0};
    bc1_sum_up(texels, &sums);
    cut_list cuts = find_cuts(texels, sums.order);
    for (int first = 0; first < cuts.count; first++) {
        partial one = add_cut(none, &sums, 0, cuts.places[first]);
        for (int second = first; second < cuts.count; second++) {
            partial two = add_cut(one, &sums, 1, cuts.places[second]);
            if (texels->steps == 2) {
                try_cut(&sums, two, 2, &batch, &line);
                continue;
            }
            for (int third = second; third < cuts.count; third++)
                try_cut(&sums, add_cut(two, &sums, 2, cuts.places[third]), 3, &batch, &line);
        }
    }
    fit_waiting(&sums, &batch, texels->steps, &line);
    return bc1_settle(texels, line);
}
