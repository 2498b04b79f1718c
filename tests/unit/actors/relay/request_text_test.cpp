// A client sends a text with a line break, which its agent writes into a request on a shared
// connection. The rest would be another request, whose response would go to another client.

#include "actors/relay/request_text.hpp"

#include <catch2/catch.hpp>

using namespace belay::actors;

namespace {

relayed_request usual() {
  return {"GET", "/v1/kv/a?recurse=", {{"Accept", "text/plain,\ta"}, {"X-Consul-Token", "t"}}, {}, false};
}

} // namespace

TEST_CASE("a request is written unchanged", "[relay]") {
  CHECK(written(usual()) == "GET /v1/kv/a?recurse= HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain,\ta\r\n"
                            "X-Consul-Token: t\r\n\r\n");
  CHECK(written({"PUT", "/x", {}, "a\r\nb", false}) ==
        "PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\na\r\nb");
  CHECK(written({"PUT", "/x", {}, {}, true}) ==
        "PUT /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST_CASE("no text with a meaning for the framing can be written, wherever it appears", "[relay][B1]") {
  REQUIRE(can_be_written(usual()));
  for (unsigned byte = 0; byte < 256; ++byte) {
    INFO("byte " << byte);
    const auto c = static_cast<char>(byte);
    const bool control = byte < 0x20 || byte == 0x7f;
    auto r = usual();
    r.headers[1].second = std::string("a") + c + "b";
    CHECK(can_be_written(r) == (!control || c == '\t'));
    r = usual();
    r.target += c;
    CHECK(can_be_written(r) == (byte > 0x20 && byte < 0x7f));
    for (const bool in_name : {true, false}) {
      r = usual();
      (in_name ? r.headers[0].first : r.method) += c;
      if (control || c == ' ' || c == ':' || byte >= 0x7f)
        CHECK_FALSE(can_be_written(r));
    }
  }
  for (const auto* name :
       {"content-length", "Transfer-Encoding", "HOST", "Connection", "Expect", "Upgrade", "Trailer", ""}) {
    auto r = usual();
    r.headers[0].first = name;
    INFO(name);
    CHECK_FALSE(can_be_written(r));
  }
  for (const auto* target : {"", "v1/kv/a", "http://x/", "*"})
    CHECK_FALSE(can_be_written({"GET", target, {}, {}, false}));
  CHECK_FALSE(can_be_written({"", "/", {}, {}, false}));
}
