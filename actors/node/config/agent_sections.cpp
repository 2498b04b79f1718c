#include "actors/node/config/agent_sections.hpp"

#include "protocol/http/agent/agent_input.hpp"

#include <boost/json/array.hpp>

namespace belay::actors {

namespace {

namespace json = boost::json;

/// One definition or a list of them.
template <class Visit>
void each_definition(const json::object& merged, const char* key, Visit visit) {
  const auto* v = merged.if_contains(key);
  if (v == nullptr)
    return;
  if (const auto* list = v->if_array())
    for (const auto& one : *list)
      visit(one);
  else
    visit(*v);
}

/// What is wrong with a service, if anything; only its copy is completed here, the agent does the rest.
std::string complaint_about(agent::service_definition s) {
  return agent::complete(s).value_or(std::string());
}

std::string complaint_about(const agent::check_definition& c) {
  if (c.name.empty())
    return "Missing check name";
  if (!c.status.empty() && !agent::is_status(c.status))
    return "Bad check status";
  return agent::complaint_of(c).value_or(std::string());
}

} // namespace

std::string decode_definitions(const json::object& merged, node_config& c) {
  std::string complaint;
  const auto note = [&](const char* what, const std::string& name, const std::string& why) {
    if (complaint.empty() && !why.empty())
      complaint = std::string(what) + " \"" + name + "\": " + why;
  };
  for (const char* key : {"service", "services"})
    each_definition(merged, key, [&](const json::value& v) {
      golang::json_decoder d;
      agent::service_definition s;
      http::decode_service_definition(d, v, s);
      note("service", s.service.service, d.ok() ? complaint_about(s) : d.error());
      c.services.push_back(std::move(s));
    });
  for (const char* key : {"check", "checks"})
    each_definition(merged, key, [&](const json::value& v) {
      golang::json_decoder d;
      agent::check_definition check;
      http::decode_check_definition(d, v, check);
      const auto unsupported = http::unsupported_kind(v);
      note("check", check.name, !d.ok() ? d.error() : unsupported ? *unsupported : complaint_about(check));
      c.checks.push_back(std::move(check));
    });
  return complaint;
}

} // namespace belay::actors
