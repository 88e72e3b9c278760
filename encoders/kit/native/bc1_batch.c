/* `bc1_fit` for many cuts of one block at once: the same arithmetic, in vectors. */
#include "bc1.h"

/* What does not depend on the channel, by lane; red and blue share their divisions. */
typedef struct {
    float solve[2][BC1_LANES], match[2][BC1_LANES];
} divisions;

static inline void divide(const bc1_batch *batch, divisions *by)
{
    for (int i = 0; i < BC1_LANES; i++) {
        int32_t determinant = batch->aa[i] * batch->bb[i] - batch->ab[i] * batch->ab[i];
        int32_t weight = batch->bb[i] > 1 ? batch->bb[i] : 1;
        determinant = determinant > 1 ? determinant : 1;
        by->solve[0][i] = BC1_LEVELS_PER_UNIT[0] / (float)determinant;
        by->solve[1][i] = BC1_LEVELS_PER_UNIT[1] / (float)determinant;
        by->match[0][i] = BC1_LEVELS_PER_UNIT[0] / (float)weight;
        by->match[1][i] = BC1_LEVELS_PER_UNIT[1] / (float)weight;
    }
}

static inline void fit_channel(const bc1_batch *batch, const divisions *by, int c, int32_t sum,
                               int32_t steps, bc1_batch_lines *lines)
{
    for (int i = 0; i < BC1_LANES; i++) {
        const bc1_channel found = {batch->aa[i], batch->ab[i], batch->bb[i],
                               steps * sum - batch->b_color[c][i], batch->b_color[c][i]};
        bc1_ends ends =
            bc1_fit_channel(found, by->solve[c & 1][i], by->match[c & 1][i], c, steps);
        lines->a[c][i] = ends.a;
        lines->b[c][i] = ends.b;
        lines->error[i] += ends.error;
    }
}

WIDER void bc1_fit_batch(const bc1_batch *batch, const int32_t sum[3], int32_t steps,
                             bc1_batch_lines *lines)
{
    divisions by;
    divide(batch, &by);
    for (int i = 0; i < BC1_LANES; i++)
        lines->error[i] = 0;
    /* Written out, so that the channel is a constant of each loop. */
    fit_channel(batch, &by, 0, sum[0], steps, lines);
    fit_channel(batch, &by, 1, sum[1], steps, lines);
    fit_channel(batch, &by, 2, sum[2], steps, lines);
    for (int i = 0; i < BC1_LANES; i++) {
        int has_line = batch->aa[i] * batch->bb[i] > batch->ab[i] * batch->ab[i];
        lines->error[i] = has_line ? lines->error[i] : FAR_AWAY;
    }
}

bc1_line bc1_batch_line(const bc1_batch_lines *lines, int lane)
{
    bc1_line line;
    for (int c = 0; c < 3; c++) {
        line.a[c] = lines->a[c][lane];
        line.b[c] = lines->b[c][lane];
    }
    line.error = lines->error[lane];
    return line;
}
