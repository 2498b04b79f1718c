#include "cli/options.hpp"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <ostream>

namespace belay::cli {

namespace {

std::optional<std::uint64_t> unsigned_number(const std::string& text) {
  std::uint64_t n = 0;
  auto r = std::from_chars(text.data(), text.data() + text.size(), n);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size())
    return std::nullopt;
  return n;
}

/// BELAY_... before CONSUL_...; empty counts as not set.
std::string environment(const char* name) {
  for (auto prefix : {"BELAY_", "CONSUL_"})
    if (const char* v = std::getenv((prefix + std::string(name)).c_str()); v && *v)
      return v;
  return {};
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
    line.pop_back();
  return line;
}

} // namespace

options::options(std::string synopsis, std::vector<std::string> switches, std::vector<std::string> valued)
    : synopsis_(std::move(synopsis)), switches_(switches.begin(), switches.end()),
      valued_(valued.begin(), valued.end()) {
  switches_.insert("stale");
  valued_.insert({"http-addr", "token", "token-file", "datacenter"});
}

options& options::numbers(std::vector<std::string> names) {
  numbers_.insert(names.begin(), names.end());
  return *this;
}

std::optional<int> options::parse(const arguments& args, terminal t) {
  auto usage = [&] {
    std::string out = "Usage: belay " + synopsis_ + "\n\nOptions:\n";
    for (const auto& s : switches_)
      out += "  -" + s + "\n";
    for (const auto& v : valued_)
      out += "  -" + v + "=<value>\n";
    return out;
  };
  auto wrong = [&](const std::string& text) {
    t.err << text << "\n" << usage();
    return 1;
  };
  std::size_t i = 0;
  for (; i < args.size(); ++i) {
    std::string_view arg = args[i];
    if (arg.size() < 2 || arg[0] != '-')
      break;
    if (arg == "--") {
      ++i;
      break;
    }
    arg.remove_prefix(arg[1] == '-' ? 2 : 1);
    auto equals = arg.find('=');
    auto name = std::string(arg.substr(0, equals));
    if (name == "h" || name == "help") {
      t.out << usage();
      return 0;
    }
    const bool is_switch = switches_.contains(name);
    if (!is_switch && !valued_.contains(name))
      return wrong("flag provided but not defined: -" + name);
    if (equals != arg.npos)
      values_[name] = std::string(arg.substr(equals + 1));
    else if (is_switch)
      values_[name] = "true";
    else if (i + 1 < args.size())
      values_[name] = args[++i];
    else
      return wrong("flag needs an argument: -" + name);
    if (numbers_.contains(name) && !unsigned_number(values_[name]))
      return wrong("invalid value \"" + values_[name] + "\" for flag -" + name + ": strconv.ParseUint: parsing \"" +
                   values_[name] + "\": invalid syntax");
  }
  words_.assign(args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
  return std::nullopt;
}

bool options::on(std::string_view name) const {
  auto v = value(name);
  return !v.empty() && v != "false" && v != "0" && v != "f" && v != "F";
}

std::string options::value(std::string_view name, std::string otherwise) const {
  auto it = values_.find(std::string(name));
  return it == values_.end() ? otherwise : it->second;
}

std::uint64_t options::number(std::string_view name) const {
  return unsigned_number(value(name)).value_or(0);
}

std::optional<api_client> options::client(terminal t) const {
  auto address = value("http-addr");
  if (address.empty())
    address = environment("HTTP_ADDR");
  if (address.empty())
    address = "127.0.0.1:8500";
  const bool tls = environment("HTTP_SSL") == "true" || environment("HTTP_SSL") == "1";
  auto where = parse_api_address(address);
  if (!where || tls) {
    t.err << "Error connecting to the agent: " << (tls ? "HTTPS is not supported by this client" : where.error())
          << "\n";
    return std::nullopt;
  }
  auto token = value("token");
  for (const auto& path : {value("token-file"), given("token") ? std::string() : environment("HTTP_TOKEN_FILE")})
    if (token.empty() && !path.empty())
      token = first_line(path);
  if (token.empty())
    token = environment("HTTP_TOKEN");
  return api_client(std::move(*where), token, environment("HTTP_AUTH"));
}

api_query options::query() const {
  api_query q;
  if (given("datacenter"))
    q.add("dc", value("datacenter"));
  if (on("stale"))
    q.add("stale");
  return q;
}

} // namespace belay::cli
