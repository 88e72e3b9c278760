/* The kernel bc1_encode: blocks of 16 RGBA texels, alpha 0 or 255, to 8-byte BC1 blocks. */
#include "kernel.h"

#include "bc1.h"

#include <string.h>

enum { BLOCK_BYTES = 8, TEXEL_BYTES = 4 * TEXELS, EQUAL = 0, GREATER = 1, LESS = 2 };

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
    texels.steps = texels.count == TEXELS ? 3 : 2;
    return texels;
}

static void put_word(uint8_t *to, uint32_t word)
{
    to[0] = (uint8_t)word;
    to[1] = (uint8_t)(word >> 8);
}

static void pack_block(const bc1_texels *texels, const bc1_line *line, uint8_t *block)
{
    int16_t steps[TEXELS];
    uint32_t packed = 0;
    uint32_t a = (uint32_t)(line->a[0] << 11 | line->a[1] << 5 | line->a[2]);
    uint32_t b = (uint32_t)(line->b[0] << 11 | line->b[1] << 5 | line->b[2]);
    int order = a == b ? EQUAL : a > b ? GREATER : LESS, opaque_mode = texels->steps == 3;
    const uint32_t *index = opaque_mode ? OPAQUE_INDEX[order] : CUT_OUT_INDEX[order];
    bc1_nearest_steps(texels, line, steps);
    for (int t = 0; t < TEXELS; t++)
        packed |= (texels->opaque[t] ? index[steps[t]] : 3u) << (2 * t);
    put_word(block, (order == GREATER) == opaque_mode ? a : b);
    put_word(block + 2, (order == GREATER) == opaque_mode ? b : a);
    put_word(block + 4, packed);
    put_word(block + 6, packed >> 16);
}

static void encode_block(const uint8_t *rgba, const bc1_table table, int best, uint8_t *block)
{
    bc1_texels texels = unpack_texels(rgba);
    if (texels.count == 0) {
        memcpy(block, TRANSPARENT, BLOCK_BYTES);
        return;
    }
    bc1_line line = bc1_refine(&texels, table);
    if (best)
        line = bc1_search(&texels, line);
    pack_block(&texels, &line, block);
}

static void encode_blocks(const Py_buffer *texels, const bc1_table table, int best,
                          Py_buffer *blocks)
{
    const uint8_t *from = texels->buf;
    uint8_t *to = blocks->buf;
    for (Py_ssize_t i = 0; i < blocks->len / BLOCK_BYTES; i++)
        encode_block(from + i * TEXEL_BYTES, table, best, to + i * BLOCK_BYTES);
}

PyObject *kernel_bc1_encode(PyObject *module, PyObject *arguments)
{
    Py_buffer buffers[3];
    int best, sound;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*pw*:bc1_encode", &buffers[0], &buffers[1], &best,
                          &buffers[2]))
        return NULL;
    Py_ssize_t count = buffers[2].len / BLOCK_BYTES;
    sound = kernel_expect(&buffers[2], count * BLOCK_BYTES, 1, "blocks") &&
            kernel_expect(&buffers[0], count * TEXEL_BYTES, 1, "texels") &&
            kernel_expect(&buffers[1], sizeof(bc1_table), 1, "table");
    if (sound) {
        Py_BEGIN_ALLOW_THREADS
        encode_blocks(&buffers[0], *(const bc1_table *)buffers[1].buf, best, &buffers[2]);
        Py_END_ALLOW_THREADS
    }
    kernel_release(buffers, 3);
    if (!sound)
        return NULL;
    Py_RETURN_NONE;
}
