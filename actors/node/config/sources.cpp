#include "actors/node/config/sources.hpp"

#include "actors/node/config/file_text.hpp"
#include "actors/node/config/hcl.hpp"
#include "actors/node/config/json.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>

namespace belay::actors {

namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

/// Records every key with the flag that sets it.
void note_flags(const json::object& values, const std::string& prefix, source_locations& locations) {
  for (const auto& member : values) {
    const auto path = prefix + std::string(member.key());
    const auto flag = flag_of_key(path);
    const source_location location{flag.empty() ? std::string() : "-" + std::string(flag), {}};
    if (!flag.empty())
      locations[path] = location;
    if (const auto* list = member.value().if_array())
      for (std::size_t i = 0; i < list->size(); ++i)
        locations[element_path(path, i)] = location;
    else if (const auto* inner = member.value().if_object())
      note_flags(*inner, path + ".", locations);
  }
}

} // namespace

void config_sources::read_path(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0)
    return cannot_open(path, open_failure(path, errno).text);
  if (!S_ISDIR(st.st_mode))
    return read_file(path);
  std::vector<std::string> names;
  std::error_code ec;
  for (fs::directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec))
    names.push_back(it->path().string());
  if (ec)
    return cannot_open(path, open_failure(path, ec.value()).text);
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    std::error_code ignored;
    const auto kind = fs::status(name, ignored).type(); // type of a symbolic link's target
    // A missing or inaccessible file is reported as an error.
    if (kind == fs::file_type::regular || kind == fs::file_type::not_found || kind == fs::file_type::none)
      read_file(name);
    else if (kind != fs::file_type::directory) // reading a pipe would block forever
      warnings_.push_back("skipping " + name + ", it is not a regular file");
  }
}

void config_sources::add_flags(const json::object& values) {
  auto flags = check_config_source("flags", {values, {}}, problems_);
  note_flags(flags.values, "", flags.locations);
  merge_config(merged_, flags);
}

void config_sources::cannot_open(const std::string& path, const std::string& why) {
  problems_.add({config_problem::kind::unreadable, path, "config: Open failed on " + path + ". " + why, {}});
}

void config_sources::read_file(const std::string& path) {
  const bool as_json = format_ == "json" || (format_.empty() && path.ends_with(".json"));
  const bool as_hcl = format_ == "hcl" || (format_.empty() && path.ends_with(".hcl"));
  if (!as_json && !as_hcl) {
    warnings_.push_back("skipping file " + path + ", extension must be .hcl or .json, or config format must be set");
    return;
  }
  const auto text = read_file_text(path);
  if (!text)
    return cannot_open(path, text.error());
  add_text(path, *text, as_hcl);
}

void config_sources::add_text(const std::string& source, std::string_view text, bool as_hcl) {
  const auto read = as_hcl ? parse_config_hcl(text) : parse_config_json(text);
  if (const auto* wrong = std::get_if<config_text_error>(&read)) {
    // Without a location the text contains it, and the source is put before the text.
    const auto at = wrong->at.line == 0 ? source_location{} : source_location{source, wrong->at};
    problems_.add({config_problem::kind::malformed, source, wrong->text, at});
    return;
  }
  merge_config(merged_, check_config_source(source, std::get<config_text>(read), problems_));
}

} // namespace belay::actors
