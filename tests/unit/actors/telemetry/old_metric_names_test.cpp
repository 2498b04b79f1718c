// Renamed metrics have both names, unless telemetry.old_names is false.

#include "actors/telemetry/metrics.hpp"
#include "protocol/base/renamed_names.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace belay;

namespace {

/// The gauges of both formats with their values, without prefix.
std::map<std::string, std::string> gauges_in_text(const std::string& text) {
  std::map<std::string, std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("t_"))
      out[line.substr(2, line.find(' ') - 2)] = line.substr(line.find(' ') + 1);
  }
  return out;
}

std::map<std::string, std::string> gauges_in_json(const std::string& text) {
  std::map<std::string, std::string> out;
  const auto all = boost::json::parse(text);
  for (const auto& g : all.as_object().at("Gauges").as_array())
    out[std::string(g.at("Name").as_string()).substr(2)] = boost::json::serialize(g.at("Value"));
  return out;
}

} // namespace

TEST_CASE("a renamed metric is shown by both names, with the same value", "[metrics]") {
  actors::metrics m;
  m.buffered_bytes(0, 7);
  m.changes_kept(100, 9);
  m.change_streams({}, {5, 3, 0});
  const auto text = gauges_in_text(m.prometheus("t")), new_text = gauges_in_text(m.prometheus("t", false));
  const auto json = gauges_in_json(m.json("t", 1000)), new_json = gauges_in_json(m.json("t", 1000, false));
  std::size_t rows = 0;
  for (const auto& row : renamed_names) {
    if (row.kind != name_kind::metric)
      continue;
    ++rows;
    INFO(row.old_name);
    const std::string name(row.name), old_name(row.old_name);
    const auto in_text = [](std::string n) {
      std::replace(n.begin(), n.end(), '.', '_');
      return n;
    };
    CHECK(text.at(in_text(name)) != "0");
    CHECK(text.at(in_text(name)) == text.at(in_text(old_name)));
    CHECK(json.at(name) == json.at(old_name));
    CHECK(json.at(name) == text.at(in_text(name)));
    CHECK(new_text.contains(in_text(name)));
    CHECK_FALSE(new_text.contains(in_text(old_name)));
    CHECK(new_json.contains(name));
    CHECK_FALSE(new_json.contains(old_name));
  }
  CHECK(rows > 0);
}
