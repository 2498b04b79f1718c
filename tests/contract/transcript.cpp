#include "tests/contract/transcript.hpp"

#include <algorithm>
#include <fstream>
#include <regex>

namespace belay::contract {

namespace {

struct variable_use {
  std::size_t begin = 0, end = 0;
  std::string name;
  long long offset = 0;
  bool has_offset = false;
};

/// The first ${name}, ${name+N} or ${name-N} at or after `from`; begin is npos if there is none.
variable_use next_use(std::string_view text, std::size_t from) {
  auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_'; };
  variable_use use;
  for (auto at = text.find("${", from); at != text.npos; at = text.find("${", at + 1)) {
    auto p = at + 2;
    if (p >= text.size() || !letter(text[p]))
      continue;
    auto name_begin = p;
    while (p < text.size() && (letter(text[p]) || std::isdigit(static_cast<unsigned char>(text[p]))))
      ++p;
    use.name = std::string(text.substr(name_begin, p - name_begin));
    use.has_offset = false;
    if (p < text.size() && (text[p] == '+' || text[p] == '-')) {
      auto sign = text[p++];
      auto digits = p;
      while (p < text.size() && std::isdigit(static_cast<unsigned char>(text[p])))
        ++p;
      if (p == digits)
        continue;
      use.offset = std::stoll(std::string(text.substr(digits, p - digits))) * (sign == '-' ? -1 : 1);
      use.has_offset = true;
    }
    if (p < text.size() && text[p] == '}') {
      use.begin = at;
      use.end = p + 1;
      return use;
    }
  }
  use.begin = text.npos;
  return use;
}

json::value value_of(const variable_use& use, const variables& env) {
  auto found = env.find(use.name);
  if (found == env.end())
    throw problem("unknown variable ${" + use.name + "}");
  if (!use.has_offset)
    return found->second;
  boost::system::error_code ec;
  if (auto number = found->second.to_number<std::int64_t>(ec); !ec)
    return number + use.offset;
  auto large = found->second.to_number<std::uint64_t>(ec);
  if (ec)
    throw problem("${" + use.name + "} is not a number: " + brief(found->second));
  return large + static_cast<std::uint64_t>(use.offset);
}

} // namespace

json::value parse_json(std::string_view text) {
  boost::system::error_code ec;
  json::parse_options options;
  options.max_depth = 500;
  auto value = json::parse(text, ec, {}, options);
  if (ec)
    throw problem("not JSON (" + ec.message() + ")");
  return value;
}

transcript load_transcript(const std::filesystem::path& file) {
  std::ifstream in(file);
  transcript out;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    auto value = parse_json(line);
    if (!value.is_object())
      throw problem(file.string() + ": a line is not an object");
    auto& row = value.as_object();
    if (!out.name.empty()) {
      out.steps.push_back(std::move(row));
      continue;
    }
    if (!row.contains("transcript"))
      throw problem(file.string() + ": the first line is not a transcript header");
    out.name = plain_text(row["transcript"]);
    out.about = row.contains("about") ? plain_text(row["about"]) : "";
    out.profile = row.contains("profile") ? plain_text(row["profile"]) : "default";
    out.fresh = row.contains("fresh") && row["fresh"].as_bool();
    out.slow = row.contains("slow") && row["slow"].as_bool();
  }
  if (out.name.empty())
    throw problem(file.string() + ": no transcript header");
  return out;
}

std::vector<transcript> load_transcripts(const std::filesystem::path& folder) {
  std::vector<transcript> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".jsonl")
      out.push_back(load_transcript(entry.path()));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::string plain_text(const json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

std::string fill_text(std::string_view text, const variables& env, std::string (*how)(const json::value&)) {
  std::string out;
  std::size_t at = 0;
  for (;;) {
    auto use = next_use(text, at);
    if (use.begin == text.npos)
      return out.append(text.substr(at));
    out.append(text.substr(at, use.begin - at)).append(how(value_of(use, env)));
    at = use.end;
  }
}

json::value fill(const json::value& value, const variables& env) {
  if (const auto* list = value.if_array()) {
    json::array out;
    for (const auto& element : *list)
      out.push_back(fill(element, env));
    return out;
  }
  if (const auto* object = value.if_object()) {
    json::object out;
    for (const auto& [key, member] : *object)
      out[fill_text(key, env)] = fill(member, env);
    return out;
  }
  if (!value.is_string())
    return value;
  std::string_view text = value.get_string();
  auto use = next_use(text, 0);
  if (use.begin == 0 && use.end == text.size())
    return value_of(use, env);
  return json::value(fill_text(text, env));
}

std::string brief(const json::value& value) {
  auto text = json::serialize(value);
  return text.size() <= 300 ? text : text.substr(0, 300) + "...";
}

} // namespace belay::contract
