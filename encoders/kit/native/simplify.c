/* Collapse edges, cheapest first: the kernel of encoders/kit/mesh/simplify/collapse.py.
 *
 * The names, the rules and the order of every floating-point operation are those of the reference
 * in reference.py beside it, which also says why.
 */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_COSINE 0.5
#define LENGTH_COST 1e-5
#define MAX_RING 48
/* Each triangle at a place has two edges there. */
#define MAX_SPOKES (2 * MAX_RING)
/* A row: position (3), freedom, allowed squared error, quadric (11). */
#define PLACE_ROW 16
#define PLACE_QUADRIC 5
#define QUADRIC 11
#define FREE 0.0
#define RIM 2.0
#define PLANE 4
#define PLANE_BITS 6
#define DAMPING 0.01
#define SETTLE_REACH 0.5
enum { KEEP_SEAMS, CROSS_SEAMS, SETTLE };

/* The pairs say which wedge becomes which; the other wedges of the place move with it. A placed
 * move takes the target to a point; `extra` is what it costs besides the shape. */
typedef struct {
    double cost, error, extra, point[3];
    int32_t target, wedge[2], onto[2];
    int pair_count, is_placed;
} Move;

/* One edge at a place: the wedge here and the one there, as one of its triangles has them. */
typedef struct {
    int32_t place, wedge, onto;
} Spoke;

typedef struct {
    double cost;
    int32_t place;
} Entry;

typedef struct {
    int32_t *corners, *place;
    double *places, *wedges;
    const int32_t *group;
    const double *losses;
    int32_t triangle_count, place_count, group_count;
    int attributes, wedge_row, mode;
    /* The bounds of all places, which none of them leaves. */
    double low[3], high[3];
    /* The triangles of each group: where they start in `grouped`, and how many are left. */
    int32_t *group_start, *grouped, *group_left;
    /* The corners at a place are a list: the first one, and the one after each. */
    int32_t *first, *after, *mark;
    int32_t marks;
    uint8_t *is_alive;
    double *current;
    /* Where each triangle faced at first. */
    double *normals;
    Entry *heap;
    size_t heap_count, heap_room;
} Mesh;

static void mesh_free(Mesh *mesh)
{
    free(mesh->group_start);
    free(mesh->grouped);
    free(mesh->group_left);
    free(mesh->first);
    free(mesh->after);
    free(mesh->mark);
    free(mesh->is_alive);
    free(mesh->current);
    free(mesh->normals);
    free(mesh->heap);
}

static void triangle_normal(const double *a, const double *b, const double *c, double *normal)
{
    double ux = b[0] - a[0], uy = b[1] - a[1], uz = b[2] - a[2];
    double vx = c[0] - a[0], vy = c[1] - a[1], vz = c[2] - a[2];
    normal[0] = uy * vz - uz * vy;
    normal[1] = uz * vx - ux * vz;
    normal[2] = ux * vy - uy * vx;
}

static void fill_normals(const Mesh *mesh)
{
    for (int32_t triangle = 0; triangle < mesh->triangle_count; triangle++) {
        const double *points[3];
        for (int i = 0; i < 3; i++)
            points[i] =
                mesh->places + (size_t)mesh->place[mesh->corners[3 * triangle + i]] * PLACE_ROW;
        triangle_normal(points[0], points[1], points[2], mesh->normals + 3 * triangle);
    }
}

static void fill_bounds(Mesh *mesh)
{
    for (int32_t one = 0; one < mesh->place_count; one++) {
        const double *row = mesh->places + (size_t)one * PLACE_ROW;
        for (int axis = 0; axis < 3; axis++) {
            if (one == 0 || row[axis] < mesh->low[axis])
                mesh->low[axis] = row[axis];
            if (one == 0 || row[axis] > mesh->high[axis])
                mesh->high[axis] = row[axis];
        }
    }
}

static void fill_groups(const Mesh *mesh)
{
    for (int32_t triangle = 0; triangle < mesh->triangle_count; triangle++)
        mesh->group_left[mesh->group[triangle]]++;
    int32_t at = 0;
    for (int32_t group = 0; group < mesh->group_count; group++) {
        mesh->group_start[group] = at;
        at += mesh->group_left[group];
        mesh->group_left[group] = 0;
    }
    for (int32_t triangle = 0; triangle < mesh->triangle_count; triangle++) {
        int32_t group = mesh->group[triangle];
        mesh->grouped[mesh->group_start[group] + mesh->group_left[group]++] = triangle;
    }
}

