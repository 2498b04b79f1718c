#include "actors/agent/health_checks.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/agent/probe_request.hpp"
#include "protocol/archive/sha256.hpp"
#include "protocol/state/acl/permissions.hpp"
#include "protocol/state/folded_name.hpp"
#include "protocol/wire/registration_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds tick{50};
// How long to sleep while nothing has a deadline.
constexpr std::chrono::milliseconds tick_when_idle{250};
// raft_peer always responds, if only with "unknown"; a later response was lost by a bug.
constexpr std::chrono::seconds answer_slack{60};
// A new leader first registers its members.
constexpr std::chrono::seconds compare_after_election{1};

bool is_about_permissions(std::string_view why) {
  return why.find(state::permission_denied) != std::string_view::npos ||
         why.find(state::acl_not_found) != std::string_view::npos;
}

/// Whether the error is about another node, which owns the name while it is alive.
bool is_about_names(std::string_view why) {
  return why.find("is reserved by node") != std::string_view::npos;
}

// A token may get the permission later; until then each attempt is a log line.
constexpr std::chrono::seconds refused_pause{30};

std::string names_in(const agent::sync_step& step) {
  std::string out;
  const auto add = [&out](const char* what, const std::string& name) {
    out.append(out.empty() ? "" : ", ").append(what).append(name);
  };
  if (step.node)
    add("node", {});
  for (const auto& [id, version] : step.services)
    add("service ", id);
  for (const auto& [id, version] : step.checks)
    add("check ", id);
  return out;
}

std::string refusal_in(const write_result& r) {
  if (r.outcome != wire::call_outcome::done)
    return r.text.empty() ? "outcome unknown" : r.text;
  const auto* no = std::get_if<state::refusal>(&r.reply);
  return no != nullptr ? no->text : std::string();
}

} // namespace

health_checks::health_checks(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors,
                             health_checks_settings settings, health_checks_start start,
                             std::shared_ptr<probe_runner> probes)
    : hosted(config, host), node_actors_(std::move(node_actors)), settings_(std::move(settings)),
      probes_(std::move(probes)), random_(settings_.agent.registry.seed + 2), agent_(settings_.agent),
      ids_(settings_.number, settings_.agent.registry.seed + 3) {
  end_node_by_exceptions_of(*this, node_actors_, "health_checks");
  begin(std::move(start));
}

health_checks_actor::behavior_type health_checks::make_behavior() {
  return {
      [this](write_results& w) { on_writes(w); },
      [](const renew_result&) {},
      [this](read_result& r) { on_catalog(r); },
      [](const status_result&) {},
      [](archive_packed&) {},
      [](archive_unpacked&) {},
      [this](const cluster_view& v) { on_view(v); },
      [](const agent_answer&) {},
      [](const audit_written&) {},
      [](const wait_changed&) {},
      [](flush_atom) {},
      [this](tick_atom) {
        if (wake_ups_.arrived(now_of(*this, *node_actors_)))
          on_tick();
      },
      [this](stop_atom) {
        if (probes_ != nullptr)
          probes_->stop();
        keeping_ = false;
        keep_more();
        if (node_actors_->registration_keeper) // only now: it handles its mailbox first
          send(node_actors_->registration_keeper, stop_atom::value);
        quit();
      },
      [this](const agent_call& c) { on_call(c); },
      [this](const cancel_query& c) {
        parked_.erase(c.id.value);
        std::erase_if(waiting_answers_, [&](const waiting_answer& h) { return h.id == c.id; });
      },
      [this](const end_wait& w) { end_wait_of(w.id); },
      [this](const event_received& e) {
        if (agent_.received(e.event))
          answer_parked(true);
      },
      [this](const reachable_members& h) { on_reachable_members(h); },
      [this](const tables_restored& r) { on_restored(r); },
      [this](const client_agent_contact& h) { on_client_agent(h); },
      [this](const probe_finished& p) {
        agent_.finished(p.run, p.status, p.output, now());
        carry_out(nullptr);
      },
      [this](const registrations_kept& k) {
        if (!k.error.empty())
          log::error("health_checks", "registrations not stored; a restart will lose them", {{"error", k.error}});
        kept_ = std::max(kept_, k.token);
        keeping_ = false;
        keep_more();
        answer_settled();
      },
      [this](change_definitions& c) {
        auto s = agent_.reconfigure(std::move(c.now), now());
        carry_out(nullptr);
        c.then(std::move(s));
      },
      [this](leave_cluster& l) { on_leave(l); },
  };
}

