/* Matrix products whose factors are rounded to 16-bit integers; see ../int16_products.py.

   A word holds two integers that are neighbours along the dimension that a product sums over: one
   instruction multiplies 16 words of the right factor by one of the left and adds both products.
   The right factor is stored in panels of 64 columns, the left one row by row or word by word. */

#include "vector_math.h"

#ifndef __AVX512VNNI__
#error "this processor has no instructions for sums of 16-bit products"
#endif
#include <immintrin.h>

enum { STRETCH = 256, PANEL = 64, VECTORS = PANEL / 16, MOST_ROWS = 6, ROWS = 252, COLUMNS = 256 };
static const float LARGEST = 2896.0f;

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The bits of a float without its sign are in the order of size, NaN last. */
INLINE __m512i size_bits(__m512 x) {
    return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
}

/* What to multiply by before rounding, and the unit; NaN if the largest number is not finite. */
INLINE __m512 units_of(__m512i largest, __m512 *units) {
    __mmask16 is_zero = _mm512_cmpeq_epi32_mask(largest, _mm512_setzero_si512());
    __mmask16 is_bad = _mm512_cmpge_epi32_mask(largest, _mm512_set1_epi32(0x7f800000));
    __m512 most = _mm512_mask_mov_ps(_mm512_castsi512_ps(largest), is_zero, _mm512_set1_ps(1.0f));
    __m512 many = _mm512_set1_ps(LARGEST);
    *units = _mm512_mask_mov_ps(_mm512_div_ps(most, many), is_bad,
                                _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
    return _mm512_mask_mov_ps(_mm512_div_ps(many, most), is_bad, _mm512_setzero_ps());
}

INLINE __m512i round_all(__m512 x, __m512 inverse) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(x, inverse));
}

INLINE __mmask16 first_of(int64_t columns) {
    return columns >= 16 ? 0xffff : columns > 0 ? (1u << columns) - 1 : 0;
}

/* (depth, width) floats -> words of two rows, for sums over the rows. Panels of ``panel`` columns
   follow each other, the last one padded; units: (stretches, width padded to panels). Memory is
   read row by row; ``inverse`` has room for the padded width. */
void pack_columns(int64_t depth, int64_t width, const float *from, int64_t panel, int32_t *words,
                  float *units, float *inverse) {
    int64_t pairs = (depth + 1) / 2, padded = (width + panel - 1) / panel * panel;
    for (int64_t start = 0; start < depth; start += STRETCH, units += padded) {
        int64_t rows = smaller(STRETCH, depth - start);
        const float *source = from + start * width;
        for (int64_t c = 0; c < padded; c += 16)
            _mm512_storeu_si512(inverse + c, _mm512_setzero_si512());
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < width; c += 16) {
                __m512 x = _mm512_maskz_loadu_ps(first_of(width - c), source + r * width + c);
                __m512i largest = _mm512_max_epi32(_mm512_loadu_si512(inverse + c), size_bits(x));
                _mm512_storeu_si512(inverse + c, largest);
            }
        for (int64_t c = 0; c < padded; c += 16) {
            __m512 unit, one_by = units_of(_mm512_loadu_si512(inverse + c), &unit);
            _mm512_storeu_ps(units + c, unit);
            _mm512_storeu_ps(inverse + c, one_by);
        }
        for (int64_t r = 0; r < rows; r += 2)
            for (int64_t c = 0; c < padded; c += 16) {
                const float *both = source + r * width + c;
                __mmask16 mask = first_of(width - c);
                __m512 factor = _mm512_loadu_ps(inverse + c);
                __m512i even = round_all(_mm512_maskz_loadu_ps(mask, both), factor);
                __m512i odd = round_all(
                    _mm512_maskz_loadu_ps(r + 1 < rows ? mask : 0, both + width), factor);
                _mm512_storeu_si512(
                    words + (c / panel * pairs + (start + r) / 2) * panel + c % panel,
                    _mm512_mask_mov_epi16(_mm512_slli_epi32(odd, 16), 0x55555555, even));
            }
    }
}

/* (count, depth) floats -> words of two columns, for sums over the columns: (stretches, count,
   words of a stretch); units: (stretches, count). */
