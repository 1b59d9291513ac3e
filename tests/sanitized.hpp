// SPDX-License-Identifier: Apache-2.0
// Whether the tests run under a sanitizer, which slows everything down and takes address space.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HZ_TEST_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HZ_TEST_SANITIZED true
#endif
#endif
#ifndef HZ_TEST_SANITIZED
#define HZ_TEST_SANITIZED false
#endif

namespace hz::test {
inline constexpr bool kSanitized = HZ_TEST_SANITIZED;
// The length of a long run: sanitizers look at memory, not at time.
constexpr std::size_t long_run(std::size_t n) { return kSanitized ? n / 10 : n; }
// The step through many variants of an input that take the same paths.
inline constexpr std::size_t kStride = kSanitized ? 101 : 1;
}
