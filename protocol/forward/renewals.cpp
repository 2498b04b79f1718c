#include "protocol/forward/renewals.hpp"

#include <charconv>

namespace belay::forward {

namespace {

constexpr std::string_view answer_begin = "lifetimes ";
constexpr std::string_view not_renewed = "-";

/// Calls `word(text)` for each word with a space after it. @returns false: `word` did, or no space
template <class Word>
bool for_each_word(std::string_view bytes, Word word) {
  while (!bytes.empty()) {
    const auto end = bytes.find(' ');
    if (end == std::string_view::npos || !word(bytes.substr(0, end)))
      return false;
    bytes.remove_prefix(end + 1);
  }
  return true;
}

} // namespace

std::string renewal_list(const std::vector<std::string>& ids) {
  std::string out;
  for (const auto& id : ids)
    out.append(id).append(" ");
  return out;
}

std::vector<std::string> sessions_of(std::string_view list) {
  std::vector<std::string> ids;
  for_each_word(list, [&](std::string_view id) {
    ids.emplace_back(id);
    return true;
  });
  return ids;
}

std::string encode_lifetimes(const renewed_lifetimes& all) {
  std::string out(answer_begin);
  for (const auto& each : all)
    out.append(each ? std::to_string(*each) : std::string(not_renewed)).append(" ");
  return out;
}

std::optional<renewed_lifetimes> decode_lifetimes(std::string_view bytes) {
  if (!bytes.starts_with(answer_begin))
    return std::nullopt;
  renewed_lifetimes all;
  const bool whole = for_each_word(bytes.substr(answer_begin.size()), [&](std::string_view word) {
    std::uint64_t ms = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ms);
    if (word == not_renewed)
      all.emplace_back();
    else if (error == std::errc() && end == word.data() + word.size())
      all.emplace_back(ms);
    else
      return false;
    return true;
  });
  return whole ? std::optional(std::move(all)) : std::nullopt;
}

} // namespace belay::forward
