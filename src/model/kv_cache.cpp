// SPDX-License-Identifier: Apache-2.0
#include "hanzo/model/kv_cache.hpp"

#include "hanzo/core/checked.hpp"

namespace hz::model {

namespace {

// Bytes that somebody else keeps, as a place to copy from or to.
Storage seen(std::byte* data, std::size_t bytes) {
  Storage s;
  s.data = data;
  s.bytes = bytes;
  return s;
}

}  // namespace

PageLayout::PageLayout(Backend& backend, std::vector<KvLayout> of_layers) : layers(std::move(of_layers)), memory(&backend) {
  Checked at = 0;
  for (const KvLayout& l : layers) {
    offsets.push_back(static_cast<std::size_t>(at.or_max()));
    at = at + Checked(backend.kv_layer_bytes(l));
  }
  if (!at.get()) throw Error(ErrorKind::out_of_memory, "a page of the KV cache is too large");
  bytes = static_cast<std::size_t>(*at.get());
}

void KvSequence::reserve(std::int64_t n) {
  const auto needed = static_cast<std::size_t>((length_ + n + kKvPage - 1) / kKvPage);
  const auto full = static_cast<std::size_t>(length_ / kKvPage);
  if (n > 0 && full < pages_.size() && pages_[full].use_count() > 1) {
    Page copy = layout_->memory->allocate(layout_->bytes);
    layout_->memory->copy(*pages_[full], 0, *copy, 0, layout_->bytes);
    pages_[full] = copy;
    bases_[full] = copy->data;
  }
  while (pages_.size() < needed) {
    Page page = layout_->memory->allocate(layout_->bytes);
    layout_->memory->clear(*page, 0, layout_->bytes);  // padding inside a layout is part of a state file
    bases_.reserve(needed);
    pages_.reserve(needed);
    bases_.push_back(page->data);
    pages_.push_back(std::move(page));
  }
}

void KvSequence::read_page(std::size_t i, std::span<std::byte> out) const {
  Storage to = seen(out.data(), out.size());
  layout_->memory->copy(*pages_[i], 0, to, 0, layout_->bytes);
}

void KvSequence::write_page(std::size_t i, std::span<const std::byte> bytes) {
  const Storage from = seen(const_cast<std::byte*>(bytes.data()), bytes.size());
  layout_->memory->copy(from, 0, *pages_[i], 0, layout_->bytes);
}

void KvSequence::truncate(std::int64_t length) {
  if (length >= length_) return;
  length_ = length;
  const auto keep = static_cast<std::size_t>((length + kKvPage - 1) / kKvPage);
  pages_.resize(keep);
  bases_.resize(keep);
}

}  // namespace hz::model