static int mesh_fill(Mesh *mesh)
{
    size_t places = (size_t)mesh->place_count, triangles = (size_t)mesh->triangle_count;
    size_t groups = (size_t)mesh->group_count, entries = places + groups;
    /* One more than needed: some libraries answer NULL when nothing is asked for. */
    mesh->first = malloc((places + 1) * sizeof(int32_t));
    mesh->after = malloc((3 * triangles + 1) * sizeof(int32_t));
    mesh->mark = calloc(places + 1, sizeof(int32_t));
    mesh->is_alive = malloc(triangles + 1);
    mesh->current = malloc((entries + 1) * sizeof(double));
    mesh->normals = malloc((3 * triangles + 1) * sizeof(double));
    mesh->group_start = malloc((groups + 1) * sizeof(int32_t));
    mesh->grouped = malloc((triangles + 1) * sizeof(int32_t));
    mesh->group_left = calloc(groups + 1, sizeof(int32_t));
    mesh->heap_room = 2 * entries + 64;
    mesh->heap = malloc(mesh->heap_room * sizeof(Entry));
    if (!mesh->first || !mesh->after || !mesh->mark || !mesh->is_alive || !mesh->current ||
        !mesh->normals || !mesh->heap || !mesh->group_start || !mesh->grouped ||
        !mesh->group_left)
        return 0;
    memset(mesh->first, -1, places * sizeof(int32_t));
    memset(mesh->is_alive, 1, triangles);
    for (size_t i = 0; i < entries; i++)
        mesh->current[i] = -1.0;
    /* Backwards, so that each list is in the order of the triangles. */
    for (int32_t corner = 3 * mesh->triangle_count - 1; corner >= 0; corner--) {
        int32_t at = mesh->place[mesh->corners[corner]];
        mesh->after[corner] = mesh->first[at];
        mesh->first[at] = corner;
    }
    fill_normals(mesh);
    fill_bounds(mesh);
    fill_groups(mesh);
    return 1;
}

/* Collect the corners left at a place, dropping dead ones; return their number, or -1 for many. */
static int ring(Mesh *mesh, int32_t one, int32_t *found)
{
    int count = 0;
    int32_t *link = &mesh->first[one];
    while (*link >= 0) {
        /* Dead corners are unlinked here and nowhere else. */
        if (!mesh->is_alive[*link / 3]) {
            *link = mesh->after[*link];
            continue;
        }
        if (count == MAX_RING)
            return -1;
        found[count++] = *link;
        link = &mesh->after[*link];
    }
    return count;
}

static int32_t corner_beside(int32_t corner, int step)
{
    return corner / 3 * 3 + (corner % 3 + step) % 3;
}

/* Is the target at one of the other corners of this corner's triangle, which then vanishes? */
static int is_beside(const Mesh *mesh, int32_t corner, int32_t target)
{
    return mesh->place[mesh->corners[corner_beside(corner, 1)]] == target ||
           mesh->place[mesh->corners[corner_beside(corner, 2)]] == target;
}

static double quadric_at(const double *q, const double *point)
{
    double x = point[0], y = point[1], z = point[2];
    double squares = q[0] * x * x + q[1] * y * y + q[2] * z * z;
    double mixed = q[3] * x * y + q[4] * x * z + q[5] * y * z;
    double linear = q[6] * x + q[7] * y + q[8] * z;
    return squares + 2.0 * mixed + 2.0 * linear + q[9];
}

static double expected_at(const double *slope, const double *point)
{
    return slope[0] * point[0] + slope[1] * point[1] + slope[2] * point[2] + slope[3];
}

/* How far the attributes of the wedge `onto` are from those of a wedge's triangles at a point;
 * without one, the best attributes that the wedge itself can have there. */
static double attribute_error(const Mesh *mesh, int32_t wedge, int32_t onto, const double *point)
{
    const double *row = mesh->wedges + (size_t)wedge * (size_t)mesh->wedge_row;
    const double *values = onto < 0 ? row : mesh->wedges + (size_t)onto * (size_t)mesh->wedge_row;
    const double *g = row + mesh->attributes;
    const double *quadric = g + 4 * mesh->attributes;
    double weight = quadric[QUADRIC - 1], error = quadric_at(quadric, point);
    for (int n = 0; n < mesh->attributes; n++, g += 4) {
        double expected = expected_at(g, point);
        double value = onto < 0 && weight > 0.0 ? expected / weight : values[n];
        error += value * (value * weight - 2.0 * expected);
    }
    return error;
}

/* Return the wedge that a wedge becomes, or -1 for one that moves with its place. */
static int32_t partner(const Move *move, int32_t wedge)
{
    for (int i = 0; i < move->pair_count; i++)
        if (move->wedge[i] == wedge)
            return move->onto[i];
    return -1;
}

/* The cost of a squared error: over the root of the weight, or its power of 3/4, by roots, which
 * are rounded the same on every machine. */
static double scaled(const Mesh *mesh, double squares, double weight)
{
    double root = sqrt(weight);
    return squares / (mesh->mode == SETTLE ? root : root * sqrt(root));
}

