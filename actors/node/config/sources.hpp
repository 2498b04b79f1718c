#pragma once
// Reads the sources of a configuration, one after the other, into one object.

#include "actors/node/config/flags.hpp"
#include "actors/node/config/keys.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

class config_sources {
public:
  /// @param format hcl, json, or empty: by the names of the files
  config_sources(std::string format, config_problems& problems, std::vector<std::string>& warnings)
      : format_(std::move(format)), problems_(problems), warnings_(warnings) {}

  /// A file, or the files of a folder in alphabetical order.
  void read_path(const std::string& path);
  /// `-hcl TEXT`
  void read_inlined(std::string_view text) { add_text("-hcl", text, true); }
  /// Keys set by flags.
  void add_flags(const boost::json::object& values);

  const placed_config& merged() const { return merged_; }

private:
  void read_file(const std::string& path);
  void cannot_open(const std::string& path, const std::string& why);
  void add_text(const std::string& source, std::string_view text, bool as_hcl);

  std::string format_;
  config_problems& problems_;
  std::vector<std::string>& warnings_;
  placed_config merged_;
};

} // namespace belay::actors