void pack_rows(int64_t count, int64_t depth, const float *from, int32_t *words, float *units) {
    for (int64_t r = 0; r < count; r++)
        for (int64_t start = 0, n = 0; start < depth; start += STRETCH, n++) {
            int64_t stop = smaller(start + STRETCH, depth);
            const float *row = from + r * depth;
            int32_t *to = words + (n * count + r) * (STRETCH / 2);
            __m512i largest = _mm512_setzero_si512();
            for (int64_t c = start; c < stop; c += 16) {
                __m512 some = _mm512_maskz_loadu_ps(first_of(stop - c), row + c);
                largest = _mm512_max_epi32(largest, size_bits(some));
            }
            __m512 unit, inverse =
                units_of(_mm512_set1_epi32(_mm512_reduce_max_epi32(largest)), &unit);
            units[n * count + r] = _mm512_cvtss_f32(unit);
            for (int64_t c = start; c < stop; c += 16) {
                int64_t some = smaller(16, stop - c), even = some + some % 2;
                __m512i whole =
                    round_all(_mm512_maskz_loadu_ps((1u << some) - 1, row + c), inverse);
                _mm256_mask_storeu_epi16(to + (c - start) / 2, (1u << even) - 1,
                                         _mm512_cvtepi32_epi16(whole));
            }
        }
}

/* out (+)= some rows of the left factor times one stretch of a panel. Word p of row r of the left
   factor is left[r * next_row + p * next_pair]. */
INLINE void multiply_tile(int rows, int64_t pairs, const int32_t *left, int64_t next_row,
                          int64_t next_pair, const float *left_units, const int32_t *right,
                          const float *right_units, int64_t columns, int adds, float *out,
                          int64_t width) {
    __m512i sums[MOST_ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm512_setzero_si512();
    for (int64_t p = 0; p < pairs; p++, left += next_pair, right += PANEL) {
        __m512i panel[VECTORS];
        for (int v = 0; v < VECTORS; v++) panel[v] = _mm512_loadu_si512(right + 16 * v);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m512i pair = _mm512_set1_epi32(left[r * next_row]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sums[r][v] = _mm512_dpwssd_epi32(sums[r][v], pair, panel[v]);
        }
    }
    for (int r = 0; r < rows; r++, out += width)
        for (int v = 0; v < VECTORS; v++) {
            __mmask16 mask = first_of(columns - 16 * v);
            __m512 unit = _mm512_mul_ps(_mm512_set1_ps(left_units[r]),
                                        _mm512_loadu_ps(right_units + 16 * v));
            __m512 before = _mm512_maskz_loadu_ps(adds ? mask : 0, out + 16 * v);
            _mm512_mask_storeu_ps(
                out + 16 * v, mask,
                _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r][v]), unit, before));
        }
}

/* Inlined for each number of rows, so that the sums stay in registers. */
static void multiply_rows(int64_t rows, int64_t pairs, const int32_t *left, int64_t next_row,
                          int64_t next_pair, const float *left_units, const int32_t *right,
                          const float *right_units, int64_t columns, int adds, float *out,
                          int64_t width) {
#define TILE(number)                                                                              \
    case number:                                                                                  \
        multiply_tile(number, pairs, left, next_row, next_pair, left_units, right, right_units,   \
                      columns, adds, out, width);                                                 \
        break;
    switch (rows) { TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) }
}

/* out (count, width) (+)= left (count, depth) times right (depth, width). A block of ROWS rows and
   COLUMNS columns of the result, and what it reads of the left factor for one stretch, stay in the
   second-level cache; a stretch of one panel stays in the first. */
void multiply(int64_t count, int64_t depth, int64_t width, const int32_t *left, int64_t next_row,
              int64_t next_pair, int64_t next_stretch, const float *left_units,
              int64_t num_units, const int32_t *right, const float *right_units, int64_t adds, float *out) {
    int64_t all_pairs = (depth + 1) / 2, padded = (width + PANEL - 1) / PANEL * PANEL;
    for (int64_t row = 0; row < count; row += ROWS)
        for (int64_t column = 0; column < width; column += COLUMNS)
            for (int64_t start = 0, n = 0; start < depth; start += STRETCH, n++)
                for (int64_t c = column; c < smaller(width, column + COLUMNS); c += PANEL) {
                    int64_t pairs = (smaller(STRETCH, depth - start) + 1) / 2;
                    const int32_t *panel = right + (c / PANEL * all_pairs + start / 2) * PANEL;
                    const float *panel_units = right_units + n * padded + c;
                    int64_t stop = smaller(count, row + ROWS);
                    for (int64_t r = row; r < stop; r += MOST_ROWS)
                        multiply_rows(smaller(MOST_ROWS, stop - r), pairs,
                                      left + r * next_row + n * next_stretch, next_row,
                                      next_pair, left_units + n * num_units + r, panel,
                                      panel_units, width - c, adds || start, out + r * width + c,
                                      width);
                }
}
