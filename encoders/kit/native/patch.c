/* Cluster triangles into patches of few vertices: the kernel of encoders/kit/mesh/patch.py.
 *
 * The names, the order of every loop and the constants are those of the reference there, which
 * also says why. Integers only.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 4
#define TRIANGLE_WORTH 5
#define WINDOW 64
#define MAX_VERTICES 256

typedef struct {
    int32_t vertices[MAX_VERTICES], triangles[WINDOW];
    int vertex_count, triangle_count, stuck;
    int32_t seed;
} Growth;

/* Vertices that would complete triangles, in the order in which they were met. */
typedef struct {
    int32_t vertex[MAX_VERTICES * WINDOW], completed[MAX_VERTICES * WINDOW];
    int count;
} Gain;

typedef struct {
    const int32_t *corners;
    int32_t *around, *start, *head, *live, *mark, *waiting;
    uint8_t *taken, *is_waiting;
    int32_t waiting_count, marks, scan, left;
    int32_t border[MAX_VERTICES];
    int border_count;
    Gain gain;
} Pool;

static void pool_free(Pool *pool)
{
    free(pool->around);
    free(pool->start);
    free(pool->head);
    free(pool->live);
    free(pool->mark);
    free(pool->waiting);
    free(pool->taken);
    free(pool->is_waiting);
    free(pool);
}

/* A counting sort: the triangles at vertex v are around[start[v]] to around[start[v + 1]]. */
static void fill_around(Pool *pool, int32_t triangle_count, int32_t vertex_count)
{
    for (int32_t i = 0; i < 3 * triangle_count; i++)
        pool->live[pool->corners[i]]++;
    for (int32_t v = 0; v < vertex_count; v++)
        pool->start[v + 1] = pool->start[v] + pool->live[v];
    memcpy(pool->head, pool->start, (size_t)vertex_count * sizeof(int32_t));
    for (int32_t i = 0; i < 3 * triangle_count; i++)
        pool->around[pool->head[pool->corners[i]]++] = i / 3;
    memcpy(pool->head, pool->start, (size_t)vertex_count * sizeof(int32_t));
}

static Pool *pool_new(const int32_t *corners, int32_t triangle_count, int32_t vertex_count)
{
    Pool *pool = calloc(1, sizeof(Pool));
    /* One more: `start` has an end, and calloc(0) may return NULL. */
    size_t vertices = (size_t)vertex_count + 1, triangles = (size_t)triangle_count + 1;
    if (pool == NULL)
        return NULL;
    pool->corners = corners;
    pool->left = triangle_count;
    pool->around = calloc(3 * triangles, sizeof(int32_t));
    pool->start = calloc(vertices, sizeof(int32_t));
    pool->head = calloc(vertices, sizeof(int32_t));
    pool->live = calloc(vertices, sizeof(int32_t));
    pool->mark = calloc(vertices, sizeof(int32_t));
    pool->waiting = calloc(vertices, sizeof(int32_t));
    pool->taken = calloc(triangles, 1);
    pool->is_waiting = calloc(vertices, 1);
    if (!pool->around || !pool->start || !pool->head || !pool->live || !pool->mark ||
        !pool->waiting || !pool->taken || !pool->is_waiting) {
        pool_free(pool);
        return NULL;
    }
    fill_around(pool, triangle_count, vertex_count);
    return pool;
}

static int32_t window_end(const Pool *pool, int32_t vertex)
{
    int32_t end = pool->start[vertex + 1], head = pool->head[vertex];
    return end - head > WINDOW ? head + WINDOW : end;
}

/* Keep the ATTEMPTS lowest (rank, triangle) pairs, each once, in order. */
static int insert_seed(int64_t *ranked, int count, int64_t key)
{
    int place = count;
    while (place > 0 && ranked[place - 1] > key)
        place--;
    if (place == ATTEMPTS || (place > 0 && ranked[place - 1] == key))
        return count;
    if (count < ATTEMPTS)
        count++;
    memmove(ranked + place + 1, ranked + place, (size_t)(count - 1 - place) * sizeof(*ranked));
    ranked[place] = key;
    return count;
}

static int seeds_around(const Pool *pool, const int32_t *vertices, int count, int32_t *seeds)
{
    int64_t ranked[ATTEMPTS];
    int found = 0;
    for (int i = 0; i < count; i++) {
        int32_t end = window_end(pool, vertices[i]);
        for (int32_t n = pool->head[vertices[i]]; n < end; n++) {
            int32_t triangle = pool->around[n];
            const int32_t *corner = pool->corners + 3 * triangle;
            if (pool->taken[triangle])
                continue;
            int64_t rank =
                (int64_t)pool->live[corner[0]] + pool->live[corner[1]] + pool->live[corner[2]];
            /* Rank and triangle in one number, which sorts as the reference sorts pairs. */
            found = insert_seed(ranked, found, rank << 32 | triangle);
        }
    }
    for (int i = 0; i < found; i++)
        seeds[i] = (int32_t)(ranked[i] & 0x7FFFFFFF);
    return found;
}

