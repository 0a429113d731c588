/* What surprisal, entropy and rank need of a block of logits, in one pass over it: the compiled twin
   of ../softmax_sums.py, which says what every argument holds.

   Halved logits give three predictions for two exponentials: with a = 2^(forward / 2) and
   b = 2^(backward / 2), the shares are a a, b b and, of the geometric mean, a b. */

#include "vectors.h"

INLINE floats choose(integers is_first, floats first, floats second) {
    return (floats)((is_first & (integers)first) | (~is_first & (integers)second));
}

/* 2^x, relative error below 2e-7; beyond +-126 it stays there. NaN stays NaN. */
INLINE floats power_of_two(floats x) {
    const float limit = 126.0f, round = 12582912.0f; /* 1.5 times 2^23 */
    const floats none = {0};
    x = choose(x < -limit, none - limit, x);
    x = choose(x > limit, none + limit, x);
    floats n = (x + round) - round;
    floats r = x - n;
    floats p = r * 1.535336188319500e-4f + 1.339887440266574e-3f;
    p = p * r + 9.618437357674640e-3f;
    p = p * r + 5.550332471162809e-2f;
    p = p * r + 2.402264791363012e-1f;
    p = p * r + 6.931472028550421e-1f;
    p = p * r + 1.0f;
    integers power = (__builtin_convertvector(n, integers) + 127) << 23;
    return p * (floats)power;
}

typedef struct {
    floats total[3], weighted[3];
    integers better[3];
} sums;

INLINE void add_words(sums *into, floats forward, floats backward, const float *limits) {
    floats a = power_of_two(forward), b = power_of_two(backward);
    floats halves[3] = {forward, backward, forward + backward};
    floats shares[3] = {a * a, b * b, a * b};
    for (int k = 0; k < 3; k++) {
        into->total[k] += shares[k];
        into->weighted[k] += halves[k] * shares[k];
        into->better[k] -= halves[k] > limits[k];
    }
}

void add_sums(int64_t rows, int64_t words, const float *forward, const float *backward,
              const float *bias, const float *shift, const float *threshold, double *total,
              double *weighted, int64_t *better) {
    for (int64_t n = 0; n < rows; n++) {
        const float *one = forward + n * words, *other = backward + n * words;
        const float at_one = shift[n], at_other = shift[rows + n];
        const float limits[3] = {0.5f * threshold[n], 0.5f * threshold[rows + n],
                                 threshold[2 * rows + n]};
        sums found = {0};
        int64_t w = 0;
        for (; w + LANES <= words; w += LANES) {
            floats above = *(const floats *)(bias + w);
            add_words(&found, 0.5f * (*(const floats *)(one + w) + (above - at_one)),
                      0.5f * (*(const floats *)(other + w) + (above - at_other)), limits);
        }
        if (w < words) { /* the rest, in a vector whose other places weigh nothing */
            floats first, second;
            for (int k = 0; k < LANES; k++) {
                int is_inside = w + k < words;
                first[k] = is_inside ? 0.5f * (one[w + k] + (bias[w + k] - at_one)) : -1e30f;
                second[k] = is_inside ? 0.5f * (other[w + k] + (bias[w + k] - at_other)) : -1e30f;
            }
            add_words(&found, first, second, limits);
        }
        for (int k = 0; k < 3; k++) {
            double sum = 0.0, product = 0.0;
            int64_t count = 0;
            for (int lane = 0; lane < LANES; lane++) {
                sum += (double)found.total[k][lane];
                product += (double)found.weighted[k][lane];
                count += found.better[k][lane];
            }
            total[k * rows + n] += sum;
            weighted[k * rows + n] += k < 2 ? 2.0 * product : product;
            better[k * rows + n] += count;
        }
    }
}
