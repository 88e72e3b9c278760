/* The kernel adpcm_encode: SPU-ADPCM blocks, the best of all filters and shifts for each. */
#include "kernel.h"

#include <string.h>

enum { BLOCK_SAMPLES = 28, BLOCK_BYTES = 16, HEAD_BYTES = 2, FILTERS = 5, SHIFTS = 13 };
enum { LEAST = -32768, GREATEST = 32767 };

/* What the decoder adds of its last two samples, in 64ths. */
static const int32_t LAST[FILTERS] = {0, 60, 115, 98, 122};
static const int32_t BEFORE[FILTERS] = {0, 0, -52, -55, -60};

/* One way to encode a block: what the decoder remembers after it, and the codes. */
typedef struct {
    int32_t last, before;
    uint8_t codes[BLOCK_SAMPLES];
} attempt;

static int32_t within(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Floor of value / 2^bits: the right shift of a negative number is not defined in C99. */
static int32_t floor_shift(int32_t value, int bits)
{
    return value >= 0 ? value >> bits : -((-value + (1 << bits) - 1) >> bits);
}

/* Encode a block with one filter and shift; return the squared error, or `limit` once reached. */
static int64_t try_block(const int32_t *samples, int filter, int shift, int64_t limit, attempt *a)
{
    int64_t error = 0;
    int bits = 12 - shift;
    int32_t half = bits > 0 ? 1 << (bits - 1) : 0;
    for (int i = 0; i < BLOCK_SAMPLES && error < limit; i++) {
        int32_t sum = a->last * LAST[filter] + a->before * BEFORE[filter] + 32;
        int32_t predicted = floor_shift(sum, 6);
        int32_t code = within(floor_shift(samples[i] - predicted + half, bits), -8, 7);
        int32_t decoded = within(code * (1 << bits) + predicted, LEAST, GREATEST);
        int64_t off = samples[i] - decoded;
        a->codes[i] = (uint8_t)(code & 15);
        a->before = a->last;
        a->last = decoded;
        error += off * off;
    }
    return error < limit ? error : limit;
}

static void write_block(const attempt *a, int filter, int shift, uint8_t *block)
{
    block[0] = (uint8_t)(shift | filter << 4);
    block[1] = 0;
    for (int i = 0; i < BLOCK_SAMPLES / 2; i++)
        block[HEAD_BYTES + i] = (uint8_t)(a->codes[2 * i] | a->codes[2 * i + 1] << 4);
}

static void encode_blocks(const int32_t *samples, Py_ssize_t count, int first_filters,
                          uint8_t *blocks)
{
    attempt state;
    memset(&state, 0, sizeof state);
    for (Py_ssize_t row = 0; row < count; row++) {
        attempt best = state;
        int64_t least = INT64_MAX;
        int filters = row == 0 ? first_filters : FILTERS;
        for (int filter = 0; filter < filters; filter++)
            for (int shift = 0; shift < SHIFTS; shift++) {
                attempt next = state;
                int64_t error = try_block(samples, filter, shift, least, &next);
                if (error >= least) /* of equal ones the first is kept */
                    continue;
                least = error;
                best = next;
                write_block(&next, filter, shift, blocks);
            }
        state = best;
        samples += BLOCK_SAMPLES;
        blocks += BLOCK_BYTES;
    }
}

enum { SAMPLES, BLOCKS, ARRAYS };
enum { COUNT = -1 };

static const kernel_array WANTED[ARRAYS] = {
    {"samples", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, BLOCK_SAMPLES}},
    {"blocks", KERNEL_BYTE, KERNEL_OUTPUT, 2, {COUNT, BLOCK_BYTES}},
};

/* Larger numbers would overflow in the sums above. */
static int has_16_bits(const Py_buffer *buffer)
{
    const int32_t *samples = buffer->buf;
    Py_ssize_t count = buffer->len / (Py_ssize_t)sizeof(int32_t);
    for (Py_ssize_t i = 0; i < count; i++)
        if (samples[i] < LEAST || samples[i] > GREATEST) {
            PyErr_Format(PyExc_ValueError, "samples: item %zd is %d, expected %d to %d", i,
                         (int)samples[i], LEAST, GREATEST);
            return 0;
        }
    return 1;
}

PyObject *kernel_adpcm_encode(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *first;
    Py_buffer buffers[ARRAYS];
    Py_ssize_t first_filters;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO:adpcm_encode", &objects[SAMPLES], &first,
                          &objects[BLOCKS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_sound = kernel_number(first, "first_filters", 1, FILTERS, &first_filters) &&
                   has_16_bits(&buffers[SAMPLES]);
    if (is_sound) {
        Py_BEGIN_ALLOW_THREADS
        encode_blocks(buffers[SAMPLES].buf, buffers[SAMPLES].shape[0], (int)first_filters,
                      buffers[BLOCKS].buf);
        Py_END_ALLOW_THREADS
    }
    kernel_release(buffers, ARRAYS);
    if (!is_sound)
        return NULL;
    Py_RETURN_NONE;
}
