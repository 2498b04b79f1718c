// Replays recorded exchanges with the reference server against Belay, or against any other server.
//
//   test_contract                             the areas listed in areas.txt, against one node
//   test_contract --nodes 3 --via follower    against a follower of a cluster of three
//   test_contract --nodes 1 --via agent       against a client agent beside one server
//   test_contract --nodes 3 --via replica     against a read replica of a cluster of three and one
//   test_contract --only '^session/' -v       what matches, in whatever area, telling every step
//   test_contract --all --server 'consul agent -dev -config-file {config}'
//                                             everything, against the reference: checks this program
//
// Prints one line for each transcript, the differences after each that failed, and a last line "N
// passed, N failed". The exit status is 0 only if nothing failed and something passed.

#include "tests/contract/transcript_run.hpp"

#include <cstring>
#include <fstream>
#include <iostream>
#include <mutex>
#include <regex>
#include <set>
#include <thread>

namespace belay::contract {

namespace {

struct options {
  harness::server_command server;
  std::size_t nodes = 1;
  target_node via = target_node::leader;
  std::optional<std::string> only;
  bool all = false, list = false, verbose = false, self_check = false, no_slow = false, quiet = false;
  unsigned workers = 1;
  std::filesystem::path transcripts = BELAY_SOURCE_DIR "/tests/contract/transcripts";
};

/// Transcripts that hold on a single node only, each with its reason.
const std::map<std::string, std::string> single_node_only = {
    {"agent/members", "says that there is one member"},
    {"catalog/own-node", "says that the service consul has one instance"},
    {"operator/raft-configuration", "says that there is one server"},
    {"status/peers", "says that the leader is the only peer"},
};

/// Transcripts that require that the target is a server, and the only node in the catalog.
const std::map<std::string, std::string> server_only = {
    {"agent/members", "says that there is one member"},
    {"agent/self", "says that the node that is asked is a server"},
    {"catalog/own-node", "says that the node that is asked has the service consul"},
    {"operator/raft-configuration", "says that the node that is asked is the one server"},
};

/// Transcripts with stale reads whose X-Consul-LastContact is the leader's 0. A follower reports
/// how many milliseconds ago it received from the leader, which is mostly 0, but not always.
const std::map<std::string, std::string> leader_only = {
    {"blocking/consistency-modes", "wants the leader's last contact, 0, from a stale read"},
    {"consistency/kv", "wants the leader's last contact, 0, from a stale read"},
    {"consistency/max-stale", "wants the leader's last contact, 0, from a stale read"},
    {"consistency/sessions", "wants the leader's last contact, 0, from a stale read"},
    {"txn/read-only", "wants the leader's last contact, 0, from a stale read"},
};

/// Why a transcript cannot be replayed with these options; empty if it can.
std::string unfit(const transcript& script, const options& how) {
  if (auto found = single_node_only.find(script.name); how.nodes > 1 && found != single_node_only.end())
    return found->second;
  if (auto found = server_only.find(script.name); how.via == target_node::agent && found != server_only.end())
    return found->second;
  // An agent beside one server sends requests to the leader.
  const bool asks_leader = how.via == target_node::leader || (how.via == target_node::agent && how.nodes == 1);
  if (auto found = leader_only.find(script.name); !asks_leader && found != leader_only.end())
    return found->second;
  return {};
}

struct outcome {
  bool passed = false;
  std::size_t tried = 0;
  std::vector<std::string> lines;
};

std::set<std::string> default_areas() {
  std::ifstream in(BELAY_SOURCE_DIR "/tests/contract/areas.txt");
  std::set<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#')
      out.insert(line);
  return out;
}

/// Distributes the transcripts; prints and counts their outcomes.
class job_list {
public:
  explicit job_list(std::vector<transcript> jobs) : jobs_(std::move(jobs)) {}

  const transcript* next() {
    std::lock_guard lock(guard_);
    return at_ < jobs_.size() ? &jobs_[at_++] : nullptr;
  }

  void done(const transcript& script, const outcome& result, double seconds, bool quiet) {
    std::lock_guard lock(guard_);
    (result.passed ? passed_ : failed_)++;
    tried_ += result.tried;
    if (!quiet || !result.passed) {
      char took[32];
      std::snprintf(took, sizeof took, " (%.2f s)", seconds);
      std::cout << (result.passed ? "ok   " : "FAIL ") << script.name << took << "\n";
    }
    for (const auto& line : result.lines)
      std::cout << "     " << line << "\n";
    std::cout << std::flush;
  }

