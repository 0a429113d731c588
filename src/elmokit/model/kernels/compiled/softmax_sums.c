/* What surprisal, entropy and rank need of a block of logits, in one pass over it: the compiled twin
   of ../softmax_sums.py, which says what every argument holds.

   Halved logits give three predictions for two exponentials: with a = 2^(forward / 2) and
   b = 2^(backward / 2), the shares are a a, b b and, of the geometric mean, a b. */

#include "vectors.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

/* a if it is larger (smaller), else b, which may be NaN: one instruction, if the compiler is told. */
#if defined(__AVX512F__)
INLINE floats larger(floats a, floats b) { return (floats)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE floats smaller(floats a, floats b) { return (floats)_mm512_min_ps((__m512)a, (__m512)b); }
#elif defined(__AVX__)
INLINE floats larger(floats a, floats b) { return (floats)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE floats smaller(floats a, floats b) { return (floats)_mm256_min_ps((__m256)a, (__m256)b); }
#else
INLINE floats choose(integers is_first, floats first, floats second) {
    return (floats)((is_first & (integers)first) | (~is_first & (integers)second));
}
INLINE floats larger(floats a, floats b) { return choose(a > b, a, b); }
INLINE floats smaller(floats a, floats b) { return choose(a < b, a, b); }
#endif

/* AVX-512 compares into masks, and has its own way to add up a vector. */
#if defined(__AVX512F__)
INLINE integers count_above(integers so_far, floats a, floats b) {
    __mmask16 is_above = _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
    __m512i counts = (__m512i)so_far;
    return (integers)_mm512_mask_sub_epi32(counts, is_above, counts, _mm512_set1_epi32(-1));
}
INLINE double sum(floats x) {
    __m256 low = _mm512_castps512_ps256((__m512)x);
    __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)x), 1));
    return _mm512_reduce_add_pd(_mm512_add_pd(_mm512_cvtps_pd(low), _mm512_cvtps_pd(high)));
}
#else
INLINE integers count_above(integers so_far, floats a, floats b) { return so_far - (a > b); }
INLINE double sum(floats x) {
    double found = 0.0;
    for (int lane = 0; lane < LANES; lane++) found += (double)x[lane];
    return found;
}
#endif

/* 2^x, relative error below 2e-7; beyond +-126 it stays there. NaN stays NaN. */
INLINE floats power_of_two(floats x) {
    const float limit = 126.0f, round = 12582912.0f; /* 1.5 times 2^23: its last bits hold n */
    const floats none = {0};
    x = smaller(none + limit, larger(none - limit, x));
    floats rounded = x + round;
    floats r = x - (rounded - round);
    floats p = r * 1.535336188319500e-4f + 1.339887440266574e-3f;
    p = p * r + 9.618437357674640e-3f;
    p = p * r + 5.550332471162809e-2f;
    p = p * r + 2.402264791363012e-1f;
    p = p * r + 6.931472028550421e-1f;
    p = p * r + 1.0f;
    return (floats)((words)p + ((words)rounded << 23));
}

typedef struct {
    floats total[3], weighted[3];
    integers better[3];
} sums;

INLINE void add_words(sums *into, floats forward, floats backward, const floats *limits) {
    floats a = power_of_two(forward), b = power_of_two(backward);
    floats halves[3] = {forward, backward, forward + backward};
    floats shares[3] = {a * a, b * b, a * b};
    for (int k = 0; k < 3; k++) {
        into->total[k] += shares[k];
        into->weighted[k] += halves[k] * shares[k];
        into->better[k] = count_above(into->better[k], halves[k], limits[k]);
    }
}

void add_sums(int64_t rows, int64_t words, const float *forward, const float *backward,
              const float *bias, const float *shift, const float *threshold, double *total,
              double *weighted, int64_t *better) {
    const floats none = {0};
    for (int64_t n = 0; n < rows; n++) {
        const float *one = forward + n * words, *other = backward + n * words;
        const float at_one = 0.5f * shift[n], at_other = 0.5f * shift[rows + n];
        const floats limits[3] = {none + 0.5f * threshold[n], none + 0.5f * threshold[rows + n],
                                  none + threshold[2 * rows + n]};
        sums found = {0};
        int64_t w = 0;
        for (; w + LANES <= words; w += LANES) {
            floats above = *(const floats *)(bias + w);
            add_words(&found, 0.5f * *(const floats *)(one + w) + (0.5f * above - at_one),
                      0.5f * *(const floats *)(other + w) + (0.5f * above - at_other), limits);
        }
        if (w < words) { /* the rest, in a vector whose other places weigh nothing */
            floats first, second;
            for (int k = 0; k < LANES; k++) {
                int is_inside = w + k < words;
                first[k] = is_inside ? 0.5f * one[w + k] + (0.5f * bias[w + k] - at_one) : -1e30f;
                second[k] = is_inside ? 0.5f * other[w + k] + (0.5f * bias[w + k] - at_other) : -1e30f;
            }
            add_words(&found, first, second, limits);
        }
        for (int k = 0; k < 3; k++) {
            total[k * rows + n] += sum(found.total[k]);
            weighted[k * rows + n] += (k < 2 ? 2.0 : 1.0) * sum(found.weighted[k]);
            better[k * rows + n] += (int64_t)sum(__builtin_convertvector(found.better[k], floats));
        }
    }
}