static int pool_seeds(Pool *pool, int32_t *seeds)
{
    int found = seeds_around(pool, pool->border, pool->border_count, seeds);
    while (!found && pool->waiting_count > 0) {
        int32_t vertex = pool->waiting[--pool->waiting_count];
        pool->is_waiting[vertex] = 0;
        found = seeds_around(pool, &vertex, 1, seeds);
    }
    if (found)
        return found;
    /* Only reached with triangles left, so the scan ends. */
    while (pool->taken[pool->scan])
        pool->scan++;
    seeds[0] = pool->scan;
    return 1;
}

static void pool_take(Pool *pool, const Growth *growth, int first)
{
    for (int i = first; i < growth->triangle_count; i++) {
        const int32_t *corner = pool->corners + 3 * growth->triangles[i];
        pool->taken[growth->triangles[i]] = 1;
        pool->left--;
        for (int k = 0; k < 3; k++)
            pool->live[corner[k]]--;
    }
    pool->border_count = 0;
    for (int i = 0; i < growth->vertex_count; i++) {
        int32_t vertex = growth->vertices[i], *head = pool->head + vertex;
        /* Taken triangles are skipped once for all, so that a window never starts with them. */
        while (*head < pool->start[vertex + 1] && pool->taken[pool->around[*head]])
            ++*head;
        if (pool->live[vertex] == 0)
            continue;
        pool->border[pool->border_count++] = vertex;
        if (!pool->is_waiting[vertex]) {
            pool->is_waiting[vertex] = 1;
            pool->waiting[pool->waiting_count++] = vertex;
        }
    }
}

static void gain_add(Gain *gain, int32_t vertex)
{
    for (int i = 0; i < gain->count; i++)
        if (gain->vertex[i] == vertex) {
            gain->completed[i]++;
            return;
        }
    gain->vertex[gain->count] = vertex;
    gain->completed[gain->count++] = 1;
}

static void gain_remove(Gain *gain, int32_t vertex)
{
    int kept = 0, count = gain->count;
    for (int i = 0; i < count; i++) {
        /* Written over by the next one, if it goes. */
        gain->vertex[kept] = gain->vertex[i];
        gain->completed[kept] = gain->completed[i];
        kept += gain->vertex[i] != vertex;
    }
    gain->count = kept;
}

static void join(Pool *pool, Growth *growth, int32_t vertex, int max_triangles)
{
    growth->vertices[growth->vertex_count++] = vertex;
    pool->mark[vertex] = pool->marks;
    gain_remove(&pool->gain, vertex);
    /* Kept here, because the compiler must expect every write below to change them. */
    const int32_t *around = pool->around, *corners = pool->corners, *mark = pool->mark;
    int32_t end = window_end(pool, vertex), marks = pool->marks, seed = growth->seed;
    for (int32_t n = pool->head[vertex]; n < end; n++) {
        int32_t triangle = around[n], last = 0;
        int outside = 0;
        if (pool->taken[triangle] || triangle == seed)
            continue;
        for (int k = 0; k < 3; k++) {
            /* Without a branch: neither is likelier. */
            int32_t corner = corners[3 * triangle + k], is_out = mark[corner] != marks;
            outside += is_out;
            last = is_out ? corner : last;
        }
        if (outside == 1)
            gain_add(&pool->gain, last);
        else if (outside == 0 && growth->triangle_count < max_triangles)
            growth->triangles[growth->triangle_count++] = triangle;
    }
}

static int best_candidate(const Pool *pool)
{
    int best = -1;
    int32_t most = 0, fewest = 0;
    for (int i = 0; i < pool->gain.count; i++) {
        int32_t completed = pool->gain.completed[i], live = pool->live[pool->gain.vertex[i]];
        if (completed > most || (completed == most && live < fewest)) {
            best = i;
            most = completed;
            fewest = live;
        }
    }
    return best;
}

static void grow(Pool *pool, Growth *growth, int max_vertices, int max_triangles)
{
    /* A new number unmarks all vertices without touching them. */
    pool->marks++;
    pool->gain.count = 0;
    for (int i = 0; i < growth->vertex_count; i++)
        pool->mark[growth->vertices[i]] = pool->marks;
    growth->triangles[growth->triangle_count++] = growth->seed;
    for (int k = 0; k < 3; k++) {
        int32_t vertex = pool->corners[3 * growth->seed + k];
        if (pool->mark[vertex] != pool->marks)
            join(pool, growth, vertex, max_triangles);
    }
    while (pool->gain.count > 0 && growth->vertex_count < max_vertices) {
        int best = best_candidate(pool);
        /* The best vertex would complete more triangles than fit; a worse one would leave a gap. */
        if (growth->triangle_count + pool->gain.completed[best] > max_triangles)
            break;
        join(pool, growth, pool->gain.vertex[best], max_triangles);
    }
    growth->stuck = pool->gain.count == 0;
}

