// SPDX-License-Identifier: Apache-2.0
// CLI11 by name: including <CLI/App.hpp> costs a source two seconds of building, so that only those do which add options, and
// <CLI/CLI.hpp>, which has the help and the files besides, four: it is for run.cpp alone.
#pragma once

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace hz::tools {

// Whether the option stood on the command line.
bool is_given(const CLI::Option* option);

}  // namespace hz::tools
