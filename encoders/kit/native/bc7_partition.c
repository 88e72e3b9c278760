/* BC7: the partitions of a block into subsets, and which of them promise the least error. */
#include "bc7.h"

#include <math.h>
#include <string.h>

const uint32_t BC7_SUBSETS[2][BC7_PARTITIONS] = {
    {
        0x50505050, 0x40404040, 0x54545454, 0x54505040, 0x50404000, 0x55545450, 0x55545040,
        0x54504000, 0x50400000, 0x55555450, 0x55544000, 0x54400000, 0x55555440, 0x55550000,
        0x55555500, 0x55000000, 0x55150100, 0x00004054, 0x15010000, 0x00405054, 0x00004050,
        0x15050100, 0x05010000, 0x40505054, 0x00404050, 0x05010100, 0x14141414, 0x05141450,
        0x01155440, 0x00555500, 0x15014054, 0x05414150, 0x44444444, 0x55005500, 0x11441144,
        0x05055050, 0x05500550, 0x11114444, 0x41144114, 0x44111144, 0x15055054, 0x01055040,
        0x05041050, 0x05455150, 0x14414114, 0x50050550, 0x41411414, 0x00141400, 0x00041504,
        0x00105410, 0x10541000, 0x04150400, 0x50410514, 0x41051450, 0x05415014, 0x14054150,
        0x41050514, 0x41505014, 0x40011554, 0x54150140, 0x50505500, 0x00555050, 0x15151010,
        0x54540404,
    },
    {
        0xAA685050, 0x6A5A5040, 0x5A5A4200, 0x5450A0A8, 0xA5A50000, 0xA0A05050, 0x5555A0A0,
        0x5A5A5050, 0xAA550000, 0xAA555500, 0xAAAA5500, 0x90909090, 0x94949494, 0xA4A4A4A4,
        0xA9A59450, 0x2A0A4250, 0xA5945040, 0x0A425054, 0xA5A5A500, 0x55A0A0A0, 0xA8A85454,
        0x6A6A4040, 0xA4A45000, 0x1A1A0500, 0x0050A4A4, 0xAAA59090, 0x14696914, 0x69691400,
        0xA08585A0, 0xAA821414, 0x50A4A450, 0x6A5A0200, 0xA9A58000, 0x5090A0A8, 0xA8A09050,
        0x24242424, 0x00AA5500, 0x24924924, 0x24499224, 0x50A50A50, 0x500AA550, 0xAAAA4444,
        0x66660000, 0xA5A0A5A0, 0x50A050A0, 0x69286928, 0x44AAAA44, 0x66666600, 0xAA444444,
        0x54A854A8, 0x95809580, 0x96969600, 0xA85454A8, 0x80959580, 0xAA141414, 0x96960000,
        0xAAAA1414, 0xA05050A0, 0xA0A5A5A0, 0x96000000, 0x40804080, 0xA9A8A9A8, 0xAAAAAA44,
        0x2A4A5254,
    },
};

const uint8_t BC7_ANCHORS[2][2][BC7_PARTITIONS] = {
    {
        {
            15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8,
            8, 15, 2, 8, 2, 2, 8, 8, 2, 2, 15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2,
            2, 15, 15, 6, 6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15, 15, 2, 2, 15,
        },
        {0},
    },
    {
        {
            3, 3, 15, 15, 8, 3, 15, 15, 8, 8, 6, 6, 6, 5, 3, 3, 3, 3, 8, 15, 3, 3,
            6, 10, 5, 8, 8, 6, 8, 5, 15, 15, 8, 15, 3, 5, 6, 10, 8, 15, 15, 3, 15, 5,
            15, 15, 15, 15, 3, 15, 5, 5, 5, 8, 5, 10, 5, 10, 8, 13, 15, 12, 3, 3,
        },
        {
            15, 8, 8, 3, 15, 15, 3, 8, 15, 15, 15, 15, 15, 15, 15, 8, 15, 8, 15, 3, 15, 8,
            15, 8, 3, 15, 6, 10, 15, 15, 10, 8, 15, 3, 15, 10, 10, 8, 9, 10, 6, 15, 8, 15,
            3, 6, 6, 8, 15, 3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3, 15, 15, 8,
        },
    },
};