static int64_t leftover(const Pool *pool, const Growth *growth)
{
    int64_t around = 0;
    for (int i = 0; i < growth->vertex_count; i++)
        around += pool->live[growth->vertices[i]];
    return around - TRIANGLE_WORTH * growth->triangle_count;
}

static void build_patch(Pool *pool, Growth *patch, int max_vertices, int max_triangles)
{
    int32_t seeds[ATTEMPTS];
    int count = pool_seeds(pool, seeds);
    for (int i = 0; i < count; i++) {
        Growth attempt;
        attempt.vertex_count = attempt.triangle_count = 0;
        attempt.seed = seeds[i];
        grow(pool, &attempt, max_vertices, max_triangles);
        /* The first of equally good attempts stays, as min() in the reference keeps it. */
        if (i == 0 || leftover(pool, &attempt) < leftover(pool, patch))
            *patch = attempt;
    }
    pool_take(pool, patch, 0);
    while (patch->stuck && pool->left > 0 && patch->vertex_count + 3 <= max_vertices) {
        int before = patch->triangle_count;
        if (before == max_triangles)
            break;
        pool_seeds(pool, seeds);
        patch->seed = seeds[0];
        grow(pool, patch, max_vertices, max_triangles);
        pool_take(pool, patch, before);
    }
}

static void sort_into(int32_t *order, const Growth *patch)
{
    for (int i = 0; i < patch->triangle_count; i++) {
        int place = i;
        for (; place > 0 && order[place - 1] > patch->triangles[i]; place--)
            order[place] = order[place - 1];
        order[place] = patch->triangles[i];
    }
}

static int32_t cluster(Pool *pool, int max_vertices, int max_triangles, int32_t *order,
                       int32_t *starts)
{
    int32_t count = 0, filled = 0;
    Growth patch;
    while (pool->left > 0) {
        build_patch(pool, &patch, max_vertices, max_triangles);
        sort_into(order + filled, &patch);
        filled += patch.triangle_count;
        starts[++count] = filled;
    }
    return count;
}

enum { TRIANGLES, ORDER, STARTS, ARRAYS };
enum { COUNT = -1, ANY = -2 };

static const kernel_array WANTED[ARRAYS] = {
    {"triangles", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, 3}},
    {"order", KERNEL_INT32, KERNEL_OUTPUT, 1, {COUNT}},
    {"starts", KERNEL_INT32, KERNEL_OUTPUT, 1, {ANY}},
};

/* Corners that coincide would be counted twice and overflow `order`. */
static int are_sound(const Py_buffer *buffers, Py_ssize_t vertex_count)
{
    Py_ssize_t count = buffers[ORDER].shape[0];
    return kernel_rows(&buffers[TRIANGLES], "triangles", 0, KERNEL_MOST_TRIANGLES) &&
           kernel_rows(&buffers[STARTS], "starts", count + 1, count + 1) &&
           kernel_indices(&buffers[TRIANGLES], "triangles", vertex_count) &&
           kernel_distinct(&buffers[TRIANGLES], NULL);
}

/* Cluster what has been checked; the limits are those of vertices and of triangles. */
static PyObject *cluster_buffers(Py_buffer *buffers, Py_ssize_t vertex_count, int max_vertices,
                                 int max_triangles)
{
    int32_t count;
    Pool *pool = pool_new(buffers[TRIANGLES].buf, (int32_t)buffers[TRIANGLES].shape[0],
                          (int32_t)vertex_count);
    if (pool == NULL)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    count = cluster(pool, max_vertices, max_triangles, buffers[ORDER].buf, buffers[STARTS].buf);
    Py_END_ALLOW_THREADS
    pool_free(pool);
    return PyLong_FromLong(count);
}

PyObject *kernel_cluster_patches(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *numbers[3], *result = NULL;
    Py_buffer buffers[ARRAYS];
    Py_ssize_t vertex_count, max_vertices, max_triangles;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOO:cluster_patches", &objects[TRIANGLES], &numbers[0],
                          &numbers[1], &numbers[2], &objects[ORDER], &objects[STARTS]) ||
        !kernel_number(numbers[0], "vertex_count", 0, INT32_MAX, &vertex_count) ||
        !kernel_number(numbers[1], "max_vertices", 3, MAX_VERTICES, &max_vertices) ||
        !kernel_number(numbers[2], "max_triangles", 1, WINDOW, &max_triangles) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    if (are_sound(buffers, vertex_count))
        result = cluster_buffers(buffers, vertex_count, (int)max_vertices, (int)max_triangles);
    kernel_release(buffers, ARRAYS);
    return result;
}
