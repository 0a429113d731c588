/* Vectors of the widest kind that the processor has; they may stand anywhere in memory. */

#include "vector_math.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif

typedef float floats __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int16_t halves __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t integers __attribute__((vector_size(4 * LANES), aligned(4)));
typedef uint32_t words __attribute__((vector_size(4 * LANES), aligned(4)));

/* a_0 b_0 + a_1 b_1 of the two halves of each word. */
INLINE integers pair_product(halves a, halves b) {
#if defined(__AVX512BW__)
    return (integers)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (integers)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__) && LANES == 4
    return (integers)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    integers x = (integers)a, y = (integers)b;
    return ((x << 16) >> 16) * ((y << 16) >> 16) + (x >> 16) * (y >> 16);
#endif
}