  int summary(bool self_check) const {
    if (self_check)
      std::cout << tried_ << " falsified expectations tried\n";
    std::cout << passed_ << " passed, " << failed_ << " failed" << std::endl;
    return failed_ || !passed_ ? 1 : 0;
  }

private:
  std::mutex guard_;
  std::vector<transcript> jobs_;
  std::size_t at_ = 0, passed_ = 0, failed_ = 0, tried_ = 0;
};

outcome replay(const replay_server& server, const transcript& script, const options& how) {
  outcome out;
  transcript_run run(server, script);
  auto failed = run.all([&](const std::string& step) {
    if (how.verbose)
      out.lines.push_back(step);
  });
  if (failed) {
    out.lines.push_back("step " + std::to_string(failed.step) + ": " + failed.what);
    for (const auto& difference : failed.differences)
      out.lines.push_back("    " + difference);
    return out;
  }
  out.passed = true;
  if (how.self_check)
    for (const auto& part : run.self_check(out.tried)) {
      out.passed = false;
      out.lines.push_back("unnoticed when falsified: " + part);
    }
  return out;
}

/// If the cluster changed its leader meanwhile (the machine was paused for longer than an election
/// timeout), a failed transcript is replayed on another cluster. This is the limit for all of them.
constexpr int clusters_max = 3;

/// @param server null: a new one is started. @returns whether the outcome is conclusive
bool attempt(std::unique_ptr<replay_server>& server, const transcript& script, const options& how, outcome& result) {
  result = {};
  try {
    if (!server)
      server = std::make_unique<replay_server>(how.server, script.profile, how.nodes, how.via);
    result = replay(*server, script, how);
    return result.passed || how.nodes == 1 || !server->leader_changed();
  } catch (const std::exception& e) {
    result.passed = false;
    result.lines.push_back(e.what());
    return true;
  }
}

/// Transcripts of a profile share a server until one fails; those that need a fresh server get one.
void work(job_list& jobs, const options& how) {
  std::map<std::string, std::unique_ptr<replay_server>> pool;
  while (const auto* script = jobs.next()) {
    auto begun = std::chrono::steady_clock::now();
    outcome result;
    std::unique_ptr<replay_server> own;
    auto& server = script->fresh ? own : pool[script->profile];
    for (int tried = 1; !attempt(server, *script, how, result) && tried < clusters_max; ++tried) {
      std::cout << script->name << ": failed while the leader changed; once more on a new cluster" << std::endl;
      server.reset();
    }
    if (!result.passed)
      server.reset();
    own.reset();
    jobs.done(*script, result, harness::seconds_since(begun), how.quiet);
  }
}

std::vector<transcript> selected(const options& how) {
  std::vector<transcript> out;
  auto areas = default_areas();
  std::size_t left_out = 0;
  for (auto& script : load_transcripts(how.transcripts)) {
    bool wanted =
        how.only ? std::regex_search(script.name, std::regex(*how.only)) : how.all || areas.count(script.area()) > 0;
    auto why_not = unfit(script, how);
    if (wanted && !why_not.empty())
      std::cout << "not this way: " << script.name << ": " << why_not << "\n";
    if (!wanted || !why_not.empty() || (how.no_slow && script.slow))
      ++left_out;
    else
      out.push_back(std::move(script));
  }
  if (left_out)
    std::cout << left_out << " transcripts left out\n";
  return out;
}

int usage(const char* program) {
  std::cerr << "usage: " << program
            << " [--only REGEX | --all] [--nodes 1|3] [--via leader|follower|replica|agent] [--server TEMPLATE]\n"
               "    [--transcripts FOLDER] [--list] [--self-check] [--no-slow] [-j N] [-q] [-v]\n";
  return 2;
}

int run(int argc, char** argv) {
  options how;
  how.server = harness::server_command::from_environment(BELAY_BINARY_DIR);
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    auto flag = [&](const char* name, bool& value) { return arg == name ? (value = true) : false; };
    if (flag("--all", how.all) || flag("--list", how.list) || flag("-v", how.verbose) || flag("-q", how.quiet) ||
        flag("--self-check", how.self_check) || flag("--no-slow", how.no_slow))
      continue;
    std::string value = i + 1 < argc ? argv[++i] : "";
    if (value.empty())
      return usage(argv[0]);
    if (arg == "--only")
      how.only = value;
    else if (arg == "--server")
      how.server.text = value;
    else if (arg == "--transcripts")
      how.transcripts = value;
    else if (arg == "--nodes" && (value == "1" || value == "3"))
      how.nodes = static_cast<std::size_t>(value[0] - '0');
    else if (arg == "--via" && (value == "leader" || value == "follower" || value == "replica" || value == "agent"))
      how.via = value == "leader"    ? target_node::leader
                : value == "replica" ? target_node::replica
                : value == "agent"   ? target_node::agent
                                     : target_node::follower;
    else if (arg == "-j" && std::atoi(value.c_str()) > 0)
      how.workers = static_cast<unsigned>(std::atoi(value.c_str()));
    else
      return usage(argv[0]);
  }
  if (how.via != target_node::leader && how.via != target_node::agent && how.nodes == 1)
    return usage(argv[0]);
  auto scripts = selected(how);
  if (how.list) {
    for (const auto& script : scripts)
      std::cout << script.name << "  (" << script.profile << (script.fresh ? ", fresh" : "") << ")  " << script.about
                << "\n";
    return 0;
  }
  job_list jobs(std::move(scripts));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < how.workers; ++i)
    threads.emplace_back([&] { work(jobs, how); });
  for (auto& thread : threads)
    thread.join();
  return jobs.summary(how.self_check);
}

} // namespace

} // namespace belay::contract

int main(int argc, char** argv) {
  try {
    return belay::contract::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
