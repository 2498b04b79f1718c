// A body compressed in pieces is, byte by byte, the same as one compressed at once.

#include "protocol/archive/gzip.hpp"
#include "protocol/base/random.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::archive;

TEST_CASE("gzip_stream: pieces of any size give the same bytes") {
  seeded_random chance(7);
  std::string text;
  while (text.size() < 700'000)
    text += "{\"Key\":\"k" + std::to_string(chance.below(50'000)) + "\",\"Flags\":0,\"Value\":\"" +
            std::to_string(chance.next()) + "\"},";
  std::string at_once;
  REQUIRE(append_gzip(at_once, text));
  for (const std::size_t most : {1'000u, 70'000u, 300'000u, 2'000'000u}) {
    INFO("pieces of up to " << most);
    gzip_stream z;
    REQUIRE(z.ok());
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const auto n = std::min<std::size_t>(text.size() - at, 1 + chance.below(most));
      z.append(out, std::string_view(text).substr(at, n), at + n == text.size());
      at += n;
    }
    CHECK(out == at_once);
  }
}
