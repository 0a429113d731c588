/* Vectors of the widest kind that the processor has; they may stand anywhere in memory. */

#include "vector_math.h"

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
