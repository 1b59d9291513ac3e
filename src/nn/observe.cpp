// SPDX-License-Identifier: Apache-2.0
#include "hanzo/nn/observe.hpp"

namespace hz::nn {
namespace {
thread_local Observer* current = nullptr;
}

ObserveScope::ObserveScope(Observer& observer) : outer_(current) { current = &observer; }
ObserveScope::~ObserveScope() { current = outer_; }
Observer* current_observer() { return current; }

}  // namespace hz::nn
