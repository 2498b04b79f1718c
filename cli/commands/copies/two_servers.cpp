#include "cli/commands/copies/two_servers.hpp"

namespace belay::cli {

copy_operands copy_operands_of(const options& o, bool prefix_needed, terminal t) {
  const auto& words = o.words();
  const std::size_t least = prefix_needed ? 3 : 2;
  if (words.size() < least || words.size() > 4) {
    o.wrong_usage(t, std::string(prefix_needed ? "Two servers and a prefix" : "Two servers") +
                         " are required, and at most one more prefix, of the copy (got " +
                         std::to_string(words.size()) + " words)");
    throw command_ended{o.of().failed};
  }
  copy_operands p{.original = words[0], .copy = words[1], .prefix = {}, .copy_prefix = {}};
  if (p.original.empty() || p.copy.empty()) {
    o.wrong_usage(t, "A server must be HOST:PORT, http://HOST:PORT, https://HOST:PORT or unix:///PATH");
    throw command_ended{o.of().failed};
  }
  if (words.size() > 2)
    p.prefix = without_leading_slash(words[2]);
  p.copy_prefix = words.size() > 3 ? without_leading_slash(words[3]) : p.prefix;
  return p;
}

std::string text_of(const v0::error& why, const command_environment& original, const command_environment& copy) {
  const auto refused = [](const command_environment& w) { return w.last_status() >= 400 && w.last_status() < 500; };
  if (refused(original) == refused(copy))
    return why.text();
  return (refused(original) ? "the original's server: " : "the copy's server: ") + why.text();
}

} // namespace belay::cli
