// Indented JSON made in pieces equals JSON made at once.

#include "protocol/go_compat/json_output.hpp"
#include "protocol/go_compat/pretty_json.hpp"

#include <catch2/catch.hpp>

using namespace belay::go_compat;

TEST_CASE("pretty_json: any pieces that end at a comma or a bracket give the same text") {
  const std::string compact =
      R"([{"A":"x, \"y\" [","B":[],"C":{}},{"A":"","B":[1,2],"C":{"d":{"e":null}}},{"A":"\\","B":[{"z":true}]}])";
  for (std::size_t cut = 0; cut <= compact.size(); ++cut) {
    std::size_t quotes = 0;
    for (std::size_t i = 0; i < cut; ++i)
      quotes += compact[i] == '"' && (i == 0 || compact[i - 1] != '\\' || (i > 1 && compact[i - 2] == '\\')) ? 1 : 0;
    const bool in_string = quotes % 2 == 1;
    const bool in_empty = cut > 0 && cut < compact.size() && (compact[cut - 1] == '[' || compact[cut - 1] == '{') &&
                          (compact[cut] == ']' || compact[cut] == '}');
    if (in_string || in_empty)
      continue;
    INFO(compact.substr(0, cut) << " | " << compact.substr(cut));
    pretty_json p;
    std::string out;
    p.append(out, compact.substr(0, cut));
    p.append(out, compact.substr(cut));
    CHECK(out + "\n" == prettify_json(compact));
  }
}
