// What Go's flag package accepts and rejects; scripts that start Consul depend on it.

#include "protocol/go_compat/flags.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::go_compat;

namespace {

std::optional<flag_takes> known(std::string_view name) {
  if (name == "quiet")
    return flag_takes::nothing;
  if (name == "file")
    return flag_takes::value;
  if (name == "shrink")
    return flag_takes::value_or_nothing;
  return std::nullopt;
}

/// Flags as `name`, `name:value` or `name=value` (attached), then `|` and the words; or the error.
std::string read_flags(const std::vector<std::string>& words) {
  flag_reader reader(words, known);
  std::string out;
  for (;;) {
    const auto flag = reader.next();
    if (!flag)
      return flag.error();
    if (!*flag)
      break;
    out += std::string((*flag)->name);
    if ((*flag)->value)
      out += ((*flag)->attached ? "=" : ":") + *(*flag)->value;
    out += ' ';
  }
  out += '|';
  for (const auto& word : reader.rest())
    out += " " + word;
  return out;
}

} // namespace

TEST_CASE("flags: accepted forms") {
  struct row {
    std::vector<std::string> words;
    const char* read;
  };
  const row rows[] = {
      {{}, "|"},
      {{"-quiet", "--quiet", "-quiet=false"}, "quiet quiet quiet=false |"},
      {{"-file", "a", "--file=b=c", "-file="}, "file:a file=b=c file= |"},
      {{"-file", "-quiet"}, "file:-quiet |"},
      {{"-quiet", "word", "-quiet"}, "quiet | word -quiet"},
      {{"-quiet", "--", "-quiet"}, "quiet | -quiet"},
      {{"-quiet", "-"}, "quiet | -"},
      {{"", "-quiet"}, "|  -quiet"},
      {{"-shrink", "a", "-shrink", "-quiet", "-shrink"}, "shrink:a shrink quiet shrink |"},
  };
  for (const auto& r : rows) {
    INFO(r.read);
    CHECK(read_flags(r.words) == r.read);
  }
}

TEST_CASE("flags: complaints") {
  CHECK(read_flags({"-quiet", "-x"}) == "flag provided but not defined: -x");
  CHECK(read_flags({"--x=1"}) == "flag provided but not defined: -x");
  CHECK(read_flags({"-quiet", "-file"}) == "flag needs an argument: -file");
  CHECK(read_flags({"---quiet"}) == "bad flag syntax: ---quiet");
  CHECK(read_flags({"-=quiet"}) == "bad flag syntax: -=quiet");
  CHECK(read_flags({"--=quiet"}) == "bad flag syntax: --=quiet");
}

TEST_CASE("flags: where reading stopped") {
  const std::vector<std::string> words = {"-quiet", "--", "a"};
  flag_reader reader(words, known);
  CHECK(reader.next()->has_value());
  CHECK_FALSE(reader.next()->has_value());
  CHECK(reader.position() == 1);
  CHECK(reader.rest() == std::vector<std::string>{"a"});
}
