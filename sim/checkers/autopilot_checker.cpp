#include "sim/checkers/autopilot_checker.hpp"

#include "protocol/wire/operator_codec.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace belay::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
namespace json = boost::json;

// Autopilot's defaults (docs/contract/12).
constexpr milliseconds last_contact_threshold{200};
constexpr std::uint64_t max_trailing_logs = 250;
// Between a wrong answer and the next question.
constexpr milliseconds ask_again_after{250};

bool told_flag(const json::object& o, const char* name) {
  const auto* v = o.if_contains(name);
  return v != nullptr && v->is_bool() && v->get_bool();
}

std::string told_text(const json::object& o, const char* name) {
  const auto* v = o.if_contains(name);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}

/// What is told wrong of that member; empty: nothing.
std::string wrong_about(const json::object& told, const member_truth& m) {
  if (told_text(told, "Name") != m.who.name || told_text(told, "Address") != m.who.address)
    return "has another name or address";
  if (told_flag(told, "Healthy") != m.well)
    return m.well ? "is healthy, but is told not to be" : "is not healthy, but is told to be";
  if (told_flag(told, "Leader") != m.leader)
    return m.leader ? "is the leader, but is told not to be" : "does not lead, but is told to";
  if (told_flag(told, "Voter") != m.voter)
    return m.voter ? "votes, but is told not to" : "does not vote, but is told to";
  return {};
}

} // namespace

broken judge_health(std::string_view answer, const std::vector<member_truth>& members) {
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
      return s.is_object() && told_text(s.get_object(), "ID") == m.who.uuid;
    });
    if (of == servers->end())
      return complaint("server " + m.who.name + " is missing");
    if (auto wrong = wrong_about(of->get_object(), m); !wrong.empty())
      return complaint("server " + m.who.name + " " + wrong);
    voters += m.voter ? 1 : 0;
    well_voters += m.voter && m.well ? 1 : 0;
    all_well = all_well && m.well;
  }
  if (told_flag(*o, "Healthy") != all_well)
    return complaint(all_well ? "all are healthy, but are told not to be" : "not all are healthy, but are told to be");
  const auto quorum = voters / 2 + 1;
  const auto tolerance = well_voters > quorum ? well_voters - quorum : 0;
  const auto* told = o->if_contains("FailureTolerance");
  if (told == nullptr || !told->is_number() || told->to_number<std::size_t>(ec) != tolerance || ec)
    return complaint(std::to_string(tolerance) + " of the healthy voters may fail");
  return std::nullopt;
}

std::vector<member_truth> autopilot_checker::truth() const {
  std::vector<member_truth> all;
  const auto leader = nodes_.leader();
  if (!leader)
    return all;
  const auto& config = nodes_.view(*leader).config;
  for (const auto& m : config.members) {
    const auto at = nodes_.node_of(m.id); // none: that disk is lost
    all.push_back({m, at && well_.contains(*at), m.id == nodes_.id_of(*leader), config.is_voter(m.id)});
  }
  return all;
}

void autopilot_checker::expect(std::set<std::size_t> well, std::optional<std::size_t> full) {
  well_ = std::move(well);
  full_ = full;
  questions_.clear();
  for (const auto i : well_)
    ask(i);
  if (full_)
    ask(*full_);
}

void autopilot_checker::ask(std::size_t node) {
  if (!nodes_.running(node))
    return;
  auto& q = questions_[node];
  q.id = nodes_.next_request(node);
  q.life = nodes_.life(node);
  q.asked = time_.now();
  const forward::describe_health rules{nanoseconds(last_contact_threshold).count(), max_trailing_logs, "simulated"};
  caf::anon_send(
      nodes_.wires(node).raft_peer,
      actors::propose_write{q.id, make_payload(wire::encode_operator_call(rules)), wire::call_kind::describe_health});
}

bool autopilot_checker::take(std::size_t node, int life, const client_answer& a) {
  const auto* w = std::get_if<actors::write_result>(&a);
  const auto it = questions_.find(node);
  if (w == nullptr || it == questions_.end() || it->second.id != w->id || it->second.life != life)
    return false;
  const auto* told = std::get_if<std::string>(&w->reply);
  it->second.answer = w->outcome == wire::call_outcome::done && told != nullptr ? *told : w->text;
  it->second.right = w->outcome == wire::call_outcome::done && told != nullptr && !judge_health(*told, truth());
  return true;
}

broken autopilot_checker::wrong() {
  broken found;
  for (auto& [node, q] : questions_) {
    if (q.right)
      continue;
    if (!found)
      found =
          "n" + std::to_string(node) + ": " +
          (q.answer ? judge_health(*q.answer, truth()).value_or("what is right now was told otherwise: " + *q.answer)
                    : "no answer");
    if (q.answer && time_.now() - q.asked >= ask_again_after)
      ask(node);
  }
  return found;
}

} // namespace belay::sim
