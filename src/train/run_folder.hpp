// SPDX-License-Identifier: Apache-2.0
// RunFolder: OUT and its run.json, by which a resumed run is known to be the same one.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace hz::train {

class RunFolder {
 public:
  using Json = nlohmann::ordered_json;
  enum class State { fresh, begun, finished };

  // Makes OUT, or goes on with it when `resume`. config: one entry per option that decides the result, under the option's
  // name. Throws Error(usage): not empty without resume, not a run's folder, or naming the first option that differs, or in use by
  // another process.
  RunFolder(std::filesystem::path folder, const Json& config, bool resume);
  // Removes the folder where it made it and nothing came of it: what was refused leaves no trace.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  State state() const { return state_; }
  // What the run is made of: entries of run.json that must be the same when it is resumed ("base", "data", ...).
  void identify(const std::string& key, const Json& value);
  // The same for one hash alone, of a run that is finished.
  void same_hash(const std::string& key, const std::string& sha256) const;
  void begin();  // writes run.json: from here on the run is there to be resumed
  void finish(const Json& result);  // marks the run finished

 private:
  void lock();
  void write() const;
  std::filesystem::path folder_;
  // Of the folder, while this lives; the system lets it go with the process.
  struct Lock {
    int fd = -1;
    Lock() = default;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();
  } lock_;
  Json run_;
  bool made_ = false;  // the folder, by this
  State state_ = State::fresh;
};

}  // namespace hz::train
