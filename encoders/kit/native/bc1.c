/* The kernel bc1_encode: blocks of 16 RGBA texels, alpha 0 or 255, to 8-byte BC1 blocks. */
#include "kernel.h"

#include "bc1.h"

#include <string.h>

enum { BLOCK_BYTES = 8, TEXEL_BYTES = 4 * TEXELS, EQUAL = 0, GREATER = 1, LESS = 2 };

/* Blocks of so many colours have few cuts: by default too, all of them are tried. */
enum { FEW_COLORS = 5 };

static const uint8_t TRANSPARENT[BLOCK_BYTES] = {0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};

/* From a step to the index in the block, by the word of a compared with that of b. */
static const uint32_t OPAQUE_INDEX[3][4] = {{0, 0, 0, 0}, {0, 2, 3, 1}, {1, 3, 2, 0}};
static const uint32_t CUT_OUT_INDEX[3][4] = {{0, 0, 0, 0}, {1, 2, 0, 0}, {0, 2, 1, 0}};

static bc1_texels unpack_texels(const uint8_t *rgba)
{
    bc1_texels texels;
    texels.count = 0;
    for (int c = 0; c < 3; c++)
        texels.sum[c] = 0;
    for (int t = 0; t < TEXELS; t++) {
        texels.opaque[t] = rgba[4 * t + 3] != 0;
        texels.count += texels.opaque[t];
    }
    for (int c = 0; c < 3; c++)
        for (int t = 0; t < TEXELS; t++) {
            texels.color[c][t] = (int16_t)(rgba[4 * t + c] * texels.opaque[t]);
            texels.sum[c] += texels.color[c][t];
        }
    /* One transparent texel makes the block use the three-colour mode. */
    texels.steps = texels.count == TEXELS ? 3 : 2;
    bc1_principal_axis(&texels);
    return texels;
}

static void put_word(uint8_t *to, uint32_t word)
{
    to[0] = (uint8_t)word;
    to[1] = (uint8_t)(word >> 8);
}

static void pack_block(const bc1_texels *texels, const bc1_line *line, const int16_t steps[TEXELS],
                       uint8_t *block)
{
    uint32_t packed = 0;
    uint32_t a = (uint32_t)(line->a[0] << 11 | line->a[1] << 5 | line->a[2]);
    uint32_t b = (uint32_t)(line->b[0] << 11 | line->b[1] << 5 | line->b[2]);
    int order = a == b ? EQUAL : a > b ? GREATER : LESS, opaque_mode = texels->steps == 3;
    const uint32_t *index = opaque_mode ? OPAQUE_INDEX[order] : CUT_OUT_INDEX[order];
    for (int t = 0; t < TEXELS; t++)
        /* Index 3 of the three-colour mode is transparent. */
        packed |= (texels->opaque[t] ? index[steps[t]] : 3u) << (2 * t);
    /* The decoder takes the mode from the order of the words: greater first means four colours. */
    put_word(block, (order == GREATER) == opaque_mode ? a : b);
    put_word(block + 2, (order == GREATER) == opaque_mode ? b : a);
    put_word(block + 4, packed);
    put_word(block + 6, packed >> 16);
}

/* By all cuts where they are few, else by the likely ones. */
static void encode_soon(const bc1_texels *texels, const bc1_table table, const bc1_cuts *cuts,
                        uint8_t *block)
{
    int16_t steps[TEXELS];
    bc1_line line = bc1_refine(texels, table);
    if (bc1_has_at_most(texels, FEW_COLORS))
        line = bc1_search(texels, line);
    else if (texels->steps == 3)
        line = bc1_scan(texels, cuts, line);
    bc1_nearest_steps(texels, &line, steps);
    pack_block(texels, &line, steps, block);
}

static bc1_line best_line(const bc1_texels *texels, const bc1_table table)
{
    return bc1_polish(texels, bc1_search(texels, bc1_refine(texels, table)));
}

/* By all cuts and small steps, in both modes where no texel is transparent. */
static void encode_best(bc1_texels *texels, const bc1_table table, uint8_t *block)
{
    int16_t steps[TEXELS];
    bc1_line line = best_line(texels, table);
    if (texels->steps == 3 && line.error > 0) {
        texels->steps = 2;
        bc1_line other = best_line(texels, table);
        if (other.error < line.error)
            line = other;
        else
            texels->steps = 3;
    }
    bc1_shown_steps(texels, &line, steps);
    pack_block(texels, &line, steps, block);
}

static void encode_block(const uint8_t *rgba, const bc1_table table, const bc1_cuts *cuts, int best,
                         uint8_t *block)
{
    bc1_texels texels = unpack_texels(rgba);
    if (texels.count == 0)
        memcpy(block, TRANSPARENT, BLOCK_BYTES);
    else if (best)
        encode_best(&texels, table, block);
    else
        encode_soon(&texels, table, cuts, block);
}

static void encode_blocks(const uint8_t *texels, const bc1_table table, int best, uint8_t *blocks,
                          Py_ssize_t count)
{
    bc1_cuts cuts;
    bc1_fill_cuts(&cuts);
    for (Py_ssize_t i = 0; i < count; i++)
        encode_block(texels + i * TEXEL_BYTES, table, &cuts, best, blocks + i * BLOCK_BYTES);
}

/* Is every level of the table one of its channel's? Larger ones would overflow the errors. */
static int are_levels(const Py_buffer *buffer)
{
    const bc1_table *table = buffer->buf;
    for (int mode = 0; mode < 2; mode++)
        for (int c = 0; c < 3; c++)
            for (int value = 0; value < 256; value++)
                for (int end = 0; end < 2; end++) {
                    int level = (*table)[mode][c][value][end], top = (int)BC1_TOP[c];
                    if (level > top) {
                        PyErr_Format(PyExc_ValueError,
                                     "table: [%d, %d, %d, %d] is %d, expected 0 to %d", mode, c,
                                     value, end, level, top);
                        return 0;
                    }
                }
    return 1;
}

enum { TEXELS_IN, TABLE, BLOCKS, ARRAYS };
enum { COUNT = -1 };

static const kernel_array WANTED[ARRAYS] = {
    {"texels", KERNEL_BYTE, KERNEL_INPUT, 2, {COUNT, TEXEL_BYTES}},
    {"table", KERNEL_BYTE, KERNEL_INPUT, 4, {2, 3, 256, 2}},
    {"blocks", KERNEL_BYTE, KERNEL_OUTPUT, 2, {COUNT, BLOCK_BYTES}},
};

PyObject *kernel_bc1_encode(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    int best;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOpO:bc1_encode", &objects[TEXELS_IN], &objects[TABLE],
                          &best, &objects[BLOCKS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_sound = are_levels(&buffers[TABLE]);
    if (is_sound) {
        Py_BEGIN_ALLOW_THREADS
        encode_blocks(buffers[TEXELS_IN].buf, *(const bc1_table *)buffers[TABLE].buf, best,
                      buffers[BLOCKS].buf, buffers[BLOCKS].shape[0]);
        Py_END_ALLOW_THREADS
    }
    kernel_release(buffers, ARRAYS);
    if (!is_sound)
        return NULL;
    Py_RETURN_NONE;
}
