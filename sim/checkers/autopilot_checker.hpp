#pragma once
// Asks every server what an operator asks (/v1/operator/autopilot/health), and has the answers judged by what is so.

#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/models/health_judgement.hpp"
#include "sim/world/cluster.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

/// While the cluster is calm: servers are well or they are not, and stay so.
class autopilot_checker {
public:
  autopilot_checker(schedule& time, cluster& nodes) : time_(time), nodes_(nodes) {}

  /// From now on these are well. Asks all of them, and `full` too, whose disk is.
  void expect(std::set<std::size_t> well, std::optional<std::size_t> full = {});
  /// Call until nothing is wrong: a server is asked again when it was not right, as what it told may have been of before.
  /// @returns what is wrong with the newest answer, or that there is none; nullopt: nothing
  broken wrong();
  /// @returns whether that is an answer to this one's question
  bool take(std::size_t node, int life, const client_answer& a);

private:
  struct question {
    request_id id;
    int life = 0;
    virtual_time asked{0};
    std::optional<std::string> answer; ///< the newest one
    bool right = false;
  };
  void ask(std::size_t node);
  std::vector<member_truth> truth() const;

  schedule& time_;
  cluster& nodes_;
  std::set<std::size_t> well_;
  std::optional<std::size_t> full_;
  std::map<std::size_t, question> questions_;
};

} // namespace belay::sim
