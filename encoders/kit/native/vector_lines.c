/* Decode lines of decimal numbers to float32: the kernel of encoders/kit/source/obj/block.py.
 *
 * A plain line is the keyword, then one blank and a number as often as wanted, then the line end.
 * A number is taken only where one operation on exact numbers gives the double nearest to its
 * text: its digits are a whole number of at most 2^53, to be multiplied or divided by a power of
 * ten that a double holds. All else is refused, and left to slower decoders.
 */
#include "cursor.h"
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

/* 10^22 is the greatest power of ten that is exact; 19 digits fit 64 bits. */
enum { MOST_POWER = 22, MOST_DIGITS = 19, MOST_EXPONENT_DIGITS = 3 };
#define MOST_WHOLE ((uint64_t)1 << 53)

static const double POWERS[MOST_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* Read digits behind those that `whole` has; return how many, at most `most`. */
static int read_digits(text_cursor *text, int most, uint64_t *whole)
{
    int digits = 0;
    while (digits < most && next_is_digit(text)) {
        *whole = *whole * 10 + (uint64_t)(*text->at++ - '0');
        digits++;
    }
    return digits;
}

static int read_sign(text_cursor *text)
{
    int is_negative = next_is(text, '-');
    text->at += is_negative || next_is(text, '+');
    return is_negative;
}

/* Read the power of ten behind an e; return 0 where there is an e and no number behind it. */
static int read_exponent(text_cursor *text, int *exponent)
{
    uint64_t power = 0;
    if (!next_is(text, 'e') && !next_is(text, 'E'))
        return 1;
    text->at++;
    int is_negative = read_sign(text);
    if (read_digits(text, MOST_EXPONENT_DIGITS, &power) == 0)
        return 0;
    *exponent += is_negative ? -(int)power : (int)power;
    return 1;
}

/* Round to float32; return 0 in the middle of two, where the text itself has to decide. */
static int round_once(double value, float *number)
{
    float near = (float)value;
    double over = (value - (double)near) * 2 + (double)near;
    *number = near;
    return over == (double)near || (double)(float)over != over;
}

static int read_number(text_cursor *text, float *number)
{
    uint64_t whole = 0;
    int exponent = 0, is_negative = read_sign(text);
    int digits = read_digits(text, MOST_DIGITS, &whole);
    if (next_is(text, '.')) {
        text->at++;
        exponent = -read_digits(text, MOST_DIGITS - digits, &whole);
        digits -= exponent;
    }
    if (digits == 0 || !read_exponent(text, &exponent) || whole > MOST_WHOLE ||
        exponent > MOST_POWER || exponent < -MOST_POWER)
        return 0;
    double value = (double)whole;
    value = exponent < 0 ? value / POWERS[-exponent] : value * POWERS[exponent];
    return round_once(is_negative ? -value : value, number);
}

/* Read the numbers of a line; return how many, or 0 where the line is not plain. Numbers past
 * `width` are read and not kept, missing ones are 0. */
static int32_t read_line(text_cursor *text, const Py_buffer *keyword, float *row, Py_ssize_t width)
{
    int32_t count = 0;
    if (text->end - text->at < keyword->len ||
        memcmp(text->at, keyword->buf, (size_t)keyword->len) != 0)
        return 0;
    text->at += keyword->len;
    while (next_is(text, ' ')) {
        float number;
        text->at++;
        if (!read_number(text, &number))
            return 0;
        if (count < width)
            row[count] = number;
        count++;
    }
    if (!next_is(text, '\n'))
        return 0;
    text->at++;
    for (Py_ssize_t missing = count; missing < width; missing++)
        row[missing] = 0;
    return count;
}

enum { INPUT_TEXT, KEYWORD, TABLE, COUNTS, ARRAYS };
enum { BYTES = -1, LETTERS = -2, LINES = -3, WIDTH = -4 };

static const kernel_array WANTED[ARRAYS] = {
    {"text", KERNEL_BYTE, KERNEL_INPUT, 1, {BYTES}},
    {"keyword", KERNEL_BYTE, KERNEL_INPUT, 1, {LETTERS}},
    {"table", KERNEL_FLOAT32, KERNEL_OUTPUT, 2, {LINES, WIDTH}},
    {"counts", KERNEL_INT32, KERNEL_OUTPUT, 1, {LINES}},
};

/* Decode all lines; return how many are plain, one more where bytes are left. */
static Py_ssize_t read_lines(const Py_buffer *buffers, float *table, int32_t *counts)
{
    const uint8_t *start = buffers[INPUT_TEXT].buf;
    text_cursor text = {start, start + buffers[INPUT_TEXT].len};
    Py_ssize_t lines = buffers[TABLE].shape[0], width = buffers[TABLE].shape[1];
    for (Py_ssize_t line = 0; line < lines; line++) {
        counts[line] = read_line(&text, &buffers[KEYWORD], table + line * width, width);
        if (counts[line] == 0)
            return line;
    }
    return text.at == text.end ? lines : lines + 1;
}

/* Decode into memory of our own, so that nothing is written for a text that is refused. */
static int decode_buffers(Py_buffer *buffers)
{
    Py_ssize_t lines = buffers[TABLE].shape[0], plain = -1;
    size_t table_bytes = (size_t)buffers[TABLE].len, counts_bytes = (size_t)buffers[COUNTS].len;
    float *table = malloc(table_bytes + 1); /* no length of 0 */
    int32_t *counts = malloc(counts_bytes + 1);
    if (table == NULL || counts == NULL) {
        PyErr_NoMemory();
    } else {
        Py_BEGIN_ALLOW_THREADS
        plain = read_lines(buffers, table, counts);
        if (plain == lines) {
            memcpy(buffers[TABLE].buf, table, table_bytes);
            memcpy(buffers[COUNTS].buf, counts, counts_bytes);
        }
        Py_END_ALLOW_THREADS
        if (plain != lines)
            PyErr_Format(PyExc_ValueError, "text: line %zd, expected %zd plain lines of numbers",
                         plain, lines);
    }
    free(table);
    free(counts);
    return plain == lines;
}

PyObject *kernel_decode_vectors(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO:decode_vectors", &objects[INPUT_TEXT],
                          &objects[KEYWORD], &objects[TABLE], &objects[COUNTS]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    /* No text has more numbers, so a count fits 32 bits. */
    int is_sound =
        kernel_rows(&buffers[INPUT_TEXT], "text", 0, INT32_MAX) && decode_buffers(buffers);
    kernel_release(buffers, ARRAYS);
    if (!is_sound)
        return NULL;
    Py_RETURN_NONE;
}
