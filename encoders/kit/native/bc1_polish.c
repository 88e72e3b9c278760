/* Small steps of a line's ends, judged by the colours that a decoder shows.
 *
 * The reference is encoders/kit/image/bc/bc1_polish.py.
 */
#include "bc1.h"

enum { MOST_COLORS = 4 };
/* Moves in one channel are by two levels less to two levels more; there are 3^6 moves of all six
 * numbers by a level. */
enum { WIDE = 5, TOGETHER = 729, MOST_TOGETHER = 3 };

/* Give the colours at a line's steps as decoders of 8 bits round them, by channel. */
static void decoded_colors(const bc1_line *line, int32_t steps, int16_t shown[3][MOST_COLORS])
{
    for (int c = 0; c < 3; c++) {
        int32_t a = bc1_expand(line->a[c], c), b = bc1_expand(line->b[c], c);
        for (int32_t k = 0; k <= steps; k++)
            shown[c][k] = (int16_t)(((steps - k) * a + k * b) / steps);
    }
}

/* For each texel, four times the squared distance of its nearest colour, plus the step. */
static void nearest_keys(const bc1_texels *texels, const bc1_line *line, int32_t keys[TEXELS])
{
    int16_t shown[3][MOST_COLORS];
    decoded_colors(line, texels->steps, shown);
    for (int t = 0; t < TEXELS; t++)
        keys[t] = FAR_AWAY;
    for (int32_t k = 0; k <= texels->steps; k++)
        for (int t = 0; t < TEXELS; t++) {
            int16_t red = (int16_t)(texels->color[0][t] - shown[0][k]);
            int16_t green = (int16_t)(texels->color[1][t] - shown[1][k]);
            int16_t blue = (int16_t)(texels->color[2][t] - shown[2][k]);
            int32_t key = (red * red + green * green + blue * blue) * MOST_COLORS + k;
            keys[t] = key < keys[t] ? key : keys[t];
        }
}

static int32_t shown_error(const bc1_texels *texels, const bc1_line *line)
{
    int32_t keys[TEXELS], error = 0;
    nearest_keys(texels, line, keys);
    for (int t = 0; t < TEXELS; t++)
        error += (keys[t] / MOST_COLORS) * texels->opaque[t];
    return error;
}

void bc1_shown_steps(const bc1_texels *texels, const bc1_line *line, int16_t steps[TEXELS])
{
    int32_t keys[TEXELS];
    nearest_keys(texels, line, keys);
    for (int t = 0; t < TEXELS; t++)
        steps[t] = (int16_t)(keys[t] % MOST_COLORS);
}

/* Move the ends by levels in each channel, and keep that where it is nearer. */
static int try_move(const bc1_texels *texels, const int a_by[3], const int b_by[3], bc1_line *line)
{
    bc1_line moved;
    for (int c = 0; c < 3; c++) {
        int32_t top = (int32_t)BC1_TOP[c];
        moved.a[c] = line->a[c] + a_by[c];
        moved.b[c] = line->b[c] + b_by[c];
        if (moved.a[c] < 0 || moved.a[c] > top || moved.b[c] < 0 || moved.b[c] > top)
            return 0;
    }
    moved.error = shown_error(texels, &moved);
    int is_nearer = moved.error < line->error;
    if (is_nearer)
        *line = moved;
    return is_nearer;
}

/* Try all moves in one channel by up to two levels. */
static int move_channels(const bc1_texels *texels, bc1_line *line)
{
    int is_moved = 0;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < WIDE * WIDE; k++) {
            int a_by[3] = {0, 0, 0}, b_by[3] = {0, 0, 0};
            a_by[c] = k / WIDE - WIDE / 2;
            b_by[c] = k % WIDE - WIDE / 2;
            is_moved |= try_move(texels, a_by, b_by, line);
        }
    return is_moved;
}

/* Try all moves by one level in up to three of the six numbers: the digits of `k` to base 3. */
static int move_together(const bc1_texels *texels, bc1_line *line)
{
    int is_moved = 0;
    for (int k = 0; k < TOGETHER; k++) {
        int by[6], count = 0, rest = k;
        for (int i = 0; i < 6; i++, rest /= 3) {
            by[i] = rest % 3 - 1;
            count += by[i] != 0;
        }
        if (count <= MOST_TOGETHER)
            is_moved |= try_move(texels, by, by + 3, line);
    }
    return is_moved;
}

bc1_line bc1_polish(const bc1_texels *texels, bc1_line line)
{
    line.error = shown_error(texels, &line);
    while (line.error > 0 && (move_channels(texels, &line) || move_together(texels, &line)))
        ;
    return line;
}
