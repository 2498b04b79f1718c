#pragma once
// Requests /v1/operator/autopilot/health from every server and checks it against the true state.

#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/models/health_check.hpp"
#include "sim/environment/cluster.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

/// Checks calm clusters, in which each server is healthy or not, and stays so.
class autopilot_checker {
public:
  autopilot_checker(schedule& time, cluster& nodes) : time_(time), nodes_(nodes) {}

  /// Expects from now on that the servers `well` are healthy. Queries all of them, and also `full`,
  /// a server with a full disk.
  void expect(std::set<std::size_t> well, std::optional<std::size_t> full = {});
  /// Call it until nothing is wrong. A server with a wrong (perhaps outdated) response is queried
  /// again. @returns what is wrong with the newest response, or that there is none; nullopt: none
  broken wrong();
  /// @returns whether `a` is the response to one of its requests
  bool take(std::size_t node, int life, const client_answer& a);

private:
  struct question {
    request_id id;
    int life = 0;
    virtual_time requested{0};
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
