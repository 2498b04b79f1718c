#include "client/kit/request_texts.hpp"

#include <belay/sim.hpp>

#include <algorithm>

namespace belay {
inline namespace v0 {
namespace sim {

namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

int digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string path_of(const request& q) {
  return unescaped(std::string_view(q.target()).substr(0, q.target().find('?')));
}

bool has_parameter(const request& q, std::string_view name) {
  const std::string_view all = q.target();
  for (auto at = all.find('?'); at != all.npos; at = all.find('&', at + 1)) {
    const auto rest = all.substr(at + 1);
    if (starts_with(rest, name) && (rest.size() == name.size() || rest[name.size()] == '=' || rest[name.size()] == '&'))
      return true;
  }
  return false;
}

enum class kind { renewal, probe, opening, closing, acquire, release, claim, withdrawal, other };

/// The name of the key or claim in a path.
std::string name_of(const std::string& path) {
  for (const auto* start : {"/v1/kv/", "/v1/claim/"})
    if (starts_with(path, start))
      return path.substr(std::string_view(start).size());
  return path;
}

kind kind_of(const request& q, const std::string& path) {
  if (starts_with(path, "/v1/session/renew/"))
    return kind::renewal;
  if (path == "/v1/claims")
    return kind::probe;
  if (path == "/v1/session/create")
    return kind::opening;
  if (starts_with(path, "/v1/session/destroy/"))
    return kind::closing;
  if (starts_with(path, "/v1/kv/") && has_parameter(q, "acquire"))
    return kind::acquire;
  if (starts_with(path, "/v1/kv/") && has_parameter(q, "release"))
    return kind::release;
  if (starts_with(path, "/v1/claim/"))
    return q.method() == "DELETE" ? kind::withdrawal : kind::claim;
  return kind::other;
}

std::string shortened(std::string text, std::size_t longest) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

} // namespace

std::string parameter(const request& q, std::string_view name) {
  const std::string_view all = q.target();
  for (auto at = all.find('?'); at != all.npos; at = all.find('&', at + 1)) {
    const auto part = all.substr(at + 1, all.find('&', at + 1) - at - 1);
    const auto equal = part.find('=');
    if (part.substr(0, equal) == name)
      return equal == part.npos ? std::string() : unescaped(part.substr(equal + 1));
  }
  return {};
}

std::string bytes_of(const request& q) {
  auto out = q.method() + " " + q.target() + " HTTP/1.1\r\nHost: 127.0.0.1:8500\r\n";
  for (const auto& [name, value] : q.headers())
    out += name + ": " + value + "\r\n";
  if (!q.body().empty() || q.method() == "PUT" || q.method() == "POST")
    out += "Content-Length: " + std::to_string(q.body().size()) + "\r\n";
  return out + "\r\n" + q.body();
}

std::string words_of(const request& q) {
  const auto path = path_of(q);
  switch (kind_of(q, path)) {
  case kind::renewal:
    return "renews its session";
  case kind::probe:
    return "requests the features of the server";
  case kind::opening:
    return "opens a session";
  case kind::closing:
    return "ends its session";
  case kind::acquire:
    return "requests the lock " + name_of(path);
  case kind::release:
    return "releases the lock " + name_of(path);
  case kind::claim:
    return "claims " + name_of(path);
  case kind::withdrawal:
    return "releases its claim on " + name_of(path);
  case kind::other:
    break;
  }
  auto text = "sends " + q.method() + " " + unescaped(q.target());
  if (!q.body().empty())
    text += " with \"" + shortened(q.body(), 60) + "\"";
  return text;
}

std::string words_of(const request& q, const answer& a) {
  const auto path = path_of(q);
  const auto what = kind_of(q, path);
  const auto name = name_of(path);
  if (!a.received())
    return "gets no response (" + a.body() + "): it " + words_of(q);
  if (a.status() == 200 && (what == kind::renewal || what == kind::probe))
    return {};
  if (a.status() == 200 && what == kind::opening)
    return "has opened a session";
  if (a.status() == 200 && what == kind::closing)
    return "has ended its session";
  const auto fence = a.number("X-Belay-Fence");
  const auto with_fence = fence == 0 ? std::string() : ", with fencing token " + std::to_string(fence);
  const bool yes = a.status() == 200 && starts_with(a.body(), "true");
  if (what == kind::acquire && yes)
    return "has the lock " + name + with_fence;
  if (what == kind::acquire && a.status() == 200)
    return "does not get the lock " + name + " now";
  if (what == kind::release && yes)
    return "has released the lock " + name;
  if (what == kind::claim && a.status() == 200 && a.body().find("\"held\"") != std::string::npos)
    return "has " + name + with_fence;
  if (what == kind::withdrawal && a.status() == 200)
    return "has released its claim on " + name;
  return "gets " + std::to_string(a.status()) + " " + shortened(a.body(), 60) + ": it " + words_of(q);
}

std::string opened_session(const request& q, const answer& a) {
  if (kind_of(q, path_of(q)) != kind::opening || a.status() != 200)
    return {};
  constexpr std::size_t id_length = 36;
  const auto at = a.body().find("\"ID\"");
  const auto begin = at == std::string::npos ? at : a.body().find('"', at + 4);
  return begin == std::string::npos ? std::string() : a.body().substr(begin + 1, id_length);
}

} // namespace sim
} // namespace v0
} // namespace belay
