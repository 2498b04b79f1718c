#include "protocol/go_compat/base64.hpp"
#include "tests/harness/base64.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::go_compat;

namespace {

std::string written(std::string_view bytes) {
  std::string out = "before ";
  append_base64(out, bytes);
  return out.substr(7);
}

/// The bytes, or the error text.
std::string read(std::string_view text) {
  auto r = decode_base64(text);
  return r ? *r : r.error();
}

} // namespace

TEST_CASE("base64: RFC 4648 section 10") {
  struct row {
    const char *bytes, *text;
  };
  for (const auto& t : {row{"", ""}, row{"f", "Zg=="}, row{"fo", "Zm8="}, row{"foo", "Zm9v"}, row{"foob", "Zm9vYg=="},
                        row{"fooba", "Zm9vYmE="}, row{"foobar", "Zm9vYmFy"}, row{"\xFB\xFF\xBE", "+/++"}}) {
    CHECK(written(t.bytes) == t.text);
  }
}

TEST_CASE("base64: compatible with another implementation, for every length") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    INFO(i << " bytes");
    const auto text = harness::base64_encoded(bytes);
    REQUIRE(written(bytes) == text);
    REQUIRE(read(text) == bytes);
    bytes += static_cast<char>(i * 101 + 7);
  }
}

TEST_CASE("base64: line breaks are skipped wherever they are") {
  const auto line_break = GENERATE(as<std::string>{}, "\n", "\r\n");
  const std::string text = "QmVsYXkgaG9sZHM=";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    auto broken = text;
    broken.insert(at, line_break);
    INFO(at);
    CHECK(read(broken) == "Belay holds");
  }
}

TEST_CASE("base64: an error names its position") {
  CHECK(read("QUJD?UJD") == "illegal base64 data at input byte 4");
  CHECK(read("QUJDQU-D") == "illegal base64 data at input byte 6");
  CHECK(read("QUJDQ") == "illegal base64 data at input byte 5");
  CHECK(read("QQ==QUJD") == "illegal base64 data at input byte 4");
  CHECK(read("Q===") == "illegal base64 data at input byte 1");
  CHECK(read("=") == "illegal base64 data at input byte 0");
  CHECK(read("!") == "illegal base64 data at input byte 0");
  CHECK(read("YWI") == "illegal base64 data at input byte 3");
  CHECK(read("Y") == "illegal base64 data at input byte 1");
  CHECK(read("YW=I") == "illegal base64 data at input byte 3");
  CHECK(read("YWI=YWI=") == "illegal base64 data at input byte 4");
}
