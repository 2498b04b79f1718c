#include "sim/checkers/models/health_check.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

namespace belay::sim {

namespace {

namespace json = boost::json;

bool flag_received(const json::object& o, const char* name) {
  const auto* v = o.if_contains(name);
  return v != nullptr && v->is_bool() && v->get_bool();
}

std::string text_received(const json::object& o, const char* name) {
  const auto* v = o.if_contains(name);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}

/// What is wrong in the response about that member; empty: nothing.
std::string wrong_about(const json::object& received, const member_truth& m) {
  if (text_received(received, "Name") != m.who.name || text_received(received, "Address") != m.who.address)
    return "has another name or address";
  if (flag_received(received, "Healthy") != m.well)
    return m.well ? "is healthy, but is reported as unhealthy" : "is not healthy, but is reported as healthy";
  if (flag_received(received, "Leader") != m.leader)
    return m.leader ? "is the leader, but is not reported as the leader"
                    : "does not lead, but is reported as the leader";
  if (flag_received(received, "Voter") != m.voter)
    return m.voter ? "votes, but is not reported as a voter" : "does not vote, but is reported as a voter";
  return {};
}

} // namespace

std::optional<std::string> check_health(std::string_view answer, const std::vector<member_truth>& members) {
  boost::system::error_code ec;
  const auto parsed = json::parse(json::string_view(answer.data(), answer.size()), ec);
  const auto* o = ec ? nullptr : parsed.if_object();
  const auto* listed = o == nullptr ? nullptr : o->if_contains("Servers");
  const auto* servers = listed == nullptr ? nullptr : listed->if_array();
  const auto complaint = [&](const std::string& what) { return what + ": " + std::string(answer); };
  if (servers == nullptr)
    return complaint("not the health of servers");
  if (servers->size() != members.size())
    return complaint("told of " + std::to_string(servers->size()) + " servers, not of " +
                     std::to_string(members.size()));
  std::size_t voters = 0, well_voters = 0;
  bool all_well = true;
  for (const auto& m : members) {
    const auto* of = std::find_if(servers->begin(), servers->end(), [&](const json::value& s) {
      return s.is_object() && text_received(s.get_object(), "ID") == m.who.uuid;
    });
    if (of == servers->end())
      return complaint("server " + m.who.name + " is missing");
    if (auto wrong = wrong_about(of->get_object(), m); !wrong.empty())
      return complaint("server " + m.who.name + " " + wrong);
    voters += m.voter ? 1 : 0;
    well_voters += m.voter && m.well ? 1 : 0;
    all_well = all_well && m.well;
  }
  if (flag_received(*o, "Healthy") != all_well)
    return complaint(all_well ? "all are healthy, but are not reported so"
                              : "not all are healthy, but are reported so");
  const auto quorum = voters / 2 + 1;
  const auto tolerance = well_voters > quorum ? well_voters - quorum : 0;
  const auto* received = o->if_contains("FailureTolerance");
  if (received == nullptr || !received->is_number() || received->to_number<std::size_t>(ec) != tolerance || ec)
    return complaint(std::to_string(tolerance) + " of the healthy voters may fail");
  return std::nullopt;
}

} // namespace belay::sim
