#include "actors/node/config/audit_section.hpp"

#include "actors/node/config/json.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/golang/duration.hpp"

#include <boost/json/array.hpp>

#include <cstdint>

namespace belay::actors {

namespace {

namespace json = boost::json;

/// Takes the members of one sink out; keeps the first complaint.
class sink_reader {
public:
  explicit sink_reader(std::string where) : where_(std::move(where)) {}

  void take(std::string_view name, const json::value& v, audit_settings& to) {
    auto& file = to.file;
    if (name == "type")
      only(name, text(name, v), "file");
    else if (name == "format")
      only(name, text(name, v), "json");
    else if (name == "path")
      file.path = text(name, v);
    else if (name == "delivery_guarantee")
      to.enforced = guarantee(text(name, v));
    else if (name == "mode")
      file.mode = mode(v);
    else if (name == "rotate_bytes")
      file.rotate_bytes = count(name, v);
    else if (name == "rotate_duration")
      file.rotate_after = duration(name, text(name, v));
    else if (name == "rotate_max_files")
      file.files_max = count(name, v);
    else
      complain(std::string("invalid config key ") + where_ + "." + std::string(name));
  }

  void complain(std::string why) {
    if (complaint_.empty())
      complaint_ = std::move(why);
  }
  const std::string& complaint() const { return complaint_; }

private:
  void wrong(std::string_view name, const std::string& why) { complain(where_ + "." + std::string(name) + ": " + why); }

  std::string text(std::string_view name, const json::value& v) {
    if (const auto* s = v.if_string())
      return std::string(*s);
    wrong(name, "must be a text");
    return {};
  }

  void only(std::string_view name, const std::string& value, const std::string& known) {
    if (value != known)
      wrong(name, "cannot be \"" + value + "\": there is only \"" + known + "\"");
  }

  bool guarantee(const std::string& value) {
    if (value != "enforced" && value != "best-effort")
      wrong("delivery_guarantee", "cannot be \"" + value + "\": it is \"best-effort\" or \"enforced\"");
    return value == "enforced";
  }

  /// As a text, because 640 as a number could be meant as either.
  mode_t mode(const json::value& v) {
    const auto* s = v.if_string();
    const std::string digits = s != nullptr ? std::string(*s) : std::string();
    if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("01234567") != digits.npos) {
      wrong("mode", "must be the permissions of a file as a text of octal digits, such as \"0600\"");
      return 0600;
    }
    const auto bits = static_cast<mode_t>(std::stoul(digits, nullptr, 8));
    if ((bits & 0600) != 0600 || bits > 0777)
      wrong("mode", "\"" + digits + "\": the server itself must be able to read and write its files (\"0600\")");
    return bits;
  }

  std::uint64_t count(std::string_view name, const json::value& v) {
    boost::system::error_code ec;
    const auto n = v.is_number() ? v.to_number<std::int64_t>(ec) : -1;
    if (ec || n < 0) {
      wrong(name, "must be a whole number of at least 0");
      return 0;
    }
    return static_cast<std::uint64_t>(n);
  }

  std::chrono::nanoseconds duration(std::string_view name, const std::string& value) {
    const auto d = golang::parse_duration(value);
    if (!d)
      wrong(name, "invalid duration: \"" + value + "\": " + golang::duration_complaint(value));
    else if (d->count() < 0)
      wrong(name, "must not be negative");
    return d.value_or(std::chrono::nanoseconds{0});
  }

  std::string where_;
  std::string complaint_;
};

/// Of a block that HCL may have turned into a list of one.
const json::object* object_of(const json::value& v) {
  const auto* list = v.if_array();
  const auto& inner = list != nullptr && list->size() == 1 ? list->front() : v;
  return inner.if_object();
}

std::string decode_sink(const std::string& name, const json::value& v, audit_settings& to) {
  const auto where = "audit.sink." + name;
  const auto* sink = object_of(v);
  if (sink == nullptr)
    return where + ": must be a section with type, format and path";
  sink_reader reader(where);
  for (const auto& member : *sink)
    if (!member.value().is_null())
      reader.take(lower_case(member.key()), member.value(), to);
  if (to.file.path.empty())
    reader.complain(where + ".path: must name the file");
  if (to.file.files_max > 0 && !to.file.rotates())
    reader.complain(where + ".rotate_max_files: files do not rotate without rotate_bytes or rotate_duration");
  return reader.complaint();
}

} // namespace

std::string decode_audit(const json::object& merged, node_config& c) {
  const auto* enabled = value_at(merged, "audit.enabled");
  const auto* value = value_at(merged, "audit.sink");
  const bool wanted = enabled != nullptr && enabled->get_bool();
  const auto* sinks = value != nullptr ? object_of(*value) : nullptr;
  if (value != nullptr && sinks == nullptr)
    return "audit.sink: must be a section with one sink in it, by its name";
  if (sinks != nullptr && sinks->size() > 1)
    return "audit.sink: there are " + std::to_string(sinks->size()) + " sinks, and only one is supported";
  if (sinks == nullptr || sinks->empty())
    return wanted ? "audit.enabled: needs a sink: audit { sink \"NAME\" { type = \"file\", format = \"json\", path = "
                    "\"...\" } }"
                  : "";
  audit_settings settings;
  const auto& one = *sinks->begin();
  auto complaint = decode_sink(std::string(one.key()), one.value(), settings);
  if (wanted && complaint.empty())
    c.audit = std::move(settings);
  return complaint;
}

} // namespace belay::actors