static void price(const Mesh *mesh, int32_t one, const int32_t *wedges, int wedge_count,
                  Move *move)
{
    const double *point = mesh->places + (size_t)move->target * PLACE_ROW;
    const double *here = mesh->places + (size_t)one * PLACE_ROW;
    double shape = quadric_at(here + PLACE_QUADRIC, point), looks = 0.0;
    double weight = here[PLACE_QUADRIC + QUADRIC - 1];
    /* Rounding can make a quadric slightly negative. */
    shape = shape > 0.0 ? shape : 0.0;
    for (int i = 0; i < wedge_count; i++)
        looks += attribute_error(mesh, wedges[i], partner(move, wedges[i]), point);
    looks = looks > 0.0 ? looks : 0.0;
    move->cost = move->error = move->extra = 0.0;
    move->is_placed = 0;
    memcpy(move->point, point, sizeof(move->point));
    /* No triangle with an area around it: moving costs nothing. */
    if (weight <= 0.0)
        return;
    double dx = point[0] - here[0], dy = point[1] - here[1], dz = point[2] - here[2];
    double length = LENGTH_COST * weight * (dx * dx + dy * dy + dz * dz);
    move->extra = looks + length;
    move->cost = scaled(mesh, shape + looks + length, weight);
    move->error = shape / weight;
}

static double positive_quadric_at(const double *q, const double *point)
{
    double found = quadric_at(q, point);
    return found > 0.0 ? found : 0.0;
}

/* Find where a place's quadric is least within the bounds, damped; return 0 where it is where it
 * should be. */
static int best_point(const Mesh *mesh, const double *row, double *found)
{
    const double *q = row + PLACE_QUADRIC;
    double damping = DAMPING * q[QUADRIC - 1];
    double a = q[0] + damping, b = q[1] + damping, c = q[2] + damping;
    double d = q[3], e = q[4], f = q[5];
    double x = -(q[0] * row[0] + d * row[1] + e * row[2] + q[6]);
    double y = -(d * row[0] + q[1] * row[1] + f * row[2] + q[7]);
    double z = -(e * row[0] + f * row[1] + q[2] * row[2] + q[8]);
    double bc = b * c - f * f, ac = a * c - e * e, ab = a * b - d * d;
    double dc = e * f - d * c, df = d * f - e * b, af = d * e - a * f;
    double determinant = a * bc + d * dc + e * df;
    if (!(determinant > 0.0))
        return 0;
    found[0] = row[0] + (bc * x + dc * y + df * z) / determinant;
    found[1] = row[1] + (dc * x + ac * y + af * z) / determinant;
    found[2] = row[2] + (df * x + af * y + ab * z) / determinant;
    for (int axis = 0; axis < 3; axis++) {
        if (found[axis] < mesh->low[axis])
            found[axis] = mesh->low[axis];
        else if (mesh->high[axis] < found[axis])
            found[axis] = mesh->high[axis];
    }
    return found[0] != row[0] || found[1] != row[1] || found[2] != row[2];
}

/* Make of a move the one that also takes the target to where both are met best; return 0 where
 * there is none. */
static int place_move(const Mesh *mesh, int32_t one, Move *move)
{
    const double *here = mesh->places + (size_t)one * PLACE_ROW;
    const double *there = mesh->places + (size_t)move->target * PLACE_ROW;
    double both[PLACE_ROW];
    if (mesh->mode != SETTLE || here[3] != FREE || there[3] != FREE ||
        !(here[PLACE_ROW - 1] > 0.0 && there[PLACE_ROW - 1] > 0.0))
        return 0;
    memcpy(both, there, sizeof(both));
    for (int i = PLACE_QUADRIC; i < PLACE_ROW; i++)
        both[i] += here[i];
    if (!best_point(mesh, both, move->point))
        return 0;
    double shape = positive_quadric_at(both + PLACE_QUADRIC, move->point);
    /* Only what the move adds: errors of the places so far are there without it. */
    double added = shape - positive_quadric_at(here + PLACE_QUADRIC, here) -
                   positive_quadric_at(there + PLACE_QUADRIC, there);
    added = added > 0.0 ? added : 0.0;
    move->cost = scaled(mesh, added + move->extra, both[PLACE_ROW - 1]);
    move->error = shape / both[PLACE_ROW - 1];
    move->is_placed = 1;
    return 1;
}

static int turns_over(const double *n, const double *m)
{
    double before = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    double after = m[0] * m[0] + m[1] * m[1] + m[2] * m[2];
    double both = n[0] * m[0] + n[1] * m[1] + n[2] * m[2];
    /* A degenerate triangle has no direction to turn from. */
    if (before == 0.0)
        return 0;
    return both <= 0.0 || both * both < MIN_COSINE * MIN_COSINE * before * after;
}