// ---- start

void health_checks::begin(health_checks_start start) {
  const auto t = now();
  const auto complain = [](const char* what, const std::string& name, const std::string& why) {
    log::error("health_checks", what, {{"name", name}, {"reason", why}});
  };
  for (auto& s : start.services) {
    const auto name = s.service.service;
    if (auto done = agent_.add_configured(std::move(s), t); !done)
      complain("configured service ignored", name, done.error());
  }
  for (auto& c : start.checks) {
    const auto name = c.name;
    if (auto done = agent_.add_configured(std::move(c), t); !done)
      complain("configured check ignored", name, done.error());
  }
  restore(std::move(start.kept));
  agent_.take_touched();
  report_counts();
}

void health_checks::restore(std::vector<std::pair<std::string, std::string>> kept) {
  const auto t = now();
  std::vector<agent::stored_check> checks;
  keep_registrations unwanted;
  for (auto& [file, bytes] : kept) {
    auto found = wire::decode_registration(bytes, wall_ms());
    if (!found) // the file is kept for inspection
      log::error("health_checks", "stored registration ignored: it cannot be read",
                 {{"file", file}, {"reason", found.error()}});
    else if (auto* check = std::get_if<agent::stored_check>(&*found))
      checks.push_back(std::move(*check));
    else if (!agent_.restore(std::move(std::get<agent::stored_service>(*found))))
      unwanted.files.emplace_back(file, std::string());
  }
  for (auto& c : checks) { // their services exist now
    const auto file = file_name({false, c.definition.id});
    if (auto why = agent::request_complaint_of(c.definition)) { // stored by a version that did not check
      log::error("health_checks", "stored check ignored",
                 {{"check", c.definition.id}, {"file", file}, {"reason", *why}});
      continue;
    }
    if (!agent_.restore(std::move(c), t))
      unwanted.files.emplace_back(file, std::string());
  }
  if (!unwanted.files.empty() && node_actors_->registration_keeper)
    caf::anon_send(node_actors_->registration_keeper, std::move(unwanted)); // not running yet: without a sender
}

std::string health_checks::file_name(const agent::item& what) {
  return (what.is_service ? "service-" : "check-") + archive::sha256().add(what.id).hex();
}

// ---- clients

void health_checks::on_call(const agent_call& call) {
  const auto t = now();
  auto reply = agent_.handle(call.what, t, false, call.may.get());
  if (!reply) {
    parked_.insert_or_assign(call.id.value, parked{call.what, call.may, t + agent::wait_of(call.what)});
    return;
  }
  waiting_answer waiting{call.id, std::move(*reply), {}, 0, t + settings_.queue_timeout, false};
  carry_out(&waiting);
}

void health_checks::carry_out(waiting_answer* waiting) {
  auto touched = agent_.take_touched();
  const auto token = keep(agent_.take_stored());
  const auto fired = agent_.take_fired();
  const bool changed = !touched.empty() || !fired.empty();
  if (!touched.empty())
    report_counts();
  if (!fired.empty()) {
    send_frames out;
    for (const auto& m : view_.config.members)
      if (m.id != view_.self)
        for (const auto& e : fired)
          out.list.emplace_back(m.id, e);
    if (!out.list.empty())
      send(node_actors_->peer_link, std::move(out));
  }
  if (waiting != nullptr) {
    waiting->items = std::move(touched);
    waiting->token = token;
    waiting_answers_.push_back(std::move(*waiting));
  }
  sync();
  answer_settled();
  answer_parked(changed);
  if (nothing_is_due())
    wake_ups_.ask(*this, *node_actors_, together(*this, tick_when_idle, tick_slack), tick_atom::value);
  else
    tick_soon();
}

std::uint64_t health_checks::keep(std::vector<agent::stored_change> changes) {
  if (changes.empty() || !node_actors_->registration_keeper)
    return 0;
  bool durable = false;
  for (const auto& c : changes) {
    std::string bytes;
    if (const auto* s = std::get_if<agent::stored_service>(&c.now))
      bytes = wire::encode_registration(*s);
    else if (const auto* check = std::get_if<agent::stored_check>(&c.now))
      bytes = wire::encode_registration(*check, wall_ms());
    const auto [place, fresh] = place_in_unsent_.try_emplace(file_name(c.what), unsent_.files.size());
    if (fresh)
      unsent_.files.emplace_back(place->first, std::move(bytes));
    else
      unsent_.files[place->second].second = std::move(bytes);
    durable = durable || c.durable;
  }
  const auto token = durable ? ++tokens_ : 0;
  unsent_.token = std::max(unsent_.token, token);
  keep_more();
  return token;
}

