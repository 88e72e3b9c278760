/* The kernel qoa_encode: mono 16-bit samples as slices of the QOA codec, 3.2 bits a sample. */
#include "kernel.h"

#include <stdlib.h>

enum { SLICE_SAMPLES = 20, FRAME_SAMPLES = 256 * SLICE_SAMPLES, SCALES = 16, CODES = 8, ORDER = 4 };

static const int32_t SCALE[SCALES] = {1,   7,   21,  45,  84,   138,  211,  304,
                                      421, 562, 731, 928, 1157, 1419, 1715, 2048};
/* The code of a residual of -8 to 8 scale factors; even codes are positive. */
static const uint8_t CODE[17] = {7, 7, 7, 5, 5, 3, 3, 1, 0, 0, 2, 2, 4, 4, 6, 6, 6};
/* The magnitudes of codes 0/1, 2/3, 4/5, 6/7 in quarters of a scale factor. */
static const int32_t QUARTER[CODES / 2] = {3, 10, 18, 28};

/* Weights beyond this size add a penalty, at most of the square of the limit. */
enum { LARGE_WEIGHTS = 0x8FF, PENALTY_LIMIT = 1 << 24 };

/* The predictor's state. Unsigned, because sums wrap around at 32 bits in the console's encoder. */
typedef struct {
    int32_t history[ORDER];
    uint32_t weights[ORDER];
} predictor;

/* A slice encoded at one scale, with the state behind it. */
typedef struct {
    int scale;
    int64_t error;
    uint64_t word;
    predictor after;
} trial;

/* The samples of a slice, and whether to take the nearest codes. */
typedef struct {
    const int32_t *samples;
    int count;
    int best;
} slice;

/* Shifts of negative numbers are the compiler's choice in C; this rounds down everywhere. */
static int32_t shift_down(int32_t value, int bits)
{
    return value >= 0 ? value >> bits : ~(~value >> bits);
}

static int32_t to_signed(uint32_t value)
{
    return value <= INT32_MAX ? (int32_t)value : -(int32_t)(UINT32_MAX - value) - 1;
}

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The code whose step is nearest to a residual, the lowest of equal ones. */
static int nearest_code(int32_t residual, const int32_t *step)
{
    int best = 0;
    for (int code = 1; code < CODES; code++)
        if (abs(residual - step[code]) < abs(residual - step[best]))
            best = code;
    return best;
}

/* What large weights add to the error: they let later guesses run away. */
static int64_t weight_penalty(const predictor *state)
{
    int64_t size = -LARGE_WEIGHTS;
    for (int i = 0; i < ORDER; i++) {
        int64_t weight = to_signed(state->weights[i]);
        size += weight * weight >> 18;
    }
    size = size < 0 ? 0 : size > PENALTY_LIMIT ? PENALTY_LIMIT : size;
    return size * size;
}

/* Encode one sample at a scale; return its code. */
static int encode_sample(int32_t sample, const int32_t *step, int best, trial *t)
{
    predictor *state = &t->after;
    uint32_t sum = 0;
    for (int i = 0; i < ORDER; i++)
        sum += (uint32_t)state->history[i] * state->weights[i];
    int32_t guess = shift_down(to_signed(sum), 13);
    /* C's division rounds towards zero, as the console's encoder does. */
    int code = best ? nearest_code(sample - guess, step)
                    : CODE[clamp((sample - guess) / SCALE[t->scale], -8, 8) + 8];
    int32_t decoded = clamp(guess + step[code], INT16_MIN, INT16_MAX);
    int64_t off = (int64_t)sample - decoded;
    uint32_t delta = (uint32_t)shift_down(step[code], 4);
    t->error += off * off + (best ? weight_penalty(state) : 0);
    for (int i = 0; i < ORDER; i++)
        state->weights[i] += state->history[i] < 0 ? 0u - delta : delta;
    for (int i = 0; i + 1 < ORDER; i++)
        state->history[i] = state->history[i + 1];
    state->history[ORDER - 1] = decoded;
    return code;
}

/* Encode a slice at a scale; return 0 once its error shows that it can't beat `limit`. */
static int try_scale(const slice *part, const int32_t *step, int64_t limit, trial *t)
{
    t->word = (uint64_t)t->scale;
    t->error = 0;
    for (int i = 0; i < part->count; i++) {
        t->word = t->word << 3 | (uint64_t)encode_sample(part->samples[i], step, part->best, t);
        if (t->error >= limit)
            return 0;
    }
    /* The unused codes of a short last slice are 0. */
    t->word <<= 3 * (SLICE_SAMPLES - part->count);
    return 1;
}

