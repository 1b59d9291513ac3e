// SPDX-License-Identifier: Apache-2.0
// What losses share: a number whose gradient was worked out along with it.
#pragma once
#include <string>
#include <string_view>

#include "hanzo/autograd/record.hpp"

namespace hz::nn::loss {

[[noreturn]] inline void bad(std::string_view op, const std::string& what) {
  throw Error(ErrorKind::usage, "[" + std::string(op) + "] " + what);
}

// True when a tape wants the gradient of `x`: work it out only then.
inline bool wanted(const Tensor& x) { return autograd::recording({autograd::id_of(x)}) != nullptr; }

// The loss as a tensor [1]. dx: its gradient to x for an upstream gradient of 1, or undefined when not wanted.
Tensor result(std::string_view op, double value, const Tensor& x, Tensor dx);
// t * s, in place.
void scale_in_place(Tensor& t, float s);

}  // namespace hz::nn::loss