/* Does the triangle of a corner stay the right way up where the corner moves to a point? */
static int keeps_its_side(const Mesh *mesh, int32_t corner, const double *point)
{
    const double *points[3];
    double after[3];
    for (int i = 0; i < 3; i++)
        points[i] = mesh->places +
                    (size_t)mesh->place[mesh->corners[corner / 3 * 3 + i]] * PLACE_ROW;
    points[corner % 3] = point;
    triangle_normal(points[0], points[1], points[2], after);
    return !turns_over(mesh->normals + corner / 3 * 3, after);
}

/* Return a mark that no place has; when the numbers are used up, clear all marks. */
static int32_t next_mark(Mesh *mesh)
{
    if (mesh->marks == INT32_MAX) {
        memset(mesh->mark, 0, (size_t)mesh->place_count * sizeof(int32_t));
        mesh->marks = 0;
    }
    return ++mesh->marks;
}

/* Count the places that are neighbours of both; at most the ring's size. */
static int common_neighbours(Mesh *mesh, const int32_t *here, int here_count,
                             const int32_t *there, int there_count)
{
    int common = 0;
    int32_t near = next_mark(mesh), counted = next_mark(mesh);
    for (int i = 0; i < here_count; i++)
        for (int step = 1; step < 3; step++)
            mesh->mark[mesh->place[mesh->corners[corner_beside(here[i], step)]]] = near;
    for (int i = 0; i < there_count; i++)
        for (int step = 1; step < 3; step++) {
            int32_t *mark = &mesh->mark[mesh->place[mesh->corners[corner_beside(there[i], step)]]];
            if (*mark == near) {
                *mark = counted;
                common++;
            }
        }
    return common;
}

/* Return the bits of the border planes that hold a place. */
static int planes(const Mesh *mesh, int32_t place)
{
    double freedom = mesh->places[(size_t)place * PLACE_ROW + 3];
    return freedom >= PLANE && freedom < PLANE << PLANE_BITS ? (int)freedom / PLANE : 0;
}

/* Does a move join places of one plane by a new edge? To be asked after `common_neighbours`, whose
 * last mark tells which edges are not new. */
static int joins_plane(const Mesh *mesh, const int32_t *here, int here_count, int32_t target)
{
    int shared = planes(mesh, target);
    for (int i = 0; shared && i < here_count; i++)
        for (int step = 1; step < 3; step++) {
            int32_t near = mesh->place[mesh->corners[corner_beside(here[i], step)]];
            if (near != target && mesh->mark[near] != mesh->marks && planes(mesh, near) & shared)
                return 1;
        }
    return 0;
}

/* Does no triangle of the corners turn over where they move, but those that vanish? */
static int stay_up(const Mesh *mesh, const int32_t *corners, int count, int32_t other,
                   const double *point)
{
    for (int i = 0; i < count; i++)
        if (!is_beside(mesh, corners[i], other) && !keeps_its_side(mesh, corners[i], point))
            return 0;
    return 1;
}

static int is_allowed(Mesh *mesh, const int32_t *here, int here_count, int is_rim,
                      const Move *move)
{
    int32_t there[MAX_RING], one = mesh->place[mesh->corners[here[0]]];
    int there_count = ring(mesh, move->target, there), edge_triangles = is_rim ? 1 : 2;
    /* The link condition: further common neighbours would fold the surface onto itself. */
    if (there_count < 0 ||
        common_neighbours(mesh, here, here_count, there, there_count) != edge_triangles)
        return 0;
    if (joins_plane(mesh, here, here_count, move->target) ||
        !stay_up(mesh, here, here_count, move->target, move->point))
        return 0;
    /* A placed target moves as well, with the wedges of both: no more than fit in a ring. */
    return !move->is_placed || (here_count + there_count <= MAX_RING &&
                                stay_up(mesh, there, there_count, one, move->point));
}

/* Collect the edges at a place, each once for each of its triangles. */
static int find_spokes(const Mesh *mesh, const int32_t *here, int here_count, Spoke *spokes)
{
    int count = 0;
    for (int i = 0; i < here_count; i++)
        for (int step = 1; step < 3; step++) {
            int32_t onto = mesh->corners[corner_beside(here[i], step)];
            Spoke spoke = {mesh->place[onto], mesh->corners[here[i]], onto};
            spokes[count++] = spoke;
        }
    return count;
}

/* Collect the wedges at a place, each once, in the order of their numbers. */
static int find_wedges(const Mesh *mesh, const int32_t *here, int here_count, int32_t *wedges)
{
    int count = 0;
    for (int i = 0; i < here_count; i++) {
        int32_t wedge = mesh->corners[here[i]];
        int at = count;
        while (at > 0 && wedges[at - 1] > wedge)
            at--;
        if (at > 0 && wedges[at - 1] == wedge)
            continue;
        memmove(wedges + at + 1, wedges + at, (size_t)(count - at) * sizeof(int32_t));
        wedges[at] = wedge;
        count++;
    }
    return count;
}

