// SPDX-License-Identifier: Apache-2.0
// visit: a run-time WType becomes a template parameter, once, at the edge.
#pragma once
#include "hanzo/core/error.hpp"
#include "hanzo/quant/formats.hpp"  // generated from formats.list: includes every format header
#include "hanzo/quant/wtype.hpp"

namespace hz::quant {

template <class W>
struct tag {
  using type = W;
};

template <class W>
constexpr double bits = 8.0 * sizeof(typename W::Block) / W::kElems;

// Calls f(tag<W>{}, "name", id) for every format of the list.
template <class F>
constexpr void for_each_wtype(F&& f) {
#define HZ_X(name, id) f(tag<name>{}, #name, id);
  HZ_WTYPES(HZ_X)
#undef HZ_X
}

// Calls f(tag<W>{}) for the one format that `type` names.
template <class F>
decltype(auto) visit(WType type, F&& f) {
  switch (type) {
#define HZ_X(name, id) \
  case WType::name: return f(tag<name>{});
    HZ_WTYPES(HZ_X)
#undef HZ_X
  }
  throw Error(ErrorKind::unsupported, "weight type " + std::to_string(static_cast<std::uint32_t>(type)) + " is not in the list of formats");
}

}  // namespace hz::quant
