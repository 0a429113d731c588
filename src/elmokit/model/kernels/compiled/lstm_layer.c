/* One LSTM layer over all steps of a packed batch of few rows: the compiled twin of run_packed in
   ../lstm_kernel.py. Such a step waits for its weights, so they may be narrow: see ../narrow.py.

   A word of a matrix holds PER_WORD consecutive rows of one column. Sums are float. */

#include "vector_math.h"

#if defined(INT8)
#define PER_WORD 4
#define WORDS_OF_ONE 1
#define WORDS_OF_SEVERAL 1

INLINE float part(uint32_t x, int k) { return (float)((int32_t)(x << (24 - 8 * k)) >> 24); }
#elif defined(BFLOAT16)
#define PER_WORD 2
#define WORDS_OF_ONE 4
#define WORDS_OF_SEVERAL 2

INLINE float part(uint32_t x, int k) {
    return ((word){.bits = k ? x & 0xffff0000u : x << 16}).value;
}
#else
#define PER_WORD 1
#define WORDS_OF_ONE 8
#define WORDS_OF_SEVERAL 4

INLINE float part(uint32_t x, int k) {
    (void)k;
    return ((word){.bits = x}).value;
}
#endif

enum { TILE = 1024, MOST_ROWS = 4, MOST_PARTS = 8 };
/* TILE columns of sums for four rows fill half of a first-level cache of 32 KiB. WORDS_OF_... are
   words of a column that are added in one go, for one row or for several: the fastest measured. */

/* sums += left times ``words`` words of each column. ``depth`` may end within the last word. */
INLINE void add_words(int rows, int words, int64_t columns, const float *left, int64_t stride,
                      int64_t depth, const uint32_t *restrict right, int64_t width,
                      float *restrict sums) {
    float factor[MOST_ROWS][MOST_PARTS];
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < words * PER_WORD; k++)
            factor[r][k] = k < depth ? left[r * stride + k] : 0.0f;
    for (int64_t c = 0; c < columns; c++) {
        float value[MOST_PARTS];
        for (int n = 0; n < words; n++)
            for (int k = 0; k < PER_WORD; k++)
                value[n * PER_WORD + k] = part(right[n * width + c], k);
        for (int r = 0; r < rows; r++) {
            float sum = sums[r * TILE + c];
            for (int k = 0; k < words * PER_WORD; k++) sum += factor[r][k] * value[k];
            sums[r * TILE + c] = sum;
        }
    }
}

/* Inlined for each number of rows, so that the loops over rows and words disappear. */
INLINE void add_tile(int rows, int words, int64_t columns, const float *left, int64_t depth,
                     const uint32_t *right, int64_t width, const float *units,
                     float *restrict out) {
    float sums[MOST_ROWS * TILE];
    for (int r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) sums[r * TILE + c] = 0.0f;
    int64_t k = 0;
    for (; k + words * PER_WORD <= depth; k += words * PER_WORD, right += words * width)
        add_words(rows, words, columns, left + k, depth, depth - k, right, width, sums);
    for (; k < depth; k += PER_WORD, right += width)
        add_words(rows, 1, columns, left + k, depth, depth - k, right, width, sums);
    for (int r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            out[r * width + c] += units ? sums[r * TILE + c] * units[c] : sums[r * TILE + c];
}

/* out (num_rows, width) += left (num_rows, depth) times right (depth, width). */
void add_product(int64_t num_rows, int64_t depth, int64_t width, const float *left,
                 const uint32_t *right, const float *units, float *out) {
    for (int64_t from = 0; from < width; from += TILE) {
        int64_t columns = width - from < TILE ? width - from : TILE;
        const float *unit = units ? units + from : NULL;
        const uint32_t *some = right + from;
        int64_t r = 0;
        for (; r + 4 <= num_rows; r += 4)
            add_tile(4, WORDS_OF_SEVERAL, columns, left + r * depth, depth, some, width, unit,
                     out + r * width + from);
        for (; r + 2 <= num_rows; r += 2)
            add_tile(2, WORDS_OF_SEVERAL, columns, left + r * depth, depth, some, width, unit,
                     out + r * width + from);
        for (; r < num_rows; r++)
            add_tile(1, WORDS_OF_ONE, columns, left + r * depth, depth, some, width, unit,
                     out + r * width + from);
    }
}

INLINE float clamped(float x, float limit) {
    x = limit < x ? limit : x;
    return -limit > x ? -limit : x;
}

static void activate(int64_t width, const float *restrict gates, float clip, float *restrict cell,
                     float *restrict full) {
    const float *in = gates, *forget = in + width, *out = forget + width, *candidate = out + width;
    for (int64_t k = 0; k < width; k++) {
        float c = sigmoid(forget[k]) * cell[k] + sigmoid(in[k]) * hyperbolic_tangent(candidate[k]);
        cell[k] = c = clamped(c, clip);
        full[k] = sigmoid(out[k]) * hyperbolic_tangent(c);
    }
}

/* ``table``: x W_x + b, a row for each step and sentence, or those that ``rows`` names.
   ``gates`` and ``full`` are room for one step; ``cell`` is read and becomes the last. */
void run_steps(int64_t num_steps, const int64_t *batch_sizes, int64_t depth, int64_t width,
               const float *table, const int64_t *rows, const uint32_t *hidden_weight,
               const float *hidden_units, const uint32_t *projection,
               const float *projection_units, float cell_clip, float projection_clip,
               const float *hidden, float *cell, float *outputs, float *gates, float *full) {
    int64_t start = 0;
    for (int64_t step = 0; step < num_steps; step++) {
        int64_t size = batch_sizes[step];
        for (int64_t r = 0; r < size; r++) {
            const float *from = table + 4 * width * (rows ? rows[start + r] : start + r);
            for (int64_t c = 0; c < 4 * width; c++) gates[r * 4 * width + c] = from[c];
        }
        add_product(size, depth, 4 * width, hidden, hidden_weight, hidden_units, gates);
        float *output = outputs + start * depth;
        for (int64_t r = 0; r < size; r++)
            activate(width, gates + r * 4 * width, cell_clip, cell + r * width,
                     (projection ? full : output) + r * width);
        if (projection) {
            for (int64_t k = 0; k < size * depth; k++) output[k] = 0.0f;
            add_product(size, width, depth, full, projection, projection_units, output);
            for (int64_t k = 0; k < size * depth; k++)
                output[k] = clamped(output[k], projection_clip);
        }
        hidden = output;
        start += size;
    }
}
