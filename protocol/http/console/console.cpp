#include "protocol/http/console/console.hpp"

namespace belay::http {

namespace {

// Allows only content from this server: no inline script or style, no framing, no
// HTML from text. Scripts set styles through the object model, which this permits.
constexpr auto content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types belay";

constexpr auto kept_forever = "public, max-age=31536000, immutable";
constexpr auto requested_each_time = "no-cache";

/// RFC 9110 section 13.1.2. A tag from an intermediate cache may be a weak one.
bool names_tag(std::string_view header, std::string_view tag) {
  return header == "*" || header.find(tag) != std::string_view::npos;
}

} // namespace

response console_answer(const console_files& console, std::string_view path, const console_options& options) {
  const auto found = console.files.find(path);
  response r;
  if (found == console.files.end()) {
    r.status = 404;
    r.vary = false;
    return r;
  }
  if (options.method != "GET" && options.method != "HEAD") {
    r = error_response(405, "method " + std::string(options.method) + " not allowed");
    r.headers.emplace_back("Allow", "GET,HEAD");
    return r;
  }
  const auto& file = found->second;
  r.content_type = file.content_type;
  r.body_shared = options.gzip ? file.gzip : file.plain;
  if (options.gzip)
    r.headers.emplace_back("Content-Encoding", "gzip");
  const bool is_page = path.empty();
  r.headers.emplace_back("Cache-Control", is_page ? requested_each_time : kept_forever);
  if (is_page) {
    r.headers.emplace_back("Etag", console.page_tag);
    if (names_tag(options.if_none_match, console.page_tag))
      r.status = 304;
  }
  r.headers.emplace_back("Content-Security-Policy", content_security_policy);
  r.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  r.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  r.headers.emplace_back("Referrer-Policy", "no-referrer");
  r.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return r;
}

} // namespace belay::http