void health_checks::keep_more() {
  if (keeping_ || unsent_.files.empty() || !node_actors_->registration_keeper)
    return;
  keeping_ = true;
  place_in_unsent_.clear();
  send(node_actors_->registration_keeper, std::exchange(unsent_, {}));
}

void health_checks::answer_settled() {
  const auto t = now();
  const bool reachable = !view_.soft.leader.is_zero();
  const auto& r = agent_.registry();
  std::erase_if(waiting_answers_, [&](waiting_answer& h) {
    const bool given_up = h.catalog_failed || !reachable || t >= h.deadline;
    const bool in_catalog = std::all_of(h.items.begin(), h.items.end(), [&](const agent::item& i) {
      return i.is_service ? r.service_in_sync(i.id) : r.check_in_sync(i.id);
    });
    if (h.token > kept_ || (!in_catalog && !given_up))
      return false;
    answer(h.id, std::move(h.reply));
    return true;
  });
}

void health_checks::end_wait_of(request_id id) {
  if (const auto it = parked_.find(id.value); it != parked_.end()) {
    it->second.deadline = now();
    answer_parked(false);
  }
}

void health_checks::answer_parked(bool changed) {
  const auto t = now();
  std::erase_if(parked_, [&](auto& each) {
    const bool time_is_up = t >= each.second.deadline;
    if (!changed && !time_is_up)
      return false;
    auto reply = agent_.handle(each.second.what, t, time_is_up, each.second.may.get());
    if (!reply)
      return false;
    answer(request_id{each.first}, std::move(*reply));
    return true;
  });
}

void health_checks::answer(request_id id, agent::reply reply) {
  answer_gateway(*this, *node_actors_, id, agent_answer{id, std::move(reply)});
}

// ---- the catalog

void health_checks::sync() {
  const auto t = now();
  if (left_ || view_.soft.leader.is_zero() || t < retry_at_)
    return;
  for (auto& step : agent_.registry().unsynced(t)) {
    const auto id = ids_.next();
    send(node_actors_->fsm, check_write{id, step.command, step.token});
    in_flight_.insert_or_assign(id.value, in_flight{std::move(step), t + settings_.queue_timeout + answer_slack});
  }
}

void health_checks::on_writes(const write_results& w) {
  for (const auto& r : w.list)
    if (!on_leave_answered(r))
      settle(r.id, &r);
  carry_out(nullptr);
}

void health_checks::settle(request_id id, const write_result* result) {
  const auto it = in_flight_.find(id.value);
  if (it == in_flight_.end())
    return;
  const auto why = result != nullptr ? refusal_in(*result) : std::string("no response");
  const auto& step = it->second.step;
  const bool forbidden = is_about_permissions(why);
  // Other steps use other tokens, so they do not wait until this one is permitted.
  agent_.registry().settled(step, why.empty(), forbidden ? now() + refused_pause : agent::local_time{0});
  if (!why.empty()) {
    if (!forbidden)
      retry_at_ = now() + settings_.retry_interval;
    log::write(forbidden                                      ? log::level::warn
               : name_is_handed_over() && is_about_names(why) ? log::level::debug
                                                              : log::level::info,
               "health_checks",
               forbidden ? "registration rejected by the catalog; retrying every 30 s"
                         : "catalog not updated; retrying",
               {{"what", names_in(step)}, {"reason", why}});
    const auto carried = [](const auto& list, const std::string& wanted) {
      return std::any_of(list.begin(), list.end(), [&](const auto& each) { return each.first == wanted; });
    };
    for (auto& h : waiting_answers_)
      for (const auto& i : h.items)
        h.catalog_failed = h.catalog_failed || carried(i.is_service ? step.services : step.checks, i.id);
  }
  in_flight_.erase(it);
}

bool health_checks::name_is_handed_over() const {
  const auto& own = settings_.agent.registry.node;
  return std::any_of(view_.config.members.begin(), view_.config.members.end(), [&](const raft::member& m) {
    return m.id != view_.self && state::folded(m.name) == state::folded(own.node);
  });
}

