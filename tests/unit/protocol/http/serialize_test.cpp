// Responses as bytes, gzip, and durations.

#include "protocol/archive/gzip.hpp"
#include "protocol/go_compat/duration.hpp"
#include "tests/unit/protocol/http/requested.hpp"

#include "protocol/base/random.hpp"

#include <zlib.h>

#include <limits>

using namespace belay;
using namespace belay::http;

namespace {

constexpr auto date = "Sat, 21 Nov 2026 10:00:00 GMT";

/// Decodes Content-Encoding: gzip as a client does.
std::string gunzip(const std::string& packed) {
  z_stream z{};
  REQUIRE(inflateInit2(&z, 15 + 16) == Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  std::string out(packed.size() * 2000 + 100, '\0');
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(inflate(&z, Z_FINISH) == Z_STREAM_END);
  CHECK(z.avail_in == 0);
  out.resize(z.total_out);
  inflateEnd(&z);
  return out;
}

} // namespace

TEST_CASE("an answer as bytes") {
  auto r = error_response(500, "No cluster leader");
  std::string out = "before|";
  serialize(r, date, true, false, {{"X-Extra", "1"}}, out);
  CHECK(out == "before|HTTP/1.1 500 Internal Server Error\r\nVary: Accept-Encoding\r\n"
               "Content-Type: text/plain; charset=utf-8\r\nX-Extra: 1\r\nDate: Sat, 21 Nov 2026 10:00:00 GMT\r\n"
               "Content-Length: 17\r\n\r\nNo cluster leader");
}

TEST_CASE("an answer without body, Vary and connection") {
  response r;
  r.status = 404;
  r.vary = false;
  std::string out;
  serialize(r, date, false, true, {}, out);
  CHECK(out == "HTTP/1.1 404 Not Found\r\nDate: Sat, 21 Nov 2026 10:00:00 GMT\r\nContent-Length: 0\r\n"
               "Connection: close\r\n\r\n");
  out.clear();
  r.status = 418;
  r.close = true;
  serialize(r, date, true, false, {}, out);
  CHECK(out.rfind("HTTP/1.1 418 Status\r\n", 0) == 0);
  CHECK(out.find("Connection: close\r\n") != std::string::npos);
}

TEST_CASE("a shared body is sent like an exclusive one; the head can be rendered alone") {
  response r;
  r.content_type = "text/plain";
  r.body_shared = make_payload("value");
  std::string whole, head;
  serialize(r, date, true, false, {}, whole);
  serialize_head(r, date, true, false, 5, {}, head);
  CHECK(whole == head + "value");
}

TEST_CASE("gzip returns its input, and only where there is a body to compress") {
  seeded_random random(7);
  for (const std::size_t size : {1u, 2u, 100u, 511u, 512u, 513u, 4096u, 70000u}) {
    for (const bool even : {true, false}) {
      std::string body;
      for (std::size_t i = 0; i < size; ++i)
        body += even ? 'x' : static_cast<char>(random.below(256));
      std::string packed = ">";
      REQUIRE(archive::append_gzip(packed, body));
      CHECK(gunzip(packed.substr(1)) == body);
    }
  }
  response r;
  r.body = "hello";
  std::string out;
  serialize(r, date, true, true, {}, out);
  const auto begin = out.find("\r\n\r\n") + 4;
  CHECK(out.find("Content-Encoding: gzip\r\n") != std::string::npos);
  CHECK(out.find("Content-Length: " + std::to_string(out.size() - begin) + "\r\n") != std::string::npos);
  CHECK(gunzip(out.substr(begin)) == "hello");
  out.clear();
  r.body.clear();
  serialize(r, date, true, true, {}, out);
  CHECK(out.find("gzip") == std::string::npos);
}

TEST_CASE("Go durations: read") {
  struct row {
    const char* text;
    std::int64_t ns;
  };
  for (const auto& t :
       {row{"0", 0}, row{"-0", 0}, row{"10s", 10'000'000'000}, row{"1.5h", 5'400'000'000'000},
        row{"300ms", 300'000'000}, row{"-1m", -60'000'000'000}, row{"+5ns", 5}, row{"1h30m", 5'400'000'000'000},
        row{"7us", 7'000}, row{"7\xC2\xB5s", 7'000}, row{"7\xCE\xBCs", 7'000}, row{".5s", 500'000'000},
        row{"5.s", 5'000'000'000}, row{"1.9963304996490479s", 1'996'330'499}, row{"15000ms", 15'000'000'000},
        row{"0.001s", 1'000'000}, row{"2562047h47m16.854775807s", 9'223'372'036'854'775'807}}) {
    INFO(t.text);
    REQUIRE(go_compat::parse_duration(t.text));
    CHECK(go_compat::parse_duration(t.text)->count() == t.ns);
  }
  for (const auto bad : {"", "-", "10", "abc", "1x", "s", ".s", "1 s", "1s ", "2562047h47m16.854775808s",
                         "9223372036854775808ns", "99999999999999999999s", "1h-1m", "1S"}) {
    INFO(bad);
    CHECK_FALSE(go_compat::parse_duration(bad));
  }
  CHECK(go_compat::duration_complaint("15") == "time: missing unit in duration \"15\"");
  CHECK(go_compat::duration_complaint("abc") == "time: invalid duration \"abc\"");
  CHECK(go_compat::duration_complaint("1x") == "time: unknown unit \"x\" in duration \"1x\"");
}

TEST_CASE("Go durations: written, and read back") {
  struct row {
    std::int64_t ns;
    const char* text;
  };
  for (const auto& t : {row{0, "0s"}, row{1, "1ns"}, row{1'100, "1.1\xC2\xB5s"}, row{2'200'000, "2.2ms"},
                        row{200'000'000, "200ms"}, row{38'308'952, "38.308952ms"}, row{3'300'000'000, "3.3s"},
                        row{60'000'000'000, "1m0s"}, row{86'400'000'000'000, "24h0m0s"}, row{-90'000'000'000, "-1m30s"},
                        row{std::numeric_limits<std::int64_t>::max(), "2562047h47m16.854775807s"}}) {
    CHECK(go_compat::format_duration(std::chrono::nanoseconds(t.ns)) == t.text);
    CHECK(go_compat::parse_duration(t.text)->count() == t.ns);
  }
  CHECK(go_compat::format_duration(std::chrono::nanoseconds(std::numeric_limits<std::int64_t>::min())) ==
        "-2562047h47m16.854775808s");
}

// A session's id from an archive was once in `X-Belay-Holder` with its line breaks.
TEST_CASE("no header value can start a new line") {
  response r;
  r.headers.emplace_back("X-Belay-Holder", std::string("a\r\nSet-Cookie: b\n\0c", 19));
  std::string out;
  serialize(r, date, true, false, {}, out);
  CHECK(out.find("X-Belay-Holder: a  Set-Cookie: b  c\r\nDate: ") != std::string::npos);
}
