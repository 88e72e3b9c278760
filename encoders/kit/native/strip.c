/* Write patches as strip commands: the kernel of encoders/kit/mesh/strip.py.
 *
 * The names, the numbering of states and the order of every loop are those of the references
 * there, which also say why. Integers only; a set of triangles is one 64-bit word.
 */
#include "kernel.h"

#include <string.h>

/* BRANCH_LIMIT in the reference. */
#define BUDGET 256
#define MAX_VERTICES 16
#define MAX_TRIANGLES 64

typedef struct {
    int16_t states[MAX_TRIANGLES];
    int count;
} Strip;

typedef struct {
    const int32_t *corners;
    int triangles, longest, branches;
    int16_t follow[6 * MAX_TRIANGLES];
    uint64_t beside[MAX_TRIANGLES];
    Strip strips[MAX_TRIANGLES], best[MAX_TRIANGLES];
    int strip_count, best_count;
} Search;

typedef struct {
    int32_t *vertices;
    uint8_t *entries;
    int32_t *starts;
    int32_t vertex_end, entry_end, count;
} Output;

static int bits(uint64_t word)
{
    int count = 0;
    for (; word; word &= word - 1)
        count++;
    return count;
}

static int joins_same(const int32_t *corners, int here, int there)
{
    const int32_t *a = corners + here / 3 * 3, *b = corners + there / 3 * 3;
    int32_t a0 = a[here % 3], a1 = a[(here + 1) % 3];
    int32_t b0 = b[there % 3], b1 = b[(there + 1) % 3];
    return (a0 == b0 && a1 == b1) || (a0 == b1 && a1 == b0);
}

static void find_partners(const int32_t *corners, int triangles, int16_t *partner)
{
    /* -1 as 16-bit numbers: all bits set. */
    memset(partner, -1, (size_t)(3 * triangles) * sizeof(*partner));
    /* Quadratic, but a cluster has at most 64 triangles. */
    for (int here = 3; here < 3 * triangles; here++)
        for (int there = 0; there < here / 3 * 3; there++)
            if (partner[there] < 0 && joins_same(corners, here, there)) {
                partner[here] = (int16_t)there;
                partner[there] = (int16_t)here;
                break;
            }
}

static int next_state(const int32_t *corners, const int16_t *partner, int state)
{
    int triangle = state / 6, uncrossed = state % 6 / 2, direction = state % 2;
    int other = partner[3 * triangle + (uncrossed + 2 - direction) % 3];
    int32_t newest = corners[3 * triangle + (uncrossed + direction) % 3];
    if (other < 0)
        return -1;
    int entered = other / 3, edge = other % 3;
    if (corners[3 * entered + (edge + 1) % 3] == newest)
        return 6 * entered + 2 * ((edge + 2) % 3);
    return 6 * entered + 2 * ((edge + 1) % 3) + 1;
}

static void search_init(Search *search, const int32_t *corners, int triangles, int longest)
{
    int16_t partner[3 * MAX_TRIANGLES];
    find_partners(corners, triangles, partner);
    search->corners = corners;
    search->triangles = triangles;
    search->longest = longest;
    search->branches = search->strip_count = search->best_count = 0;
    for (int state = 0; state < 6 * triangles; state++)
        search->follow[state] = (int16_t)next_state(corners, partner, state);
    memset(search->beside, 0, sizeof(search->beside));
    for (int edge = 0; edge < 3 * triangles; edge++)
        if (partner[edge] >= 0)
            search->beside[edge / 3] |= UINT64_C(1) << partner[edge] / 3;
}

static int loneliest(const Search *search, uint64_t remaining)
{
    int best = 0, fewest = 4;
    for (int triangle = 0; triangle < search->triangles && fewest > 0; triangle++) {
        int count = bits(search->beside[triangle] & remaining);
        if (remaining >> triangle & 1 && count < fewest) {
            best = triangle;
            fewest = count;
        }
    }
    return best;
}

static uint64_t walk(const Search *search, int state, uint64_t free, int steps, Strip *run)
{
    for (; steps > 0; steps--) {
        state = search->follow[state];
        if (state < 0 || !(free >> state / 6 & 1))
            break;
        free ^= UINT64_C(1) << state / 6;
        run->states[run->count++] = (int16_t)state;
    }
    return free;
}

