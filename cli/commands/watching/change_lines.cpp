#include "cli/commands/watching/change_lines.hpp"

#include "cli/output/json_text.hpp"
#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/base64.hpp"

#include <boost/json/object.hpp>

namespace belay::cli {

namespace json = boost::json;

std::string line_of(const v0::key_change& c) {
  using enum v0::change_kind;
  json::object o;
  if (!c.cursor.empty())
    o["ID"] = v0::position_of(c.cursor);
  o["Event"] = c.kind == set ? "set" : c.kind == erased ? "delete" : "expired";
  o["Key"] = c.key;
  o["Value"] = c.value.empty() ? json::value() : json::value(go_compat::base64(c.value));
  o["Flags"] = c.flags;
  o["Session"] = c.session;
  o["PreviousIndex"] = c.previous_index;
  o["Index"] = c.index;
  return compact(o) + "\n";
}

std::string line_of_void(const std::string& event, const std::string& cursor) {
  constexpr const auto& names = renamed(name_kind::printed, "Cursor");
  return compact(json::object{{"Event", event}, {names.name, cursor}, {names.old_name, cursor}}) + "\n";
}

} // namespace belay::cli
