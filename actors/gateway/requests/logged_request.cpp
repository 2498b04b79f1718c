#include "actors/gateway/requests/logged_request.hpp"

namespace belay::actors {

std::string logged_request(const http::raw_request& r) {
  constexpr std::string_view name = "token=";
  std::string shown(r.target);
  for (auto at = shown.find(name); at != std::string::npos; at = shown.find(name, at + name.size())) {
    if (at == 0 || (shown[at - 1] != '?' && shown[at - 1] != '&'))
      continue;
    const auto end = shown.find('&', at);
    shown.replace(at + name.size(), (end == std::string::npos ? shown.size() : end) - at - name.size(), "<hidden>");
  }
  return std::string(r.method) + " " + shown;
}

} // namespace belay::actors
