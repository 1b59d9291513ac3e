// SPDX-License-Identifier: Apache-2.0
// Heap: the objects of one render, reference counted, with the budgets that bound the render.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "hanzo/core/error.hpp"

namespace hz::text::jinja {

// A failure below the interpreter; the interpreter adds the template's name and line and makes it an hz::Error.
struct Fault {
  std::string what;
  ErrorKind kind = ErrorKind::failed;
  std::string hint = {};
  bool fatal = false;  // a limit: never put off
};

class Heap;

// Base of everything a Value can point to. Objects without a heap belong to the parsed template, live as long as it
// does, are shared by threads and never counted.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

 protected:
  // Drops references that could close a cycle. Only mutable objects can: namespaces, scopes, loops.
  virtual void clear() {}
  virtual bool can_cycle() const { return false; }

 private:
  friend class Heap;
  friend class Value;
  Heap* heap_ = nullptr;
  Object* prev_ = nullptr;
  Object* next_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t refs_ = 0;
};

class Heap {
 public:
  Heap(std::size_t max_bytes, std::uint64_t max_steps) : max_bytes_(max_bytes), max_steps_(max_steps) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();

  // A new object whose payload beyond sizeof(T) is `extra` bytes.
  template <class T, class... A>
  T* make(std::size_t extra, A&&... args) {
    account(sizeof(T) + extra);
    T* object = nullptr;
    try {
      object = new T(std::forward<A>(args)...);
    } catch (...) {
      release(sizeof(T) + extra);
      throw;
    }
    adopt(object, sizeof(T) + extra);
    return object;
  }

  // Throws when `bytes` more would exceed the limit on live bytes.
  void account(std::size_t bytes) {
    if (bytes > max_bytes_ - live_) out_of_bytes();
    live_ += bytes;
  }
  void release(std::size_t bytes) { live_ -= bytes; }
  // `object` grew by `bytes`.
  void grow(Object& object, std::size_t bytes) {
    account(bytes);
    object.bytes_ += bytes;
  }
  // Throws when an allocation of count * size would not fit, without making it.
  void check(std::uint64_t count, std::uint64_t size) const {
    if (count > (max_bytes_ - live_) / size) out_of_bytes();
  }
  // Work done: one step is about one expression; `charge_bytes` counts text that was scanned or copied.
  void charge(std::uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ > max_steps_) out_of_steps();
  }
  void charge_bytes(std::size_t bytes) { charge(bytes / 64); }

 private:
  friend class Value;
  void adopt(Object* object, std::size_t bytes);
  void retire(Object* object);
  [[noreturn]] void out_of_bytes() const;
  [[noreturn]] void out_of_steps() const;

  std::size_t max_bytes_, live_ = 0;
  std::uint64_t max_steps_, steps_ = 0;
  Object* first_ = nullptr;   // live objects
  Object* graves_ = nullptr;  // unreferenced, not yet deleted: deletion is a loop, never a recursion
  bool draining_ = false;
};

}  // namespace hz::text::jinja
