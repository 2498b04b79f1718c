#pragma once
// Those who change the credentials of the servers while the cluster runs: step by step in the order of docs/security.md, each step on
// all servers before the next one. Careless ones also do something wrong to one server now and then.

#include "sim/clients/http_messages.hpp"
#include "sim/world/cluster.hpp"

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
  /// No new step is begun, and nothing is done wrong. What others need by hand is given to them all the same.
  void stop() { acting_ = false; }
  /// The mistakes are set right, on servers that run and on those that will.
  void put_right();

  /// @returns false: all is heard
  bool on_bytes(connection_id c, std::string_view bytes, bool last);
  void on_node_gone(std::size_t node);
  /// Call after each step of the run.
  void look_at_members();

  std::uint64_t steps() const { return steps_; }
  std::uint64_t mistakes() const { return mistakes_; }

private:
  /// Of the change of a key, each on all members at once.
  enum class key_step : std::uint8_t { install, use, remove };
  struct question {
    connection_id connection = 0; ///< zero: nothing is asked
    std::size_t node = 0;
    std::set<node_id> members; ///< that the node that is asked has known since then
    std::string answer;
  };

  void act();
  void next_of_keys();
  void ask(std::size_t node);
  void answered(const http_answer& a);
  void look_who_has_it(const question& q);
  /// It has not been there yet, or its disk is a new one.
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

  // Settings: what all have that were reached already, and what they get now.
  std::vector<credential_facts> coming_; ///< steps, the next one in front
  credential_facts current_;
  std::set<std::size_t> reached_; ///< of the step in front

  // Keys: current_ has the one that is replaced.
  std::vector<std::string> keys_; ///< that whoever is given them by hand needs to speak to all
  key_step step_ = key_step::install;
  std::string wanted_; ///< the key that comes
  question asked_;

  std::set<std::size_t> wronged_; ///< by mistakes
  std::uint64_t made_ = 0;        ///< keys
  connection_id connections_ = counted_from(connections_of::operators);
  std::uint64_t steps_ = 0, mistakes_ = 0;
};

} // namespace belay::sim