enum { AXIS_STEPS = 4, LANES = 8, MOST_MOMENTS = BC7_CHANNELS * (BC7_CHANNELS + 1) / 2 };

/* The part of the variance along a line that counts as error: it decides between partitions of
 * colours that lie on a line anyway. */
static const float STEP_ERROR = 1.0f / 512;

static void scale_to_one(float *v, int channels)
{
    float longest = 0.0f;
    for (int c = 0; c < channels; c++)
        longest = fabsf(v[c]) > longest ? fabsf(v[c]) : longest;
    /* Texels of one colour have no axis. */
    if (longest == 0.0f)
        longest = 1.0f;
    for (int c = 0; c < channels; c++)
        v[c] = v[c] / longest;
}

/* The place of a covariance in the upper triangle, which is stored row by row. */
static inline int place(int channels, int i, int j)
{
    int row = i < j ? i : j, column = i < j ? j : i;
    return row * channels - row * (row - 1) / 2 + column - row;
}

void bc7_principal_axis(const float *moment, int channels, float *axis)
{
    int widest = 0;
    for (int c = 1; c < channels; c++)
        if (moment[place(channels, c, c)] > moment[place(channels, widest, widest)])
            widest = c;
    /* Begin with the covariance's row of the channel that varies most. */
    for (int c = 0; c < channels; c++)
        axis[c] = moment[place(channels, widest, c)];
    for (int step = 0; step < AXIS_STEPS; step++) {
        float turned[BC7_CHANNELS];
        /* Float has the range for two products with the covariance, not for four. */
        if (step % 2 == 0)
            scale_to_one(axis, channels);
        for (int i = 0; i < channels; i++) {
            turned[i] = moment[place(channels, i, 0)] * axis[0];
            for (int j = 1; j < channels; j++)
                turned[i] = turned[i] + moment[place(channels, i, j)] * axis[j];
        }
        memcpy(axis, turned, (size_t)channels * sizeof *axis);
    }
    scale_to_one(axis, channels);
}

/* One column for each partition: covariances of a subset times its number of texels. */
typedef float columns[BC7_PARTITIONS];

/* Multiply vectors by their covariances. */
static inline void turn(columns *moment, int channels, columns *v, columns *turned)
{
    for (int i = 0; i < channels; i++)
        for (int p = 0; p < BC7_PARTITIONS; p++) {
            turned[i][p] = moment[place(channels, i, 0)][p] * v[0][p];
            for (int j = 1; j < channels; j++)
                turned[i][p] = turned[i][p] + moment[place(channels, i, j)][p] * v[j][p];
        }
}

/* The rows of the channels that vary most, scaled so that their largest component is 1. */
static inline void widest_rows(columns *moment, int channels, columns *v)
{
    for (int p = 0; p < BC7_PARTITIONS; p++) {
        float most = moment[0][p];
        for (int c = 0; c < channels; c++)
            v[c][p] = moment[place(channels, 0, c)][p];
        for (int i = 1; i < channels; i++) {
            float width = moment[place(channels, i, i)][p];
            for (int c = 0; c < channels; c++) {
                float other = moment[place(channels, i, c)][p];
                v[c][p] = width > most ? other : v[c][p];
            }
            most = width > most ? width : most;
        }
        /* No covariance is larger than the largest variance. */
        most = most > 0.0f ? most : 1.0f;
        for (int c = 0; c < channels; c++)
            v[c][p] = v[c][p] / most;
    }
}

/* Add what a line through the mean leaves of the squared distances from it. */
static inline void add_residues(columns *moment, int channels, const float *count, float *left)
{
    columns first[BC7_CHANNELS], axis[BC7_CHANNELS], turned[BC7_CHANNELS];
    widest_rows(moment, channels, first);
    turn(moment, channels, first, axis);
    turn(moment, channels, axis, turned);
    for (int p = 0; p < BC7_PARTITIONS; p++) {
        float trace = 0.0f, along = 0.0f, square = 0.0f;
        for (int c = 0; c < channels; c++) {
            trace = trace + moment[place(channels, c, c)][p];
            along = along + axis[c][p] * turned[c][p];
            square = square + axis[c][p] * axis[c][p];
        }
        square = square > 0.0f ? square : 1.0f;
        left[p] = left[p] + (trace - along / square * (1.0f - STEP_ERROR)) / count[p];
    }
}

