#include "protocol/http/response.hpp"

namespace belay::http {

response error_response(int status, std::string text) {
  response r;
  // docs/contract/01, section 10: the text decides about 403, wherever it came from.
  const bool denied =
      text.find("Permission denied") != std::string::npos || text.find("ACL not found") != std::string::npos;
  r.status = denied ? 403 : status;
  if (!text.empty())
    r.content_type = "text/plain; charset=utf-8";
  r.body = std::move(text);
  return r;
}

response closing_error(int status, std::string text) {
  auto r = error_response(status, std::move(text));
  r.vary = false;
  r.close = true;
  return r;
}

response malformed_request() {
  return closing_error(400, "400 Bad Request");
}

} // namespace belay::http