void health_checks::on_view(const cluster_view& v) {
  const bool new_leader = !v.soft.leader.is_zero() && v.soft.leader != view_.soft.leader;
  view_ = v;
  members_have_news();
  leave_servers_to_members();
  go_on_leaving();
  if (new_leader) {
    retry_at_ = agent::local_time{0};
    compare_at_ = now() + compare_after_election;
  }
  carry_out(nullptr);
}

void health_checks::compare_if_due() {
  const auto t = now();
  if (comparing_ && t >= comparing_->deadline)
    comparing_.reset();
  if (comparing_ || view_.soft.leader.is_zero() || t < compare_at_)
    return;
  comparing_.emplace();
  read_catalog(state::catalog_node{settings_.agent.registry.node.node});
}

void health_checks::read_catalog(state::query what) {
  comparing_->deadline = now() + settings_.queue_timeout + answer_slack;
  comparing_->waits_for = ask_catalog(std::move(what));
}

request_id health_checks::ask_catalog(state::query what, http::consistency mode) {
  read_query q;
  q.id = ids_.next();
  q.request.mode = mode;
  q.request.query = std::move(what);
  const auto id = q.id;
  send(node_actors_->fsm, std::move(q));
  return id;
}

void health_checks::on_catalog(const read_result& r) {
  if (on_member_rows(r) || on_alias_rows(r) || on_client_agent_rows(r))
    return;
  if (!comparing_ || r.id != comparing_->waits_for)
    return;
  const auto* found = r.found();
  if (found == nullptr) {
    comparing_.reset();
    compare_at_ = now() + settings_.retry_interval;
    return;
  }
  if (const auto* services = std::get_if<state::node_services>(&found->data)) {
    comparing_->services = *services;
    return read_catalog(state::health_node{settings_.agent.registry.node.node});
  }
  if (const auto* checks = std::get_if<state::checks>(&found->data); checks != nullptr && comparing_->services)
    agent_.registry().compare(comparing_->services->node, comparing_->services->services, checks->list);
  comparing_.reset();
  const std::chrono::nanoseconds interval = settings_.compare_interval;
  compare_at_ =
      now() + interval +
      std::chrono::nanoseconds(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(interval.count()))));
  carry_out(nullptr);
}

// ---- time

void health_checks::on_tick() {
  const auto t = now();
  for (auto& p : agent_.tick(t))
    if (agent::kind_of(p.definition) == agent::check_kind::alias)
      look_up_alias(std::move(p.run), p.definition);
    else if (probes_ != nullptr)
      probes_->start(p.definition, [run = std::move(p.run), self = caf::weak_actor_ptr(ctrl())](std::string status,
                                                                                                std::string output) {
        if (auto strong = self.lock())
          caf::anon_send(caf::actor_cast<health_checks_actor>(strong),
                         probe_finished{run, std::move(status), std::move(output)});
      });
  std::vector<request_id> lost;
  for (const auto& [id, f] : in_flight_)
    if (f.deadline <= t)
      lost.push_back(request_id{id});
  for (const auto id : lost)
    settle(id, nullptr);
  give_up_aliases();
  compare_if_due();
  look_at_members_if_due();
  look_at_client_agents();
  notify_mended();
  go_on_leaving();
  carry_out(nullptr);
}

bool health_checks::nothing_is_due() const {
  return parked_.empty() && waiting_answers_.empty() && in_flight_.empty() && !comparing_ && !looking_ &&
         alias_looks_.empty() && client_agent_looks_.empty() && new_client_agents_.empty() && !leaving_ &&
         agent_.counts().checks == 0;
}

void health_checks::tick_soon() {
  wake_ups_.ask(*this, *node_actors_, tick, tick_atom::value);
}

void health_checks::report_counts() {
  if (settings_.numbers == nullptr)
    return;
  const auto n = agent_.counts();
  settings_.numbers->agent_services.store(n.services, std::memory_order_relaxed);
  settings_.numbers->agent_checks.store(n.checks, std::memory_order_relaxed);
  settings_.numbers->agent_ttls.store(n.ttls, std::memory_order_relaxed);
  settings_.numbers->agent_monitors.store(n.monitors, std::memory_order_relaxed);
}

std::uint64_t health_checks::wall_ms() const {
  return settings_.wall_clock ? settings_.wall_clock().value : 0;
}

} // namespace belay::actors
