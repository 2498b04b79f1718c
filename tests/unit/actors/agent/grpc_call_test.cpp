// A gRPC health check against a server made with the same library, and others. No sockets.

#include "actors/agent/grpc_call.hpp"

#include <catch2/catch.hpp>

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace belay::actors;

namespace {

using grpc_headers = std::vector<std::pair<std::string, std::string>>;

/// Answers one call as the test requires.
class health_server {
public:
  std::string body; ///< body of the response, including the prefix
  grpc_headers trailers{{"grpc-status", "0"}};
  std::string http_status = "200";
  bool only_headers = false; ///< as grpc-go rejects calls: all in one block
  std::uint32_t reset_with = NGHTTP2_NO_ERROR;

  std::map<std::string, std::string> requested; ///< headers of the request
  std::string request;                          ///< its body

  health_server() {
    nghttp2_session_callbacks* receives = nullptr;
    REQUIRE(nghttp2_session_callbacks_new(&receives) == 0);
    nghttp2_session_callbacks_set_on_header_callback(
        receives, [](nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                     const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
          static_cast<health_server*>(user)->requested[text(name, name_size)] = text(value, value_size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        receives,
        [](nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* bytes, std::size_t size, void* user) {
          static_cast<health_server*>(user)->request += text(bytes, size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        receives, [](nghttp2_session*, const nghttp2_frame* f, void* user) {
          if ((f->hd.type == NGHTTP2_DATA || f->hd.type == NGHTTP2_HEADERS) && (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
            static_cast<health_server*>(user)->answer(f->hd.stream_id);
          return 0;
        });
    REQUIRE(nghttp2_session_server_new(&session_, receives, this) == 0);
    nghttp2_session_callbacks_del(receives);
    REQUIRE(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0) == 0);
  }
  ~health_server() { nghttp2_session_del(session_); }

  /// Exchanges bytes in pieces of that size, until neither side has anything to send.
  void serve(grpc_call& call, std::size_t piece = 1000) {
    for (bool talked = true; talked;) {
      talked = false;
      const auto response = call.take_output();
      REQUIRE(nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(response.data()),
                                       response.size()) == static_cast<ssize_t>(response.size()));
      std::string back;
      const std::uint8_t* bytes = nullptr;
      for (ssize_t n = 0; (n = nghttp2_session_mem_send(session_, &bytes)) > 0;)
        back += text(bytes, static_cast<std::size_t>(n));
      for (std::size_t at = 0; at < back.size(); at += piece)
        call.feed(std::string_view(back).substr(at, piece));
      talked = !response.empty() || !back.empty();
    }
  }

private:
  static std::string text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }
  static std::vector<nghttp2_nv> fields(grpc_headers& list) {
    std::vector<nghttp2_nv> out;
    for (auto& [name, value] : list)
      out.push_back({reinterpret_cast<std::uint8_t*>(name.data()), reinterpret_cast<std::uint8_t*>(value.data()),
                     name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    return out;
  }
  void answer(std::int32_t stream) {
    if (reset_with != NGHTTP2_NO_ERROR) {
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, reset_with);
      return;
    }
    head_ = {{":status", http_status}, {"content-type", "application/grpc"}};
    if (only_headers) {
      head_.insert(head_.end(), trailers.begin(), trailers.end());
      const auto all = fields(head_);
      nghttp2_submit_response(session_, stream, all.data(), all.size(), nullptr);
      return;
    }
    nghttp2_data_provider from{};
    from.read_callback = [](nghttp2_session* session, std::int32_t id, std::uint8_t* to, std::size_t size,
                            std::uint32_t* flags, nghttp2_data_source*, void* user) -> ssize_t {
      auto& self = *static_cast<health_server*>(user);
      const auto n = std::min(size, self.body.size());
      std::memcpy(to, self.body.data(), n);
      self.body.erase(0, n);
      if (self.body.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (!self.trailers.empty()) {
          *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
          const auto all = fields(self.trailers);
          nghttp2_submit_trailer(session, id, all.data(), all.size());
        }
      }
      return static_cast<ssize_t>(n);
    };
    const auto all = fields(head_);
    nghttp2_submit_response(session_, stream, all.data(), all.size(), &from);
  }

  nghttp2_session* session_ = nullptr;
  grpc_headers head_;
};

std::string message(const std::string& content) {
  std::string out(5, '\0');
  out[3] = static_cast<char>(content.size() >> 8);
  out[4] = static_cast<char>(content.size());
  return out + content;
}

} // namespace

TEST_CASE("a server that responds SERVING passes, in whatever pieces", "[grpc]") {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    health_server s;
    s.body = message("\x08\x01");
    grpc_call call({"127.0.0.1:50051", "my.Service", false});
    CHECK_FALSE(call.outcome());
    s.serve(call, piece);
    REQUIRE(call.outcome());
    CHECK(*call.outcome() == "");
    CHECK(s.requested[":method"] == "POST");
    CHECK(s.requested[":path"] == "/grpc.health.v1.Health/Check");
    CHECK(s.requested[":authority"] == "127.0.0.1:50051");
    CHECK(s.requested[":scheme"] == "http");
    CHECK(s.requested["content-type"] == "application/grpc");
    CHECK(s.requested["te"] == "trailers");
    CHECK(s.request == message("\x0a\x0amy.Service"));
  }
  health_server whole;
  whole.body = message("\x08\x01");
  grpc_call call({"h:1", "", true});
  whole.serve(call);
  CHECK(call.outcome() == std::optional<std::string>(""));
  CHECK(whole.request == message(""));
  CHECK(whole.requested[":scheme"] == "https");
}

TEST_CASE("any other response of a server is a reason", "[grpc]") {
  struct row {
    const char* what;
    std::string body;
    grpc_headers trailers;
    std::string reason;
  };
  const std::string unhealthy = "gRPC application didn't report service healthy";
  const std::string no_answer =
      "rpc error: code = Internal desc = the response is not a grpc.health.v1.HealthCheckResponse";
  const grpc_headers fine{{"grpc-status", "0"}};
  const row rows[] = {
      {"not serving", message("\x08\x02"), fine, unhealthy},
      {"status unknown, which is not written", message(""), fine, unhealthy},
      {"fields of a later version are passed over", message(std::string("\x12\x03") + "abc\x08\x01"), fine, ""},
      {"numbers of later versions, too", message(std::string("\x29") + "12345678\x35" + "1234\x08\x01"), fine, ""},
      {"cut", message("\x12\x7f"), fine, no_answer},
      {"cut in a number", message("\x08\xff"), fine, no_answer},
      {"a type that is none", message("\x0f"), fine, no_answer},
      {"compressed", "\x01" + message("\x08\x01").substr(1), fine, no_answer},
      {"nothing", "", fine, no_answer},
      {"a status",
       "",
       {{"grpc-status", "12"}, {"grpc-message", "unknown service grpc.health.v1.Health"}},
       "rpc error: code = Unimplemented desc = unknown service grpc.health.v1.Health"},
      {"an encoded text",
       "",
       {{"grpc-status", "5"}, {"grpc-message", "unknown%20%C3%A9 100% %4"}},
       "rpc error: code = NotFound desc = unknown \xc3\xa9 100% %4"},
      {"a status of the future", "", {{"grpc-status", "77"}}, "rpc error: code = Code(77) desc = "},
      {"no trailers",
       message("\x08\x01"),
       {},
       "rpc error: code = Internal desc = server closed the stream without sending trailers"},
  };
  for (const auto& r : rows) {
    INFO(r.what);
    health_server s;
    s.body = r.body;
    s.trailers = r.trailers;
    grpc_call call({"h:1", "s", false});
    s.serve(call);
    REQUIRE(call.outcome());
    CHECK(*call.outcome() == r.reason);
  }
  health_server refuses;
  refuses.only_headers = true;
  refuses.trailers = {{"grpc-status", "16"}, {"grpc-message", "who are you"}};
  grpc_call refused({"h:1", "s", false});
  refuses.serve(refused);
  CHECK(refused.outcome() == std::optional<std::string>("rpc error: code = Unauthenticated desc = who are you"));

  health_server web;
  web.http_status = "404";
  web.trailers = {};
  grpc_call lost({"h:1", "s", false});
  web.serve(lost);
  CHECK(lost.outcome() ==
        std::optional<std::string>(
            "rpc error: code = Unknown desc = unexpected HTTP status code received from server: 404"));

  health_server resets;
  resets.reset_with = NGHTTP2_REFUSED_STREAM;
  grpc_call reset({"h:1", "s", false});
  resets.serve(reset);
  CHECK(reset.outcome() ==
        std::optional<std::string>(
            "rpc error: code = Internal desc = stream terminated by RST_STREAM with error code: REFUSED_STREAM"));
}

TEST_CASE("a server that does not support HTTP/2, or closes the connection, is unavailable", "[grpc]") {
  const std::string closed = "rpc error: code = Unavailable desc = connection closed"; // Consul's text, by experiment
  grpc_call web({"h:1", "s", false});
  web.take_output();
  web.feed("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  web.take_output(); // it is not an HTTP/2 server
  web.take_output();
  REQUIRE(web.outcome());
  CHECK(*web.outcome() == closed);
  grpc_call gone({"h:1", "s", false});
  gone.ended();
  CHECK(*gone.outcome() == closed);
  gone.feed("anything"); // the connection is closed
  CHECK(*gone.outcome() == closed);
}

// A response of megabytes takes a buffer of some kilobytes.
TEST_CASE("only the beginning of a long response is read", "[grpc]") {
  health_server s;
  s.body = message("\x08\x01") + std::string(60'000, 'x');
  grpc_call call({"h:1", "s", false});
  s.serve(call);
  REQUIRE(call.outcome());
  CHECK(call.outcome()->find("the response is not") != std::string::npos);
}