static uint64_t run_through(const Search *search, int state, uint64_t remaining, Strip *run)
{
    /* Backwards is forwards in the other direction, which is bit 0 of the state. */
    Strip behind;
    uint64_t free = remaining & ~(UINT64_C(1) << state / 6);
    behind.count = 0;
    free = walk(search, state ^ 1, free, search->longest - 1, &behind);
    run->count = 0;
    for (int i = behind.count - 1; i >= 0; i--)
        run->states[run->count++] = behind.states[i] ^ 1;
    run->states[run->count++] = (int16_t)state;
    free = walk(search, state, free, search->longest - run->count, run);
    return remaining & ~free;
}

/* Is `a` to be tried before `b`: longer, or at the first difference of the lower state? */
static int precedes(const Strip *a, const Strip *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    for (int i = 0; i < a->count; i++)
        if (a->states[i] != b->states[i])
            return a->states[i] < b->states[i];
    return 0;
}

/* Find the different strips through a triangle, in the order in which they are tried. */
static int runs_through(const Search *search, int triangle, uint64_t remaining, Strip *runs,
                        uint64_t *masks)
{
    int count = 0;
    for (int edge = 0; edge < 3; edge++) {
        Strip run;
        uint64_t mask = run_through(search, 6 * triangle + 2 * edge, remaining, &run);
        int known = 0, place = count;
        for (int i = 0; i < count; i++)
            /* A strip of the same triangles would lead to the same covers. */
            known |= masks[i] == mask;
        if (known)
            continue;
        for (; place > 0 && precedes(&run, &runs[place - 1]); place--) {
            runs[place] = runs[place - 1];
            masks[place] = masks[place - 1];
        }
        runs[place] = run;
        masks[place] = mask;
        count++;
    }
    return count;
}

static void descend(Search *search, uint64_t remaining)
{
    Strip runs[3];
    uint64_t masks[3];
    if (remaining == 0) {
        memcpy(search->best, search->strips, (size_t)search->strip_count * sizeof(Strip));
        search->best_count = search->strip_count;
        return;
    }
    /* The first descent always completes: there is no cover yet to compare with. */
    if (search->best_count > 0 &&
        (search->strip_count + 1 >= search->best_count || search->branches >= BUDGET))
        return;
    search->branches++;
    int count = runs_through(search, loneliest(search, remaining), remaining, runs, masks);
    for (int i = 0; i < count; i++) {
        search->strips[search->strip_count++] = runs[i];
        descend(search, remaining & ~masks[i]);
        search->strip_count--;
    }
}

/* Place 0 to 2 in the order in which the strip of a state pushes its vertices. */
static int32_t window_vertex(const int32_t *corners, int state, int place)
{
    int uncrossed = state % 6 / 2;
    int turned = state % 2 ? 2 - place : place;
    return corners[3 * (state / 6) + (uncrossed + 1 + turned) % 3];
}

static int local_number(const int32_t *local, int count, int32_t vertex)
{
    int number = 0;
    while (number < count && local[number] != vertex)
        number++;
    return number;
}

/* Number the vertices of the strips [first, end) by first use; -1 where there are too many. */
static int number_vertices(const Search *search, int first, int end, int32_t *local)
{
    uint64_t used = 0;
    int count = 0;
    for (int i = first; i < end; i++)
        for (int n = 0; n < search->best[i].count; n++)
            used |= UINT64_C(1) << search->best[i].states[n] / 6;
    for (int corner = 0; corner < 3 * search->triangles; corner++) {
        if (!(used >> corner / 3 & 1) ||
            local_number(local, count, search->corners[corner]) < count)
            continue;
        if (count == MAX_VERTICES)
            return -1;
        local[count++] = search->corners[corner];
    }
    return count;
}

static int write_patch(const Search *search, int first, int end, Output *output)
{
    int32_t *local = output->vertices + output->vertex_end;
    int count = number_vertices(search, first, end, local);
    if (count < 0)
        return 0;
    for (int i = first; i < end; i++) {
        const Strip *strip = &search->best[i];
        /* Two pushes without a kick, then one entry for each triangle. */
        for (int n = -2; n < strip->count; n++) {
            int state = strip->states[n < 0 ? 0 : n];
            int32_t vertex = window_vertex(search->corners, state, n < 0 ? n + 2 : 2);
            int kick = n < 0 ? 0 : 4 << state % 2;
            output->entries[output->entry_end++] =
                (uint8_t)(local_number(local, count, vertex) << 4 | kick);
        }
    }
    output->vertex_end += count;
    output->count++;
    output->starts[2 * output->count] = output->vertex_end;
    output->starts[2 * output->count + 1] = output->entry_end;
    return 1;
}