/* Make a move of an edge that has as many triangles as it should. Only a move across seams may
 * leave a wedge without the one it becomes, or two to choose from. */
static int make_move(const Spoke *spokes, int count, int index, int wedge_count, int is_rim,
                     int crosses, Move *move)
{
    const Spoke *one = &spokes[index], *other = NULL;
    for (int i = 0; i < count; i++) {
        if (i == index || spokes[i].place != one->place)
            continue;
        /* Seen before from its first spoke, or an edge of more than two triangles. */
        if (i < index || other != NULL)
            return 0;
        other = &spokes[i];
    }
    if ((other == NULL) != is_rim)
        return 0;
    move->target = one->place;
    move->wedge[0] = one->wedge;
    move->onto[0] = one->onto;
    move->pair_count = 1;
    if (is_rim)
        return crosses || wedge_count == 1;
    if (one->wedge == other->wedge) {
        move->onto[0] = one->onto < other->onto ? one->onto : other->onto;
        return crosses || (wedge_count == 1 && one->onto == other->onto);
    }
    move->wedge[1] = other->wedge;
    move->onto[1] = other->onto;
    move->pair_count = 2;
    return crosses || wedge_count == 2;
}

static int is_cheaper(const Move *a, const Move *b)
{
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->target < b->target || (a->target == b->target && a->is_placed < b->is_placed);
}

/* Keep the last of the moves where its error is allowed; return how many there are. */
static int keep_move(const Move *moves, int count, double allowed)
{
    const Move *last = &moves[count];
    /* A cost that overflowed, or is no number, has no place in the order of the queue. */
    return count + (last->error <= allowed && last->cost <= DBL_MAX);
}

/* Find the cheapest move of a place that breaks no rule; return whether there is one. */
static int best_move(Mesh *mesh, int32_t one, Move *best)
{
    int32_t here[MAX_RING], wedges[MAX_RING];
    Spoke spokes[MAX_SPOKES];
    Move moves[MAX_SPOKES];
    int move_count = 0, crosses = mesh->mode != KEEP_SEAMS;
    const double *row = mesh->places + (size_t)one * PLACE_ROW;
    int is_rim = row[3] == RIM;
    if (row[3] != FREE && !is_rim)
        return 0;
    int here_count = ring(mesh, one, here);
    /* The last triangle of a place on a rim stays: removing it would remove the next edge too. */
    if (here_count <= is_rim)
        return 0;
    int wedge_count = find_wedges(mesh, here, here_count, wedges);
    int spoke_count = find_spokes(mesh, here, here_count, spokes);
    for (int i = 0; i < spoke_count; i++)
        if (make_move(spokes, spoke_count, i, wedge_count, is_rim, crosses, &moves[move_count])) {
            price(mesh, one, wedges, wedge_count, &moves[move_count]);
            Move placed = moves[move_count];
            move_count = keep_move(moves, move_count, row[4]);
            if (place_move(mesh, one, &placed)) {
                moves[move_count] = placed;
                move_count = keep_move(moves, move_count, row[4]);
            }
        }
    /* The rules take longer than the price, so they are asked of the cheapest move first. */
    while (move_count > 0) {
        int cheapest = 0;
        for (int i = 1; i < move_count; i++)
            if (is_cheaper(&moves[i], &moves[cheapest]))
                cheapest = i;
        *best = moves[cheapest];
        if (is_allowed(mesh, here, here_count, is_rim, best))
            return 1;
        moves[cheapest] = moves[--move_count];
    }
    return 0;
}

static int comes_before(const Entry *a, const Entry *b)
{
    return a->cost < b->cost || (a->cost == b->cost && a->place < b->place);
}

static int heap_push(Mesh *mesh, Entry entry)
{
    if (mesh->heap_count == mesh->heap_room) {
        Entry *grown = realloc(mesh->heap, 2 * mesh->heap_room * sizeof(Entry));
        if (grown == NULL)
            return 0;
        mesh->heap = grown;
        mesh->heap_room *= 2;
    }
    size_t hole = mesh->heap_count++;
    for (; hole > 0 && comes_before(&entry, &mesh->heap[(hole - 1) / 2]); hole = (hole - 1) / 2)
        mesh->heap[hole] = mesh->heap[(hole - 1) / 2];
    mesh->heap[hole] = entry;
    return 1;
}

