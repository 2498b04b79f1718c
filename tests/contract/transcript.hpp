#pragma once
// Recorded exchanges with the reference server; README.md beside this file has the format.

#include <boost/json.hpp>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace belay::contract {

namespace json = boost::json;

/// A transcript that cannot continue as written.
struct problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct transcript {
  std::string name;
  std::string about;
  std::string profile = "default";
  bool fresh = false; ///< needs a newly started server of its own
  bool slow = false;
  std::vector<json::object> steps;

  /// The part of the name before the slash.
  std::string area() const { return name.substr(0, name.find('/')); }
};

/// @throws problem if the file is not a transcript
transcript load_transcript(const std::filesystem::path& file);
/// All transcripts under a folder, sorted by name.
std::vector<transcript> load_transcripts(const std::filesystem::path& folder);

/// Values of the variables; saved bytes are in a string, even if they are not UTF-8.
using variables = std::map<std::string, json::value>;

/// A value as part of a text: strings as they are, everything else as JSON.
std::string plain_text(const json::value& value);
/// Replaces ${name}, ${name+N} and ${name-N}. `how` converts each value to text.
/// @throws problem if a variable is unknown
std::string fill_text(std::string_view text, const variables& env, std::string (*how)(const json::value&) = plain_text);
/// The same in all of a value, member names included; a text that is a variable keeps its type.
json::value fill(const json::value& value, const variables& env);

/// Parses JSON; numbers that fit into 64 bits, signed or unsigned, are exact.
/// @throws problem if it is malformed
json::value parse_json(std::string_view text);

/// The first 300 bytes at most, for messages.
std::string brief(const json::value& value);

} // namespace belay::contract
