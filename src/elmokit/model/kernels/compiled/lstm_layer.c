/* LSTM layers over all steps of a packed batch of few rows: the compiled twin of run_packed in
   ../lstm_inference.py, for one layer or for all of a direction in one call. Such a step waits for
   its weights, so they may be narrow: see ../lstm_weights.py. */

#include <pthread.h>

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

typedef struct {
    const uint32_t *input_weight;
    const float *input_units, *bias;
    const uint32_t *hidden_weight;
    const float *hidden_units;
    const uint32_t *projection;
    const float *projection_units;
} layer_weights;

/* Every row's output at its own last step. */
static void last_outputs(int64_t num_steps, const int64_t *batch_sizes, int64_t depth,
                         const float *outputs, float *last) {
    for (int64_t step = 0; step < num_steps; step++) {
        int64_t next = step + 1 < num_steps ? batch_sizes[step + 1] : 0;
        for (int64_t k = next * depth; k < batch_sizes[step] * depth; k++) last[k] = outputs[k];
        outputs += batch_sizes[step] * depth;
    }
}

/* All layers of one direction, and what they run over. ``inputs`` (num_inputs, depth): of each step
   and sentence, or those that ``rows`` names. ``hidden`` and ``cell`` (layers, sentences, .) become
   the last ones; ``outputs`` (layers, num_rows, depth) have the skip connections in them, from the
   second layer on if ``has_skip``. ``table`` is room for the larger of num_inputs and num_rows rows
   of gates, ``gates`` and ``full`` for one step. */
typedef struct {
    int64_t num_layers;
    const layer_weights *layers;
    int64_t num_steps;
    const int64_t *batch_sizes;
    int64_t num_rows, depth, width;
    float cell_clip, projection_clip;
    int64_t has_skip, num_inputs;
    const float *inputs;
    const int64_t *rows;
    float *hidden, *cell, *outputs, *table, *gates, *full;
} stack;

static void *run_stack(void *given) {
    const stack *s = given;
    int64_t depth = s->depth, width = s->width, num_inputs = s->num_inputs;
    const float *inputs = s->inputs;
    const int64_t *rows = s->rows;
    for (int64_t l = 0; l < s->num_layers; l++) {
        const layer_weights *w = s->layers + l;
        float *hidden = s->hidden + l * s->batch_sizes[0] * depth;
        float *cell = s->cell + l * s->batch_sizes[0] * width;
        float *output = s->outputs + l * s->num_rows * depth;
        for (int64_t n = 0; n < num_inputs; n++)
            for (int64_t c = 0; c < 4 * width; c++) s->table[n * 4 * width + c] = w->bias[c];
        add_product(num_inputs, depth, 4 * width, inputs, w->input_weight, w->input_units,
                    s->table);
        run_steps(s->num_steps, s->batch_sizes, depth, width, s->table, rows, w->hidden_weight,
                  w->hidden_units, w->projection, w->projection_units, s->cell_clip,
                  s->projection_clip, hidden, cell, output, s->gates, s->full);
        last_outputs(s->num_steps, s->batch_sizes, depth, output, hidden);
        if (l > 0 && s->has_skip)
            for (int64_t k = 0; k < s->num_rows * depth; k++) output[k] += inputs[k];
        inputs = output;
        num_inputs = s->num_rows;
        rows = NULL;
    }
    return NULL;
}

/* The second stack in a thread of its own if ``is_apart``: Python's lock, for which threads of
   Python would wait again and again, has no part in it. */
void run_stacks(int64_t count, stack *stacks, int64_t is_apart) {
    pthread_t other;
    int is_started =
        count == 2 && is_apart && pthread_create(&other, NULL, run_stack, stacks + 1) == 0;
    run_stack(stacks);
    if (is_started)
        pthread_join(other, NULL);
    else if (count == 2)
        run_stack(stacks + 1);
}
