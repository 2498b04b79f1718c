// Bodies as other languages write them: accepted and rejected as by Go's decoder.

#include "protocol/go_compat/json_input.hpp"

#include <catch2/catch.hpp>

using namespace belay::go_compat;

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

// JavaScript's JSON.stringify(text.slice(0, n)) splits a surrogate pair. The update of a TTL check
// was rejected, its service became critical, and its sessions ended.
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

// A check with such an ID was shown with another one, and could not be deregistered.
TEST_CASE("each byte that is not UTF-8 is read as U+FFFD") {
  CHECK(text_of("\"a\xFF\xFE\"") == "a\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(text_of("\"\xC3\"") == "\xEF\xBF\xBD");
  CHECK(text_of("\"\xED\xA0\x80\"") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); // half of a pair in UTF-8
  CHECK(text_of("\"\\\"\xFF\\\\\"") == "\"\xEF\xBF\xBD\\");
  CHECK(text_of("\"\xC3\xA9\xF0\x9F\x98\x80\"") == "\xC3\xA9\xF0\x9F\x98\x80");
  CHECK(text_of("\"\\ud83d\xFF\"") == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(complaint_about("\xFF") == "invalid character '\xC3\xBF' looking for beginning of value");
}

TEST_CASE("the character that is wrong is shown as Go shows it") {
  CHECK(complaint_about("{\t:1}") == "invalid character ':' in JSON at byte 3");
  CHECK(complaint_about("\"a\tb\"") == "invalid character '\\t' in JSON at byte 3");
  CHECK(complaint_about(std::string("\"a\0b\"", 5)) == "invalid character '\\x00' in JSON at byte 3");
  CHECK(complaint_about("\f") == "invalid character '\\f' looking for beginning of value");
  CHECK(complaint_about("'") == "invalid character '\\'' looking for beginning of value");
}

// You search your program for the number in the error text: `1.5E0` would not be found if it sent
// 1.5.
TEST_CASE("a number that a member cannot hold is shown as written") {
  const auto complaint = [](std::string_view json) {
    const auto read = read_json(json, client_json);
    REQUIRE(read);
    json_decoder d(json);
    std::int64_t out = 0;
    d.object(*read, "T", [&](const std::string& name, const auto& v) {
      if (name == "a")
        d.integer(v, {"T", "A"}, out);
      return true;
    });
    return d.error();
  };
  const std::string begins = "json: cannot unmarshal number ", ends = " into Go struct field T.A of type int";
  for (const std::string number : {"1.5", "8e1", "8E1", "1.0", "1.50", "-2.5e+3", "123456789012345678901"})
    CHECK(complaint("{\"A\": " + number + "}") == begins + number + ends);
  // Digits in texts are not numbers, and other numbers have other values.
  CHECK(complaint(R"({"x":"\\\"8e1","y":79.5,"A":8e1})") == begins + "8e1" + ends);
  CHECK(complaint(R"({"A":18446744073709551615})") == begins + "18446744073709551615" + ends);
  CHECK(complaint(R"({"A":"x"})") == "json: cannot unmarshal string into Go struct field T.A of type int");
}

TEST_CASE("bytes are base64, or a list of numbers") {
  const auto bytes_of = [](std::string_view json) {
    const auto read = read_json(json, client_json);
    REQUIRE(read);
    json_decoder d(json);
    std::string out = "before";
    d.bytes(*read, {"T", "Value"}, out);
    return d.ok() ? out : d.error();
  };
  CHECK(bytes_of("[104,105,0,255]") == std::string("hi\0\xFF", 4));
  CHECK(bytes_of("[null,1]") == std::string("\0\x01", 2));
  CHECK(bytes_of("[]").empty());
  CHECK(bytes_of("null").empty());
  CHECK(bytes_of("\"aGk=\"") == "hi");
  CHECK(bytes_of("[256]") == "json: cannot unmarshal number 256 into Go struct field T.Value of type uint8");
  CHECK(bytes_of("[-1]") == "json: cannot unmarshal number -1 into Go struct field T.Value of type uint8");
  CHECK(bytes_of("[\"a\"]") == "json: cannot unmarshal string into Go struct field T.Value of type uint8");
  CHECK(bytes_of("{}") == "json: cannot unmarshal object into Go struct field T.Value of type []uint8");
}

// Consul accepts durations as texts and numbers; PHP writes an empty array for a missing one.
TEST_CASE("durations in all forms") {
  struct row {
    const char* json;
    std::int64_t ns;
    const char *wrong, *wrong_if_readable;
  };
  constexpr const char* no_float = "strconv.ParseFloat: parsing ";
  for (const auto& t :
       {row{"\"1m30s\"", 90'000'000'000, "", ""}, row{"\"0\"", 0, "", ""}, row{"10", 10, "", ""},
        row{"1.5e3", 1500, "", ""}, row{"-7", -7, "", ""},
        row{"\"\"", 1, "time: invalid duration \"\"", "time: invalid duration \"\""},
        row{"\"10\"", 1, "time: missing unit in duration \"10\"", "time: missing unit in duration \"10\""},
        row{"12345678901234567890", -9'223'372'036'854'775'807, "", ""},
        row{"1e30", -9'223'372'036'854'775'807, "", ""},
        row{"1e400", 1, "json: cannot unmarshal number 1e400 into Go struct field T.D of type float64",
            "json: cannot unmarshal number 1e400 into Go struct field T.D of type float64"},
        row{"true", 1, "", no_float}, row{"[]", 1, "", no_float}, row{"{}", 1, "", no_float},
        row{"null", 1, "", no_float}}) {
    INFO(t.json);
    const auto read = read_json(t.json, client_json);
    REQUIRE(read);
    json_decoder d{std::string_view(t.json)}, readable{std::string_view(t.json)};
    std::int64_t ns = 1, ns_if_readable = 1;
    d.duration_ns(*read, {"T", "D"}, ns);
    readable.readable_duration_ns(*read, {"T", "D"}, ns_if_readable);
    CHECK(ns == t.ns);
    CHECK(ns_if_readable == t.ns);
    CHECK(d.error() == t.wrong);
    CHECK(readable.error().substr(0, std::string_view(t.wrong_if_readable).size()) == t.wrong_if_readable);
    CHECK(readable.ok() == (*t.wrong_if_readable == 0));
  }
  json_decoder of_file(json_decoder::keeps::all_errors); // its author gets all errors
  std::int64_t ns = 1;
  of_file.duration_ns(true, {"T", "D"}, ns);
  CHECK(of_file.error() == "json: cannot unmarshal bool into Go struct field T.D of type time.Duration");
}
