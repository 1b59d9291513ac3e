// SPDX-License-Identifier: Apache-2.0
// The paged KV cache: a pool of pages of 64 positions (all layers), reference-counted, and a table per sequence.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hanzo/backend/backend.hpp"

namespace hz::model {

// The layers' layouts within a page; the same for every page of a cache.
struct PageLayout {
  std::vector<KvLayout> layers;
  std::vector<std::size_t> offsets;  // bytes from the base of a page to each layer's part
  std::size_t bytes = 0;             // of a page
  DeviceMemory* memory = nullptr;    // where pages are; lives as long as the backend
  PageLayout() = default;
  PageLayout(Backend& backend, std::vector<KvLayout> layers);
};

// One page's memory. Shared by the sequences that hold it; freed with the last.
using Page = std::shared_ptr<Storage>;

// The pages of one sequence. Copies share pages; a shared page is copied before it is written to.
class KvSequence {
 public:
  explicit KvSequence(std::shared_ptr<const PageLayout> layout) : layout_(std::move(layout)) {}

  std::int64_t length() const { return length_; }
  // Makes room for positions [length, length + n): new pages, and a private copy of a shared last page.
  // Throws out_of_memory with the state unchanged.
  void reserve(std::int64_t n);
  // The positions were written.
  void advance(std::int64_t n) { length_ += n; }
  // Forgets all positions from `length` on.
  void truncate(std::int64_t length);
  // Addresses in the backend's memory.
  const std::byte* const* pages() const { return bases_.data(); }
  // Page i to and from the host; layout().bytes each.
  void read_page(std::size_t i, std::span<std::byte> out) const;
  void write_page(std::size_t i, std::span<const std::byte> bytes);
  // A table of the pages as they are now that keeps them: what is written later goes to copies.
  struct Pinned {
    std::vector<Page> pages;
    std::vector<const std::byte*> bases;
  };
  std::shared_ptr<const Pinned> pin() const { return std::make_shared<const Pinned>(Pinned{pages_, bases_}); }
  // The tape (Tape::serial) under which positions were written; 0: none.
  std::uint64_t tape_serial() const { return tape_serial_; }
  void set_tape_serial(std::uint64_t serial) { tape_serial_ = serial; }
  const PageLayout& layout() const { return *layout_; }
  const std::shared_ptr<const PageLayout>& shared_layout() const { return layout_; }

 private:
  std::shared_ptr<const PageLayout> layout_;
  std::vector<Page> pages_;
  std::vector<const std::byte*> bases_;
  std::int64_t length_ = 0;
  std::uint64_t tape_serial_ = 0;
};

}  // namespace hz::model
