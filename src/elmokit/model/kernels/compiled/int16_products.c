/* Matrix products whose factors are rounded to 16-bit integers; see ../int16_products.py.

   A word holds two integers that are neighbours along the dimension that a product sums over: one
   instruction multiplies LANES words of the right factor by one of the left and adds both products;
   with VNNI it also adds them to the sum. The right factor is stored in panels of PANEL columns,
   the left one row by row or word by word. */

#include "vectors.h"

#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#define WIDE(name) _mm512_##name
typedef __m512i whole_vector;
enum { VECTORS = 4 };
#elif defined(__AVX2__) && !defined(__AVX512F__)
#define WIDE(name) _mm256_##name
typedef __m256i whole_vector;
enum { VECTORS = 2 }; /* there are half as many registers */
#else
#error "this processor has no fast instructions for sums of 16-bit products"
#endif

enum { STRETCH = 256, PANEL = VECTORS * LANES, MOST_ROWS = 6, ROWS = 258, COLUMNS = 256 };
static const float LARGEST = 2896.0f;
const int64_t PANEL_COLUMNS = PANEL;

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE integers larger(integers a, integers b) {
    return (integers)WIDE(max_epi32)((whole_vector)a, (whole_vector)b);
}

/* Zeros behind the first ``count`` numbers. */
INLINE floats load_first(int64_t count, const float *from) {
    if (count >= LANES) return *(const floats *)from;
    floats some = {0};
    for (int64_t i = 0; i < count; i++) some[i] = from[i];
    return some;
}

/* The bits of a float without its sign are in the order of size, NaN last. */
INLINE integers size_bits(floats x) { return (integers)x & 0x7fffffff; }

INLINE floats choose(integers is_first, floats first, floats second) {
    return (floats)((is_first & (integers)first) | (~is_first & (integers)second));
}

/* What to multiply by before rounding, and the unit; NaN if the largest number is not finite. */
INLINE floats units_of(integers largest, floats *units) {
    const floats zero = {0};
    integers is_bad = largest >= 0x7f800000;
    floats most = choose(largest == 0, zero + 1.0f, (floats)largest);
    *units = choose(is_bad, zero + NAN, most / LARGEST);
    return choose(is_bad, zero, LARGEST / most);
}

INLINE integers round_all(floats x, floats inverse) {
    return (integers)WIDE(cvtps_epi32)(x * inverse);
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
        for (int64_t c = 0; c < padded; c += LANES) *(floats *)(inverse + c) = (floats){0};
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < width; c += LANES) {
                integers *largest = (integers *)(inverse + c);
                *largest = larger(*largest, size_bits(load_first(width - c, source + r * width + c)));
            }
        for (int64_t c = 0; c < padded; c += LANES)
            *(floats *)(inverse + c) =
                units_of(*(integers *)(inverse + c), (floats *)(units + c));
        for (int64_t r = 0; r < rows; r += 2)
            for (int64_t c = 0; c < padded; c += LANES) {
                const float *both = source + r * width + c;
                floats factor = *(floats *)(inverse + c);
                integers even = round_all(load_first(width - c, both), factor);
                integers odd = {0};
                if (r + 1 < rows) odd = round_all(load_first(width - c, both + width), factor);
                int64_t place = (c / panel * pairs + (start + r) / 2) * panel + c % panel;
                *(integers *)(words + place) = (even & 0xffff) | (odd << 16);
            }
    }
}

/* (count, depth) floats -> words of two columns, for sums over the columns: (stretches, count,
   words of a stretch); units: (stretches, count). */
void pack_rows(int64_t count, int64_t depth, const float *from, int32_t *words, float *units) {
    typedef int16_t narrow __attribute__((vector_size(2 * LANES), aligned(4)));
    for (int64_t r = 0; r < count; r++)
        for (int64_t start = 0, n = 0; start < depth; start += STRETCH, n++) {
            int64_t stop = smaller(start + STRETCH, depth);
            const float *row = from + r * depth;
            int32_t *to = words + (n * count + r) * (STRETCH / 2);
            integers all = {0};
            for (int64_t c = start; c < stop; c += LANES)
                all = larger(all, size_bits(load_first(stop - c, row + c)));
            int32_t largest = 0;
            for (int i = 0; i < LANES; i++) largest = all[i] > largest ? all[i] : largest;
            floats unit, inverse = units_of((integers){0} + largest, &unit);
            units[n * count + r] = unit[0];
            for (int64_t c = start; c < stop; c += LANES) /* zeros follow, up to a whole vector */
                *(narrow *)(to + (c - start) / 2) = __builtin_convertvector(
                    round_all(load_first(stop - c, row + c), inverse), narrow);
        }
}

INLINE integers add_pair_product(integers sum, integers a, integers b) {
#ifdef __AVX512VNNI__
    return (integers)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#else
    return sum + pair_product((halves)a, (halves)b);
#endif
}

/* out (+)= some rows of the left factor times one stretch of a panel. Word p of row r of the left
   factor is left[r * next_row + p * next_pair]. */
INLINE void multiply_tile(int rows, int64_t pairs, const int32_t *left, int64_t next_row,
                          int64_t next_pair, const float *left_units, const int32_t *right,
                          const float *right_units, int64_t columns, int adds, float *out,
                          int64_t width) {
    integers sums[MOST_ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sums[r][v] = (integers){0};
    for (int64_t p = 0; p < pairs; p++, left += next_pair, right += PANEL) {
        integers panel[VECTORS];
        for (int v = 0; v < VECTORS; v++) panel[v] = *(const integers *)(right + LANES * v);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            integers pair = (integers){0} + left[r * next_row];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sums[r][v] = add_pair_product(sums[r][v], pair, panel[v]);
        }
    }
    for (int r = 0; r < rows; r++, out += width)
        for (int v = 0; v < VECTORS; v++) {
            float *to = out + LANES * v;
            int64_t some = columns - LANES * v;
            floats unit = left_units[r] * *(const floats *)(right_units + LANES * v);
            floats before = {0};
            if (adds) before = load_first(some, to);
            floats now = __builtin_convertvector(sums[r][v], floats) * unit + before;
            if (some >= LANES)
                *(floats *)to = now;
            else
                for (int64_t i = 0; i < some; i++) to[i] = now[i];
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
              int64_t num_units, const int32_t *right, const float *right_units, int64_t adds,
              float *out) {
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
