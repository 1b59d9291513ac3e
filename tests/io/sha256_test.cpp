// SPDX-License-Identifier: Apache-2.0
// Sha256 against the published digests, and as a stream.
#include "hanzo/io/sha256.hpp"

#include "tests/catch.hpp"

using hz::io::Sha256;

TEST_CASE("sha256 gives the digests of FIPS 180-4") {
  CHECK(Sha256().hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Sha256().update("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("sha256 does not depend on the pieces and goes on after hex") {
  Sha256 a, b;
  a.update("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq");
  for (const char* piece : {"abcdbcdecdef", "", "defgefghfghighijhijkijkl", "jklmklmnlmnomnopnopq"}) {
    b.update(piece);
    CHECK(b.hex().size() == 64);
  }
  CHECK(a.hex() == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(b.hex() == a.hex());
}
