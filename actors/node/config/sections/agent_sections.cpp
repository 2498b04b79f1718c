#include "actors/node/config/sections/sections.hpp"

#include "protocol/http/agent/agent_input.hpp"
#include "protocol/http/tokens.hpp"

#include <boost/json/array.hpp>

namespace belay::actors {

namespace {

namespace json = boost::json;

/// One definition or a list of them, each with its path.
template <class Visit>
void each_definition(const config_decoder& d, const std::string& key, Visit visit) {
  const auto* v = d.values().if_contains(key);
  if (v == nullptr)
    return;
  const auto* list = v->if_array();
  if (list == nullptr)
    return visit(element_path(key, 0), *v);
  for (std::size_t i = 0; i < list->size(); ++i)
    visit(element_path(key, i), (*list)[i]);
}

std::string complaint_about_scripts(const agent::check_definition& c, const node_config& config) {
  const bool allowed = config.enable_script_checks || config.enable_local_script_checks;
  return !allowed && agent::kind_of(c) == agent::check_kind::script ? std::string(agent::scripts_disabled_in_files)
                                                                    : std::string();
}

std::string complaint_about_token(const std::string& token) {
  return token.empty() || http::could_be_token(token) ? std::string() : std::string(http::invalid_token);
}

/// The error in a service, or empty. Fills in defaults only in its own copy: the agent does that
/// again.
std::string complaint_about(agent::service_definition s, const node_config& config) {
  if (auto why = agent::complete(s))
    return *why;
  if (auto why = complaint_about_token(s.token); !why.empty())
    return why;
  for (const auto& c : s.checks)
    if (auto why = complaint_about_token(c.token); !why.empty())
      return why;
  for (const auto& c : s.checks)
    if (auto why = complaint_about_scripts(c, config); !why.empty())
      return why;
  return {};
}

std::string complaint_about(const agent::check_definition& c, const node_config& config) {
  if (c.name.empty())
    return "Missing check name";
  if (!c.status.empty() && !agent::is_status(c.status))
    return "Bad check status";
  if (auto why = agent::complaint_of(c))
    return *why;
  if (auto why = complaint_about_token(c.token); !why.empty())
    return why;
  return complaint_about_scripts(c, config);
}

} // namespace

void decode_definitions(config_decoder& d, node_config& c) {
  const auto note = [&](const std::string& path, const char* what, const std::string& name, const std::string& why) {
    if (!why.empty())
      d.wrong(path, std::string(what) + " \"" + name + "\": " + why);
  };
  for (const char* key : {"service", "services"})
    each_definition(d, key, [&](const std::string& path, const json::value& v) {
      go_compat::json_decoder in(go_compat::json_decoder::keeps::all_errors);
      agent::service_definition s;
      http::decode_service_definition(in, v, s);
      for (const auto& error : in.errors())
        note(path, "service", s.service.service, error);
      if (in.ok())
        note(path, "service", s.service.service, complaint_about(s, c));
      c.services.push_back(std::move(s));
    });
  for (const char* key : {"check", "checks"})
    each_definition(d, key, [&](const std::string& path, const json::value& v) {
      go_compat::json_decoder in(go_compat::json_decoder::keeps::all_errors);
      agent::check_definition check;
      http::decode_check_definition(in, v, check);
      for (const auto& error : in.errors())
        note(path, "check", check.name, error);
      const auto unsupported = http::unsupported_kind(v);
      if (in.ok())
        note(path, "check", check.name, unsupported ? *unsupported : complaint_about(check, c));
      c.checks.push_back(std::move(check));
    });
}

} // namespace belay::actors