static int write_shares(const Search *search, int max_entries, Output *output)
{
    int first = 0, room = max_entries;
    for (int i = 0; i < search->best_count; i++) {
        int needed = search->best[i].count + 2;
        if (needed > room) {
            if (!write_patch(search, first, i, output))
                return 0;
            first = i;
            room = max_entries;
        }
        room -= needed;
    }
    return write_patch(search, first, search->best_count, output);
}

static int32_t strip_all(const int32_t *triangles, const int32_t *starts, Py_ssize_t clusters,
                         int max_entries, Output *output)
{
    Search search;
    for (Py_ssize_t i = 0; i < clusters; i++) {
        int count = starts[i + 1] - starts[i];
        search_init(&search, triangles + 3 * starts[i], count, max_entries - 2);
        /* A shift by 64 bits is undefined in C. */
        descend(&search, count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1);
        if (!write_shares(&search, max_entries, output))
            return -1;
    }
    return output->count;
}

enum { TRIANGLES, CLUSTER_STARTS, VERTICES, ENTRIES, STARTS, ARRAYS };
enum { COUNT = -1, CORNERS = -2, CLUSTERS_1 = -3, COUNT_1 = -4 };

static const kernel_array WANTED[ARRAYS] = {
    {"triangles", KERNEL_INT32, KERNEL_INPUT, 2, {COUNT, 3}},
    {"cluster_starts", KERNEL_INT32, KERNEL_INPUT, 1, {CLUSTERS_1}},
    {"vertices", KERNEL_INT32, KERNEL_OUTPUT, 1, {CORNERS}},
    {"entries", KERNEL_BYTE, KERNEL_OUTPUT, 1, {CORNERS}},
    {"starts", KERNEL_INT32, KERNEL_OUTPUT, 2, {COUNT_1, 2}},
};

/* Check that the clusters follow one another from the first triangle to the last. */
static int clusters_fit(const Py_buffer *buffer, Py_ssize_t triangles)
{
    const int32_t *starts = buffer->buf;
    Py_ssize_t clusters = buffer->shape[0] - 1;
    if (starts[0] != 0 || starts[clusters] != triangles) {
        PyErr_Format(PyExc_ValueError, "cluster_starts: from %d to %d, expected 0 to %zd",
                     (int)starts[0], (int)starts[clusters], triangles);
        return 0;
    }
    for (Py_ssize_t i = 0; i < clusters; i++)
        if (starts[i + 1] <= starts[i] || starts[i + 1] - starts[i] > MAX_TRIANGLES) {
            PyErr_Format(PyExc_ValueError,
                         "cluster_starts: cluster %zd from %d to %d, expected 1 to %d triangles", i,
                         (int)starts[i], (int)starts[i + 1], MAX_TRIANGLES);
            return 0;
        }
    return 1;
}

/* Each triangle makes at most three vertices and three entries, and each patch has one. */
static int are_sound(const Py_buffer *buffers)
{
    Py_ssize_t count = buffers[TRIANGLES].shape[0];
    return kernel_rows(&buffers[TRIANGLES], "triangles", 0, KERNEL_MOST_TRIANGLES) &&
           kernel_rows(&buffers[VERTICES], "vertices", 3 * count, 3 * count) &&
           kernel_rows(&buffers[STARTS], "starts", count + 1, count + 1) &&
           kernel_rows(&buffers[CLUSTER_STARTS], "cluster_starts", 1, count + 1) &&
           clusters_fit(&buffers[CLUSTER_STARTS], count) &&
           kernel_distinct(&buffers[TRIANGLES], NULL);
}

PyObject *kernel_strip_patches(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *number, *result = NULL;
    Py_buffer buffers[ARRAYS];
    Py_ssize_t max_entries;
    int32_t count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOO:strip_patches", &objects[TRIANGLES],
                          &objects[CLUSTER_STARTS], &number, &objects[VERTICES],
                          &objects[ENTRIES], &objects[STARTS]) ||
        !kernel_number(number, "max_entries", 3, INT32_MAX, &max_entries) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    if (are_sound(buffers)) {
        Output output = {buffers[VERTICES].buf, buffers[ENTRIES].buf, buffers[STARTS].buf, 0, 0, 0};
        Py_BEGIN_ALLOW_THREADS
        count = strip_all(buffers[TRIANGLES].buf, buffers[CLUSTER_STARTS].buf,
                          buffers[CLUSTER_STARTS].shape[0] - 1, (int)max_entries, &output);
        Py_END_ALLOW_THREADS
        result = PyLong_FromLong(count);
    }
    kernel_release(buffers, ARRAYS);
    return result;
}