static Entry heap_pop(Mesh *mesh)
{
    Entry top = mesh->heap[0], last = mesh->heap[--mesh->heap_count];
    size_t hole = 0;
    for (size_t child = 1; child < mesh->heap_count; child = 2 * hole + 1) {
        if (child + 1 < mesh->heap_count &&
            comes_before(&mesh->heap[child + 1], &mesh->heap[child]))
            child++;
        if (!comes_before(&mesh->heap[child], &last))
            break;
        mesh->heap[hole] = mesh->heap[child];
        hole = child;
    }
    mesh->heap[hole] = last;
    return top;
}

/* Queue the best move of a place where its cost has changed; return 0 where memory is out. */
static int update(Mesh *mesh, int32_t one, Move *move)
{
    double cost = best_move(mesh, one, move) ? move->cost : -1.0;
    Entry entry = {cost, one};
    /* An entry of this cost is in the heap already. */
    int is_new = cost >= 0.0 && cost != mesh->current[one];
    mesh->current[one] = move->cost = cost;
    return !is_new || heap_push(mesh, entry);
}

static void add_row(double *rows, size_t size, int32_t source, int32_t target, size_t from)
{
    for (size_t i = from; i < size; i++)
        rows[(size_t)target * size + i] += rows[(size_t)source * size + i];
}

/* Move the wedges of a place: into those they become, or along with the place. */
static void move_wedges(Mesh *mesh, const int32_t *here, int count, const Move *move)
{
    int32_t wedges[MAX_RING];
    int wedge_count = find_wedges(mesh, here, count, wedges);
    size_t size = (size_t)mesh->wedge_row;
    const double *point = mesh->places + (size_t)move->target * PLACE_ROW;
    for (int i = 0; i < wedge_count; i++) {
        int32_t onto = partner(move, wedges[i]);
        if (onto >= 0) {
            add_row(mesh->wedges, size, wedges[i], onto, (size_t)mesh->attributes);
            continue;
        }
        double *row = mesh->wedges + (size_t)wedges[i] * size, weight = row[size - 1];
        for (int n = 0; n < mesh->attributes && weight > 0.0; n++)
            row[n] = expected_at(row + mesh->attributes + 4 * n, point) / weight;
        mesh->place[wedges[i]] = move->target;
    }
}

/* Move a place to a point, with the attributes of its wedges. */
static void put(const Mesh *mesh, int32_t one, const int32_t *here, int count,
                const double *point)
{
    int32_t wedges[MAX_RING];
    double *row = mesh->places + (size_t)one * PLACE_ROW;
    double way[3] = {point[0] - row[0], point[1] - row[1], point[2] - row[2]};
    int wedge_count = find_wedges(mesh, here, count, wedges);
    for (int i = 0; i < wedge_count; i++) {
        double *values = mesh->wedges + (size_t)wedges[i] * (size_t)mesh->wedge_row;
        double weight = values[mesh->wedge_row - 1];
        for (int n = 0; n < mesh->attributes && weight > 0.0; n++) {
            const double *g = values + mesh->attributes + 4 * n;
            values[n] += (g[0] * way[0] + g[1] * way[1] + g[2] * way[2]) / weight;
        }
    }
    memcpy(row, point, sizeof(way));
}

static int32_t collapse(Mesh *mesh, int32_t one, const Move *move)
{
    int32_t here[MAX_RING], vanished = 0;
    int count = ring(mesh, one, here);
    /* Before any corner or place changes: these tell which triangles vanish. */
    for (int i = 0; i < count; i++)
        if (is_beside(mesh, here[i], move->target)) {
            mesh->is_alive[here[i] / 3] = 0;
            mesh->group_left[mesh->group[here[i] / 3]]--;
            vanished++;
        }
    move_wedges(mesh, here, count, move);
    for (int i = 0; i < count; i++) {
        if (!mesh->is_alive[here[i] / 3])
            continue;
        int32_t *corner = &mesh->corners[here[i]], onto = partner(move, *corner);
        *corner = onto < 0 ? *corner : onto;
        mesh->after[here[i]] = mesh->first[move->target];
        mesh->first[move->target] = here[i];
    }
    mesh->first[one] = -1;
    add_row(mesh->places, PLACE_ROW, one, move->target, PLACE_QUADRIC);
    if (move->is_placed) {
        /* `is_allowed` has seen to it that the ring is not too large. */
        count = ring(mesh, move->target, here);
        put(mesh, move->target, here, count, move->point);
    }
    return vanished;
}

/* Collect the neighbours of a place, each once. */
static int neighbours(Mesh *mesh, int32_t one, int32_t *found)
{
    int32_t here[MAX_RING], seen = next_mark(mesh);
    int here_count = ring(mesh, one, here), count = 0;
    for (int i = 0; i < here_count; i++)
        for (int step = 1; step < 3; step++) {
            int32_t near = mesh->place[mesh->corners[corner_beside(here[i], step)]];
            if (mesh->mark[near] != seen)
                found[count++] = near;
            mesh->mark[near] = seen;
        }
    return count;
}

