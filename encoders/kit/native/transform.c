/* Affine matrices from and to translation, rotation and scale, and along chains of parents: the
 * kernels of encoders/kit/source/gltf/geometry/matrix.py.
 *
 * Matrices are 16 doubles, row by row. Operations and their order are those of the references.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

enum { X, Y, Z, W };

static void compose(const double *t, const double *q, const double *s, double *m)
{
    double x = q[X], y = q[Y], z = q[Z], w = q[W];
    const double turn[3][3] = {
        {1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
        {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
        {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)},
    };
    memset(m, 0, 16 * sizeof *m);
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++)
            m[4 * row + column] = turn[row][column] * s[column];
        m[4 * row + 3] = t[row];
    }
    m[15] = 1.0;
}

static double determinant(const double *m)
{
    return m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
           m[2] * (m[4] * m[9] - m[5] * m[8]);
}

static void cross(const double *a, const double *b, double *found)
{
    found[X] = a[Y] * b[Z] - a[Z] * b[Y];
    found[Y] = a[Z] * b[X] - a[X] * b[Z];
    found[Z] = a[X] * b[Y] - a[Y] * b[X];
}

/* Give the directions of the columns; one of no length stands across the other two. */
static void find_axes(const double *m, const double *scale, double axes[3][3])
{
    int lost = 0;
    for (int k = 0; k < 3; k++) {
        lost += scale[k] == 0;
        for (int row = 0; row < 3; row++)
            axes[k][row] = m[4 * row + k] / (scale[k] == 0 ? 1.0 : scale[k]);
    }
    for (int k = 0; k < 3; k++)
        if (scale[k] == 0)
            cross(axes[(k + 1) % 3], axes[(k + 2) % 3], axes[k]);
    if (lost > 1)
        for (int k = 0; k < 3; k++)
            for (int row = 0; row < 3; row++)
                axes[k][row] = k == row;
}

/* As numpy's argmax: the first of equal numbers, but a number that is none before all others. */
static int find_largest(const double *numbers)
{
    int largest = 0;
    for (int k = 1; k < 4 && !isnan(numbers[largest]); k++)
        if (numbers[k] > numbers[largest] || isnan(numbers[k]))
            largest = k;
    return largest;
}

/* Each rotation is built from its largest component, so that nothing is divided by a small one. */
static void find_rotation(double axes[3][3], double *rotation)
{
    const double *a = axes[0], *b = axes[1], *c = axes[2];
    const double squares[4] = {
        1 + a[X] - b[Y] - c[Z],
        1 - a[X] + b[Y] - c[Z],
        1 - a[X] - b[Y] + c[Z],
        1 + a[X] + b[Y] + c[Z],
    };
    double xy = b[X] + a[Y], xz = c[X] + a[Z], yz = c[Y] + b[Z];
    double xw = b[Z] - c[Y], yw = c[X] - a[Z], zw = a[Y] - b[X];
    const double rows[4][4] = {
        {squares[X], xy, xz, xw},
        {xy, squares[Y], yz, yw},
        {xz, yz, squares[Z], zw},
        {xw, yw, zw, squares[W]},
    };
    const double *q = rows[find_largest(squares)];
    double length = sqrt(q[X] * q[X] + q[Y] * q[Y] + q[Z] * q[Z] + q[W] * q[W]);
    for (int k = 0; k < 4; k++)
        rotation[k] = q[k] / length;
}

static void decompose(const double *m, double *rotation, double *scale)
{
    double axes[3][3];
    for (int k = 0; k < 3; k++)
        scale[k] = sqrt(m[k] * m[k] + m[4 + k] * m[4 + k] + m[8 + k] * m[8 + k]);
    /* A product, because the sign of a length of 0 counts as well. */
    scale[X] *= determinant(m) < 0 ? -1.0 : 1.0;
    find_axes(m, scale, axes);
    find_rotation(axes, rotation);
}

/* Replace b by a·b. */
static void multiply(const double *a, double *b)
{
    double product[16];
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            double sum = a[4 * row] * b[column];
            for (int k = 1; k < 4; k++)
                sum += a[4 * row + k] * b[4 * k + column];
            product[4 * row + column] = sum;
        }
    memcpy(b, product, sizeof product);
}

enum { TRANSLATION, ROTATION, SCALE, COMPOSED, PARTS };

