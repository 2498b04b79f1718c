#pragma once
// Recorded exchanges with the reference server; the format is described in README.md next to this file.

#include <boost/json.hpp>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace belay::contract {

namespace json = boost::json;

/// A transcript that cannot go on as written.
struct problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct transcript {
  std::string name;
  std::string about;
  std::string profile = "default";
  bool fresh = false; ///< needs a server of its own, newly started
  bool slow = false;
  std::vector<json::object> steps;

  /// The part of the name before the slash.
  std::string area() const { return name.substr(0, name.find('/')); }
};

/// @throws problem if the file is no transcript
transcript load_transcript(const std::filesystem::path& file);
/// All transcripts below a folder, by name.
std::vector<transcript> load_transcripts(const std::filesystem::path& folder);

/// Values of the variables; bytes that were saved stand in a string, whatever they are.
using variables = std::map<std::string, json::value>;

/// A value inside a text: strings as they are, all else as JSON.
std::string plain_text(const json::value& value);
/// Replaces ${name}, ${name+N} and ${name-N}. `how` makes the text of each value.
/// @throws problem for an unknown variable
std::string fill_text(std::string_view text, const variables& env, std::string (*how)(const json::value&) = plain_text);
/// The same everywhere in a value, member names included; a text that is nothing but a variable keeps its type.
json::value fill(const json::value& value, const variables& env);

/// A JSON text; numbers that fit 64 bits, signed or unsigned, are exact.
/// @throws problem if it is none
json::value parse_json(std::string_view text);

/// At most 300 bytes of it, for messages.
std::string brief(const json::value& value);

} // namespace belay::contract
