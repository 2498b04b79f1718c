#include "cli/options.hpp"

#include "protocol/golang/flags.hpp"
#include "protocol/golang/syntax.hpp"

#include <cstdlib>
#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>
#include <sstream>

namespace belay::cli {

namespace {

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
  valued_.insert({"ca-file", "ca-path", "client-cert", "client-key", "tls-server-name"});
}

options options::offline(std::string synopsis, std::vector<std::string> switches, std::vector<std::string> valued) {
  options o(std::move(synopsis), {}, {});
  o.switches_ = {switches.begin(), switches.end()};
  o.valued_ = {valued.begin(), valued.end()};
  return o;
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
  const auto is_help = [](std::string_view name) { return name == "h" || name == "help"; };
  golang::flag_reader words(args, [&](std::string_view name) -> std::optional<golang::flag_takes> {
    if (is_help(name) || switches_.contains(name))
      return golang::flag_takes::nothing;
    return valued_.contains(name) ? std::optional(golang::flag_takes::value) : std::nullopt;
  });
  for (;;) {
    auto given = words.next();
    if (!given)
      return wrong(given.error());
    if (!*given)
      break;
    if (is_help((*given)->name)) {
      t.out << usage();
      return 0;
    }
    const std::string name((*given)->name);
    const auto& value = values_[name].emplace_back((*given)->value.value_or("true"));
    if (numbers_.contains(name))
      if (const auto number = golang::read_uint(value); !number)
        return wrong("invalid value " + golang::quoted(value) + " for flag -" + name + ": " + number.error());
  }
  words_ = words.rest();
  return std::nullopt;
}

bool options::on(std::string_view name) const {
  const auto v = value(name);
  return golang::parse_bool(v).value_or(!v.empty());
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
  return golang::parse_uint(value(name)).value_or(0);
}

std::optional<api_client> options::client(terminal t) const {
  auto address = value("http-addr");
  if (address.empty())
    address = environment("HTTP_ADDR");
  if (address.empty())
    address = "127.0.0.1:8500";
  const auto complain = [&](const std::string& why) {
    t.err << "Error connecting to the agent: " << why << "\n";
    return std::nullopt;
  };
  // As Consul's client: what is no boolean counts as not set.
  auto where = parse_api_address(address, golang::parse_bool(environment("HTTP_SSL")).value_or(false));
  if (!where)
    return complain(where.error());
  std::shared_ptr<api_tls> tls;
  if (where->https) {
    const auto setting = [&](std::string_view option, const char* variable) {
      return given(option) ? value(option) : environment(variable);
    };
    auto loaded =
        load_api_tls({setting("ca-file", "CACERT"), setting("ca-path", "CAPATH"), setting("client-cert", "CLIENT_CERT"),
                      setting("client-key", "CLIENT_KEY"), setting("tls-server-name", "TLS_SERVER_NAME"),
                      golang::parse_bool(environment("HTTP_SSL_VERIFY")).value_or(true)});
    if (!loaded)
      return complain(loaded.error());
    tls = std::move(*loaded);
  }
  auto token = value("token");
  for (const auto& path : {value("token-file"), given("token") ? std::string() : environment("HTTP_TOKEN_FILE")})
    if (token.empty() && !path.empty())
      token = first_line(path);
  if (token.empty())
    token = environment("HTTP_TOKEN");
  return api_client(std::move(*where), token, environment("HTTP_AUTH"), std::move(tls));
}

api_query options::query() const {
  api_query q;
  if (given("datacenter"))
    q.add("dc", value("datacenter"));
  if (on("stale"))
    q.add("stale");
  return q;
}

result<std::string> value_given(const std::string& word, std::istream& in) {
  if (word == "-")
    return std::string(std::istreambuf_iterator<char>(in), {});
  if (!word.starts_with('@'))
    return word;
  std::ifstream file(word.substr(1), std::ios::binary);
  if (!file)
    return failure{"Failed to read file: open " + word.substr(1) + ": no such file or directory"};
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::string without_leading_slash(const std::string& key) {
  return key.starts_with('/') ? key.substr(1) : key;
}

} // namespace belay::cli
