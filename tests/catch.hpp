// SPDX-License-Identifier: Apache-2.0
// Catch2 of either major version: 2 (one header) or 3.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