/* Collapse one place and queue its former neighbours anew; return 0 where memory is out. */
static int step(Mesh *mesh, int32_t one, const Move *move, int32_t *left)
{
    int32_t touched[MAX_SPOKES];
    Move ignored;
    int count = neighbours(mesh, one, touched);
    *left -= collapse(mesh, one, move);
    for (int i = 0; i < count; i++)
        /* Only a place that gained triangles, or could not move before; `simplify` asks the
         * others again when they are popped. */
        if ((touched[i] == move->target || mesh->current[touched[i]] < 0.0) &&
            !update(mesh, touched[i], &ignored))
            return 0;
    return 1;
}

/* Remove what is left of a group, unless that leads further below the target than it is above. */
static void drop_group(Mesh *mesh, int32_t group, int target, int32_t *left)
{
    int32_t after = *left - mesh->group_left[group];
    if (target - after >= *left - target)
        return;
    int32_t end = group + 1 < mesh->group_count ? mesh->group_start[group + 1]
                                                : mesh->triangle_count;
    for (int32_t i = mesh->group_start[group]; i < end; i++)
        mesh->is_alive[mesh->grouped[i]] = 0;
    mesh->group_left[group] = 0;
    *left = after;
}

static int fill_queue(Mesh *mesh)
{
    Move ignored;
    for (int32_t one = 0; one < mesh->place_count; one++)
        if (!update(mesh, one, &ignored))
            return 0;
    for (int32_t group = 0; group < mesh->group_count; group++) {
        Entry entry = {mesh->losses[group], mesh->place_count + group};
        if (!(entry.cost >= 0.0 && entry.cost <= DBL_MAX) || mesh->group_left[group] == 0)
            continue;
        mesh->current[entry.place] = entry.cost;
        if (!heap_push(mesh, entry))
            return 0;
    }
    return 1;
}

static int simplify(Mesh *mesh, int target, double *reached)
{
    int32_t left = mesh->triangle_count;
    Move move;
    if (!fill_queue(mesh))
        return 0;
    while (left > target && mesh->heap_count > 0) {
        Entry entry = heap_pop(mesh);
        /* The place has been updated since; a newer entry is in the heap, or none is needed. */
        if (entry.cost != mesh->current[entry.place])
            continue;
        if (entry.place >= mesh->place_count) {
            drop_group(mesh, entry.place - mesh->place_count, target, &left);
            continue;
        }
        if (!update(mesh, entry.place, &move))
            return 0;
        /* Neighbours have changed since; `update` has queued the new cost. */
        if (move.cost != entry.cost)
            continue;
        mesh->current[entry.place] = -1.0;
        *reached = move.error > *reached ? move.error : *reached;
        if (!step(mesh, entry.place, &move, &left))
            return 0;
    }
    return 1;
}

static double squared_distance(const double *one, const double *other)
{
    double x = one[0] - other[0], y = one[1] - other[1], z = one[2] - other[2];
    return x * x + y * y + z * z;
}

/* May a place go to a point: not far for the length of its edges, and no triangle turned over? */
static int may_settle(const Mesh *mesh, int32_t one, const int32_t *here, int count,
                      const double *point)
{
    const double *row = mesh->places + (size_t)one * PLACE_ROW;
    double way = squared_distance(row, point);
    if (!(way <= row[4]))
        return 0;
    for (int i = 0; i < count; i++) {
        for (int step = 1; step < 3; step++) {
            int32_t near = mesh->place[mesh->corners[corner_beside(here[i], step)]];
            double edge = squared_distance(row, mesh->places + (size_t)near * PLACE_ROW);
            if (way > SETTLE_REACH * SETTLE_REACH * edge)
                return 0;
        }
        if (!keeps_its_side(mesh, here[i], point))
            return 0;
    }
    return 1;
}

/* Move every free place to where its quadric is least, with the attributes of its wedges. */
static void settle(Mesh *mesh)
{
    int32_t here[MAX_RING];
    double point[3];
    for (int32_t one = 0; one < mesh->place_count; one++) {
        const double *row = mesh->places + (size_t)one * PLACE_ROW;
        int count = row[3] == FREE ? ring(mesh, one, here) : 0;
        if (count > 0 && best_point(mesh, row, point) && may_settle(mesh, one, here, count, point))
            put(mesh, one, here, count, point);
    }
}

/* Fill the triangles that vanished with -1; return the number of the others. */
static int32_t mark_vanished(const Mesh *mesh)
{
    int32_t count = 0;
    for (int32_t triangle = 0; triangle < mesh->triangle_count; triangle++)
        if (mesh->is_alive[triangle])
            count++;
        else
            memset(mesh->corners + 3 * triangle, -1, 3 * sizeof(int32_t));
    return count;
}

