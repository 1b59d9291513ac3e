// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/heap.hpp"

#include <vector>

namespace hz::text::jinja {

Heap::~Heap() {
  // Break every possible cycle, then the counts free the rest.
  std::vector<Object*> cyclic;
  for (Object* o = first_; o != nullptr; o = o->next_) {
    if (!o->can_cycle()) continue;
    ++o->refs_;
    cyclic.push_back(o);
  }
  for (Object* o : cyclic) o->clear();
  for (Object* o : cyclic) {
    if (--o->refs_ == 0) retire(o);
  }
}

void Heap::adopt(Object* object, std::size_t bytes) {
  object->heap_ = this;
  object->bytes_ = bytes;
  object->next_ = first_;
  if (first_ != nullptr) first_->prev_ = object;
  first_ = object;
}

void Heap::retire(Object* object) {
  if (object->prev_ != nullptr) object->prev_->next_ = object->next_;
  if (object->next_ != nullptr) object->next_->prev_ = object->prev_;
  if (first_ == object) first_ = object->next_;
  object->next_ = graves_;
  graves_ = object;
  if (draining_) return;
  draining_ = true;
  while (graves_ != nullptr) {
    Object* o = graves_;
    graves_ = o->next_;
    release(o->bytes_);
    delete o;
  }
  draining_ = false;
}

void Heap::out_of_bytes() const {
  throw Fault{"the template needs more than " + std::to_string(max_bytes_) + " bytes of live values", ErrorKind::failed,
              "raise TemplateLimits::live_bytes if the template is trusted", true};
}

void Heap::out_of_steps() const {
  throw Fault{"the template did not end within " + std::to_string(max_steps_) + " steps", ErrorKind::failed,
              "raise TemplateLimits::steps if the template is trusted", true};
}

}  // namespace hz::text::jinja
