/* The best match of each filter in each word, and the way back: the compiled twin of
   conv_max.py, which says what every argument holds. Only one window of a word gets the gradient
   of a filter, so the way back costs a fraction of the matrix products over all windows. */

#include <stdint.h>

void keep_best(int64_t count, int32_t position, const float *restrict match, float *restrict best,
               int32_t *restrict at) {
    for (int64_t n = 0; n < count; n++) {
        at[n] = match[n] > best[n] ? position : at[n];
        best[n] = match[n] > best[n] ? match[n] : best[n];
    }
}

/* Here a row of `kernel` and `to_kernel` is one filter: (num, size). */
void spread(int64_t num_words, int64_t num_columns, int64_t num_filters, int64_t size, int64_t dim,
            const float *restrict flat, const float *restrict kernel,
            const float *restrict gradient, const int32_t *restrict at, float *restrict to_flat,
            float *restrict to_kernel) {
    for (int64_t word = 0; word < num_words; word++) {
        for (int64_t filter = 0; filter < num_filters; filter++) {
            const float given = gradient[word * num_filters + filter];
            if (given == 0.0f) continue; /* relu has cut it off */
            const int64_t start = word * num_columns + at[word * num_filters + filter] * dim;
            const float *restrict window = flat + start;
            const float *restrict weights = kernel + filter * size;
            float *restrict to_window = to_flat + start;
            float *restrict to_weights = to_kernel + filter * size;
            for (int64_t k = 0; k < size; k++) {
                to_window[k] += given * weights[k];
                to_weights[k] += given * window[k];
            }
        }
    }
}
