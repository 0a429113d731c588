/* One LSTM layer over all steps of a packed batch of few rows: the compiled twin of run_packed in
   ../lstm_kernel.py. Such a step waits for its weights, so they may be narrow: see ../narrow.py. */

#ifdef INT8
#include "int8_product.h"
#else
#include "float_product.h"
#endif

/* out (num_rows, width) += left (num_rows, depth) times right (depth, width). */
void add_product(int64_t num_rows, int64_t depth, int64_t width, const float *left,
                 const uint32_t *right, const float *units, float *out) {
    for (int64_t from = 0; from < width; from += TILE) {
        int64_t columns = width - from < TILE ? width - from : TILE;
        int64_t r = 0;
#define ADD_ROWS(rows)                                                                             \
    for (; r + rows <= num_rows; r += rows)                                                        \
        add_tile(rows, columns, left + r * depth, depth, right + from, width,                      \
                 units ? units + from : NULL, out + r * width + from)
#ifndef INT8
        ADD_ROWS(6);
#endif
        ADD_ROWS(4);
        ADD_ROWS(2);
        ADD_ROWS(1);
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
