#include "sim/clients/credential_operator.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/go_compat/base64.hpp"
#include "sim/chance/drawn_parts.hpp"

#include <algorithm>
#include <cstdio>

namespace belay::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr stream of_operators{stream_kind::client, 0x7FF0};
constexpr milliseconds operators_pause{90};
// Requests are held for at most 7 s.
constexpr seconds operators_timeout{10};

constexpr auto certified_server = "server.dc1.consul", certified_client = "client.dc1.consul";

enum class mistake : std::uint8_t { none, expiring, other_auth_context, of_client, too_soon, other_key };
constexpr share<mistake> mistakes_drawn[] = {
    {mistake::none, 50},     {mistake::expiring, 3}, {mistake::other_auth_context, 2},
    {mistake::of_client, 2}, {mistake::too_soon, 4}, {mistake::other_key, 3},
};

} // namespace

credential_operator::credential_operator(schedule& time, tape& choices, event_trace& trace, cluster& nodes,
                                         const swarm& s)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), doors_(*nodes.doors()), plan_(s.credentials),
      careless_(s.careless_operators), token_header_(token_header(s)) {
  doors_.orderly = !careless_;
  if (plan_ == credential_plan::keys) {
    keys_ = {fresh_key()};
    current_.encrypt = keys_;
  } else if (plan_ == credential_plan::certificates) {
    current_ = by_certificates({doors_.known.authority}, doors_.known.authority, begin_of_runs + years);
  } else {
    keys_ = {fresh_key()};
    credential_facts f;
    f.encrypt = keys_;
    f.encrypt_verify_incoming = f.encrypt_verify_outgoing = false;
    coming_.push_back(f);
    f.encrypt_verify_outgoing = true;
    coming_.push_back(f);
    f.encrypt_verify_incoming = true;
    coming_.push_back(f);
    const auto full = by_certificates({doors_.known.authority}, doors_.known.authority, begin_of_runs + years);
    f.certificate = full.certificate;
    f.authorities = full.authorities;
    coming_.push_back(f);
    f.verify_server_hostname = true;
    coming_.push_back(f);
    f.verify_incoming = true;
    coming_.push_back(f);
    coming_.push_back(full); // `encrypt` can be removed
  }
  for (std::size_t i = 0; i < nodes_.node_count(); ++i) {
    configure(i, current_);
    doors_.excuse(i, plan_ == credential_plan::keys && i >= s.nodes); // later servers know the first key
  }
}

/// A client agent's certificate names no server (docs/operate/security.md).
void credential_operator::configure(std::size_t node, credential_facts f) {
  if (nodes_.is_agent(node) && f.certificate && f.certificate->name == certified_server)
    f.certificate->name = certified_client;
  doors_.configure(node, std::move(f));
}

std::uint64_t credential_operator::draw(std::uint64_t n) {
  return tape_.choose(of_operators, n);
}

credential_facts credential_operator::by_certificates(std::set<char> trusted, char signer, std::int64_t ends) const {
  credential_facts f;
  f.certificate = ordered_certificate{signer, certified_server, begin_of_runs - years, ends};
  f.authorities = std::move(trusted);
  f.verify_incoming = f.verify_server_hostname = true;
  return f;
}

std::string credential_operator::fresh_key() {
  char text[26];
  std::snprintf(text, sizeof text, "%03u-key-of-the-simulation", static_cast<unsigned>(++made_ % 1000));
  return go_compat::base64(std::string_view(text, 24));
}

void credential_operator::start() {
  acting_ = true;
  time_.after(milliseconds(700), [this] { act(); });
}

void credential_operator::act() {
  time_.after(operators_pause, [this] { act(); });
  fix_by_hand();
  if (!acting_)
    return;
  const auto drawn = draw(4); // 0: no change
  if (careless_)
    err();
  if (drawn == 0)
    return;
  if (plan_ == credential_plan::keys)
    next_of_keys();
  else
    next_of_settings();
}

// ---- settings, server by server

/// Replaces the authority; for a while both are trusted.
void credential_operator::plan_next_settings() {
  const char next = doors_.known.authority == 'F' ? 'A' : static_cast<char>(doors_.known.authority + 1);
  const auto ends = begin_of_runs + years;
  coming_.push_back(by_certificates({doors_.known.authority, next}, doors_.known.authority, ends));
  coming_.push_back(by_certificates({doors_.known.authority, next}, next, ends));
  coming_.push_back(by_certificates({next}, next, ends));
}

