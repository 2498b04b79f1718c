#pragma once
// The agent of this node: its services, checks and events, and their synchronization with
// the catalog (docs/contract/09, docs/contract/13).

#include "actors/actor_context.hpp"
#include "actors/agent/probes.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/log_rate_limiter.hpp"
#include "actors/request_ids.hpp"
#include "actors/telemetry/vitals.hpp"
#include "protocol/agent/client_agents.hpp"
#include "protocol/agent/member_catalog.hpp"
#include "protocol/base/random.hpp"
#include "protocol/forward/departure.hpp"

#include <map>

namespace belay::actors {

struct health_checks_settings {
  std::uint16_t number = 1; ///< its index in node_actors::gateways
  agent::agent_settings agent;
  /// How long to wait until a registration is in the catalog. After that, waiting for a leader is
  /// useless.
  std::chrono::milliseconds queue_timeout{7000};
  /// Between two comparisons with the catalog, plus a random part of it (Consul's anti-entropy).
  std::chrono::seconds compare_interval{60};
  std::chrono::milliseconds retry_interval{3000}; ///< after a write that failed
  std::function<cluster_time()> wall_clock;       ///< milliseconds since 1970; null: always 1970
  std::shared_ptr<vitals> numbers;                ///< where to publish the counts; null: nowhere
};

/// State before the first request.
struct health_checks_start {
  std::vector<agent::service_definition> services; ///< from the configuration
  std::vector<agent::check_definition> checks;
  std::vector<std::pair<std::string, std::string>> kept; ///< from the registration_keeper: file and content
};

/// Registrations change here first. Then they are written to the catalog like a client's writes, on
/// a follower through the leader. The client is answered when they are on the disk, and in the
/// catalog unless that cannot be reached.
///
/// On the leader it also maintains the catalog's rows of the members, alive or failed. It writes
/// only differences.
///
/// Events go to the peers as frames, not through the log. They work without a leader, cost no disk
/// writes, and guarantee no more than Consul's gossip does.
class health_checks : public hosted<health_checks_actor::base> {
public:
  /// @param probes runs HTTP, TCP, gRPC and script checks; null: only TTL checks get results
  health_checks(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors,
                health_checks_settings settings, health_checks_start start, std::shared_ptr<probe_runner> probes);

  behavior_type make_behavior() override;

  /// File of the registration_keeper for a registration.
  static std::string file_name(const agent::item& what);

private:
  struct parked {
    agent::request what;
    std::shared_ptr<const acl::authorizer> may; ///< null: everything
    agent::local_time deadline;
  };
  struct waiting_answer {
    request_id id;
    agent::reply reply;
    std::vector<agent::item> items; ///< wait for the catalog
    std::uint64_t token = 0;        ///< waits for the disk
    agent::local_time deadline;
    bool catalog_failed = false;
  };
  struct in_flight {
    agent::sync_step step;
    agent::local_time deadline;
  };

  /// A comparison is two reads, one after the other. Changes in between are at worst written again.
  struct comparison {
    request_id waits_for;
    agent::local_time deadline;
    std::optional<state::node_services> services;
  };

  /// The leader's comparison of the members' rows, done in the same way.
  struct member_look {
    request_id waits_for;
    agent::local_time deadline;
    agent::member_rows found;
    bool nodes_known = false;
  };

  /// The leader's check of the rows of one client agent.
  struct client_agent_look {
    std::string name;
    agent::local_time deadline;
    std::optional<state::node_ptr> node; ///< nullptr: there is none
  };

  void begin(health_checks_start start);
  void restore(std::vector<std::pair<std::string, std::string>> kept);
  void on_call(const agent_call& call);
  void on_writes(const write_results& w);
  void on_catalog(const read_result& r);
  void read_catalog(state::query what);
  /// @returns its id
  request_id ask_catalog(state::query what, http::consistency mode = http::consistency::normal);
  void on_view(const cluster_view& v);
  void on_tick();
  /// Whether nothing has a deadline: then a tick may be late.
  bool nothing_is_due() const;
  void tick_soon();
  /// Call it after every change: updates disk, catalog, peers, and waiting clients.
  void carry_out(waiting_answer* waiting);
  void sync();
  void settle(request_id id, const write_result* result);
  /// Whether this server replaces a lost one of the same name, which stays a member until this one
  /// votes.
  bool name_is_handed_over() const;
  void compare_if_due();
  std::uint64_t keep(std::vector<agent::stored_change> changes);
  void keep_more();
  void answer_settled();
  void end_wait_of(request_id id);
  /// Answers the parked queries; if `changed` is false, only those past their deadlines.
  void answer_parked(bool changed);
  void answer(request_id id, agent::reply reply);