enum { TRIANGLES, PLACE, PLACES, WEDGES, GROUP, LOSSES, REACHED, ARRAYS };
enum { COUNT = -1, WEDGE_COUNT = -2, PLACE_COUNT = -3, WEDGE_ROW = -4, GROUP_COUNT = -5 };

static const kernel_array WANTED[ARRAYS] = {
    {"triangles", KERNEL_INT32, KERNEL_OUTPUT, 2, {COUNT, 3}},
    {"place", KERNEL_INT32, KERNEL_OUTPUT, 1, {WEDGE_COUNT}},
    {"places", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {PLACE_COUNT, PLACE_ROW}},
    {"wedges", KERNEL_FLOAT64, KERNEL_OUTPUT, 2, {WEDGE_COUNT, WEDGE_ROW}},
    {"group", KERNEL_INT32, KERNEL_INPUT, 1, {COUNT}},
    {"losses", KERNEL_FLOAT64, KERNEL_INPUT, 1, {GROUP_COUNT}},
    {"reached", KERNEL_FLOAT64, KERNEL_OUTPUT, 1, {1}},
};

/* A row of wedges has a value and four numbers of slope for each attribute, then the quadric. */
static int wedges_fit(const Py_buffer *wedges)
{
    Py_ssize_t row = wedges->shape[1];
    if (row >= QUADRIC && (row - QUADRIC) % 5 == 0 && row <= INT32_MAX)
        return 1;
    PyErr_Format(PyExc_ValueError, "wedges: rows of %zd, expected %d and 5 for each attribute",
                 row, QUADRIC);
    return 0;
}

/* A triangle with two corners at one place would be taken for two, and collapse onto itself. */
static int are_sound(const Py_buffer *buffers)
{
    return wedges_fit(&buffers[WEDGES]) &&
           kernel_rows(&buffers[TRIANGLES], "triangles", 0, KERNEL_MOST_TRIANGLES) &&
           kernel_rows(&buffers[PLACES], "places", 0, INT32_MAX / 2) &&
           kernel_rows(&buffers[LOSSES], "losses", 0, INT32_MAX / 2) &&
           kernel_indices(&buffers[GROUP], "group", buffers[LOSSES].shape[0]) &&
           kernel_indices(&buffers[TRIANGLES], "triangles", buffers[PLACE].shape[0]) &&
           kernel_indices(&buffers[PLACE], "place", buffers[PLACES].shape[0]) &&
           kernel_distinct(&buffers[TRIANGLES], buffers[PLACE].buf);
}

static PyObject *simplify_buffers(Py_buffer *buffers, int32_t target, int mode)
{
    int has_memory;
    int32_t count = 0;
    Mesh mesh = {0};
    mesh.triangle_count = (int32_t)buffers[TRIANGLES].shape[0];
    mesh.place_count = (int32_t)buffers[PLACES].shape[0];
    mesh.wedge_row = (int)buffers[WEDGES].shape[1];
    mesh.attributes = (mesh.wedge_row - QUADRIC) / 5;
    mesh.group_count = (int32_t)buffers[LOSSES].shape[0];
    mesh.mode = mode;
    mesh.group = buffers[GROUP].buf;
    mesh.losses = buffers[LOSSES].buf;
    mesh.corners = buffers[TRIANGLES].buf;
    mesh.place = buffers[PLACE].buf;
    mesh.places = buffers[PLACES].buf;
    mesh.wedges = buffers[WEDGES].buf;
    Py_BEGIN_ALLOW_THREADS
    has_memory = mesh_fill(&mesh) && simplify(&mesh, target, buffers[REACHED].buf);
    if (has_memory && mode == SETTLE)
        settle(&mesh);
    count = has_memory ? mark_vanished(&mesh) : 0;
    mesh_free(&mesh);
    Py_END_ALLOW_THREADS
    return has_memory ? PyLong_FromLong(count) : PyErr_NoMemory();
}

PyObject *kernel_simplify(PyObject *module, PyObject *arguments)
{
    PyObject *objects[ARRAYS], *number, *way, *result = NULL;
    Py_buffer buffers[ARRAYS];
    Py_ssize_t target, mode;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOO:simplify", &objects[TRIANGLES], &objects[PLACE],
                          &objects[PLACES], &objects[WEDGES], &objects[GROUP], &objects[LOSSES],
                          &way, &number, &objects[REACHED]) ||
        !kernel_number(way, "mode", KEEP_SEAMS, SETTLE, &mode) ||
        !kernel_number(number, "target", 0, INT32_MAX, &target) ||
        !kernel_open(WANTED, ARRAYS, objects, buffers))
        return NULL;
    if (are_sound(buffers))
        result = simplify_buffers(buffers, (int32_t)target, (int)mode);
    kernel_release(buffers, ARRAYS);
    return result;
}
