// SPDX-License-Identifier: Apache-2.0
// The one product of the way back: out[i][j] = fma(a[k][i], b[k][j], out[i][j]), k ascending. Lanes = j.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// Rows of out that fit the registers beside two (scalar: four) vectors of b.
constexpr int kGradRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 4;
constexpr int kGradVecs = 2;

// M rows, N vectors of which the last has `tail` lanes.
template <int M, int N>
HZ_FN void grad_block(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, float* out, int64_t ldo, bool carry) {
  V sum[M][N];
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) sum[i][j] = carry ? load(out + i * ldo + j * kLanes) : set1(0.0f);
  for (int64_t p = 0; p < k; ++p, a += lda, b += ldb) {
    V w[N];
    for (int j = 0; j < N; ++j) w[j] = load(b + j * kLanes);
    for (int i = 0; i < M; ++i) {
      const V x = set1(a[i]);
      for (int j = 0; j < N; ++j) sum[i][j] = fma(x, w[j], sum[i][j]);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) store(out + i * ldo + j * kLanes, sum[i][j]);
}
// The last lanes of a row: n < kLanes columns.
template <int M>
HZ_FN void grad_edge(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, int n, float* out, int64_t ldo, bool carry) {
  V sum[M];
  for (int i = 0; i < M; ++i) sum[i] = carry ? load_first(out + i * ldo, n, 0.0f) : set1(0.0f);
  for (int64_t p = 0; p < k; ++p, a += lda, b += ldb) {
    const V w = load_first(b, n, 0.0f);
    for (int i = 0; i < M; ++i) sum[i] = fma(set1(a[i]), w, sum[i]);
  }
  for (int i = 0; i < M; ++i) store_first(out + i * ldo, sum[i], n);
}

template <int M>
HZ_FN void grad_rows(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, int64_t n, float* out, int64_t ldo, bool carry) {
  int64_t j = 0;
  for (; j + kGradVecs * kLanes <= n; j += kGradVecs * kLanes) grad_block<M, kGradVecs>(a, lda, b + j, ldb, k, out + j, ldo, carry);
  for (; j + kLanes <= n; j += kLanes) grad_block<M, 1>(a, lda, b + j, ldb, k, out + j, ldo, carry);
  if (j < n) grad_edge<M>(a, lda, b + j, ldb, k, (int)(n - j), out + j, ldo, carry);
}

// out [m][ldo] of which n columns; a [k][lda], b [k][ldb]. carry: adds to what is there, else from +0.
static void grad_tile(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, int64_t m, int64_t n, float* out, int64_t ldo,
                      bool carry) {
  int64_t i = 0;
  for (; i + kGradRows <= m; i += kGradRows) grad_rows<kGradRows>(a + i, lda, b, ldb, k, n, out + i * ldo, ldo, carry);
  if constexpr (kGradRows > 4)
    for (; i + 4 <= m; i += 4) grad_rows<4>(a + i, lda, b, ldb, k, n, out + i * ldo, ldo, carry);
  if constexpr (kGradRows > 4)
    for (; i + 2 <= m; i += 2) grad_rows<2>(a + i, lda, b, ldb, k, n, out + i * ldo, ldo, carry);
  for (; i < m; ++i) grad_rows<1>(a + i, lda, b, ldb, k, n, out + i * ldo, ldo, carry);
}

// out[j][i] = in[i][j] for m rows and n columns.
static void transpose(const float* in, int64_t ldi, int64_t m, int64_t n, float* out, int64_t ldo) {
  typedef float F4 __attribute__((vector_size(16), aligned(4)));
  const int64_t rows = m / 4 * 4, cols = n / 4 * 4;
  for (int64_t i = 0; i < rows; i += 4)
    for (int64_t j = 0; j < cols; j += 4) {
      const float* p = in + i * ldi + j;
      const F4 a = *(const F4*)p, b = *(const F4*)(p + ldi), c = *(const F4*)(p + 2 * ldi), d = *(const F4*)(p + 3 * ldi);
      const F4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const F4 cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      float* q = out + j * ldo + i;
      *(F4*)q = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
      *(F4*)(q + ldo) = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
      *(F4*)(q + 2 * ldo) = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
      *(F4*)(q + 3 * ldo) = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
    }
  for (int64_t i = 0; i < m; ++i)  // what fours leave over
    for (int64_t j = i < rows ? cols : 0; j < n; ++j) out[j * ldo + i] = in[i * ldi + j];
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
