/* Rows times a matrix of int8. A word holds four consecutive rows of one column.

   The rows are rounded to 16 bits, 1/32767 of their largest number: AVX2 multiplies and adds pairs
   of 16-bit integers twice as fast as it can turn int8 into float. What the rounding costs is a
   hundredth of what int8 costs. Sums of integers are exact, so their order does not matter. */

#include "vectors.h"

enum { TILE = 1024, CHUNK = 512, MOST_ROWS = 4, DEPTH = 8 };
/* Sums of CHUNK products of 127 and 32767 fit into 32 bits. Sums of TILE columns stay in the
   first-level cache while DEPTH rows of the matrix at a time are added to them. */

INLINE int32_t pair(int16_t low, int16_t high) {
    return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)(uint16_t)high << 16);
}

/* sums += factors times ``num_words`` words of each column. */
INLINE void add_words(int rows, int num_words, int64_t columns, int16_t factor[][CHUNK],
                      const uint32_t *right, int64_t width, int32_t *sums) {
    integers even[MOST_ROWS][DEPTH / 4], odd[MOST_ROWS][DEPTH / 4]; /* rows 0 and 2, 1 and 3 */
    for (int r = 0; r < rows; r++)
        for (int n = 0; n < num_words; n++) {
            const int16_t *four = factor[r] + 4 * n;
            even[r][n] = (integers){0} + pair(four[0], four[2]);
            odd[r][n] = (integers){0} + pair(four[1], four[3]);
        }
    int64_t c = 0;
    for (; c + LANES <= columns; c += LANES) {
        integers sum[MOST_ROWS];
        for (int r = 0; r < rows; r++) sum[r] = *(const integers *)(sums + r * TILE + c);
        for (int n = 0; n < num_words; n++) {
            halves both = (halves)*(const words *)(right + n * width + c);
            halves low = (both << 8) >> 8, high = both >> 8;
            for (int r = 0; r < rows; r++)
                sum[r] += pair_product(low, (halves)even[r][n]) +
                          pair_product(high, (halves)odd[r][n]);
        }
        for (int r = 0; r < rows; r++) *(integers *)(sums + r * TILE + c) = sum[r];
    }
    for (; c < columns; c++)
        for (int n = 0; n < num_words; n++)
            for (int k = 0; k < 4; k++)
                for (int r = 0; r < rows; r++)
                    sums[r * TILE + c] +=
                        factor[r][4 * n + k] * (int8_t)(right[n * width + c] >> 8 * k);
}

/* The unit of a row's 16-bit integers; NaN if the row holds NaN or infinity, whose bits, as those
   of all floats without their sign, are in the order of size. */
static float unit_of(int64_t depth, const float *row) {
    int32_t largest = 0;
    for (int64_t k = 0; k < depth; k++) {
        int32_t size = (int32_t)(((word){.value = row[k]}).bits & 0x7fffffffu);
        largest = size > largest ? size : largest;
    }
    if (largest >= 0x7f800000) return NAN;
    return largest ? ((word){.bits = (uint32_t)largest}).value / 32767.0f : 1.0f;
}

static void round_row(int64_t depth, const float *row, float unit, int16_t *rounded) {
    float inverse = unit == unit ? 1.0f / unit : 0.0f;
    for (int64_t k = 0; k < depth; k++) {
        float x = rintf(row[k] * inverse);
        rounded[k] = (int16_t)(x > -32767.0f ? (x < 32767.0f ? x : 32767.0f) : -32767.0f);
    }
    for (int64_t k = depth; k % DEPTH; k++) rounded[k] = 0;
}

/* Inlined for each number of rows, so that the loops over rows and words disappear. */
INLINE void add_tile(int rows, int64_t columns, const float *left, int64_t depth,
                     const uint32_t *right, int64_t width, const float *units,
                     float *restrict out) {
    float unit[MOST_ROWS];
    for (int r = 0; r < rows; r++) unit[r] = unit_of(depth, left + r * depth);
    for (int64_t from = 0; from < depth; from += CHUNK) {
        int64_t some = depth - from < CHUNK ? depth - from : CHUNK, k = 0;
        int16_t factor[MOST_ROWS][CHUNK];
        int32_t sums[MOST_ROWS * TILE];
        for (int r = 0; r < rows; r++) {
            round_row(some, left + r * depth + from, unit[r], factor[r]);
            for (int64_t c = 0; c < columns; c++) sums[r * TILE + c] = 0;
        }
        for (; k + DEPTH <= some; k += DEPTH, right += DEPTH / 4 * width)
            add_words(rows, DEPTH / 4, columns, (int16_t(*)[CHUNK]) & factor[0][k], right, width,
                      sums);
        for (; k < some; k += 4, right += width)
            add_words(rows, 1, columns, (int16_t(*)[CHUNK]) & factor[0][k], right, width, sums);
        for (int r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++)
                out[r * width + c] += (float)sums[r * TILE + c] * (unit[r] * units[c]);
    }
}
