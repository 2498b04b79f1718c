#pragma once
// Operators who change the servers' credentials at run time: in the order of docs/operate/security.md, each
// step on all servers before the next. Careless ones also make mistakes with one server.

#include "sim/clients/http_messages.hpp"
#include "sim/environment/cluster.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

class credential_operator {
public:
  /// Gives all nodes the credentials that the run begins with. @pre nodes.doors() is not null
  credential_operator(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s);

  void start();
  /// Begins no new step and makes no mistake. Still fixes nodes that need credentials by hand.
  void stop() { acting_ = false; }
  /// Corrects the mistakes, on running servers and on those that will start.
  void put_right();

  /// @returns false: the response is complete
  bool on_bytes(connection_id c, std::string_view bytes, bool last);
  void on_node_gone(std::size_t node);
  /// Call after each step of the run.
  void look_at_members();

  std::uint64_t steps() const { return steps_; }
  std::uint64_t mistakes() const { return mistakes_; }

private:
  /// The steps of a key change, each on all members at once.
  enum class key_step : std::uint8_t { install, use, remove };
  struct question {
    connection_id connection = 0; ///< zero: no request is pending
    std::size_t node = 0;
    std::set<node_id> members; ///< that the queried node has known since then
    std::string answer;
  };

  void act();
  void next_of_keys();
  void ask(std::size_t node);
  void answered(const http_answer& a);
  void look_who_has_it(const question& q);
  /// Whether it has never started, or has a new disk.
  bool begins_anew(std::size_t node);
  void set_up_with(std::size_t node, const std::string& key);
  void next_of_settings();
  void plan_next_settings();
  void configure(std::size_t node, credential_facts f);
  void give(std::size_t node, credential_facts f);
  void fix_by_hand();
  void err();
  credential_facts by_certificates(std::set<char> trusted, char signer, std::int64_t ends) const;
  std::vector<std::string> keys_now() const;
  std::vector<std::string> keys_after_step() const;
  std::string fresh_key();
  std::uint64_t draw(std::uint64_t n);

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  peer_doors& doors_;
  credential_plan plan_;
  bool careless_;
  std::string token_header_;
  bool acting_ = false;

  // Settings: those of the last completed step, and the coming ones.
  std::vector<credential_facts> coming_; ///< steps, the next one in front
  credential_facts current_;
  std::set<std::size_t> reached_; ///< by the step in front

  // Keys: current_ has the one to be replaced.
  std::vector<std::string> keys_; ///< that a node must get by hand to reach all others
  key_step step_ = key_step::install;
  std::string wanted_; ///< the new key
  question requested_;

  std::set<std::size_t> wronged_; ///< by mistakes
  std::uint64_t made_ = 0;        ///< keys
  connection_id connections_ = counted_from(connections_of::operators);
  std::uint64_t steps_ = 0, mistakes_ = 0;
};

} // namespace belay::sim
