#pragma once
// A process of a scenario: the environment of its recipes, its connections, and its faults.

#include "client/kit/client_faults.hpp"
#include "sim/kit/ground.hpp"

#include <belay/sim.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace belay {
inline namespace v0 {
namespace sim {

struct beside_service {
  std::string path;
  std::function<answer(const request&)> answers;
};

/// State shared by the processes of a run.
struct run_parts {
  belay_ground::ground* stands_on = nullptr;
  client_faults faults;
  bool healed = false;
  belay_ground::moment faults_end{0};
  std::vector<beside_service> services;
  belay_ground::outcome_counts counts;
  std::map<std::string, std::string> sessions;     ///< process by session ID, for the story
  std::optional<belay_ground::broken_rule> broken; ///< the first broken rule

  void fail(std::string checker, std::string text) {
    if (!broken)
      broken = belay_ground::broken_rule{std::move(checker), std::move(text)};
  }
};

class kit_process final : public process {
public:
  /// @param number of the process, from 0 on. @pre shared.stands_on
  kit_process(run_parts& shared, std::size_t number, std::string name, std::function<task<>(process&)> main);

  void begin();
  /// Ends its faults: it continues, or restarts.
  void heal();
  /// Destroys its task.
  void end();

  const std::string& name() const noexcept override { return name_; }
  unsigned life() const noexcept override { return life_; }
  bool healed() const noexcept override { return born_healed_; }
  void add_line(const std::string& text) override;

  instant now() override;
  std::uint64_t random(std::uint64_t n) override;
  void sleep(operation& op, instant until) override;
  void ask(operation& op, const request& q, instant deadline) override;
  void stop(operation& op) override;
  void forget(operation& op) noexcept override;

private:
  using moment = belay_ground::moment;
  enum class use : std::uint16_t { recipes, send_pause, clock_pause, loss, lateness, rounds, clock, count };

  struct waiting {
    operation* op = nullptr;
    std::uint64_t number = 0; ///< number of the exchange with a server; 0: none
    std::size_t server = 0;
  };
  /// A request that was sent, or is about to be.
  struct letter {
    request question;
    const beside_service* to = nullptr; ///< null: the request is for a server
    std::size_t server = 0;
    std::size_t tried = 0;  ///< servers that refused the connection
    std::uint64_t lost = 0; ///< 1: the request is lost, 2: its response is
  };

  belay_ground::ground& ground() const { return *shared_.stands_on; }
  std::uint16_t stream(use what) const;
  moment global() const { return std::max(ground().now(), frozen_until_); }
  instant local_of(moment global) const;
  moment global_of(instant local) const;
  bool maybe_pause(use what, std::uint32_t per_million, const char* where, const std::string& words);
  void stand_still(moment length, const std::string& where);
  moment one_way();
  std::uint64_t enlist(operation& op);
  void end_at(std::uint64_t ticket, moment when, bool stopped, answer a);
  void finish(std::uint64_t ticket, bool stopped, answer a);
  void send(std::uint64_t ticket, letter l);
  void arrive(std::uint64_t ticket, letter l);
  void serve(std::uint64_t ticket, const letter& l);
  void answered(std::uint64_t ticket, const letter& l, answer a);
  void traces(std::uint64_t ticket, const letter& l, answer a);
  void hang_up(const waiting& w) noexcept;
  void avoid(std::size_t server);
  bool is_cut(std::size_t server) const;
  void act();
  void crash(std::uint64_t length);
  void look_at_task();
  void count(const char* fault) { ++shared_.counts.faults[fault]; }

  run_parts& shared_;
  std::size_t number_;
  std::string name_;
  std::function<task<>(process&)> main_;
  task<> task_;
  unsigned life_ = 0;
  bool born_healed_ = false;
  bool down_ = false;
  std::int64_t clock_ppm_ = 0;
  moment frozen_until_{0};
  std::vector<moment> cut_until_; ///< by server
  std::size_t preferred_ = 0;
  std::uint64_t next_ticket_ = 1;
  std::unordered_map<std::uint64_t, waiting> waiting_;
};

} // namespace sim
} // namespace v0
} // namespace belay
