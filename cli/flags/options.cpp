#include "cli/flags/options.hpp"

#include "actors/node/config/file_text.hpp"
#include "cli/api/api_tls.hpp"
#include "cli/help/nearest.hpp"
#include "cli/help/usage.hpp"
#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/flags.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <istream>
#include <iterator>
#include <limits>
#include <ostream>

namespace belay::cli {

namespace {

constexpr std::size_t token_file_bytes_max = 64 << 10; // a token has at most 255 bytes

/// The first line of a token file that is not blank; empty: there is none.
/// @returns a failure with the system's reason if the file cannot be read
result<std::string> token_in(const std::string& path) {
  auto text = actors::read_file_text(path, token_file_bytes_max);
  if (!text)
    return failure{"Error loading token file: " + text.error()};
  constexpr std::string_view blanks = " \t\r\n";
  const auto from = std::min(text->find_first_not_of(blanks), text->size());
  auto line = text->substr(from, text->find('\n', from) - from);
  line.resize(line.find_last_not_of(blanks) + 1);
  return line;
}

std::optional<std::int64_t> read_integer(std::string_view text) {
  std::int64_t n = 0;
  if (text.starts_with('+'))
    text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

/// What is wrong with the value of a flag, in the words of Go's flag package; empty: nothing.
std::string complaint_about(const flag& f, const std::string& value) {
  const auto invalid = [&](const std::string& why) {
    return "invalid value " + go_compat::quoted(value) + " for flag -" + std::string(f.name) + ": " + why;
  };
  switch (f.kind) {
  case flag_kind::toggle:
    return go_compat::parse_bool(value)
               ? std::string()
               : "invalid boolean value " + go_compat::quoted(value) + " for -" + std::string(f.name) + ": parse error";
  case flag_kind::unsigned_number:
    return go_compat::parse_uint(value) ? std::string() : invalid("parse error");
  case flag_kind::integer:
    return read_integer(value) ? std::string() : invalid("parse error");
  case flag_kind::duration:
    return go_compat::parse_duration(value) ? std::string() : invalid("parse error");
  case flag_kind::text:
  case flag_kind::list:
    break;
  }
  const auto allowed = choices(f);
  if (allowed.empty() || value.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end())
    return {};
  auto complaint =
      f.name == "format" ? "Unknown format: " + value : invalid("it must be one of " + std::string(f.value));
  if (const auto near = nearest(value, allowed); !near.empty())
    complaint += "\nDid you mean -" + std::string(f.name) + "=" + std::string(near) + "?";
  return complaint;
}

} // namespace

namespace {

/// A flag as it was named on a command line.
struct named_flag {
  const flag* it;                         ///< nullptr: no flag has the name
  const renamed_name* old_name = nullptr; ///< the row, if the name is the old one
};

named_flag flag_named(const std::vector<flag>& flags, std::string_view name) {
  if (const auto* f = find_flag(flags, name))
    return {f};
  const auto* row = find_old_name(name_kind::option, name);
  const auto* f = row == nullptr ? nullptr : find_flag(flags, row->name);
  return {f, f == nullptr ? nullptr : row};
}

/// The index of the operand that begins the command that this command runs; npos: there is none.
std::size_t first_of_command(std::string_view operands) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < operands.size(); ++number) {
    const auto end = std::min(operands.find(' ', at), operands.size());
    if (operands.substr(at, end - at).find("COMMAND...") != operands.npos)
      return number;
    at = end + 1;
  }
  return std::string_view::npos;
}

/// Whether an operand is data, which may begin with a dash: a negative number, a list in Markdown.
bool takes_data(std::string_view operands) {
  for (const std::string_view name : {"DATA", "PAYLOAD", "RULES", "TOKEN", "[N]"})
    if (operands.find(name) != operands.npos)
      return true;
  return false;
}

/// The first argument that was meant as a flag; nullptr: there is none. Flags end at the first
/// argument, as in Consul, but ignoring a later one would change what the command does.
const std::string* late_flag(const std::vector<std::string>& words, const command& c, const std::vector<flag>& flags) {
  const auto checked = first_of_command(c.operands);
  for (std::size_t i = 0; i < words.size() && i <= checked && words[i] != "--"; ++i) {
    std::string_view name = words[i];
    if (name.size() < 2 || name[0] != '-')
      continue;
    name.remove_prefix(name[1] == '-' ? 2 : 1);
    name = name.substr(0, name.find('='));
    const bool known = name == "h" || name == "help" || flag_named(flags, name).it != nullptr;
    if (known || !takes_data(c.operands))
      return &words[i];
  }
  return nullptr;
}

} // namespace

