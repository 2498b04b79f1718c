// The name of a key, node or service contains an escape sequence. Listing it on a terminal could
// rewrite the screen, rename the window, or insert text at the prompt.

#include "cli/output/escaped_output.hpp"
#include "cli/process/command_name.hpp"

#include <catch2/catch.hpp>

#include <sstream>

using namespace belay::cli;

namespace {

/// What a terminal receives from these writes.
std::string shown(const std::vector<std::string>& writes) {
  std::ostringstream to;
  escaped_output buffer(*to.rdbuf());
  std::ostream out(&buffer);
  for (const auto& each : writes)
    out << each << std::flush;
  CHECK(out.good());
  return to.str();
}

} // namespace

TEST_CASE("no control character reaches a terminal but line feeds and tabs", "[B24]") {
  for (int byte = 0; byte < 0x80; ++byte) {
    INFO(byte);
    const std::string text{'a', static_cast<char>(byte), 'b'};
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const auto out = shown({text});
    CHECK((out == text) == !control);
    for (const char c : out)
      CHECK((c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != '\x7f')));
  }
  CHECK(shown({"\x1b]0;title\x07"}) == "\\x1b]0;title\\x07");
  CHECK(shown({"\xc2\x9b"
               "31m"}) == "\\x9b31m");       // U+009B, which starts a sequence
  CHECK(shown({"\xc2", "\x9b"}) == "\\x9b"); // also split into two writes
  CHECK(shown({"gr\xc3\xbc\xc3\x9f", " \xc2\xa7 \xe2\x82\xac"}) == "gr\xc3\xbc\xc3\x9f \xc2\xa7 \xe2\x82\xac");
  CHECK(shown({"\xc2\xc2\x85"}) == "\xc2\\x85");
}

TEST_CASE("the program's own line is overwritten, and no other text can control the terminal", "[B24]") {
  std::ostringstream to;
  escaped_output buffer(*to.rdbuf());
  std::ostream out(&buffer);
  write_over_line(out);
  out << "key \r" << std::flush;
  CHECK(to.str() == "\rkey \\x0d");
  std::ostringstream plain;
  write_over_line(plain);
  CHECK(plain.str() == "\r");
}

TEST_CASE("a terminal that is gone is reported as a failed stream", "[B24]") {
  std::stringbuf closed(std::ios_base::in); // writes fail
  escaped_output buffer(closed);
  std::ostream out(&buffer);
  out << "x";
  CHECK_FALSE(out.good());
  out.clear();
  write_over_line(out);
  CHECK_FALSE(out.good());
}

// Sessions are visible to all clients that may read them.
TEST_CASE("a session is named after the program that runs, and after nothing that could be a secret", "[B24]") {
  CHECK(name_of_command({"deploy", "--password=SECRET"}) == "deploy");
  CHECK(name_of_command({"deploy --password SECRET"}) == "deploy");
  CHECK(name_of_command({"/usr/local/bin/deploy --password SECRET"}) == "deploy");
  CHECK(name_of_command({"PASSWORD=SECRET deploy"}) == "deploy");
  CHECK(name_of_command({" A=1\tB=2 deploy; other SECRET"}) == "deploy");
  CHECK(name_of_command({"deploy>log"}) == "deploy");
  CHECK(name_of_command({"/opt/x=y/deploy SECRET"}) == "deploy");
  for (const auto* line : {"", " ", "PASSWORD='SE CRET' deploy", "PASSWORD=\"SE CRET\" deploy",
                           "PASSWORD=$(echo SE CRET) deploy", "PASSWORD=SECRET", "PASSWORD=SE\\ CRET deploy",
                           "(deploy SECRET)", "\"a b\" SECRET", "A=1 B='SE CRET' deploy", "bin/"}) {
    INFO(line);
    CHECK(name_of_command({line}) == "command");
  }
  CHECK(name_of_command({}) == "command");
}