/* Encode a slice at the scale of the least error, the lowest of equal ones. */
static void encode_slice(const slice *part, int32_t steps[SCALES][CODES], trial *best)
{
    predictor before = best->after;
    /* Neighbouring slices often share a scale, and a good early error ends other trials early. */
    int first = best->scale;
    for (int k = 0; k < SCALES; k++) {
        trial t;
        t.scale = k == 0 ? first : k - (k <= first);
        t.after = before;
        int64_t limit = k == 0 ? INT64_MAX : best->error + (t.scale < best->scale);
        if (try_scale(part, steps[t.scale], limit, &t))
            *best = t;
    }
}

static void write_state(const predictor *state, int32_t *row)
{
    for (int i = 0; i < ORDER; i++) {
        row[i] = state->history[i];
        row[ORDER + i] = to_signed(state->weights[i]);
    }
}

static void encode(const int32_t *samples, Py_ssize_t count, int nearest, int32_t *states,
                   uint8_t *words)
{
    int32_t steps[SCALES][CODES];
    trial best = {0, 0, 0, {{0, 0, 0, 0}, {0, 0, (uint32_t)-8192, 16384}}};
    for (int s = 0; s < SCALES; s++)
        for (int code = 0; code < CODES; code++) {
            int32_t step = (SCALE[s] * QUARTER[code / 2] + 2) / 4;
            steps[s][code] = code % 2 ? -step : step;
        }
    for (Py_ssize_t at = 0; at < count; at += SLICE_SAMPLES, words += 8) {
        if (at % FRAME_SAMPLES == 0) {
            write_state(&best.after, states);
            states += 2 * ORDER;
        }
        int here = count - at < SLICE_SAMPLES ? (int)(count - at) : SLICE_SAMPLES;
        slice part = {samples + at, here, nearest};
        encode_slice(&part, steps, &best);
        for (int byte = 0; byte < 8; byte++)
            words[byte] = (uint8_t)(best.word >> (56 - 8 * byte));
    }
}

/* Products of larger samples would not stay inside of 32 bits. */
static int are_samples(const Py_buffer *buffer)
{
    const int32_t *sample = buffer->buf;
    for (Py_ssize_t i = 0; i < buffer->shape[0]; i++)
        if (sample[i] < INT16_MIN || sample[i] > INT16_MAX) {
            PyErr_Format(PyExc_ValueError, "samples: item %zd is %d, expected -32768 to 32767", i,
                         (int)sample[i]);
            return 0;
        }
    return 1;
}

static int has_rows_for(const Py_buffer *buffer, const char *name, Py_ssize_t count, int each)
{
    Py_ssize_t rows = count / each + (count % each != 0);
    return kernel_rows(buffer, name, rows, rows);
}

enum { SAMPLES, STATES, WORDS, ARRAYS };
enum { LENGTH = -1, FRAMES = -2, SLICES = -3 };

static const kernel_array WANTED[ARRAYS] = {
    {"samples", KERNEL_INT32, KERNEL_INPUT, 1, {LENGTH}},
    {"states", KERNEL_INT32, KERNEL_OUTPUT, 2, {FRAMES, 2 * ORDER}},
    {"words", KERNEL_BYTE, KERNEL_OUTPUT, 2, {SLICES, 8}},
};

PyObject *kernel_qoa_encode(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    int best;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OpOO:qoa_encode", &objects[SAMPLES], &best,
                          &objects[STATES], &objects[WORDS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    Py_ssize_t count = buffers[SAMPLES].shape[0];
    int is_sound = has_rows_for(&buffers[STATES], "states", count, FRAME_SAMPLES) &&
                   has_rows_for(&buffers[WORDS], "words", count, SLICE_SAMPLES) &&
                   are_samples(&buffers[SAMPLES]);
    if (is_sound) {
        Py_BEGIN_ALLOW_THREADS
        encode(buffers[SAMPLES].buf, count, best, buffers[STATES].buf, buffers[WORDS].buf);
        Py_END_ALLOW_THREADS
    }
    kernel_release(buffers, ARRAYS);
    if (!is_sound)
        return NULL;
    Py_RETURN_NONE;
}
