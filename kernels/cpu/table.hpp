// SPDX-License-Identifier: Apache-2.0
// What one instruction set offers: plain function pointers over plain structs, so that nothing compiled for
// one set is shared with another. All pointers are to dense rows of float32 unless said otherwise.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hanzo/backend/kinds.hpp"

namespace hz::cpu {

using hz::KvKind;
using hz::Unary;

// Activations of one token as the integer products read them.
struct ActRow {
  const std::int8_t* codes;   // [cols]
  const float* scales;        // [cols / 32]
  const std::int32_t* sums;   // [cols / 16]
};

constexpr int kSlab = 1024;  // columns expanded at a time, those of an IntPanel at most: 16 KiB of codes and their scales

// Sixteen rows of weights, `blocks` groups of 32 (step16: 16) columns, in the one form the tile kernels read.
struct IntPanel {
  std::uint8_t* codes;   // [blocks][8][16 rows][4]: weight - low; folded formats: sub-scale times weight - low
  float* dw;             // [blocks][16]
  float* mw;             // [blocks][16]; minimum of the group, or the float scale of m0, m1
  std::int32_t* sub;     // [blocks][4][16]: s0, s1 (not of folded formats), m0, m1
  int low;               // value of code 0
  std::int64_t blocks;
};

constexpr int kMostFloatPanels = 2;  // that one tile takes, in any set
constexpr int kTileQueries = 24;  // that share one pass over the pages: the most of one call of attend_pages
constexpr int kPartHead = 16;     // floats before o in a row of attend_pages

// One query row against the pages of its sequence.
struct AttendQuery {
  const float* q;            // [head_dim]
  float* out;                // [value_dim]
  std::int64_t first, last;  // visible positions [first, last)
  float slope;               // ALiBi, 0 without
  std::int64_t position;     // of the query
  const float* sink = nullptr;  // one logit, or null
  float* stats = nullptr;    // [2]: the largest score, and the sum of e^(score - largest); null: not wanted
};

// One query head of a segment on the way back: `count` tokens at positions [position, position + count) of the sequence.
struct AttendGradArgs {
  const AttendQuery* queries;      // [count]: q, visible range, slope, position, stats (read)
  const float* const* out;         // [count]: what attention gave
  const float* const* dout;        // [count]
  std::int64_t count, position;
  float* dq;                       // [count][head_dim], dense; overwritten
  float* dk;                       // [count][head_dim], dense; overwritten
  float* dv;                       // [count][value_dim], dense; overwritten
  float* dsink;                    // one value, or null
  void* scratch;                   // attend_grad_bytes, aligned to 64
};
struct AttendArgs {
  KvKind kind;
  int head_dim, value_dim;
  float scale, softcap;      // softcap 0: none
  const std::byte* const* pages;  // base of each page of the sequence
  std::size_t k_offset, v_offset; // of this layer and head within a page
};

struct FormatKernels;  // one per weight format: kernels/cpu/format.hpp

struct CpuKernels {
  const char* name;
  int lanes;

  void (*rms_norm)(const float* x, const float* w, std::int64_t n, float eps, float* y);
  void (*layer_norm)(const float* x, const float* w, const float* b, std::int64_t n, float eps, float* y);
  void (*quantize)(const float* x, std::int64_t n, std::int8_t* codes, float* scales, std::int32_t* sums);
  void (*add)(const float* a, const float* b, std::int64_t n, float* y);
  void (*mul)(const float* a, const float* b, std::int64_t n, float* y);
  void (*scale)(const float* a, float s, std::int64_t n, float* y);
  void (*axpy)(float s, const float* x, std::int64_t n, float* y);  // y = fma(s, x, y)
  void (*softcap)(const float* a, float cap, std::int64_t n, float* y);
  void (*unary)(Unary kind, const float* x, std::int64_t n, float* y);
  void (*glu)(Unary kind, const float* gate, const float* up, std::int64_t n, float* y);
  // rotates pairs (2i, 2i + 1) or (i, i + rot / 2) of one head; cs holds cos, sin interleaved [rot / 2][2]
  void (*rope)(bool adjacent, const float* x, const float* cs, int head_dim, int rot, float* y);
  float (*row_max)(const float* x, std::int64_t n);
  // e^(x - shift) into y and their sum by the 16-lane rule
  float (*exp_sum)(const float* x, float shift, std::int64_t n, float* y);
  bool (*finite)(const float* x, std::int64_t n);