std::string environment(const char* name) {
  for (auto prefix : {"BELAY_", "CONSUL_"})
    if (const char* v = std::getenv((prefix + std::string(name)).c_str()); v && *v)
      return v;
  return {};
}

int options::wrong_usage(terminal t, const std::string& complaint) const {
  t.err << complaint << "\n" << usage_line(*command_) << "`belay " << command_->name << " -h` explains it.\n";
  return 1;
}

std::optional<int> options::parse(const arguments& args, terminal t) {
  const auto flags = all_flags(*command_);
  const auto is_help = [](std::string_view name) { return name == "h" || name == "help"; };
  std::string unknown;
  go_compat::flag_reader words(args, [&](std::string_view name) -> std::optional<go_compat::flag_takes> {
    if (const auto* f = flag_named(flags, name).it)
      return f->kind == flag_kind::toggle ? go_compat::flag_takes::nothing : go_compat::flag_takes::value;
    if (is_help(name))
      return go_compat::flag_takes::nothing;
    unknown = name;
    return std::nullopt;
  });
  const renamed_name* old_name = nullptr; // no command has two
  for (;;) {
    auto given = words.next();
    if (!given) {
      auto complaint = given.error();
      std::vector<std::string_view> names;
      for (const auto& f : flags)
        names.push_back(f.name);
      if (const auto near = unknown.empty() ? std::string_view() : nearest(unknown, names); !near.empty())
        complaint += "\nDid you mean -" + std::string(near) + "?";
      wrong_usage(t, complaint);
      return command_->failed;
    }
    if (!*given)
      break;
    const auto [f, row] = flag_named(flags, (*given)->name);
    if (f == nullptr) {
      t.out << usage(*command_);
      return 0;
    }
    auto& all = values_[std::string(f->name)];
    const auto& value = all.emplace_back((*given)->value.value_or("true"));
    if (row != nullptr && std::exchange(old_name, row) == nullptr)
      t.err << old_name_warning(*row) << "\n";
    if (old_name != nullptr && f->name == old_name->name && all.front() != value) {
      wrong_usage(t, "-" + std::string(f->name) + " and its old name -" + std::string(old_name->old_name) +
                         " have different values");
      return command_->failed;
    }
    if (const auto complaint = complaint_about(*f, value); !complaint.empty()) {
      wrong_usage(t, complaint);
      return command_->failed;
    }
  }
  words_ = words.rest();
  const bool ended = words.position() < args.size() && args[words.position()] == "--";
  if (const auto* late = ended ? nullptr : late_flag(words_, *command_, flags))
    return wrong_usage(t, "options must come before arguments: " + *late +
                              "\nPut -- before the arguments if it is one of them.");
  return std::nullopt;
}

bool options::on(std::string_view name) const {
  return go_compat::parse_bool(value(name)).value_or(false);
}

std::string options::value(std::string_view name, std::string otherwise) const {
  auto it = values_.find(std::string(name));
  return it == values_.end() ? otherwise : it->second.back();
}

std::vector<std::string> options::values(std::string_view name) const {
  auto it = values_.find(std::string(name));
  return it == values_.end() ? std::vector<std::string>() : it->second;
}

std::uint64_t options::number(std::string_view name) const {
  return go_compat::parse_uint(value(name)).value_or(0);
}