void credential_operator::next_of_settings() {
  if (coming_.empty())
    plan_next_settings();
  for (std::size_t i = 0; i < nodes_.node_count(); ++i) {
    if (reached_.contains(i))
      continue;
    if (nodes_.disk(i).full())
      return; // the server's files must be written there
    give(i, coming_.front());
    if (nodes_.running(i) || nodes_.life(i) == 0)
      reached_.insert(i);
    return; // otherwise wait until it runs
  }
  current_ = coming_.front();
  coming_.erase(coming_.begin());
  reached_.clear();
  ++steps_;
  PROBE("credentials: a step is done on all servers");
  if (current_.certificate && current_.authorities.size() == 1 &&
      !current_.authorities.contains(doors_.known.authority)) {
    doors_.known.retired_authorities.push_back(doors_.known.authority);
    doors_.known.authority = *current_.authorities.begin();
    PROBE("credentials: another authority counts");
  }
  trace_.line(time_.now(), no_node, "all servers have step " + std::to_string(steps_) + " of the credentials");
}

void credential_operator::give(std::size_t node, credential_facts f) {
  configure(node, std::move(f));
  wronged_.erase(node);
  if (!nodes_.running(node))
    return;
  trace_.line(time_.now(), node, "reloads its credentials");
  trace_.add(0xc4ed + node);
  doors_.reload(node);
}

// ---- keys, on all servers at once

/// What a server needs that gets its keys by hand.
std::vector<std::string> credential_operator::keys_now() const {
  return current_.encrypt.empty() ? std::vector<std::string>{} : keys_;
}

/// What all have when the step is done.
std::vector<std::string> credential_operator::keys_after_step() const {
  return step_ == key_step::install ? std::vector{current_.encrypt.front(), wanted_}
         : step_ == key_step::use   ? std::vector{wanted_, current_.encrypt.front()}
                                    : std::vector{wanted_};
}

void credential_operator::next_of_keys() {
  if (requested_.connection != 0)
    return;
  for (std::size_t i = 0; i < nodes_.node_count(); ++i)
    if (doors_.excused(i) && nodes_.state(i) != node_state::down && !careless_)
      return; // first it gets its keys
  if (wanted_.empty())
    wanted_ = fresh_key();
  const auto node = draw(nodes_.size());
  if (nodes_.running(node) && nodes_.core(node)->config().contains(nodes_.id_of(node)))
    ask(node);
}

