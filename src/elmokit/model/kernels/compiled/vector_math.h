/* Functions that a compiler can turn into vector instructions when they stand in a loop.

   NaN must stay NaN, so that a run that diverges is noticed: hence the order of the operands in
   comparisons, and no -ffast-math. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

typedef union {
    float value;
    uint32_t bits;
} word;

/* 2^n times a polynomial (Cephes): relative error below 2e-7. */
INLINE float exponential(float x) {
    x = -87.0f > x ? -87.0f : x;
    x = 87.0f < x ? 87.0f : x;
    float n = rintf(x * 1.44269504088896341f);
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return p * ((word){.bits = (uint32_t)((int32_t)n + 127) << 23}).value;
}

INLINE float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

/* A rational function (that of Eigen): relative error below 3e-7, and never beyond 1. */
INLINE float hyperbolic_tangent(float x) {
    const float limit = 7.90531110763549805f;
    x = -limit > x ? -limit : x;
    x = limit < x ? limit : x;
    float z = x * x;
    float p = -2.76076847742355e-16f;
    p = p * z + 2.00018790482477e-13f;
    p = p * z - 8.60467152213735e-11f;
    p = p * z + 5.12229709037114e-08f;
    p = p * z + 1.48572235717979e-05f;
    p = p * z + 6.37261928875436e-04f;
    p = p * z + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * z + 1.18534705686654e-04f;
    q = q * z + 2.26843463243900e-03f;
    q = q * z + 4.89352518554385e-03f;
    return x * p / q;
}
