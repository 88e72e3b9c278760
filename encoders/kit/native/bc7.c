/* The kernel bc7_encode: tries the modes that suit a block and writes the best. */
#include "bc7.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXEL_BYTES = 64, BLOCK_BYTES = 16, ROTATIONS = 4 };
enum { ALPHA = 3, OPAQUE = 255 };
/* More than any squared error. */
static const float FAR_AWAY = 1e9f;
/* A partition is left out where even this part of its estimated error is too much. */
static const float HOPE = 0.4f;
/* Nothing is left out for blocks of so few colours: palettes may meet them exactly in the end. */
enum { FEW = 4 };

/* Modes of one, two and three subsets are not tried where the squared error is no more than this:
 * their endpoints are too coarse to be better. */
static const float ENOUGH[BC7_MOST_SUBSETS] = {0.0f, 0.0f, 32.0f};

/* A mode whose channels share one index: the bits of its partition, how many partitions are tried
 * its palette. */
typedef struct {
    int mode, subsets, partition_bits, tries, channels;
    bc7_palette palette;
} joint_mode;

/* A mode in which one channel has indices of its own. */
typedef struct {
    int mode, has_selector, swaps;
    bc7_palette color, alone;
} split_mode;

/* Colours only: alpha is 255 in all of these modes. */
static const joint_mode OPAQUE_MODES[] = {
    {6, 1, 0, 1, 3, {7, BC7_SET_BIT, 4}},     {1, 2, 6, 4, 3, {6, BC7_SHARED_BIT, 3}},
    {3, 2, 6, 6, 3, {7, BC7_OWN_BIT, 2}},     {0, 3, 4, 2, 3, {4, BC7_OWN_BIT, 3}},
    {2, 3, 6, 2, 3, {5, BC7_NO_BIT, 2}},
};
static const joint_mode ALPHA_MODES[] = {
    {6, 1, 0, 1, 4, {7, BC7_OWN_BIT, 4}},
    {7, 2, 6, 8, 4, {5, BC7_OWN_BIT, 2}},
};
static const split_mode SPLIT_MODES[] = {
    {5, 0, 0, {7, BC7_NO_BIT, 2}, {8, BC7_NO_BIT, 2}},
    {4, 1, 0, {5, BC7_NO_BIT, 2}, {6, BC7_NO_BIT, 3}},
    {4, 1, 1, {5, BC7_NO_BIT, 3}, {6, BC7_NO_BIT, 2}},
};

typedef struct {
    uint64_t half[2];
    int used;
} bit_writer;

static void put(bit_writer *to, uint32_t value, int bits)
{
    for (int k = 0; k < bits; k++, to->used++)
        to->half[to->used >> 6] |= (uint64_t)(value >> k & 1) << (to->used & 63);
}

/* The best block so far, and the part of an estimated error that may be too much. */
typedef struct {
    float error, hope;
    uint8_t *block;
} best_block;

static void keep(best_block *best, const bit_writer *bits, float error)
{
    best->error = error;
    for (int k = 0; k < BLOCK_BYTES; k++)
        best->block[k] = (uint8_t)(bits->half[k >> 3] >> 8 * (k & 7));
}

/* Swap the ends where the index of the subset's anchor would need its highest bit. */
static void turn_line(bc7_fit *fit, int anchor, int lanes, int index_bits)
{
    int top = (1 << index_bits) - 1, level[BC7_CHANNELS];
    if (fit->index[anchor] <= top / 2)
        return;
    memcpy(level, fit->level[0], sizeof level);
    memcpy(fit->level[0], fit->level[1], sizeof level);
    memcpy(fit->level[1], level, sizeof level);
    for (int t = 0; t < lanes; t++)
        fit->index[t] = top - fit->index[t];
}

static bc7_points take_subset(const bc7_points *all, int channels, uint32_t subsets, uint32_t one)
{
    bc7_points taken;
    taken.count = 0;
    for (int t = 0; t < BC7_TEXELS; t++)
        if ((subsets >> 2 * t & 3) == one)
            taken.texel[taken.count++] = t;
    taken.lanes = (taken.count + 3) / 4 * 4;
    for (int t = 0; t < taken.lanes; t++) {
        int from = taken.texel[t < taken.count ? t : 0];
        taken.live[t] = t < taken.count ? 1.0f : 0.0f;
        for (int c = 0; c < channels; c++)
            taken.color[c][t] = all->color[c][from];
    }
    return taken;
}

static void put_levels(bit_writer *to, const joint_mode *mode, const bc7_fit *fits)
{
    int has_low = mode->palette.low_bit != BC7_NO_BIT;
    for (int c = 0; c < mode->channels; c++)
        for (int s = 0; s < mode->subsets; s++)
            for (int e = 0; e < 2; e++)
                put(to, (uint32_t)(fits[s].level[e][c] >> has_low), mode->palette.bits);
    if (mode->palette.low_bit == BC7_SET_BIT)
        put(to, (1u << 14) - 1, 14); /* both ends of alpha */
    if (!has_low)
        return;
    for (int s = 0; s < mode->subsets; s++)
        for (int e = 0; e < (mode->palette.low_bit == BC7_SHARED_BIT ? 1 : 2); e++)
            put(to, (uint32_t)(fits[s].level[e][0] & 1), 1);
}

