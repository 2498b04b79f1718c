#include "protocol/base/bytes.hpp"

#include "protocol/base/random.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace belay;

TEST_CASE("crc32c: test vectors of RFC 3720 appendix B.4") {
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAu);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43u);
  std::string rising;
  for (int i = 0; i < 32; ++i)
    rising.push_back(static_cast<char>(i));
  CHECK(crc32c(rising) == 0x46DD794Eu);
  CHECK(crc32c(std::string(rising.rbegin(), rising.rend())) == 0x113FDB5Cu);
  CHECK(crc32c("123456789") == 0xE3069283u);
  CHECK(crc32c("") == 0);
}

TEST_CASE("crc32c continues from any split") {
  seeded_random random(1);
  std::string bytes;
  for (int i = 0; i < 100; ++i)
    bytes.push_back(static_cast<char>(random.below(256)));
  const auto whole = crc32c(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut)
    CHECK(crc32c(std::string_view(bytes).substr(cut), crc32c(std::string_view(bytes).substr(0, cut))) == whole);
}

TEST_CASE("written numbers are read: integers little-endian, varints in 1 to 10 bytes") {
  std::string out;
  byte_writer w(out);
  w.u8(0xAB);
  w.u16(0x1234);
  w.u32(0xDEADBEEF);
  w.u64(0x0102030405060708ULL);
  CHECK(out == std::string("\xAB\x34\x12\xEF\xBE\xAD\xDE\x08\x07\x06\x05\x04\x03\x02\x01"));
  w.text(std::string_view("a\0b", 3));
  w.boolean(true);
  w.raw("tail");
  byte_reader r(out);
  CHECK(r.u8() == 0xAB);
  CHECK(r.u16() == 0x1234);
  CHECK(r.u32() == 0xDEADBEEF);
  CHECK(r.u64() == 0x0102030405060708ULL);
  CHECK(r.text() == std::string_view("a\0b", 3));
  CHECK(r.boolean());
  CHECK_FALSE(r.complete());
  CHECK(r.raw(4) == "tail");
  CHECK(r.complete());
  CHECK(r.remaining() == 0);

  struct row {
    std::uint64_t value;
    std::size_t bytes;
  };
  for (const auto& v : {row{0, 1}, row{127, 1}, row{128, 2}, row{16383, 2}, row{16384, 3}, row{1ULL << 63, 10},
                        row{std::numeric_limits<std::uint64_t>::max(), 10}}) {
    std::string one;
    byte_writer(one).varint(v.value);
    CHECK(one.size() == v.bytes);
    byte_reader back(one);
    CHECK(back.varint() == v.value);
    CHECK(back.complete());
  }
}

TEST_CASE("reading past the end fails for good and yields zeros") {
  byte_reader r("\x05"
                "abc");
  CHECK(r.text().empty()); // claims five bytes, has three
  CHECK_FALSE(r.ok());
  CHECK(r.u8() == 0);
  CHECK(r.u64() == 0);
  CHECK(r.varint() == 0);
  CHECK(r.raw(1).empty());
  CHECK_FALSE(r.complete());

  byte_reader huge("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  CHECK(huge.text().empty()); // a length near 2^64 must not wrap around
  CHECK_FALSE(huge.ok());
}

TEST_CASE("ill-formed varints and booleans are errors") {
  byte_reader long_one("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"); // needs 65 bits
  long_one.varint();
  CHECK_FALSE(long_one.ok());
  byte_reader endless("\x80\x80\x80");
  endless.varint();
  CHECK_FALSE(endless.ok());
  byte_reader two("\x02");
  CHECK_FALSE(two.boolean());
  CHECK_FALSE(two.ok());
}
