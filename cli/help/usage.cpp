#include "cli/help/usage.hpp"

#include <algorithm>
#include <set>

namespace belay::cli {

namespace {

constexpr std::size_t flag_columns = 30, command_columns = 30;

void add_line(std::string& out, std::string_view left, std::string_view right, std::size_t columns) {
  out += "  ";
  out += left;
  out.append(left.size() + 1 < columns ? columns - left.size() : 2, ' ');
  out += right;
  out += '\n';
}

void add_flags(std::string& out, const command& c, bool shared, std::string_view title) {
  std::string lines;
  for (const auto& f : all_flags(c))
    if (is_shared(c, f) == shared)
      add_line(lines, shown(f), std::string(f.help) + (f.kind == flag_kind::list ? " (may be repeated)" : ""),
               flag_columns);
  if (!lines.empty())
    out += "\n" + std::string(title) + ":\n" + lines;
}

} // namespace

bool is_shared(const command& c, const flag& f) {
  return f.name != "format" && !f.name.starts_with("copy-") && find_flag(c.flags, f.name) == nullptr;
}

std::string shown(const flag& f) {
  std::string out = "-" + std::string(f.name);
  switch (f.kind) {
  case flag_kind::toggle:
    return out;
  case flag_kind::text:
  case flag_kind::list:
    return out + "=" + (f.value.empty() ? "<text>" : std::string(f.value));
  case flag_kind::unsigned_number:
  case flag_kind::integer:
    return out + "=" + (f.value.empty() ? "<number>" : std::string(f.value));
  case flag_kind::duration:
    return out + "=" + (f.value.empty() ? "<duration>" : std::string(f.value));
  }
  return out;
}

std::string usage_line(const command& c) {
  std::string out = "Usage: belay " + std::string(c.name);
  if (!all_flags(c).empty() || c.run_words != nullptr)
    out += " [options]";
  if (!c.operands.empty())
    out += " " + std::string(c.operands);
  return out + "\n";
}

std::string usage(const command& c) {
  auto out = usage_line(c) + "\n" + std::string(c.help) + ".\n";
  if (!c.text.empty())
    out += "\n" + std::string(c.text) + "\n";
  out += "\nExamples:\n";
  for (const auto& e : c.examples) {
    out += "  belay " + std::string(e.line) + "\n";
    out += "      " + std::string(e.help) + "\n";
  }
  add_flags(out, c, false, "Options");
  add_flags(
      out, c, true,
      "Options of every command that connects to a server (for each variable CONSUL_... there is also BELAY_...)");
  return out;
}

std::string usage(const std::vector<command>& commands, std::string_view group) {
  std::string out = "Usage: belay ";
  if (!group.empty())
    out += std::string(group) + " ";
  out += "<command> [options] [arguments]\n\nAvailable commands are:\n";
  const auto prefix = group.empty() ? std::string() : std::string(group) + " ";
  for (const auto& c : commands)
    if (c.name.starts_with(prefix))
      add_line(out, c.name, c.help, command_columns);
  if (group.empty())
    out +=
        "\n"
        "`belay <command> -h` explains a command, with examples and options. Commands that need a server connect to\n"
        "-http-addr=<address>, else to BELAY_HTTP_ADDR or CONSUL_HTTP_ADDR, else to 127.0.0.1:8500.\n";
  return out;
}

} // namespace belay::cli