/* Write the block of a joint mode. */
static bit_writer pack_joint(const joint_mode *mode, int partition, bc7_fit *fits,
                             const bc7_points *points)
{
    bit_writer to = {{0, 0}, 0};
    int index[BC7_TEXELS], is_anchor[BC7_TEXELS] = {1}, bits = mode->palette.index_bits;
    for (int s = 0; s < mode->subsets; s++) {
        int anchor = s == 0 ? 0 : BC7_ANCHORS[mode->subsets - 2][s - 1][partition], lane = 0;
        is_anchor[anchor] = 1;
        while (points[s].texel[lane] != anchor)
            lane++;
        turn_line(&fits[s], lane, points[s].count, bits);
        for (int t = 0; t < points[s].count; t++)
            index[points[s].texel[t]] = fits[s].index[t];
    }
    put(&to, 1u << mode->mode, mode->mode + 1);
    put(&to, (uint32_t)partition, mode->partition_bits);
    put_levels(&to, mode, fits);
    for (int t = 0; t < BC7_TEXELS; t++)
        put(&to, (uint32_t)index[t], bits - is_anchor[t]);
    return to;
}

static void try_partition(const bc7_points *all, const joint_mode *mode, int partition,
                          best_block *best)
{
    bc7_points points[BC7_MOST_SUBSETS];
    bc7_fit fits[BC7_MOST_SUBSETS];
    float error = 0.0f;
    uint32_t subsets = mode->subsets == 1 ? 0 : BC7_SUBSETS[mode->subsets - 2][partition];
    /* Once the error is as large as the best one, the rest does not matter. */
    for (int s = 0; s < mode->subsets && error < best->error; s++) {
        points[s] = take_subset(all, mode->channels, subsets, (uint32_t)s);
        fits[s] = bc7_fit_palette(&points[s], &mode->palette, mode->channels,
                                  best->hope > 0.0f ? best->error - error : FAR_AWAY);
        error += fits[s].error;
    }
    if (error < best->error) {
        bit_writer bits = pack_joint(mode, partition, fits, points);
        keep(best, &bits, error);
    }
}

/* Try the partitions with the least estimated errors, best first. */
static void try_joint(const bc7_points *all, const joint_mode *mode, const float *estimated,
                      best_block *best)
{
    float left[BC7_PARTITIONS];
    int partitions = 1 << mode->partition_bits;
    memcpy(left, estimated, sizeof left);
    for (int rank = 0; rank < mode->tries; rank++) {
        int least = 0;
        for (int p = 1; p < partitions; p++)
            if (left[p] < left[least])
                least = p;
        if (left[least] * best->hope >= best->error)
            return;
        left[least] = INFINITY;
        try_partition(all, mode, least, best);
    }
}

static void put_indices(bit_writer *to, const bc7_fit *fit, int bits)
{
    for (int t = 0; t < BC7_TEXELS; t++)
        put(to, (uint32_t)fit->index[t], t == 0 ? bits - 1 : bits);
}

static bit_writer pack_split(const split_mode *mode, int rotation, bc7_fit *color, bc7_fit *alone)
{
    bit_writer to = {{0, 0}, 0};
    turn_line(color, 0, BC7_TEXELS, mode->color.index_bits);
    turn_line(alone, 0, BC7_TEXELS, mode->alone.index_bits);
    put(&to, 1u << mode->mode, mode->mode + 1);
    put(&to, (uint32_t)rotation, 2);
    put(&to, (uint32_t)mode->swaps, mode->has_selector);
    for (int c = 0; c < ALPHA; c++)
        for (int e = 0; e < 2; e++)
            put(&to, (uint32_t)color->level[e][c], mode->color.bits);
    for (int e = 0; e < 2; e++)
        put(&to, (uint32_t)alone->level[e][0], mode->alone.bits);
    /* The selector says that the longer indices are those of the colours. */
    put_indices(&to, mode->swaps ? alone : color,
                mode->swaps ? mode->alone.index_bits : mode->color.index_bits);
    put_indices(&to, mode->swaps ? color : alone,
                mode->swaps ? mode->color.index_bits : mode->alone.index_bits);
    return to;
}

/* Rotation r stores channel r - 1 apart, and alpha in its place. */
static void try_split(const bc7_points *all, const split_mode *mode, int rotation,
                      best_block *best)
{
    bc7_points color = *all, alone = *all;
    int apart = rotation == 0 ? ALPHA : rotation - 1;
    memcpy(alone.color[0], all->color[apart], sizeof alone.color[0]);
    memcpy(color.color[apart], all->color[ALPHA], sizeof color.color[0]);
    bc7_fit one = bc7_fit_palette(&color, &mode->color, 3, best->error);
    if (one.error >= best->error)
        return;
    bc7_fit other = bc7_fit_palette(&alone, &mode->alone, 1, best->error - one.error);
    if (one.error + other.error < best->error) {
        bit_writer bits = pack_split(mode, rotation, &one, &other);
        keep(best, &bits, one.error + other.error);
    }
}

