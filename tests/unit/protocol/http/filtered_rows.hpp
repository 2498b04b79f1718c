#pragma once
// Rows of the catalog and filters for them, as in requests.

#include "tests/unit/protocol/http/requested.hpp"

namespace belay::http {

inline std::string escaped(std::string_view text) {
  constexpr char hex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
      out += c;
    } else {
      out += '%';
      out += hex[static_cast<unsigned char>(c) >> 4];
      out += hex[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

inline std::string target(const std::string& path, std::string_view filter) {
  return path + (path.find('?') == std::string::npos ? "?filter=" : "&filter=") + escaped(filter);
}

inline bool shows(const response& r, std::string_view text) {
  return r.body.find(text) != std::string::npos;
}

inline state::service_ptr service(const std::string& id, std::int64_t port) {
  auto s = std::make_shared<state::service_record>();
  s->id = id;
  s->service = "db";
  s->port = port;
  s->tags = std::vector<std::string>{"p", "t-" + id};
  s->meta = state::string_map{{"role", id == "db1" ? "primary" : "replica"}};
  s->tagged_addresses = std::map<std::string, state::service_address>{{"lan", {"10.0.0.9", port}}};
  s->weights.passing = 3;
  s->proxy_json = R"({"DestinationServiceName":"web","MeshGateway":{},"Expose":{"Checks":true},)"
                  R"("Upstreams":[{"DestinationName":"up","LocalBindPort":1234}]})";
  s->connect_json = R"({"Native":true})";
  return s;
}

inline state::check_ptr check(const std::string& id, const std::string& status) {
  auto c = std::make_shared<state::check_record>();
  c->check_id = id;
  c->status = status;
  c->service_tags = std::vector<std::string>{"ct-" + id};
  return c;
}

} // namespace belay::http