  // health_checks_members.cpp
  void on_reachable_members(const reachable_members& h);
  void members_have_news();
  void on_restored(const tables_restored& r);
  void notify_mended();
  bool is_mending() const { return mended_at_ != restored_at_; }
  void log_member_changes(const std::vector<state::command>& to_be_written);
  void look_at_members_if_due();
  /// @returns false: it belongs to another read
  bool on_member_rows(const read_result& r);
  void write_member_changes(const agent::member_rows& found);

  // health_checks_aliases.cpp
  void look_up_alias(agent::check_schedule::run run, const agent::check_definition& alias);
  /// @returns false: none of them requested it
  bool on_alias_rows(const read_result& r);
  void give_up_aliases();

  // health_checks_client_agents.cpp
  void on_client_agent(const client_agent_contact& h);
  /// Why it is not an agent of this cluster; nullopt: it is accepted
  std::optional<std::string> refusal_of(const agent::client_agents::identity& who,
                                        const agent::client_agents::evidence& by);
  void leave_servers_to_members();
  void answer_client_agent(const forward::origin& to, state::reply reply);
  void answer_new_client_agents();
  void look_at_client_agents();
  /// @returns false: it belongs to another read
  bool on_client_agent_rows(const read_result& r);
  // health_checks_leaving.cpp
  void on_leave(leave_cluster& l);
  void go_on_leaving();
  /// @returns false: it is no response to that
  bool on_leave_answered(const write_result& r);

  void report_counts();
  std::uint64_t wall_ms() const;
  agent::local_time now() { return now_of(*this, *node_actors_).time_since_epoch(); }

  node_actors_ptr node_actors_;
  health_checks_settings settings_;
  std::shared_ptr<probe_runner> probes_;
  seeded_random random_;
  agent::local_agent agent_;

  cluster_view view_;
  request_ids ids_;
  std::map<std::uint64_t, parked> parked_;
  std::vector<waiting_answer> waiting_answers_;
  std::map<std::uint64_t, in_flight> in_flight_;
  std::uint64_t tokens_ = 0, kept_ = 0;
  /// For the registration_keeper after its response: the newest content of each file, so that a
  /// disk that is slower than the clients takes no memory for each request.
  keep_registrations unsent_;
  std::map<std::string, std::size_t> place_in_unsent_; ///< by file
  bool keeping_ = false;                               ///< the keeper has not responded yet
  agent::local_time retry_at_{0}, compare_at_{0};
  std::optional<comparison> comparing_;

  reachable_members reachable_;
  std::optional<member_look> looking_;
  agent::local_time look_at_{0};
  std::chrono::nanoseconds look_again_after_{0}; ///< grows while writes have no effect
  /// Proposals not seen in the catalog yet, by node: its status, or "left".
  std::map<std::string, std::string> proposed_;
  log_index restored_at_; ///< the newest restore in this process; zero: none
  log_index mended_at_;   ///< the newest after which the catalog was corrected
  bool members_mended_ = false;
  /// An alias of another node: first reads whether its service exists, then its checks.
  struct alias_look {
    agent::check_schedule::run run;
    agent::check_definition alias;
    agent::local_time deadline;
  };
  std::map<std::uint64_t, alias_look> alias_looks_; ///< by the request that it waits for

  agent::client_agents client_agents_;
  term_id client_agents_of_;                                      ///< term of that leadership
  std::optional<request_id> listing_of_nodes_;                    ///< requested at its start, and after a restore
  bool listing_again_ = false;                                    ///< after a restore
  std::map<std::uint64_t, client_agent_look> client_agent_looks_; ///< by the id of the read
  agent::local_time look_at_client_agents_{0};
  /// Agents not in the catalog yet: a client that lists members after the response has to see them.
  struct new_client_agent {
    forward::origin from;
    agent::client_agents::identity who;
    agent::local_time deadline;
  };
  std::vector<new_client_agent> new_client_agents_;
  log_rate_limiter conflict_log_limit_;
  struct leaving {
    std::function<void(status)> then;
    forward::departure how;
    request_id requested; ///< zero: not requested yet
  };
  std::optional<leaving> leaving_;
  wake_ups wake_ups_{wake_ups::begun::by_others};
  bool left_ = false; ///< this server is no longer a member: no writes to the catalog
};

} // namespace belay::actors
