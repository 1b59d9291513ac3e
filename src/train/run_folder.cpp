// SPDX-License-Identifier: Apache-2.0
#include "src/train/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "hanzo/core/version.hpp"
#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/atomic_folder.hpp"
#include "hanzo/io/jsonl.hpp"
#include "src/io/input_file.hpp"
#include "src/train/files.hpp"

namespace hz::train {
namespace {

namespace fs = std::filesystem;

// Unfinished files count as nothing: a run may have been killed before it wrote anything.
bool counts_as_empty(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) throw Error(ErrorKind::io, "cannot look into the folder: " + error.message(), folder.string());
  for (const auto& entry : entries)
    if (!entry.path().filename().string().starts_with(io::kUnfinished)) return false;
  return true;
}

std::string shown(const nlohmann::ordered_json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

}  // namespace

RunFolder::RunFolder(fs::path folder, const Json& config, bool resume) : folder_(std::move(folder)) {
  std::error_code error;
  made_ = fs::create_directories(folder_, error);
  if (error || !fs::is_directory(folder_))
    throw Error(ErrorKind::io, "cannot make the folder" + (error ? ": " + error.message() : std::string()), folder_.string(),
                "name another folder with -o");
  lock();
  const fs::path file = folder_ / "run.json";
  if (counts_as_empty(folder_)) {
    run_ = Json{{"program", "hanzo " + std::string(build_info().version)}, {"finished", false}, {"config", config}};
    io::remove_unfinished(folder_);
    return;
  }
  if (!resume)
    throw Error(ErrorKind::usage, "the folder is not empty", folder_.string(),
                "another folder with -o, or --resume to go on with the run in it");
  if (!io::is_there(file))
    throw Error(ErrorKind::usage, "there is no run to resume: the folder has no run.json", folder_.string(),
                "name the folder of a run with -o");
  try {
    run_ = io::parse_json(read_text(file));
    if (!run_.is_object() || !run_.contains("config") || !run_["config"].is_object() || !run_.contains("finished"))
      throw Error(ErrorKind::bad_file, "this is no run.json of ours");
  } catch (const Error& e) {
    throw Error(ErrorKind::bad_file, e.what(), file.string(), "start the run anew in another folder");
  }
  const Json& before = run_["config"];
  const auto differs = [&](const std::string& key) {
    const Json now = config.value(key, Json(nullptr)), then = before.value(key, Json(nullptr));
    if (now != then)
      throw Error(ErrorKind::usage, "--" + key + " is " + shown(now) + ", the run began with " + shown(then), folder_.string(),
                  "the same options as before, or another folder");
  };
  for (const auto& [key, value] : config.items()) differs(key);
  for (const auto& [key, value] : before.items()) differs(key);
  state_ = run_["finished"] == true ? State::finished : State::begun;
}

RunFolder::~RunFolder() {
  std::error_code error;
  if (made_ && state_ == State::fresh) fs::remove(folder_, error);  // an empty one alone
}

RunFolder::Lock::~Lock() {
  if (fd >= 0) ::close(fd);
}

void RunFolder::lock() {
  lock_.fd = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_.fd < 0 || ::flock(lock_.fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;  // some file systems have no locks
  throw Error(ErrorKind::usage, "another process trains in this folder", folder_.string(), "wait for it, or name another folder with -o");
}

void RunFolder::identify(const std::string& key, const Json& value) {
  if (run_.contains(key) && run_[key] != value)
    throw Error(ErrorKind::usage, "the " + key + " is not what the run began with: " + shown(value) + ", before " + shown(run_[key]),
                folder_.string(), "the same files as before, or another folder");
  run_[key] = value;
}

void RunFolder::same_hash(const std::string& key, const std::string& sha256) const {
  const Json then = run_.contains(key) ? run_[key].value("sha256", Json(nullptr)) : Json(nullptr);
  if (then == sha256) return;
  throw Error(ErrorKind::usage, "the " + key + " is not what the run was made of: its SHA-256 is " + sha256 + ", before " + shown(then),
              folder_.string(), "the same files as before, or another folder");
}

void RunFolder::begin() {
  write();
  if (state_ == State::fresh) state_ = State::begun;
}

void RunFolder::finish(const Json& result) {
  run_["result"] = result;
  run_["finished"] = true;
  write();
  state_ = State::finished;
}

void RunFolder::write() const { io::write_file(folder_ / "run.json", run_.dump(1) + "\n"); }

}  // namespace hz::train