/* The squared error that a line through two colours would have without rounding. */
static float pair_residue(const bc7_points *all, int rotation)
{
    const float *x = all->color[rotation % 3], *y = all->color[(rotation + 1) % 3];
    float xs = 0.0f, ys = 0.0f, xx = 0.0f, xy = 0.0f, yy = 0.0f;
    for (int t = 0; t < BC7_TEXELS; t++) {
        xs += x[t];
        ys += y[t];
        xx += x[t] * x[t];
        xy += x[t] * y[t];
        yy += y[t] * y[t];
    }
    xx = BC7_TEXELS * xx - xs * xs;
    xy = BC7_TEXELS * xy - xs * ys;
    yy = BC7_TEXELS * yy - ys * ys;
    float apart = xx - yy, root = sqrtf(apart * apart + 4.0f * xy * xy);
    return (xx + yy - root) * (0.5f / BC7_TEXELS);
}

static int unpack_texels(const uint8_t *rgba, bc7_points *points)
{
    int is_opaque = 1;
    points->count = points->lanes = BC7_TEXELS;
    for (int t = 0; t < BC7_TEXELS; t++) {
        points->texel[t] = t;
        points->live[t] = 1.0f;
        for (int c = 0; c < BC7_CHANNELS; c++)
            points->color[c][t] = (float)rgba[4 * t + c];
        is_opaque &= rgba[4 * t + ALPHA] == OPAQUE;
    }
    return is_opaque;
}

/* Tell whether a block has no more than a few distinct texels. */
static int has_few_colors(const uint8_t *rgba)
{
    uint32_t found[FEW], color;
    int count = 0;
    for (int t = 0; t < BC7_TEXELS; t++) {
        int known = 0;
        memcpy(&color, rgba + 4 * t, sizeof color);
        while (known < count && found[known] != color)
            known++;
        if (known == FEW)
            return 0;
        if (known == count)
            found[count++] = color;
    }
    return 1;
}

static void encode_block(const uint8_t *rgba, bc7_members *members, uint8_t *block)
{
    bc7_points all;
    best_block best = {FAR_AWAY, has_few_colors(rgba) ? 0.0f : HOPE, block};
    float left[BC7_PARTITIONS] = {0.0f};
    int is_opaque = unpack_texels(rgba, &all);
    const joint_mode *modes = is_opaque ? OPAQUE_MODES : ALPHA_MODES;
    int count = (int)(is_opaque ? sizeof OPAQUE_MODES : sizeof ALPHA_MODES) / (int)sizeof *modes;
    for (int m = 0; m < count; m++) {
        int subsets = modes[m].subsets;
        if (best.error <= ENOUGH[subsets - 1])
            continue;
        if (subsets > 1 && modes[m - 1].subsets < subsets)
            bc7_estimate_partitions(&all, members, modes[m].channels, subsets, left);
        try_joint(&all, &modes[m], left, &best);
    }
    for (int rotation = is_opaque; rotation < ROTATIONS; rotation++) {
        /* All that a line leaves of the two colours that are not apart. */
        if (is_opaque && pair_residue(&all, rotation) >= best.error)
            continue;
        for (int m = 0; m < (is_opaque ? 1 : 3); m++)
            try_split(&all, &SPLIT_MODES[m], rotation, &best);
    }
}

static void encode_blocks(const uint8_t *texels, bc7_members *members, uint8_t *blocks,
                          Py_ssize_t count)
{
    bc7_list_members(members);
    for (Py_ssize_t i = 0; i < count; i++)
        encode_block(texels + i * TEXEL_BYTES, members, blocks + i * BLOCK_BYTES);
}

enum { TEXELS_IN, BLOCKS, ARRAYS };
enum { COUNT = -1 };

static const kernel_array WANTED[ARRAYS] = {
    {"texels", KERNEL_BYTE, KERNEL_INPUT, 2, {COUNT, TEXEL_BYTES}},
    {"blocks", KERNEL_BYTE, KERNEL_OUTPUT, 2, {COUNT, BLOCK_BYTES}},
};

PyObject *kernel_bc7_encode(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO:bc7_encode", &objects[TEXELS_IN], &objects[BLOCKS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    bc7_members *members = malloc(sizeof *members);
    if (members == NULL) {
        kernel_release(buffers, ARRAYS);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    encode_blocks(buffers[TEXELS_IN].buf, members, buffers[BLOCKS].buf, buffers[BLOCKS].shape[0]);
    Py_END_ALLOW_THREADS
    free(members);
    kernel_release(buffers, ARRAYS);
    Py_RETURN_NONE;
}
