#include "sim/kit/library_ground.hpp"

#include "protocol/base/probe.hpp"
#include "sim/clients/http_messages.hpp"
#include "sim/environment/connection_numbers.hpp"
#include "sim/record/library_names.hpp"

#include <utility>

namespace belay::sim {

namespace {

constexpr std::string_view renewing = "PUT /v1/session/renew/";

} // namespace

belay_ground::reply reply_of(exchange_end end) {
  belay_ground::reply r;
  if (end.answer) {
    r.status = end.answer->status;
    r.headers = std::move(end.answer->headers);
    r.body = std::move(end.answer->body);
  } else {
    r.body = std::move(end.why);
  }
  return r;
}

library_ground::library_ground(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s,
                               reply_checker& replies, session_checker& sessions, virtual_time faults_end)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), swarm_(s), replies_(replies), sessions_(sessions),
      faults_end_(faults_end), exchanges_(time, trace, nodes, counted_from(connections_of::library_clients)) {}

void library_ground::start() {
  if (swarm_.library == 0)
    return;
  belay_ground::library_settings s;
  s.processes = swarm_.library;
  s.faults = swarm_.library_faults;
  s.faults_end = faults_end_;
  s.goes_back = swarm_.snapshots;
  s.own_prefix = library_prefix;
  s.session_name = library_session;
  s.followed = "k/";
  clients_ = belay_ground::make_library_clients(*this, std::move(s));
  // Undisturbed servers find each other and elect a leader in less time.
  time_.after(std::chrono::seconds(1), [this] { clients_->begin(); });
}

void library_ground::stop() {
  if (!clients_)
    return;
  note_what_was_done();
  clients_->stop();
}

void library_ground::note_what_was_done() const {
  const auto& all = clients_->done();
  const auto done = [&all](const char* what) { return all.count(what) != 0 && all.at(what) != 0; };
  if (done("change acknowledged"))
    PROBE("library: a member of a group acknowledged a change");
  if (done("item acknowledged"))
    PROBE("library: an item of a queue was acknowledged");
  if (done("item given back"))
    PROBE("library: an item of a queue was given back");
  if (done("barrier passed"))
    PROBE("library: a barrier was passed");
  if (done("section committed"))
    PROBE("library: a section was committed");
  if (done("step undone"))
    PROBE("library: a step of a section was undone");
}

const broken& library_ground::complaint() {
  if (!complaint_ && clients_ && clients_->complaint())
    complaint_ = clients_->complaint()->checker + ": " + clients_->complaint()->text;
  return complaint_;
}

void library_ground::complain(const broken& b) {
  if (b && !complaint_)
    complaint_ = b;
}

std::uint64_t library_ground::choose(std::uint16_t number, std::uint64_t n) {
  return tape_.choose({stream_kind::client, number}, n);
}

std::uint64_t library_ground::choose_rarely(std::uint16_t number, std::uint64_t n, std::uint32_t per_million) {
  return tape_.choose_rarely({stream_kind::client, number}, n, per_million);
}

void library_ground::add_line(std::string_view who, const std::string& text) {
  trace_.line(time_.now(), no_node, std::string(who) + (who.empty() ? "" : " ") + text);
}

std::shared_ptr<operation> library_ground::begun_renewal(std::size_t server, const std::string& bytes) {
  if (!bytes.starts_with(renewing))
    return nullptr;
  auto o = std::make_shared<operation>();
  o->id = counted_from(connections_of::library_clients) + ++renewals_;
  o->client = SIZE_MAX;
  o->node = server;
  o->node_life = nodes_.life(server);
  o->invoked = time_.now();
  o->renewal = session_renewal{bytes.substr(renewing.size(), bytes.find(' ', renewing.size()) - renewing.size())};
  replies_.begun(*o);
  sessions_.begun(*o);
  return o;
}

void library_ground::renewed(operation& o, const exchange_end& end) {
  o.returned = time_.now();
  o.committed_at_return = replies_.committed();
  if (auto wrong = end.answer ? understand(*end.answer, std::nullopt, o) : std::nullopt)
    complain("http: " + *wrong);
  if (o.result == outcome::pending)
    o.result = outcome::unknown;
  complain(replies_.ended(o));
  complain(sessions_.ended(o));
}

std::uint64_t library_ground::send(std::size_t server, std::string bytes,
                                   std::function<void(belay_ground::reply)> reached) {
  const auto renewal = begun_renewal(server, bytes);
  return exchanges_.send(server, std::move(bytes), [this, renewal, reached = std::move(reached)](exchange_end end) {
    if (renewal)
      renewed(*renewal, end);
    reached(reply_of(std::move(end)));
  });
}

} // namespace belay::sim
