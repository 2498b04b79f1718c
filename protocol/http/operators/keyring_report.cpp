#include "protocol/http/operators/keyring_report.hpp"

#include "protocol/go_compat/error_list.hpp"
#include "protocol/go_compat/json_output.hpp"

#include <algorithm>
#include <map>

namespace belay::http {

namespace {

using counts = std::map<std::string, std::size_t>; // Go also writes map members by name

void append_counts(std::string& out, std::string_view name, const counts& keys) {
  go_compat::append_json_name(out, name);
  out += '{';
  for (const auto& [key, members] : keys) {
    if (out.back() != '{')
      out += ',';
    go_compat::append_json_string(out, key); // a member may send any text
    out += ':';
    go_compat::append_number(out, members);
  }
  out += '}';
}

std::string pool_of(bool wan, std::string_view datacenter) {
  return wan ? "WAN" : std::string(datacenter) + " (LAN)";
}

} // namespace

std::string keyring_errors(const std::vector<std::pair<std::string, std::string>>& members, std::string_view why,
                           std::string_view datacenter, bool local_only) {
  std::vector<std::string> lines;
  for (const bool wan : {true, false}) {
    if (wan && local_only)
      continue;
    lines.push_back(pool_of(wan, datacenter) + " error: " + std::string(why));
    for (const auto& [name, reason] : members)
      lines.push_back(name + (wan ? "." + std::string(datacenter) : "") + ": " + reason);
  }
  return go_compat::error_list(lines);
}

std::string keyring_complaint(const forward::keyring_outcome& o, std::string_view datacenter) {
  std::vector<std::pair<std::string, std::string>> named;
  std::size_t refused = 0, done = 0;
  for (const auto& m : o.members) {
    if (m.answer.ok) {
      ++done;
      continue;
    }
    refused += m.answered ? 1 : 0;
    named.emplace_back(m.name, m.answer.text);
  }
  if (named.empty())
    return {};
  const auto all = "/" + std::to_string(o.members.size());
  return keyring_errors(named,
                        refused > 0 ? std::to_string(refused) + all + " nodes reported failure"
                                    : std::to_string(done) + all + " nodes reported success",
                        datacenter, o.local_only);
}

std::string render_keyring(const forward::keyring_outcome& o, std::string_view datacenter) {
  counts keys, primary;
  for (const auto& m : o.members) {
    if (!m.answer.keys.empty())
      ++primary[m.answer.keys.front()];
    for (const auto& key : m.answer.keys)
      ++keys[key];
  }
  std::string out = "[";
  for (const bool wan : {true, false}) {
    if (wan && o.local_only)
      continue;
    out += out.size() == 1 ? "{" : ",{";
    go_compat::append_json_name(out, "WAN");
    go_compat::append_bool(out, wan);
    go_compat::append_json_member(out, "Datacenter", datacenter);
    go_compat::append_json_member(out, "Segment", "");
    append_counts(out, "Keys", keys);
    append_counts(out, "PrimaryKeys", primary);
    go_compat::append_json_name(out, "NumNodes");
    go_compat::append_number(out, o.members.size());
    out += '}';
  }
  return out + "]";
}

} // namespace belay::http