  // the way back (kernels/cpu/grads.hpp, grad_tile.hpp, attention_grad.hpp)
  float (*dot_rows)(const float* a, const float* b, std::int64_t n);
  void (*unary_grad)(Unary kind, const float* x, const float* dy, std::int64_t n, float* dx);
  void (*softcap_grad)(const float* y, float cap, const float* dy, std::int64_t n, float* dx);
  void (*glu_grad)(Unary kind, const float* gate, const float* up, const float* dy, std::int64_t n, float* dgate, float* dup);
  void (*softmax_grad)(const float* y, const float* dy, std::int64_t n, float* dx);
  void (*norm_stats)(bool rms, const float* x, std::int64_t n, float eps, float* mean, float* r);
  void (*norm_grad)(bool rms, const float* x, const float* w, const float* dy, std::int64_t n, float mean, float r, float* dx);
  void (*norm_weight_grad)(const float* x, const float* dy, std::int64_t n, float mean, float r, float* dw, float* db);
  void (*rope_grad)(bool adjacent, const float* dy, const float* cs, int head_dim, int rot, float* dx);
  // out[i][j] = fma(a[k][i], b[k][j], out[i][j]), k ascending
  void (*grad_tile)(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, std::int64_t k, std::int64_t m, std::int64_t n,
                    float* out, std::int64_t ldo, bool carry);
  void (*transpose)(const float* in, std::int64_t ldi, std::int64_t m, std::int64_t n, float* out, std::int64_t ldo);
  std::size_t attend_grad_bytes;
  void (*attend_grad)(const AttendArgs& args, const AttendGradArgs& grad);

  // K and V of one position into slot `slot` of a page; false when a value does not fit a half.
  bool (*kv_write)(KvKind kind, const float* k, const float* v, int head_dim, int value_dim, int slot, std::byte* page_k,
                   std::byte* page_v);
  void (*attend)(const AttendArgs& args, const AttendQuery* queries, int count);
  // In parts: pages [first, last), each by itself, into rows; then the rows of all pages merged (kernels/cpu/attention.hpp).
  void (*attend_pages)(const AttendArgs& args, const AttendQuery* queries, int count, std::int64_t first, std::int64_t last, float* rows);
  void (*attend_merge)(const AttendArgs& args, const AttendQuery* queries, int count, std::int64_t pages, const float* rows);

  // Float activations of whole tiles of float_tokens tokens, fewer at the end, packed for float_tile: tokens * k floats.
  int float_tokens, float_panels;
  void (*pack_float_acts)(const float* const* x, std::int64_t k, int tokens, float* out);
  // Columns [first, first + count): w [panels][count][16 rows], best float_panels of them; y[t][r] = fma(w, x[t][k], y), k ascending.
  void (*float_tile)(const float* w, int panels, const float* acts, std::int64_t k, std::int64_t first, std::int64_t count, int tokens,
                     float* const* y, bool carry);

  // Multiply-adds done by a burst in registers, for measuring the peaks of a core.
  double (*fma_peak)();
  double (*dot_peak)();

  const FormatKernels* (*format)(std::uint32_t wtype);
};

// What follows the dot of a panel's blocks: which scales and minimums.
enum Variant : int { kPlain = 0, kMinGroup = 1, kSubScaled = 2, kHalfMin = 3, kStep16 = 4 };

}  // namespace hz::cpu
