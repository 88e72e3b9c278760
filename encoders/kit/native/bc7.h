/* BC7: what the files of the kernel bc7_encode share; the reference is
 * encoders/kit/image/bc/bc7_reference.py.
 *
 * Floats hold whole numbers below 2^24 wherever they are summed, so those sums are exact in any
 * order. All other float operations are done in the order of the reference.
 */
#ifndef CARTWRIGHT_BC7_H
#define CARTWRIGHT_BC7_H

#include "kernel.h"

enum { BC7_TEXELS = 16, BC7_CHANNELS = 4, BC7_PARTITIONS = 64, BC7_MOST_SUBSETS = 3 };

/* How the lowest bit of an endpoint's levels is stored: part of each level, one bit per endpoint,
 * one per pair, or one per endpoint that has to be 1 (so that an alpha of 255 is possible). */
typedef enum { BC7_NO_BIT, BC7_OWN_BIT, BC7_SHARED_BIT, BC7_SET_BIT } bc7_low_bit;

/* A palette: bits of a level without the low bit, and bits of an index. */
typedef struct {
    int bits;
    bc7_low_bit low_bit;
    int index_bits;
} bc7_palette;

/* Texels of one subset by channel. Lanes up to a multiple of four repeat the first texel; `live`
 * is 0 for them and 1 for all others. */
typedef struct {
    float color[BC7_CHANNELS][BC7_TEXELS];
    float live[BC7_TEXELS];
    int texel[BC7_TEXELS];
    int count, lanes;
} bc7_points;

/* A fitted palette: levels with their low bits, an index for each lane, the squared error. */
typedef struct {
    int level[2][BC7_CHANNELS];
    int32_t index[BC7_TEXELS];
    float error;
} bc7_fit;

/* For each partition into two or three subsets, two bits a texel: the subset. */
extern const uint32_t BC7_SUBSETS[2][BC7_PARTITIONS];
/* The texel of the second and of the third subset whose index lacks its highest bit. */
extern const uint8_t BC7_ANCHORS[2][2][BC7_PARTITIONS];

/* Weights are 64ths of the second endpoint, by the bits of an index. */
extern const int BC7_WEIGHTS[5][16];

/* Expand a level to 8 bits by repeating its high bits. */
static inline int bc7_expand(int level, int bits)
{
    return level << (8 - bits) | level >> (2 * bits - 8);
}

/* Set the levels near `ends` that have the least error with the indices of `fit`. */
void bc7_polish_levels(const bc7_points *points, const bc7_palette *palette, int channels,
                       float (*ends)[BC7_CHANNELS], bc7_fit *fit);

/* Fit a palette to the first `channels` (1, 3 or 4) channels of some texels. An error of `limit` or
 * more is of no use, so a palette that is far from it may be returned as it is. */
bc7_fit bc7_fit_palette(const bc7_points *points, const bc7_palette *palette, int channels,
                        float limit);

/* By number of subsets, subset, texel and partition: 1 for members of the subset, else 0. */
typedef struct {
    float member[2][BC7_MOST_SUBSETS][BC7_TEXELS][BC7_PARTITIONS];
    float count[2][BC7_MOST_SUBSETS][BC7_PARTITIONS];
} bc7_members;

void bc7_list_members(bc7_members *of);

/* Set `left` to the squared error that lines without rounding would have, for every partition. */
void bc7_estimate_partitions(const bc7_points *points, bc7_members *of, int channels, int subsets,
                             float *left);

/* The largest component of the covariance's principal axis is 1; 0 where all texels are equal.
 * `moment` has the upper triangle of the covariance, row by row. */
void bc7_principal_axis(const float *moment, int channels, float *axis);

#endif
