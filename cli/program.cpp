#include "cli/program.hpp"

#include "cli/commands/all.hpp"
#include "cli/flags/options.hpp"
#include "cli/help/nearest.hpp"
#include "cli/help/usage.hpp"
#include "protocol/base/renamed_names.hpp"

#include <cerrno>
#include <cstring>
#include <ostream>
#include <string_view>

namespace belay::cli {

namespace {

bool is_help(std::string_view word) {
  return word == "help" || word == "-h" || word == "-help" || word == "--help";
}

int run_command(const command& c, const arguments& args, terminal t) {
  if (c.run_words != nullptr)
    return c.run_words(args, t);
  options o(c);
  if (auto code = o.parse(args, t))
    return *code;
  try {
    return c.run(o, t);
  } catch (const command_ended& end) {
    return end.code;
  }
}

/// The name of a command or group that is nearest to `wrong`; empty: none is near.
std::string_view meant(const std::string& wrong) {
  std::vector<std::string_view> names;
  for (const auto& c : all_commands()) {
    names.push_back(c.name);
    for (auto at = c.name.find(' '); at != c.name.npos; at = c.name.find(' ', at + 1))
      names.push_back(c.name.substr(0, at));
  }
  return nearest(wrong, names);
}

int unknown(const std::string& wrong, const std::string& group, terminal t) {
  t.err << "Unknown command: " << wrong << "\n";
  if (const auto near = meant(wrong); !near.empty())
    t.err << "Did you mean `belay " << near << "`?\n";
  t.err << usage(all_commands(), group);
  return group.empty() ? 127 : 1;
}

int find_and_run(const arguments& words, terminal t) {
  if (words.empty()) {
    t.err << usage(all_commands(), "");
    return 127;
  }
  if (is_help(words[0]) && words.size() == 1) {
    t.out << usage(all_commands(), "");
    return 0;
  }
  if (is_help(words[0])) { // `belay help kv get` is `belay kv get -h`
    arguments other(words.begin() + 1, words.end());
    other.push_back("-h");
    return find_and_run(other, t);
  }
  if (words[0] == "-v" || words[0] == "-version" || words[0] == "--version")
    return find_and_run({"version"}, t);
  std::string name, group;
  for (std::size_t used = 0; used < words.size(); ++used) {
    if (!group.empty() && is_help(words[used])) {
      t.out << usage(all_commands(), group);
      return 0;
    }
    name += (used ? " " : "") + words[used];
    if (const auto* row = find_old_name(name_kind::command, name)) {
      t.err << old_name_warning(*row) << "\n";
      name = row->name;
    }
    bool is_group = false;
    for (const auto& c : all_commands()) {
      if (c.name == name)
        return run_command(c, {words.begin() + static_cast<std::ptrdiff_t>(used) + 1, words.end()}, t);
      is_group = is_group || c.name.starts_with(name + " ");
    }
    if (!is_group)
      return unknown(name, group, t);
    group = name;
  }
  t.err << usage(all_commands(), group);
  return 1;
}

} // namespace

int error(terminal t, const std::string& text) {
  t.err << text << "\n";
  return 1;
}

int run(const arguments& words, terminal t) {
  const int code = find_and_run(words, t);
  errno = 0;
  if (t.out.flush())
    return code;
  return error(t, std::string("Error writing to the standard output") +
                      (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()));
}

} // namespace belay::cli