static const kernel_array TO_COMPOSE[PARTS] = {
    {"translation", KERNEL_FLOAT64, KERNEL_INPUT, 2, {-1, 3}},
    {"rotation", KERNEL_FLOAT64, KERNEL_INPUT, 2, {-1, 4}},
    {"scale", KERNEL_FLOAT64, KERNEL_INPUT, 2, {-1, 3}},
    {"matrices", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {-1, 16}},
};

PyObject *kernel_compose_matrices(PyObject *module, PyObject *arguments)
{
    PyObject *objects[PARTS];
    Py_buffer buffers[PARTS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO:compose_matrices", &objects[TRANSLATION],
                          &objects[ROTATION], &objects[SCALE], &objects[COMPOSED]) ||
        !kernel_open(TO_COMPOSE, PARTS, objects, buffers))
        return NULL;
    const double *t = buffers[TRANSLATION].buf, *q = buffers[ROTATION].buf;
    const double *s = buffers[SCALE].buf;
    double *matrices = buffers[COMPOSED].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t n = 0; n < buffers[COMPOSED].shape[0]; n++)
        compose(t + 3 * n, q + 4 * n, s + 3 * n, matrices + 16 * n);
    Py_END_ALLOW_THREADS
    kernel_release(buffers, PARTS);
    Py_RETURN_NONE;
}

enum { MATRICES, TURNS, LENGTHS, ARRAYS };

static const kernel_array TO_DECOMPOSE[ARRAYS] = {
    {"matrices", KERNEL_FLOAT64, KERNEL_INPUT, 2, {-1, 16}},
    {"rotation", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {-1, 4}},
    {"scale", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {-1, 3}},
};

PyObject *kernel_decompose_matrices(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer buffers[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO:decompose_matrices", &objects[MATRICES], &objects[TURNS],
                          &objects[LENGTHS]) ||
        !kernel_open(TO_DECOMPOSE, ARRAYS, objects, buffers))
        return NULL;
    const double *matrices = buffers[MATRICES].buf;
    double *rotation = buffers[TURNS].buf, *scale = buffers[LENGTHS].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t n = 0; n < buffers[MATRICES].shape[0]; n++)
        decompose(matrices + 16 * n, rotation + 4 * n, scale + 3 * n);
    Py_END_ALLOW_THREADS
    kernel_release(buffers, ARRAYS);
    Py_RETURN_NONE;
}

enum { PARENTS, CHAINED, CHAIN };

static const kernel_array TO_CHAIN[CHAIN] = {
    {"parents", KERNEL_INT32, KERNEL_INPUT, 1, {-1}},
    {"matrices", KERNEL_FLOAT64, KERNEL_OUTPUT, 3, {-2, -1, 16}},
};

/* Check that each parent stands before its child; set an exception and return 0 otherwise. */
static int stands_before(const Py_buffer *parents)
{
    const int32_t *parent = parents->buf;
    for (Py_ssize_t n = 0; n < parents->shape[0]; n++)
        if (parent[n] < -1 || parent[n] >= n) {
            PyErr_Format(PyExc_ValueError, "parents: item %zd is %d, expected -1 to %zd", n,
                         (int)parent[n], n - 1);
            return 0;
        }
    return 1;
}

PyObject *kernel_chain_matrices(PyObject *module, PyObject *arguments)
{
    PyObject *objects[CHAIN];
    Py_buffer buffers[CHAIN];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO:chain_matrices", &objects[PARENTS], &objects[CHAINED]) ||
        !kernel_open(TO_CHAIN, CHAIN, objects, buffers))
        return NULL;
    int is_sound = stands_before(&buffers[PARENTS]);
    if (is_sound) {
        const int32_t *parent = buffers[PARENTS].buf;
        Py_ssize_t count = buffers[PARENTS].shape[0], frames = buffers[CHAINED].shape[0];
        double *frame = buffers[CHAINED].buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t f = 0; f < frames; f++, frame += 16 * count)
            for (Py_ssize_t n = 0; n < count; n++)
                if (parent[n] >= 0)
                    multiply(frame + 16 * parent[n], frame + 16 * n);
        Py_END_ALLOW_THREADS
    }
    kernel_release(buffers, CHAIN);
    if (!is_sound)
        return NULL;
    Py_RETURN_NONE;
}
