/* Decode the numbers of a text: the kernel of encoders/kit/source/obj/digits.py.
 *
 * A byte below "0" is a separator and every other one a digit, by its lowest four bits as in the
 * reference. The text is checked in a first pass, so that nothing is written for one that is
 * refused.
 */
#include "kernel.h"

enum { MOST_DIGITS = 8 };

typedef struct {
    Py_ssize_t numbers;
    const char *wrong; /* what is wrong with the text, or NULL */
} Check;

/* Count the numbers, and look for one that is too long or written as 0. */
static Check check_text(const uint8_t *text, Py_ssize_t length)
{
    Check check = {1, NULL};
    int digits = 0, is_zero = 1;
    for (Py_ssize_t i = 0; i <= length && check.wrong == NULL; i++) {
        if (i < length && text[i] >= '0') {
            digits++;
            is_zero = is_zero && (text[i] & 15) == 0;
            continue;
        }
        if (digits > MOST_DIGITS)
            check.wrong = "a number of more than 8 digits";
        else if (digits > 0 && is_zero)
            check.wrong = "a written 0";
        check.numbers += i < length;
        digits = 0;
        is_zero = 1;
    }
    return check;
}

static void decode(const uint8_t *text, Py_ssize_t length, int32_t *values)
{
    int32_t value = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        if (text[i] >= '0') {
            value = value * 10 + (text[i] & 15);
            continue;
        }
        *values++ = value;
        value = 0;
    }
    *values = value;
}

enum { INPUT_TEXT, VALUES, ARRAYS };

static const kernel_array WANTED[ARRAYS] = {
    {"text", KERNEL_BYTE, KERNEL_INPUT, 1, {-1}},
    {"values", KERNEL_INT32, KERNEL_OUTPUT, 1, {-2}},
};

PyObject *kernel_decode_digits(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    Check check;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO:decode_digits", &objects[INPUT_TEXT],
                          &objects[VALUES]) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    const Py_buffer *text = &buffers[INPUT_TEXT];
    Py_BEGIN_ALLOW_THREADS
    check = check_text(text->buf, text->shape[0]);
    Py_END_ALLOW_THREADS
    int is_sound = 0;
    if (check.wrong != NULL)
        PyErr_Format(PyExc_ValueError, "text: %s, expected numbers from 1", check.wrong);
    else
        is_sound = kernel_rows(&buffers[VALUES], "values", check.numbers, check.numbers);
    if (is_sound) {
        Py_BEGIN_ALLOW_THREADS
        decode(text->buf, text->shape[0], buffers[VALUES].buf);
        Py_END_ALLOW_THREADS
    }
    kernel_release(buffers, ARRAYS);
    if (!is_sound)
        return NULL;
    Py_RETURN_NONE;
}
