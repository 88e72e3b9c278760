/* Order triangles for a vertex cache: the kernel of encoders/kit/mesh/vertex_cache.py.
 *
 * The names and the rules are those of the reference, which also says why.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const int32_t *triangles;
    int32_t count, vertex_count, cache_size, misses, drawn, scan;
    /* The triangles around vertex v are `around[starts[v]]` to `around[starts[v + 1] - 1]`. */
    int32_t *starts, *around, *left, *entered, *recent, *order;
    size_t recent_count;
    uint8_t *is_drawn;
} Drawing;

static void drawing_free(Drawing *drawing)
{
    free(drawing->starts);
    free(drawing->around);
    free(drawing->left);
    free(drawing->entered);
    free(drawing->recent);
    free(drawing->is_drawn);
}

static int drawing_fill(Drawing *drawing)
{
    size_t corners = 3 * (size_t)drawing->count, vertices = (size_t)drawing->vertex_count;
    /* One more than needed: some libraries answer NULL when nothing is asked for. */
    drawing->starts = calloc(vertices + 2, sizeof(int32_t));
    drawing->around = malloc((corners + 1) * sizeof(int32_t));
    drawing->left = calloc(vertices + 1, sizeof(int32_t));
    drawing->entered = malloc((vertices + 1) * sizeof(int32_t));
    drawing->recent = malloc((corners + 1) * sizeof(int32_t));
    drawing->is_drawn = calloc((size_t)drawing->count + 1, 1);
    if (!drawing->starts || !drawing->around || !drawing->left || !drawing->entered ||
        !drawing->recent || !drawing->is_drawn)
        return 0;
    for (size_t i = 0; i < corners; i++)
        drawing->left[drawing->triangles[i]]++;
    for (size_t v = 0; v < vertices; v++) {
        drawing->starts[v + 1] = drawing->starts[v] + drawing->left[v];
        /* So long ago that the vertex is not in the cache. */
        drawing->entered[v] = -1 - drawing->cache_size;
        drawing->left[v] = 0;
    }
    for (size_t i = 0; i < corners; i++) {
        int32_t v = drawing->triangles[i];
        drawing->around[drawing->starts[v] + drawing->left[v]++] = (int32_t)(i / 3);
    }
    return 1;
}

/* Emit the remaining triangles around a vertex; their corners are appended to `recent`. */
static void draw_around(Drawing *drawing, int32_t vertex)
{
    for (int32_t i = drawing->starts[vertex]; i < drawing->starts[vertex + 1]; i++) {
        int32_t triangle = drawing->around[i];
        if (drawing->is_drawn[triangle])
            continue;
        drawing->is_drawn[triangle] = 1;
        drawing->order[drawing->drawn++] = triangle;
        for (int corner = 0; corner < 3; corner++) {
            int32_t near = drawing->triangles[3 * (size_t)triangle + (size_t)corner];
            drawing->recent[drawing->recent_count++] = near;
            drawing->left[near]--;
            if (drawing->misses - drawing->entered[near] > drawing->cache_size)
                drawing->entered[near] = drawing->misses++;
        }
    }
}

/* Return the oldest corner that stays cached while its triangles are emitted, or any. */
static int32_t best_of(const Drawing *drawing, size_t from)
{
    int32_t best = -1, oldest = -1;
    for (size_t i = from; i < drawing->recent_count; i++) {
        int32_t vertex = drawing->recent[i], left = drawing->left[vertex];
        if (left == 0)
            continue;
        int64_t age = (int64_t)drawing->misses - drawing->entered[vertex];
        /* Each remaining triangle brings at most two new vertices into the cache. */
        int32_t stays = age + 2 * (int64_t)left <= drawing->cache_size ? (int32_t)age : 0;
        if (stays > oldest) {
            best = vertex;
            oldest = stays;
        }
    }
    return best;
}

/* Return the most recent vertex with triangles left, else the first one, else -1. */
static int32_t next_waiting(Drawing *drawing)
{
    while (drawing->recent_count > 0) {
        int32_t vertex = drawing->recent[--drawing->recent_count];
        if (drawing->left[vertex])
            return vertex;
    }
    while (drawing->scan < drawing->vertex_count && !drawing->left[drawing->scan])
        drawing->scan++;
    return drawing->scan < drawing->vertex_count ? drawing->scan : -1;
}

static void draw_all(Drawing *drawing)
{
    int32_t vertex = next_waiting(drawing);
    while (vertex >= 0) {
        size_t from = drawing->recent_count;
        draw_around(drawing, vertex);
        vertex = best_of(drawing, from);
        if (vertex < 0)
            vertex = next_waiting(drawing);
    }
}

enum { TRIANGLES, ORDER, ARRAYS };
enum { COUNT = -1, MOST_CACHED = 1 << 20 };

static const kernel_array WANTED[ARRAYS] = {
    {"triangles", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, 3}},
    {"order", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
};

static int order_buffers(Py_buffer *buffers, int32_t vertex_count, int32_t cache_size)
{
    int has_memory;
    Drawing drawing = {0};
    drawing.triangles = buffers[TRIANGLES].buf;
    drawing.count = (int32_t)buffers[TRIANGLES].shape[0];
    drawing.order = buffers[ORDER].buf;
    drawing.vertex_count = vertex_count;
    drawing.cache_size = cache_size;
    Py_BEGIN_ALLOW_THREADS
    has_memory = drawing_fill(&drawing);
    if (has_memory)
        draw_all(&drawing);
    drawing_free(&drawing);
    Py_END_ALLOW_THREADS
    return has_memory;
}

PyObject *kernel_order_triangles(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *vertices, *cached;
    Py_buffer buffers[ARRAYS];
    Py_ssize_t vertex_count, cache_size;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO:order_triangles", &objects[TRIANGLES], &vertices,
                          &cached, &objects[ORDER]) ||
        !kernel_number(vertices, "vertex_count", 0, INT32_MAX - 2, &vertex_count) ||
        !kernel_number(cached, "cache_size", 0, MOST_CACHED, &cache_size) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    int is_sound = kernel_rows(&buffers[TRIANGLES], "triangles", 0, KERNEL_MOST_TRIANGLES) &&
                   kernel_indices(&buffers[TRIANGLES], "triangles", vertex_count);
    int has_memory =
        is_sound && order_buffers(buffers, (int32_t)vertex_count, (int32_t)cache_size);
    kernel_release(buffers, ARRAYS);
    if (!is_sound)
        return NULL;
    if (!has_memory)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}
