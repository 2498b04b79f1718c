// Texts of fixed width: file names and identities on disks depend on them.

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/base/uuid.hpp"

#include <catch2/catch.hpp>

using namespace belay;

TEST_CASE("hex: numbers as 16 digits and back") {
  for (const std::uint64_t v : {0ull, 1ull, 0x0123456789abcdefull, ~0ull}) {
    CHECK(to_hex(v).size() == 16);
    CHECK(from_hex(to_hex(v)) == v);
  }
  CHECK(to_hex(0xfeed) == "000000000000feed");
  for (const auto* damaged :
       {"", "feed", "000000000000fee", "000000000000FEED", "000000000000fee ", "00000000000000feed"})
    CHECK_FALSE(from_hex(damaged));
  std::string out = "x";
  append_hex(out, 0x12345, 4);
  CHECK(out == "x2345");
}

TEST_CASE("hex: digits in either case") {
  CHECK(hex_value('0') == 0);
  CHECK(hex_value('9') == 9);
  CHECK(hex_value('a') == 10);
  CHECK(hex_value('F') == 15);
  for (const char c : {'/', ':', '@', 'G', '`', 'g', ' ', '\xC3'})
    CHECK(hex_value(c) == -1);
}

TEST_CASE("uuid: version 4 of two numbers") {
  CHECK(uuid_of(0, 1) == "00000000-0000-4000-8000-000000000001");
  CHECK(uuid_of(~0ull, ~0ull) == "ffffffff-ffff-4fff-bfff-ffffffffffff");
  CHECK(uuid_of(0x0123456789abcdef, 0x0123456789abcdef) == "01234567-89ab-4def-8123-456789abcdef");
}

TEST_CASE("uuid: its form") {
  CHECK(is_uuid("01234567-89ab-4def-8123-456789abcdef"));
  CHECK(is_uuid("01234567-89AB-CDEF-0123-456789ABCDEF"));
  for (const auto* wrong : {"", "01234567-89ab-4def-8123-456789abcde", "01234567-89ab-4def-8123-456789abcdef0",
                            "01234567x89ab-4def-8123-456789abcdef", "0123456g-89ab-4def-8123-456789abcdef",
                            "01234567-89ab-4def-81234456789abcdef"})
    CHECK_FALSE(is_uuid(wrong));
}

TEST_CASE("ascii case: other letters than those from A to Z are left alone") {
  CHECK(lower_case("Node-Z[@\xC3\x84") == "node-z[@\xC3\x84");
  CHECK(equal_ignoring_case("Content-TYPE", "content-type"));
  CHECK(equal_ignoring_case("", ""));
  CHECK_FALSE(equal_ignoring_case("a", "ab"));
  CHECK_FALSE(equal_ignoring_case("@", "`"));
}
