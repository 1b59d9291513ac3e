// SPDX-License-Identifier: Apache-2.0
// SHA-256 through OpenSSL's EVP interface.
#include "hanzo/io/sha256.hpp"

#include <openssl/evp.h>

#include "hanzo/core/error.hpp"

namespace hz::io {
namespace {

void check(int ok) {
  if (ok != 1) throw Error(ErrorKind::failed, "[sha256] the crypto library refused SHA-256");
}

}  // namespace

struct Sha256::Context {
  struct Free {
    void operator()(EVP_MD_CTX* c) const { EVP_MD_CTX_free(c); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> md{EVP_MD_CTX_new()};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  check(context_->md != nullptr);
  check(EVP_DigestInit_ex(context_->md.get(), EVP_sha256(), nullptr));
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  check(EVP_DigestUpdate(context_->md.get(), bytes.data(), bytes.size()));
  return *this;
}

Sha256& Sha256::update(std::string_view text) { return update(std::as_bytes(std::span(text.data(), text.size()))); }

std::array<std::uint8_t, 32> Sha256::digest() const {
  const Context copy;  // finishing ends a context; ours goes on
  check(copy.md != nullptr);
  check(EVP_MD_CTX_copy_ex(copy.md.get(), context_->md.get()));
  std::array<std::uint8_t, 32> out{};
  unsigned size = 0;
  check(EVP_DigestFinal_ex(copy.md.get(), out.data(), &size));
  return out;
}

std::string Sha256::hex() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string s;
  for (const std::uint8_t b : digest()) s += {digits[b >> 4], digits[b & 15u]};
  return s;
}

}  // namespace hz::io