std::int64_t options::integer(std::string_view name, std::int64_t otherwise) const {
  return read_integer(value(name)).value_or(otherwise);
}

std::chrono::nanoseconds options::duration(std::string_view name, std::chrono::nanoseconds otherwise) const {
  return go_compat::parse_duration(value(name)).value_or(otherwise);
}

std::chrono::nanoseconds options::wait(std::string_view name, std::chrono::nanoseconds otherwise) const {
  return std::min<std::chrono::nanoseconds>(duration(name, otherwise), for_ever);
}

void options::not_connected(const std::string& why, terminal t) const {
  error(t, "Error connecting to the agent: " + why);
  throw command_ended{command_->failed};
}

api_client options::client(terminal t) const {
  auto address = value("http-addr");
  if (address.empty())
    address = environment("HTTP_ADDR");
  if (address.empty())
    address = "127.0.0.1:8500";
  auto token = own_token();
  if (!token)
    not_connected(token.error(), t);
  return client_at(address, std::move(*token), environment("HTTP_AUTH"), t);
}

std::pair<api_client, api_client> options::clients(const std::string& original, const std::string& copy,
                                                   terminal t) const {
  auto own = own_token();
  if (!own)
    not_connected(own.error(), t);
  auto first = client_at(original, std::move(*own), environment("HTTP_AUTH"), t);
  result<std::string> token = value("copy-token");
  if (token->empty() && given("copy-token-file"))
    token = token_in(value("copy-token-file"));
  if (!token)
    not_connected(token.error(), t);
  return {std::move(first), client_at(copy, std::move(*token), {}, t)};
}

result<std::string> options::own_token() const {
  result<std::string> token = value("token");
  for (const auto& path : {value("token-file"), given("token") ? std::string() : environment("HTTP_TOKEN_FILE")})
    if (token && token->empty() && !path.empty())
      token = token_in(path);
  return token && token->empty() ? environment("HTTP_TOKEN") : token;
}

api_client options::client_at(const std::string& address, std::string token, std::string basic_auth, terminal t) const {
  // As in Consul's client, a value that is not a boolean counts as not set.
  auto where = parse_api_address(address, go_compat::parse_bool(environment("HTTP_SSL")).value_or(false));
  if (!where)
    not_connected(where.error(), t);
  api_target target{.where = std::move(*where), .token = std::move(token), .basic_auth = std::move(basic_auth)};
  if (target.where.https) {
    const auto setting = [&](std::string_view flag, const char* variable) {
      return given(flag) ? value(flag) : environment(variable);
    };
    auto loaded = load_api_tls({setting("ca-file", "CACERT"), setting("ca-path", "CAPATH"),
                                setting("client-cert", "CLIENT_CERT"), setting("client-key", "CLIENT_KEY"),
                                go_compat::parse_bool(environment("HTTP_SSL_VERIFY")).value_or(true)});
    if (!loaded)
      not_connected(loaded.error(), t);
    target.tls = std::move(*loaded);
    target.server_name = setting("tls-server-name", "TLS_SERVER_NAME");
  }
  return api_client(std::move(target));
}

api_query options::query() const {
  auto q = write_query();
  if (on("stale"))
    q.add("stale");
  return q;
}

api_query options::write_query() const {
  api_query q;
  if (given("datacenter"))
    q.add("dc", value("datacenter"));
  return q;
}

result<std::string> value_given(const std::string& word, std::istream& in) {
  if (word == "-")
    return std::string(std::istreambuf_iterator<char>(in), {});
  if (!word.starts_with('@'))
    return word;
  auto text = actors::read_file_text(word.substr(1), std::numeric_limits<std::size_t>::max());
  if (!text)
    return failure{"Failed to read file: " + text.error()};
  return text;
}

std::string without_leading_slash(const std::string& key) {
  return key.starts_with('/') ? key.substr(1) : key;
}

} // namespace belay::cli
