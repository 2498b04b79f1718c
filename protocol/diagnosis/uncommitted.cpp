#include "protocol/diagnosis/uncommitted.hpp"

namespace belay::diagnosis {

namespace {

// Heartbeats are answered within ms, and are sent twenty times in this time with raft_multiplier 1.
constexpr std::chrono::seconds silence_worth_a_word{1};

std::string seconds_in(std::chrono::nanoseconds d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count()) + " s";
}

} // namespace

std::optional<commit_watch::finding> commit_watch::look(log_index commit, log_index last,
                                                        std::chrono::nanoseconds passed) {
  since_ += passed;
  if (commit != commit_ || commit == last) {
    const auto was_reported = next_ > report_after;
    const finding over{true, since_};
    commit_ = commit;
    since_ = std::chrono::nanoseconds(0);
    next_ = report_after;
    return was_reported ? std::optional(over) : std::nullopt;
  }
  if (since_ < next_)
    return std::nullopt;
  next_ = since_ + interval;
  return finding{false, since_};
}

std::string missing_for_commit(const std::vector<voter_facts>& voters, log_index commit) {
  std::string out;
  for (const auto& v : voters) {
    const bool well = v.self && !v.disk_full && v.silent < silence_worth_a_word;
    if (v.match > commit || well)
      continue;
    out += (out.empty() ? "" : ", ") + v.name;
    if (v.self && v.disk_full)
      out += " (this server) disk full";
    else if (v.self)
      out += " (this server) has been writing its log for " + seconds_in(v.silent);
    else if (v.silent >= silence_worth_a_word)
      out += " silent for " + seconds_in(v.silent);
    else if (v.disk_full)
      out += " disk full";
    else
      out += " has entries up to " + to_string(v.match) + " only";
  }
  return out;
}

} // namespace belay::diagnosis
