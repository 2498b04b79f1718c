// Bodies as programs of other languages write them. What Go's decoder takes is taken; what it rejects is rejected in its words.

#include "protocol/golang/json_input.hpp"

#include <catch2/catch.hpp>

using namespace belay::golang;

namespace {

std::string text_of(std::string_view json) {
  const auto read = read_json(json, client_json);
  return read ? std::string(read->as_string()) : "failed: " + read.error();
}

std::string complaint_about(std::string_view json) {
  const auto read = read_json(json, client_json);
  return read ? "none" : read.error();
}

} // namespace

// JavaScript's JSON.stringify(text.slice(0, n)) cuts a pair in two. The update of a TTL check was rejected, its service
// became critical, and its sessions ended.
TEST_CASE("half of a surrogate pair is read as U+FFFD") {
  CHECK(text_of(R"("cut \ud83d")") == "cut \xEF\xBF\xBD");
  CHECK(text_of(R"("\ude00 end")") == "\xEF\xBF\xBD end");
  CHECK(text_of(R"("\ud83dx")") == "\xEF\xBF\xBDx");
  CHECK(text_of(R"("\ud83d\n")") == "\xEF\xBF\xBD\n");
  CHECK(text_of(R"("\ud83d\u0041")") == "\xEF\xBF\xBD"
                                        "A");
  CHECK(text_of(R"("\ud83d\ud83d\ude00")") == "\xEF\xBF\xBD\xF0\x9F\x98\x80");
  CHECK(text_of(R"("\uD83D\uDE00")") == "\xF0\x9F\x98\x80");
  CHECK(text_of(R"("\\ud83d")") == "\\ud83d"); // no escape of a character
  CHECK(complaint_about(R"("\ud8)") == "unexpected EOF");
}

TEST_CASE("the character that is wrong is shown as Go shows it") {
  CHECK(complaint_about("{\t:1}") == "invalid character ':' in JSON at byte 3");
  CHECK(complaint_about("\"a\tb\"") == "invalid character '\\t' in JSON at byte 3");
  CHECK(complaint_about(std::string("\"a\0b\"", 5)) == "invalid character '\\x00' in JSON at byte 3");
  CHECK(complaint_about("'") == "invalid character '\\'' looking for beginning of value");
}