/* Sum one value of each texel over the members of a subset, and take it from the rest. */
static inline void sum_members(const float *value, columns *members, float *rest, float *sum)
{
    /* Partitions in eights, in a local array, so that the compiler vectorises. */
    for (int start = 0; start < BC7_PARTITIONS; start += LANES) {
        float total[LANES] = {0.0f};
        for (int t = 0; t < BC7_TEXELS; t++)
            for (int k = 0; k < LANES; k++)
                total[k] += value[t] * members[t][start + k];
        for (int k = 0; k < LANES; k++) {
            sum[start + k] = total[k];
            rest[start + k] -= total[k];
        }
    }
}

static inline void sum_texels(const float *value, float *sum)
{
    float total = 0.0f;
    for (int t = 0; t < BC7_TEXELS; t++)
        total += value[t];
    for (int p = 0; p < BC7_PARTITIONS; p++)
        sum[p] = total;
}

enum { MOST_SUMS = BC7_CHANNELS + MOST_MOMENTS };

/* The channels, then the products of two. */
static inline void texel_values(const bc7_points *points, int channels, float value[][BC7_TEXELS])
{
    memcpy(value, points->color, (size_t)channels * sizeof *value);
    for (int i = 0; i < channels; i++)
        for (int j = i; j < channels; j++)
            for (int t = 0; t < BC7_TEXELS; t++)
                value[channels + place(channels, i, j)][t] =
                    points->color[i][t] * points->color[j][t];
}

static inline void add_subset(columns *sum, const float *count, int channels, float *left)
{
    columns moment[MOST_MOMENTS];
    for (int i = 0; i < channels; i++)
        for (int j = i; j < channels; j++)
            for (int p = 0; p < BC7_PARTITIONS; p++) {
                int at = place(channels, i, j);
                moment[at][p] = count[p] * sum[channels + at][p] - sum[i][p] * sum[j][p];
            }
    add_residues(moment, channels, count, left);
}

static inline void estimate(const bc7_points *points, bc7_members *of, int channels, int subsets,
                            float *left)
{
    float value[MOST_SUMS][BC7_TEXELS];
    columns sum[MOST_SUMS], rest[MOST_SUMS];
    int sums = channels + channels * (channels + 1) / 2;
    texel_values(points, channels, value);
    for (int p = 0; p < BC7_PARTITIONS; p++)
        left[p] = 0.0f;
    for (int k = 0; k < sums; k++)
        sum_texels(value[k], rest[k]);
    for (int s = subsets - 1; s > 0; s--) {
        for (int k = 0; k < sums; k++)
            sum_members(value[k], of->member[subsets - 2][s], rest[k], sum[k]);
        add_subset(sum, of->count[subsets - 2][s], channels, left);
    }
    /* The first subset is what the others leave. */
    add_subset(rest, of->count[subsets - 2][0], channels, left);
}

void bc7_estimate_partitions(const bc7_points *points, bc7_members *of, int channels, int subsets,
                             float *left)
{
    /* Copies with a constant number of channels, for the compiler to unroll. */
    if (channels == 3)
        estimate(points, of, 3, subsets, left);
    else
        estimate(points, of, 4, subsets, left);
}

void bc7_list_members(bc7_members *of)
{
    memset(of, 0, sizeof *of);
    for (int subsets = 2; subsets <= BC7_MOST_SUBSETS; subsets++)
        for (int p = 0; p < BC7_PARTITIONS; p++)
            for (int t = 0; t < BC7_TEXELS; t++) {
                int s = (int)(BC7_SUBSETS[subsets - 2][p] >> 2 * t & 3);
                of->member[subsets - 2][s][t][p] = 1.0f;
                of->count[subsets - 2][s][p] += 1.0f;
            }
}
