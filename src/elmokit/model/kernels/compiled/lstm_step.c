/* What one LSTM step does beside its matrix products, in one pass over memory: the compiled twin of
   ../lstm_step.py, which says what every argument holds.

   Gates are float, or bfloat16 if BFLOAT16 is defined; all else is float. */

#include "vector_math.h"

#ifdef BFLOAT16
typedef uint16_t gate;

INLINE float widen(gate x) { return ((word){.bits = (uint32_t)x << 16}).value; }

INLINE gate narrow(float x) { /* to the nearest, ties to even */
    uint32_t bits = ((word){.value = x}).bits;
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (gate)(x == x ? rounded : 0x7fc0u);
}
#else
typedef float gate;

INLINE float widen(gate x) { return x; }
INLINE gate narrow(float x) { return x; }
#endif

/* Inlined twice, so that each case has a loop without the other's branch. */
INLINE void forward_row(int has_table, int64_t width, gate *restrict gate_in,
                        gate *restrict gate_forget, gate *restrict gate_out,
                        gate *restrict candidate, const gate *restrict table, float kept,
                        float clip, const float *restrict before, float *restrict cell,
                        float *restrict squashed, gate *restrict full) {
    for (int64_t k = 0; k < width; k++) {
        float i = widen(gate_in[k]), f = widen(gate_forget[k]);
        float o = widen(gate_out[k]), j = widen(candidate[k]);
        if (has_table) {
            i += widen(table[k]);
            f += widen(table[width + k]);
            o += widen(table[2 * width + k]);
            j += widen(table[3 * width + k]);
        }
        i = sigmoid(i);
        f = sigmoid(f) * kept;
        o = sigmoid(o);
        j = hyperbolic_tangent(j);
        float c = f * before[k] + i * j;
        c = clip < c ? clip : c;
        c = -clip > c ? -clip : c;
        float s = hyperbolic_tangent(c);
        gate_in[k] = narrow(i);
        gate_forget[k] = narrow(f);
        gate_out[k] = narrow(o);
        candidate[k] = narrow(j);
        cell[k] = c;
        squashed[k] = s;
        full[k] = narrow(o * s);
    }
}

void step_forward(int64_t num_rows, int64_t width, gate *gates, const gate *table,
                  const int64_t *rows, const float *keep, float clip, const float *before,
                  float *cell, float *squashed, gate *full) {
    for (int64_t n = 0; n < num_rows; n++) {
        gate *i = gates + n * 4 * width, *f = i + width, *o = f + width, *j = o + width;
        float kept = keep ? keep[n] : 1.0f;
        int64_t at = n * width;
        if (table)
            forward_row(1, width, i, f, o, j, table + rows[n] * 4 * width, kept, clip, before + at,
                        cell + at, squashed + at, full + at);
        else
            forward_row(0, width, i, f, o, j, NULL, kept, clip, before + at, cell + at,
                        squashed + at, full + at);
    }
}

/* ``to_gates`` may be ``gates``: a column is read before it is written, and by nobody after. */
INLINE void backward_row(int has_table, int64_t width, const gate *gates, gate *to_gates,
                         const float *restrict before, const float *restrict cell,
                         const float *restrict squashed, const gate *restrict to_full,
                         float *restrict to_cell, float clip, float *restrict to_table,
                         float *restrict to_bias) {
#pragma GCC ivdep
    for (int64_t k = 0; k < width; k++) {
        float i = widen(gates[k]), f = widen(gates[width + k]);
        float o = widen(gates[2 * width + k]), j = widen(gates[3 * width + k]);
        float s = squashed[k], d = widen(to_full[k]);
        float c = to_cell[k] + d * o * (1.0f - s * s);
        c = fabsf(cell[k]) >= clip ? 0.0f : c;
        float to_in = c * j * i * (1.0f - i);
        float to_forget = c * before[k] * f * (1.0f - f);
        float to_out = d * s * o * (1.0f - o);
        float to_candidate = c * i * (1.0f - j * j);
        to_cell[k] = c * f;
        to_gates[k] = narrow(to_in);
        to_gates[width + k] = narrow(to_forget);
        to_gates[2 * width + k] = narrow(to_out);
        to_gates[3 * width + k] = narrow(to_candidate);
        to_bias[k] += to_in;
        to_bias[width + k] += to_forget;
        to_bias[2 * width + k] += to_out;
        to_bias[3 * width + k] += to_candidate;
        if (has_table) {
            to_table[k] += to_in;
            to_table[width + k] += to_forget;
            to_table[2 * width + k] += to_out;
            to_table[3 * width + k] += to_candidate;
        }
    }
}

void step_backward(int64_t num_rows, int64_t width, const gate *gates, const float *before,
                   const float *cell, const float *squashed, const gate *to_full, float *to_cell,
                   float clip, const int64_t *rows, gate *to_gates, float *to_table,
                   float *to_bias) {
    for (int64_t k = 0; k < 4 * width; k++) to_bias[k] = 0.0f;
    for (int64_t n = 0; n < num_rows; n++) {
        int64_t at = n * width;
        if (to_table)
            backward_row(1, width, gates + 4 * at, to_gates + 4 * at, before + at, cell + at,
                         squashed + at, to_full + at, to_cell + at, clip,
                         to_table + rows[n] * 4 * width, to_bias);
        else
            backward_row(0, width, gates + 4 * at, to_gates + 4 * at, before + at, cell + at,
                         squashed + at, to_full + at, to_cell + at, clip, NULL, to_bias);
    }
}
