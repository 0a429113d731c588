/* Rows times a matrix of float or bfloat16. A word holds PER_WORD consecutive rows of one column. */

#include "vectors.h"

/* part: row k of the rows in a word, of one column or of a vector of them. */
#ifdef BFLOAT16
#define PER_WORD 2
#define PART(x, k) ((k) ? (x) & 0xffff0000u : (x) << 16)

INLINE float part(uint32_t x, int k) { return ((word){.bits = PART(x, k)}).value; }
INLINE floats parts(words x, int k) { return (floats)PART(x, k); }
#else
#define PER_WORD 1

INLINE float part(uint32_t x, int k) { return ((word){.bits = x + 0 * k}).value; }
INLINE floats parts(words x, int k) { return (floats)(x + 0 * k); }
#endif

enum { TILE = 1024, DEPTH = 8, MOST_ROWS = 6 };
/* Sums of TILE columns stay in the first-level cache while DEPTH rows of the matrix at a time are
   added to them. The matrix is read as it lies in memory, which the processor foresees. */

/* sums += left times ``num_words`` words of each column; ``depth`` may end within the last. */
INLINE void add_words(int rows, int num_words, int64_t columns, const float *left, int64_t stride,
                      int64_t depth, const uint32_t *right, int64_t width, float *sums) {
    float factor[MOST_ROWS][DEPTH];
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < num_words * PER_WORD; k++)
            factor[r][k] = k < depth ? left[r * stride + k] : 0.0f;
    int64_t c = 0;
    for (; c + 2 * LANES <= columns; c += 2 * LANES) {
        floats first[MOST_ROWS], second[MOST_ROWS];
        for (int r = 0; r < rows; r++) {
            first[r] = *(const floats *)(sums + r * TILE + c);
            second[r] = *(const floats *)(sums + r * TILE + c + LANES);
        }
        for (int k = 0; k < num_words * PER_WORD; k++) {
            const uint32_t *from = right + k / PER_WORD * width + c;
            floats one = parts(*(const words *)from, k % PER_WORD);
            floats other = parts(*(const words *)(from + LANES), k % PER_WORD);
            for (int r = 0; r < rows; r++) {
                first[r] += factor[r][k] * one;
                second[r] += factor[r][k] * other;
            }
        }
        for (int r = 0; r < rows; r++) {
            *(floats *)(sums + r * TILE + c) = first[r];
            *(floats *)(sums + r * TILE + c + LANES) = second[r];
        }
    }
    for (; c < columns; c++)
        for (int k = 0; k < num_words * PER_WORD; k++)
            for (int r = 0; r < rows; r++)
                sums[r * TILE + c] +=
                    factor[r][k] * part(right[k / PER_WORD * width + c], k % PER_WORD);
}

/* Inlined for each number of rows, so that the loops over rows and words disappear. */
INLINE void add_tile(int rows, int64_t columns, const float *left, int64_t depth,
                     const uint32_t *right, int64_t width, const float *units,
                     float *restrict out) {
    (void)units; /* only int8 has them */
    float sums[MOST_ROWS * TILE];
    for (int r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) sums[r * TILE + c] = 0.0f;
    int64_t k = 0;
    for (; k + DEPTH <= depth; k += DEPTH, right += DEPTH / PER_WORD * width)
        add_words(rows, DEPTH / PER_WORD, columns, left + k, depth, DEPTH, right, width, sums);
    for (; k < depth; k += PER_WORD, right += width)
        add_words(rows, 1, columns, left + k, depth, depth - k, right, width, sums);
    for (int r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            out[r * width + c] += sums[r * TILE + c];
}
