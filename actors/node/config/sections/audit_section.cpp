#include "actors/node/config/sections/sections.hpp"

#include "actors/node/config/json.hpp"

#include <cstdint>
#include <limits>

namespace belay::actors {

namespace {

/// Decodes one sink.
class sink_reader {
public:
  /// @param where path of the sink in the configuration
  sink_reader(config_decoder& d, std::string where) : d_(d), where_(std::move(where)) {}

  audit_settings read() {
    only("type", "file");
    only("format", "json");
    audit_settings found;
    found.enforced = enforced();
    auto& file = found.file;
    d_.get(at("path"), file.path);
    file.mode = mode();
    count("rotate_bytes", file.rotate_bytes);
    d_.get(at("rotate_duration"), file.rotate_after);
    if (file.rotate_after.count() < 0)
      wrong("rotate_duration", "must not be negative");
    count("rotate_max_files", file.files_max);
    if (file.path.empty())
      d_.complain(at("path") + ": must name the file", {at("path"), where_}, {at("path")});
    if (file.files_max > 0 && !file.rotates())
      d_.complain(at("rotate_max_files") + ": requires rotate_bytes or rotate_duration", {at("rotate_max_files")},
                  {at("rotate_bytes"), at("rotate_duration")});
    return found;
  }

private:
  std::string at(std::string_view name) const { return where_ + "." + std::string(name); }
  void wrong(std::string_view name, const std::string& why) { d_.wrong(at(name), at(name) + ": " + why); }

  void only(std::string_view name, const std::string& known) {
    auto value = known;
    d_.get(at(name), value);
    if (value != known)
      wrong(name, "cannot be \"" + value + "\": it must be \"" + known + "\"");
  }

  bool enforced() {
    std::string value = "best-effort";
    d_.get(at("delivery_guarantee"), value);
    if (value != "enforced" && value != "best-effort")
      wrong("delivery_guarantee", "cannot be \"" + value + "\": it must be \"best-effort\" or \"enforced\"");
    return value == "enforced";
  }

  /// A text, because the number 640 would be ambiguous.
  mode_t mode() {
    std::string digits = "0600";
    d_.get(at("mode"), digits);
    if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("01234567") != digits.npos) {
      wrong("mode", "must be the permissions of a file in octal digits, such as \"0600\"");
      return 0600;
    }
    const auto bits = static_cast<mode_t>(std::stoul(digits, nullptr, 8));
    if ((bits & 0600) != 0600 || bits > 0777)
      wrong("mode", "\"" + digits + "\": the server itself must be able to read and write its files (\"0600\")");
    return bits;
  }

  template <class Int>
  void count(std::string_view name, Int& to) {
    d_.get(at(name), to, 0, std::numeric_limits<std::int64_t>::max());
  }

  config_decoder& d_;
  std::string where_;
};

} // namespace

void decode_audit(config_decoder& d, node_config& c) {
  bool wanted = false;
  d.get("audit.enabled", wanted);
  const auto* value = value_at(d.values(), "audit.sink");
  if (value == nullptr || value->get_object().empty()) {
    if (wanted)
      d.complain("audit.enabled: requires a sink: audit { sink \"NAME\" { type = \"file\", format = \"json\", path = "
                 "\"...\" } }",
                 {"audit.enabled"}, {"audit.sink"});
    return;
  }
  const auto& sinks = value->get_object();
  if (sinks.size() > 1)
    return d.wrong("audit.sink",
                   "audit.sink: there are " + std::to_string(sinks.size()) + " sinks; only one is supported");
  auto settings = sink_reader(d, "audit.sink." + std::string(sinks.begin()->key())).read();
  if (wanted)
    c.audit = std::move(settings);
}

} // namespace belay::actors