void credential_operator::ask(std::size_t node) {
  constexpr const char* methods[] = {"POST", "PUT", "DELETE"};
  const auto& key = step_ == key_step::remove ? current_.encrypt.front() : wanted_;
  const auto body = R"({"Key":")" + key + R"("})";
  requested_ = {++connections_, node, {}, {}};
  for (const auto& m : nodes_.core(node)->config().members)
    requested_.members.insert(m.id);
  const auto request = std::string(methods[static_cast<std::size_t>(step_)]) + " /v1/operator/keyring";
  trace_.add(requested_.connection << 8 | node);
  if (trace_.wanted())
    trace_.line(time_.now(), node, "asked " + request + " " + body);
  nodes_.gateway(node).send(requested_.connection, request + " HTTP/1.1\r\nHost: 127.0.0.1:8500\r\n" + token_header_ +
                                                       "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                                                       body);
  time_.after(operators_timeout, [this, connection = requested_.connection] {
    if (requested_.connection != connection)
      return;
    if (nodes_.state(requested_.node) != node_state::down)
      nodes_.gateway(requested_.node).hang_up(connection);
    requested_ = {};
  });
}

bool credential_operator::on_bytes(connection_id c, std::string_view bytes, bool last) {
  if (c != requested_.connection)
    return false;
  requested_.answer += bytes;
  const auto answer = whole_answer(requested_.answer, last);
  if (!answer && !last)
    return true;
  const auto question = std::exchange(requested_, {});
  if (!answer)
    return false;
  trace_.add(c << 16 ^ static_cast<std::uint64_t>(answer->status));
  if (trace_.wanted())
    trace_.line(time_.now(), question.node, "answered " + std::to_string(answer->status) + " " + answer->body);
  if (answer->status == 200)
    look_who_has_it(question);
  answered(*answer);
  return false;
}

void credential_operator::on_node_gone(std::size_t node) {
  if (requested_.connection != 0 && requested_.node == node)
    requested_ = {};
}

void credential_operator::look_at_members() {
  if (requested_.connection == 0)
    return;
  if (const auto* requested = nodes_.core(requested_.node))
    std::erase_if(requested_.members, [&](node_id id) { return !requested->config().contains(id); });
}

/// All that were members from the request to the response have done it, or the response was wrong,
/// unless their keys were damaged. (A server queries members after authorizing.) Others need help.
void credential_operator::look_who_has_it(const question& q) {
  const auto& key = step_ == key_step::remove ? current_.encrypt.front() : wanted_;
  for (std::size_t i = 0; i < nodes_.node_count(); ++i) {
    const auto done = step_ == key_step::install ? doors_.has_key(i, key)
                      : step_ == key_step::use   ? doors_.dials_with_key(i, key)
                                                 : !doors_.has_key(i, key);
    if (!done && q.members.contains(nodes_.id_of(i)) && !doors_.excused(i) && !wronged_.contains(i))
      doors_.complain("keyring",
                      "n" + std::to_string(i) + " has not done what was reported to an operator as done by all");
    if (doors_.keyring_is(i, keys_after_step()))
      continue;
    doors_.excuse(i, true);
    // A node that never started gets the current keys; else three could form another cluster.
    if (begins_anew(i))
      set_up_with(i, keys_after_step().front());
  }
}

bool credential_operator::begins_anew(std::size_t node) {
  const auto names = nodes_.disk(node).files().list(simulated_disk::data_directory);
  return !names || names->empty();
}

void credential_operator::set_up_with(std::size_t node, const std::string& key) {
  auto f = doors_.configured(node);
  f.encrypt = {key};
  configure(node, std::move(f));
}

void credential_operator::answered(const http_answer& a) {
  // An unreached server has only the old keys: the step is repeated, except by careless ones.
  const bool goes_on = a.status == 200 || (careless_ && draw(3) == 2);
  if (a.status != 200 && goes_on)
    ++mistakes_;
  if (!goes_on) {
    step_ = step_ == key_step::remove ? key_step::use : key_step::install;
    return;
  }
  ++steps_;
  keys_ = keys_after_step();
  if (step_ != key_step::remove) {
    step_ = step_ == key_step::install ? key_step::use : key_step::remove;
    return;
  }
  PROBE("credentials: another key is in force");
  doors_.known.retired_keys.push_back(current_.encrypt.front());
  current_.encrypt = keys_;
  wanted_.clear();
  step_ = key_step::install;
  for (std::size_t i = 0; i < nodes_.node_count(); ++i)
    configure(i, current_);
}

// ---- by hand

void credential_operator::fix_by_hand() {
  for (std::size_t i = 0; i < nodes_.node_count(); ++i) {
    if (!doors_.excused(i) || !nodes_.running(i) || wronged_.contains(i) || requested_.connection != 0)
      continue;
    if (const auto keys = keys_now(); !keys.empty() && !doors_.write_keyring(i, nodes_.disk(i).files(), keys))
      continue;
    trace_.line(time_.now(), i, "gets its keys by hand");
    trace_.add(0xc4ee + i);
    doors_.reload(i);
    doors_.excuse(i, false);
  }
}

void credential_operator::put_right() {
  acting_ = false;
  if (!careless_)
    return;
  wronged_.clear();
  requested_ = {};
  if (!coming_.empty() && !reached_.empty())
    current_ = coming_.front();
  for (std::size_t i = 0; i < nodes_.node_count(); ++i) {
    give(i, current_);
    doors_.excuse(i, true);
    if (nodes_.state(i) != node_state::down || keys_now().empty())
      continue;
    if (begins_anew(i)) // a data directory with only a keyring is rejected
      set_up_with(i, keys_now().front());
    else
      (void)doors_.write_keyring(i, nodes_.disk(i).files(), keys_now());
  }
  fix_by_hand();
}

// ---- mistakes

/// Other servers reject that server, or it rejects them, until the mistake is noticed.
void credential_operator::err() {
  const auto drawn = draw(numbers_of(mistakes_drawn));
  const auto node = draw(nodes_.node_count());
  const auto what = action_of(mistakes_drawn, drawn);
  if (what == mistake::none || !nodes_.running(node) || nodes_.disk(node).full())
    return;
  auto f = doors_.configured(node);
  switch (what) {
  case mistake::expiring:
    if (!f.certificate)
      return;
    f.certificate->ends =
        static_cast<std::int64_t>(nodes_.clock(node).wall().value / 1000) + static_cast<std::int64_t>(draw(6));
    break;
  case mistake::other_auth_context:
    if (!f.certificate)
      return;
    f.certificate->authority = 'X';
    break;
  case mistake::of_client:
    if (!f.certificate || nodes_.is_agent(node))
      return;
    f.certificate->name = certified_client;
    break;
  case mistake::too_soon: // the last step of a change, as the first
    if (coming_.empty())
      return;
    f = coming_.back();
    break;
  case mistake::other_key:
    if (keys_now().empty())
      return;
    if (!doors_.write_keyring(node, nodes_.disk(node).files(), {fresh_key()}))
      return doors_.excuse(node, true); // it may have them
    break;
  case mistake::none:
    return;
  }
  ++mistakes_;
  give(node, std::move(f));
  wronged_.insert(node);
  trace_.line(time_.now(), node, "its credentials are not what they should be");
  // The operator notices it after a while.
  time_.after(milliseconds(500 + draw(8) * 700), [this, node] {
    if (wronged_.erase(node) != 0 && acting_) {
      configure(node, reached_.contains(node) && !coming_.empty() ? coming_.front() : current_);
      doors_.excuse(node, true);
    }
  });
}

} // namespace belay::sim
