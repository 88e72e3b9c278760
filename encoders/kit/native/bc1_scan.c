/* The likely cuts of sixteen opaque texels, by the error of the unrounded line.
 *
 * How much a line explains depends on the cut alone and on one sum of colours, so all 969 cuts are
 * rated in a few vector instructions each. For each place of the first cut the best others are
 * kept, and the rounded line is judged for those that come near. The reference is
 * encoders/kit/image/bc/bc1_scan.py: the operations on floating-point numbers are its, in its order.
 */
#include "bc1.h"

#include <string.h>

/* Cuts that are tried at most: later ones hardly ever win. */
enum { TRIES = BC1_LANES };
/* A cut is tried when the unrounded line loses less against the best one than this part of what
 * rounding has cost so far. */
static const float NEAR = 0.4f;
/* What the sums below are of, in units of bc1_error: 9 / 16 of the square of a sum of colours. */
static const float SHARE = 9.0f / TEXELS;

/* Sums of colours from each place on, less their share of the mean; those of second and third
 * cuts together. */
typedef struct {
    float from[3][TEXELS + 1];
    float pair[3][BC1_PAIRS];
} centred;

/* What the best cut explains for each place of the first one, as the bits of a number. */
typedef struct {
    int32_t most[TEXELS + 1];
} rating;

void bc1_fill_cuts(bc1_cuts *cuts)
{
    int n = 0;
    for (int second = TEXELS; second >= 0; second--)
        for (int third = second; third <= TEXELS; third++, n++) {
            cuts->second[n] = (uint8_t)second;
            cuts->third[n] = (uint8_t)third;
            for (int first = 0; first <= second; first++) {
                int one = TEXELS - first, two = TEXELS - second, three = TEXELS - third;
                int once = one + two + three, twice = one + 3 * two + 5 * three;
                int aa = 9 * TEXELS - 6 * once + twice, ab = 3 * once - twice;
                int determinant = aa * twice - ab * ab;
                cuts->factor[first][n] = determinant > 0 ? SHARE * 9.0f / (float)determinant : 0;
            }
        }
}

static void centre(const bc1_texels *texels, const bc1_suffix *sums, centred *to)
{
    for (int c = 0; c < 3; c++) {
        int n = 0;
        for (int t = 0; t <= TEXELS; t++)
            to->from[c][t] =
                (float)(TEXELS * sums->color[c][t] - (TEXELS - t) * texels->sum[c]);
        for (int second = TEXELS; second >= 0; second--)
            for (int third = second; third <= TEXELS; third++)
                to->pair[c][n++] = to->from[c][second] + to->from[c][third];
    }
}

/* Return what a cut explains. Numbers that are not negative sort as their bits do, and integers
 * have a maximum that compilers make vector instructions of. */
static inline int32_t explained(const centred *sums, const float *factor, int first, int n)
{
    float red = sums->pair[0][n] + sums->from[0][first];
    float green = sums->pair[1][n] + sums->from[1][first];
    float blue = sums->pair[2][n] + sums->from[2][first];
    float gain = (red * red + green * green + blue * blue) * factor[n];
    int32_t bits;
    memcpy(&bits, &gain, sizeof bits);
    return bits;
}

/* Return how many pairs lie behind a first cut; they are sorted so that these come first. */
static inline int count_pairs(int first)
{
    return (TEXELS + 1 - first) * (TEXELS + 2 - first) / 2;
}

WIDER static void rate(const centred *sums, const bc1_cuts *cuts, rating *found)
{
    for (int first = 0; first <= TEXELS; first++) {
        int32_t most = 0;
        for (int n = 0; n < count_pairs(first); n++) {
            int32_t bits = explained(sums, cuts->factor[first], first, n);
            most = bits > most ? bits : most;
        }
        found->most[first] = most;
    }
}

/* Return the place of the best first cut, and take it out; `gain` is 0 where none explains more. */
static int take_best(rating *found, float *gain)
{
    int first = 0;
    for (int k = 1; k <= TEXELS; k++)
        first = found->most[k] > found->most[first] ? k : first;
    int32_t most = found->most[first] > 0 ? found->most[first] : 0;
    memcpy(gain, &most, sizeof *gain);
    found->most[first] = 0;
    return first;
}

/* Return the first pair that explains so much with a first cut. All are looked at, because that
 * makes vector instructions. */
WIDER static int find_pair(const centred *sums, const bc1_cuts *cuts, int first, int32_t wanted)
{
    int found = BC1_PAIRS - 1;
    for (int n = 0; n < count_pairs(first); n++) {
        int here = explained(sums, cuts->factor[first], first, n) == wanted ? n : BC1_PAIRS;
        found = here < found ? here : found;
    }
    return found;
}

/* Cuts to be tried, those that explain the most first, and what they explain. */
typedef struct {
    bc1_batch batch;
    float gain[TRIES];
} try_list;

/* Does a cut come near the best, beside what rounding has cost so far? */
static inline int is_near(float now, float best, int32_t least)
{
    return !(best - now > NEAR * (best + (float)least));
}

/* List the cuts that come near the best, by the error so far. */
static void list_tries(const centred *sums, const bc1_suffix *texels, const bc1_cuts *cuts,
                       float base, int32_t least, try_list *tries)
{
    rating found;
    rate(sums, cuts, &found);
    for (int i = 0; i < TRIES; i++) {
        float gain;
        int32_t wanted;
        int first = take_best(&found, &gain);
        tries->gain[i] = gain;
        if (gain <= 0 || !is_near(gain + base, tries->gain[0] + base, least))
            break;
        memcpy(&wanted, &gain, sizeof wanted);
        int n = find_pair(sums, cuts, first, wanted);
        const int at[3] = {first, cuts->second[n], cuts->third[n]};
        bc1_add_cuts(&tries->batch, texels, at);
    }
}

bc1_line bc1_scan(const bc1_texels *texels, const bc1_cuts *cuts, bc1_line line)
{
    bc1_suffix suffix;
    centred sums;
    try_list tries = {.batch = {.count = 0}};
    bc1_batch_lines lines;
    float squares = 0;
    bc1_sum_up(texels, &suffix);
    centre(texels, &suffix, &sums);
    for (int c = 0; c < 3; c++)
        squares += (float)texels->sum[c] * (float)texels->sum[c];
    float base = SHARE * squares;
    list_tries(&sums, &suffix, cuts, base, line.error, &tries);
    bc1_fit_batch(&tries.batch, texels->sum, 3, &lines);
    /* Each line found makes fewer of the later cuts worth a try. */
    for (int i = 0; i < tries.batch.count; i++) {
        if (!is_near(tries.gain[i] + base, tries.gain[0] + base, line.error))
            break;
        if (lines.error[i] < line.error)
            line = bc1_batch_line(&lines, i);
    }
    return line;
}
