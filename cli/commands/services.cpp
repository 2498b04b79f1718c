// `belay services register|deregister`.

#include "actors/node/config/file_text.hpp"
#include "actors/node/config/hcl.hpp"
#include "actors/node/config/json.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

/// The `service` and `services` of configuration files, as the API takes them.
result<std::vector<json::object>> services_in(const std::vector<std::string>& files) {
  std::vector<json::object> out;
  for (const auto& file : files) {
    const auto text = actors::read_file_text(file);
    if (!text)
      return failure{"config: Open failed on " + file + ". " + text.error()};
    auto parsed = file.ends_with(".json") ? actors::parse_config_json(*text) : actors::parse_config_hcl(*text);
    if (const auto* wrong = std::get_if<actors::config_text_error>(&parsed))
      return failure{"Failed to parse " + file + ": " + wrong->text};
    const json::value whole = std::get<actors::config_text>(std::move(parsed)).values;
    if (const auto* one = member(whole, "service"); one != nullptr && one->is_object())
      out.push_back(one->get_object());
    for (const auto& one : elements(member(whole, "services")))
      if (one.is_object())
        out.push_back(one.get_object());
  }
  return out;
}

/// The `key=value` pairs of a flag as an object.
json::object pairs_given(const options& o, std::string_view flag_name, terminal t) {
  json::object out;
  for (const auto& pair : o.values(flag_name)) {
    const auto at = pair.find('=');
    if (at == pair.npos)
      throw command_ended{error(t, "invalid value \"" + pair + "\" for flag -" + std::string(flag_name) +
                                       ": Missing \"=\" value in argument: " + pair)};
    out.insert_or_assign(pair.substr(0, at), pair.substr(at + 1));
  }
  return out;
}

json::object service_of_flags(const options& o, terminal t) {
  json::object s;
  for (const auto& [flag_name, name] :
       {std::pair("kind", "Kind"), {"id", "ID"}, {"name", "Name"}, {"address", "Address"}})
    if (o.given(flag_name))
      s.emplace(name, o.value(flag_name));
  if (o.given("port"))
    s.emplace("Port", o.integer("port", 0));
  if (o.given("tag")) {
    json::array tags;
    for (const auto& tag : o.values("tag"))
      tags.emplace_back(tag);
    s.emplace("Tags", std::move(tags));
  }
  if (o.given("meta"))
    s.emplace("Meta", pairs_given(o, "meta", t));
  if (o.given("tagged-address")) {
    json::object out;
    for (const auto& one : pairs_given(o, "tagged-address", t)) {
      const auto text = text_of(&one.value());
      const auto colon = text.rfind(':');
      json::object address{{"Address", text.substr(0, colon)}};
      if (colon != text.npos)
        address.emplace("Port", std::atoi(text.c_str() + colon + 1));
      out.emplace(one.key(), std::move(address));
    }
    s.emplace("TaggedAddresses", std::move(out));
  }
  return s;
}

bool any_flag(const options& o) {
  for (const auto& f : o.of().flags)
    if (o.given(f.name))
      return true;
  return false;
}

/// The text of a member, whichever way its name is written.
std::string named(const json::object& service, std::string_view lower, std::string_view upper) {
  const json::value v = service;
  const auto text = member_text(v, lower);
  return text.empty() ? member_text(v, upper) : text;
}

int register_services(const options& o, terminal t) {
  const bool flags = any_flag(o);
  if (!flags && o.words().empty())
    return error(t, "Service registration requires at least one argument or flags.");
  if (flags && !o.words().empty())
    return error(t, "Service registration requires arguments or -id, not both.");
  std::vector<json::object> services;
  if (flags)
    services.push_back(service_of_flags(o, t));
  else
    services = value_of(services_in(o.words()), t, "Error: ");
  const auto client = o.client(t);
  json::array done_ones;
  for (const auto& s : services) {
    const auto name = named(s, "name", "Name");
    answer_of(client.ask("PUT", "/v1/agent/service/register", {}, compact(s)), t,
              "Error registering service \"" + name + "\": ");
    if (o.json())
      done_ones.emplace_back(name);
    else
      t.out << "Registered service: " << name << "\n";
  }
  return o.json() ? succeed(o, t, "", {{"Registered", std::move(done_ones)}}) : 0;
}

int deregister_services(const options& o, terminal t) {
  const auto id = o.value("id");
  if (o.words().empty() && id.empty())
    return error(t, "Service deregistration requires at least one argument or -id.");
  if (!o.words().empty() && !id.empty())
    return error(t, "Service deregistration requires arguments or -id, not both.");
  std::vector<std::pair<std::string, std::string>> wanted; // ID, and name in messages
  if (!id.empty())
    wanted.emplace_back(id, id);
  auto found = value_of(services_in(o.words()), t, "Error: ");
  for (const auto& s : found) {
    const auto name = named(s, "name", "Name");
    auto its_id = named(s, "id", "ID");
    wanted.emplace_back(its_id.empty() ? name : its_id, its_id.empty() ? name : its_id);
  }
  const auto client = o.client(t);
  json::array done_ones;
  for (const auto& [service, id_of_service] : wanted) {
    answer_of(client.ask("PUT", "/v1/agent/service/deregister/" + go_compat::escape_path(service), {}), t,
              "Error deregistering service \"" + id_of_service + "\": ");
    if (o.json())
      done_ones.emplace_back(id_of_service);
    else
      t.out << "Deregistered service: " << id_of_service << "\n";
  }
  return o.json() ? succeed(o, t, "", {{"Deregistered", std::move(done_ones)}}) : 0;
}

} // namespace

std::vector<command> service_commands() {
  using enum flag_kind;
  return {
      {.name = "services deregister",
       .help = "Deregister services from a node",
       .operands = "[FILE...]",
       .text = "Files are configuration files (HCL or JSON) with `service` or `services`; these services are\n"
               "deregistered.",
       .flags = {{"id", text, "<id>", "ID of the service, instead of files"}},
       .examples = {{"services deregister web.hcl", "Deregister the services in a file"},
                    {"services deregister -id=web-1", "Select one service"}},
       .run = deregister_services},
      {.name = "services register",
       .help = "Register services with a node",
       .operands = "[FILE...]",
       .text = "Files are configuration files (HCL or JSON) with `service` or `services`. The options describe one\n"
               "service without checks.",
       .flags = {{"address", text, "<address>", "address of the service (default: that of the node)"},
                 {"id", text, "<id>", "ID of the service (default: its name)"},
                 {"kind", text, "<kind>", "kind of the service in Consul's service mesh"},
                 {"meta", list, "<key=value>", "metadata of the service"},
                 {"name", text, "<name>", "name of the service"},
                 {"port", integer, "<port>", "port of the service"},
                 {"tag", list, "<tag>", "tag of the service"},
                 {"tagged-address", list, "<name=address:port>", "additional address with a name"}},
       .examples = {{"services register web.hcl", "Register the services in a file, with their checks"},
                    {"services register -name=web -port=80 -tag=v1", "Select one service"}},
       .run = register_services},
  };
}

} // namespace belay::cli
