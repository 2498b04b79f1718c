// Responses as bytes: HEAD, HTTP/1.0, and downloads whose body comes in pieces.

#include "actors/gateway/answer_bytes.hpp"
#include "actors/gateway/requests/http_date.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

const std::vector<std::pair<std::string, std::string>> no_headers;
const std::string text_head = "HTTP/1.1 500 Internal Server Error\r\nVary: Accept-Encoding\r\n"
                              "Content-Type: text/plain; charset=utf-8\r\n";

std::string written(exchange& e, bool last) {
  std::string out;
  append_answer(e, {"today", no_headers, last}, out);
  return out;
}

exchange refused_exchange() {
  exchange e;
  e.answer = http::error_response(500, "no");
  return e;
}

exchange download() {
  exchange e;
  e.answer.emplace();
  e.answer->content_type = "application/x-gzip";
  e.transfer = std::make_unique<snapshot_transfer>();
  e.transfer->streaming = true;
  return e;
}

/// The bytes written for the next piece.
std::string piece(exchange& e, std::string bytes, bool ended, bool& all) {
  e.transfer->piece = std::move(bytes);
  e.transfer->ended = ended;
  std::string out;
  all = append_piece(e, {"today", no_headers, ends_with_connection(e)}, out);
  return out;
}

} // namespace

TEST_CASE("append_answer: HEAD has all headers and no body; HTTP/1.0 gets the header that the connection stays") {
  auto whole = refused_exchange();
  CHECK(written(whole, false) == text_head + "Date: today\r\nContent-Length: 2\r\n\r\nno");
  auto last = refused_exchange();
  CHECK(written(last, true) == text_head + "Date: today\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  auto head = refused_exchange();
  head.head = true;
  CHECK(written(head, false) == text_head + "Date: today\r\nContent-Length: 2\r\n\r\n");
  head = refused_exchange();
  head.head = true;
  head.answer->body.clear();
  head.answer->body_shared = make_payload("a stored value");
  CHECK(written(head, false) == text_head + "Date: today\r\nContent-Length: 14\r\n\r\n");
  auto old = refused_exchange();
  old.old_version = true;
  CHECK(written(old, false) == text_head + "Connection: keep-alive\r\nDate: today\r\nContent-Length: 2\r\n\r\nno");
  old = refused_exchange();
  old.old_version = true;
  CHECK(written(old, true) == text_head + "Date: today\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
}

TEST_CASE("append_piece: the head comes with the first piece, the last chunk ends the body") {
  auto e = download();
  bool all = false;
  const std::string head = "HTTP/1.1 200 OK\r\nVary: Accept-Encoding\r\nContent-Type: application/x-gzip\r\n";
  CHECK(piece(e, "abc", false, all) == head + "Date: today\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  CHECK_FALSE(all);
  CHECK(e.transfer->piece.empty());
  CHECK(piece(e, "", false, all).empty()); // nothing has arrived
  CHECK_FALSE(all);
  CHECK(piece(e, "defg", true, all) == "4\r\ndefg\r\n0\r\n\r\n");
  CHECK(all);
}

// The client must notice that the archive is incomplete: the chunk that ends the body is not sent.
TEST_CASE("append_piece: a download that failed ends with the connection only") {
  auto e = download();
  bool all = false;
  piece(e, "abc", false, all);
  CHECK_FALSE(ends_with_connection(e));
  e.transfer->failed = true;
  CHECK(ends_with_connection(e));
  CHECK(piece(e, "", false, all).empty());
  CHECK(all);
}

TEST_CASE("append_piece: HTTP/1.0 gets the bytes as they are, up to the end of the connection") {
  auto e = download();
  e.old_version = true;
  bool all = false;
  const std::string head = "HTTP/1.1 200 OK\r\nVary: Accept-Encoding\r\nContent-Type: application/x-gzip\r\n";
  CHECK(piece(e, "abc", false, all) == head + "Date: today\r\nConnection: close\r\n\r\nabc");
  CHECK(piece(e, "def", true, all) == "def");
  CHECK(all);
}

TEST_CASE("http_date: as in the RFC, and again when the second has changed") {
  http_date d;
  CHECK(d.at(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT"); // RFC 9110 section 5.6.7
  CHECK(d.at(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(d.at(784111778) == "Sun, 06 Nov 1994 08:49:38 GMT");
  CHECK(d.at(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
}
