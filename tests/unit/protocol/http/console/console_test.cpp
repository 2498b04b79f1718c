// The console's files: their responses, and the paths to them (docs/reference/console.md).

#include "protocol/http/console/console.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

console_files two_files() {
  console_files c;
  c.files[""] = {"text/html; charset=utf-8", make_payload("<p>page"), make_payload("packed page")};
  c.files["abc/main.js"] = {"text/javascript; charset=utf-8", make_payload("1"), make_payload("packed script")};
  c.page_tag = "\"abc\"";
  return c;
}

struct requested_console {
  console_files files = two_files();
  route_settings settings = usual_settings();
  requested_console() { settings.console = &files; }

  response get(std::string_view target, header_list headers = {}, std::string_view method = "GET") const {
    return refusal_to(method, target, {}, std::move(headers), settings);
  }
};

} // namespace

TEST_CASE("the page is revalidated each time, its parts are cached forever") {
  const requested_console c;
  const auto page = c.get("/ui/");
  CHECK(page.status == 200);
  CHECK(page.content_type == "text/html; charset=utf-8");
  CHECK(*page.body_shared == "<p>page");
  CHECK(header(page, "Cache-Control") == "no-cache");
  CHECK(header(page, "Etag") == "\"abc\"");
  CHECK(page.vary);
  const auto script = c.get("/ui/abc/main.js");
  CHECK(script.status == 200);
  CHECK(script.content_type == "text/javascript; charset=utf-8");
  CHECK(*script.body_shared == "1");
  CHECK(header(script, "Cache-Control") == "public, max-age=31536000, immutable");
  CHECK(header(script, "Etag") == "(none)");
}

TEST_CASE("a client with the current page gets no second copy") {
  const requested_console c;
  for (const auto* tag : {"\"abc\"", "W/\"abc\"", "\"old\", \"abc\"", "*"})
    CHECK(c.get("/ui/", {{"If-None-Match", tag}}).status == 304);
  CHECK(c.get("/ui/", {{"if-none-match", "\"abc\""}}).status == 304);
  CHECK(c.get("/ui/", {{"If-None-Match", "\"old\""}}).status == 200);
  CHECK(c.get("/ui/abc/main.js", {{"If-None-Match", "\"abc\""}}).status == 200);
}

TEST_CASE("a client that accepts gzip gets the compressed copy of the build") {
  const requested_console c;
  const auto packed = c.get("/ui/", {{"Accept-Encoding", "br, gzip"}});
  CHECK(*packed.body_shared == "packed page");
  CHECK(header(packed, "Content-Encoding") == "gzip");
  const auto plain = c.get("/ui/", {{"Accept-Encoding", "gzip;q=0"}});
  CHECK(*plain.body_shared == "<p>page");
  CHECK(header(plain, "Content-Encoding") == "(none)");
  // The gateway compresses according to the options: do not compress this again.
  CHECK_FALSE(ask("GET", "/ui/", {}, {{"Accept-Encoding", "gzip"}}, c.settings).options.gzip);
}

TEST_CASE("the page loads nothing from other servers, and cannot be framed") {
  const requested_console c;
  for (const auto* path : {"/ui/", "/ui/abc/main.js"}) {
    const auto r = c.get(path);
    const auto policy = header(r, "Content-Security-Policy");
    for (const auto* rule : {"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                             "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"})
      CHECK(policy.find(rule) != std::string::npos);
    CHECK(policy.find("unsafe") == std::string::npos);
    CHECK(header(r, "X-Content-Type-Options") == "nosniff");
    CHECK(header(r, "Referrer-Policy") == "no-referrer");
  }
}

TEST_CASE("the root and the path without its slash lead to the console") {
  const requested_console c;
  for (const auto* path : {"/", "/ui"}) {
    const auto r = c.get(path);
    CHECK(r.status == 301);
    CHECK(header(r, "Location") == "/ui/");
  }
}

TEST_CASE("other paths under the console's path are unknown, and other methods are rejected") {
  const requested_console c;
  for (const auto* path : {"/ui/main.js", "/ui/abc/", "/ui/abc", "/ui/x", "/uix", "/other"}) {
    const auto r = c.get(path);
    INFO(path);
    CHECK(r.status == 404);
    CHECK(r.body.empty());
    CHECK(r.body_shared == nullptr);
  }
  const auto head = c.get("/ui/", {}, "HEAD");
  CHECK(head.status == 200);
  CHECK(*head.body_shared == "<p>page");
  const auto put = c.get("/ui/", {}, "PUT");
  CHECK(put.status == 405);
  CHECK(header(put, "Allow") == "GET,HEAD");
  CHECK(put.body_shared == nullptr);
  CHECK(ask("GET", "/ui/abc/main.js", {}, {}, c.settings).route == "ui");
}

TEST_CASE("without the console its paths are unknown ones") {
  CHECK(refusal_to("GET", "/ui/").status == 404);
  CHECK(refusal_to("GET", "/ui").status == 404);
  CHECK(refusal_to("GET", "/").body == "Consul Agent");
}

// Nor must a page of another origin reach the console by pointing its name to this server.
TEST_CASE("a name by which the server may not be called gets no console") {
  requested_console c;
  c.settings.allowed_hosts.emplace();
  CHECK(c.get("/ui/", {{"Host", "evil.example"}}).status == 403);
  CHECK(c.get("/ui/", {{"Host", "localhost"}}).status == 200);
}

TEST_CASE("the console may be somewhere else") {
  requested_console c;
  c.settings.console_path = "/console/of/locks/";
  CHECK(*c.get("/console/of/locks/").body_shared == "<p>page");
  CHECK(c.get("/console/of/locks/abc/main.js").status == 200);
  for (const auto* leads : {"/", "/console/of/locks"})
    CHECK(header(c.get(leads), "Location") == "/console/of/locks/");
  CHECK(c.get("/ui/").status == 404);
}
