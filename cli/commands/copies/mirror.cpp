// `belay mirror`: keeps a copy of keys on another server with the client library.

#include "cli/api/awaited.hpp"
#include "cli/api/bell.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/copies/two_servers.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/progress_line.hpp"
#include "cli/process/long_run.hpp"

#include <belay/changes.hpp>
#include <belay/mirror.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// What is wrong with a copy within one cluster.
struct cluster_complaint {
  std::string text;     ///< empty: nothing
  bool endless = false; ///< the mirror would copy its own copies endlessly
};

/// Whether the servers of the copy and of the original are in one cluster.
enum class cluster_relation : std::uint8_t { unknown, one, two };

constexpr auto answer_within = 10s, after_failure = 1s;

class mirror_run final : public long_run {
public:
  mirror_run(asio::io_context& loop, const std::pair<api_client, api_client>& servers, const copy_operands& both,
             std::string name, cluster_complaint in_one_cluster, const options& o, terminal t)
      : long_run(loop), both_(both), in_one_cluster_(std::move(in_one_cluster)), once_(o.on("once")),
        repair_(o.on("repair")), terminal_(t), bell_(loop.get_executor()), progress_(t.out, t.screen),
        original_(loop, servers.first.target(), {}), copy_(loop, servers.second.target(), {}),
        copies_(original_, both.prefix, copy_, both.copy_prefix, std::move(name)) {
    const auto complains_of = [this](const std::string& where) {
      return [this, where](const std::string& what) {
        if (!what.empty())
          complain("The server of the " + where + ": " + what + "; retrying until it responds");
      };
    };
    original_.on_trouble(complains_of("original"));
    copy_.on_trouble(complains_of("copy"));
  }

private:
  void stop(int) override { stopping_.stop(); }

  asio::awaitable<int> all() override {
    if (terminal_.screen)
      asio::co_spawn(loop_, show_progress(), asio::detached);
    bool well = true;
    if (!in_one_cluster_.text.empty()) {
      const bool apart = co_await are_apart();
      well = apart;
    }
    if (well && once_) {
      auto copying = catch_up();
      const auto copied = co_await awaited(std::move(copying));
      well = is_done(copied);
      if (well && repair_ && !stopped_) {
        auto repairing = copies_.repair(until_stopped());
        const auto repaired = co_await awaited(std::move(repairing));
        well = is_done(repaired);
      }
    }
    while (!once_ && well && !stopped_) {
      auto copying = step();
      const auto copied = co_await awaited(std::move(copying));
      well = is_done(copied);
      report_left_out();
    }
    ended_ = true;
    bell_.ring();
    progress_.end();
    report_left_out();
    if (const auto n = copies_.left_out().size(); well && n > 0) {
      complain("Error! The copy differs from the original: " + std::to_string(n) +
               (n == 1 ? " key was not copied" : " keys were not copied"));
      well = false;
    }
    if (well && once_ && !stopped_)
      terminal_.out << "Success! " << written() << " written; the copy equals the original at " << copies_.cursor()
                    << "\n";
    // An interrupted -once has not made the whole copy that was requested.
    const bool whole = well && !(once_ && stopped_);
    co_return static_cast<int>(!whole);
  }

  /// Whether the call succeeded or was stopped.
  /// @returns false after printing an error
  template <class T>
  bool is_done(const v0::result<T>& r) {
    if (r || is_given_up(r.error()))
      return true;
    complain("Error mirroring: " + text_of(r.error(), original_, copy_));
    return false;
  }

  v0::deadline until_stopped() { return v0::deadline(original_.now() + for_ever, &stopping_); }

  /// Copies the next changes, and waits if there are none.
  /// @returns refused: a retry cannot change the error, or the run was stopped
  v0::task<v0::status> step() {
    for (;;) {
      v0::deadline limit = until_stopped();
      v0::status copied = co_await copies_.step(limit);
      const bool again = !copied && !stopped_ && (copied.unknown() || passes(copied.error()));
      if (!again)
        co_return copied;
      auto later = original_.now() + after_failure;
      co_await v0::sleep_until(original_, later, &stopping_);
    }
  }

  /// Copies all changes so far, without waiting for new ones.
  v0::task<v0::status> catch_up() {
    for (;;) {
      v0::deadline limit = until_stopped();
      v0::result<bool> current = co_await copies_.is_current(limit);
      if (!current && !stopped_ && passes(current.error())) {
        auto later = original_.now() + after_failure;
        co_await v0::sleep_until(original_, later, &stopping_);
        continue;
      }
      if (!current)
        co_return current.error();
      if (*current)
        co_return v0::nothing();
      v0::status copied = co_await step();
      if (!copied)
        co_return copied;
    }
  }

  /// Retries until a server responds with 200 or 404.
  /// @returns that response, or an error that a retry cannot change
  v0::task<v0::result<v0::answer>> ask_until_known(v0::environment& env, v0::request q) {
    for (;;) {
      auto deadline = env.now() + answer_within;
      v0::answer a = co_await v0::ask(env, q, deadline, &stopping_);
      if (stopped_)
        co_return v0::error(v0::outcome::refused, v0::reason::stopped, "stopped by the caller");
      if (a.status() == 200 || a.status() == 404)
        co_return a;
      v0::error why = a.to_error(false);
      if (!passes(why))
        co_return why;
      auto later = env.now() + after_failure;
      co_await v0::sleep_until(env, later, &stopping_);
    }
  }

  v0::task<v0::result<std::uint64_t>> history_at(v0::environment& env, std::string below) {
    v0::request where("GET", v0::request::path_of("/v1/kv/", below));
    where.query("recurse").query("changes").query("keys");
    v0::result<v0::answer> cursor = co_await ask_until_known(env, where);
    if (!cursor)
      co_return cursor.error();
    co_return v0::history_of(cursor->header("X-Belay-Cursor"));
  }

  /// The IDs of the nodes in the catalog.
  v0::task<v0::result<std::set<std::string>>> node_ids_at(v0::environment& env) {
    v0::request nodes("GET", "/v1/catalog/nodes");
    v0::result<v0::answer> listed = co_await ask_until_known(env, nodes);
    if (!listed)
      co_return listed.error();
    std::set<std::string> ids;
    boost::system::error_code ec;
    const auto rows = boost::json::parse(listed->body(), ec);
    for (const auto& row : elements(&rows))
      ids.insert(member_text(row, "ID"));
    ids.erase("");
    co_return ids;
  }

  static cluster_relation relation_of(bool one) { return one ? cluster_relation::one : cluster_relation::two; }

  v0::task<v0::result<cluster_relation>> relation() {
    v0::result<std::uint64_t> first = co_await history_at(original_, both_.prefix);
    if (!first)
      co_return first.error();
    v0::result<std::uint64_t> second = co_await history_at(copy_, both_.copy_prefix);
    if (!second)
      co_return second.error();
    if (*first != 0 && *second != 0)
      co_return relation_of(v0::in_one_cluster(*first, *second));
    // Servers of 0.2.0 and of Consul do not report their history.
    v0::result<std::set<std::string>> these = co_await node_ids_at(original_);
    if (!these)
      co_return these.error();
    v0::result<std::set<std::string>> those = co_await node_ids_at(copy_);
    if (!those)
      co_return those.error();
    if (these->empty() || those->empty())
      co_return cluster_relation::unknown;
    const bool common = std::any_of(these->begin(), these->end(), [&](const auto& id) { return those->contains(id); });
    co_return relation_of(common);
  }

  /// Checks that the servers are in two clusters, as the prefixes would overlap in one.
  /// @returns false after printing an error, or if stopped
  asio::awaitable<bool> are_apart() {
    auto looking = relation();
    const auto found = co_await awaited(std::move(looking));
    if (!is_done(found) || stopped_)
      co_return false;
    const bool unknown = *found == cluster_relation::unknown;
    if (*found == cluster_relation::two || (unknown && !in_one_cluster_.endless))
      co_return true;
    complain((unknown ? "Error! It is unknown whether both servers belong to one cluster. If they do: "
                      : "Error! Both servers belong to one cluster. ") +
             in_one_cluster_.text);
    co_return false;
  }

  /// Reports each key that is not copied, once for each reason.
  void report_left_out() {
    const auto& now = copies_.left_out();
    for (const auto& [key, why] : now)
      if (const auto reported = reported_.find(key); reported == reported_.end() || reported->second != why)
        complain("Error! Not copied: " + key + ": " + why);
    reported_ = now;
  }

  std::string written() const {
    return std::to_string(copy_.transactions()) + (copy_.transactions() == 1 ? " key" : " keys");
  }

  void complain(const std::string& text) {
    progress_.end();
    error(terminal_, text);
  }

  asio::awaitable<void> show_progress() {
    while (!ended_) {
      co_await bell_.wait(250ms);
      progress_.show("Mirrored: " + written());
    }
  }

  copy_operands both_;
  cluster_complaint in_one_cluster_;
  bool once_, repair_;
  terminal terminal_;
  bell bell_;
  progress_line progress_;
  command_environment original_, copy_;
  v0::stop_source stopping_;
  v0::mirror copies_;
  std::map<std::string, std::string> reported_; ///< the part of left_out() that has been printed
  bool ended_ = false;
};

bool below(const std::string& key, const std::string& prefix) {
  return key.starts_with(prefix);
}

cluster_complaint complaint_about_one_cluster(const copy_operands& p, const std::string& name) {
  if (below(p.prefix, p.copy_prefix) || below(p.copy_prefix, p.prefix))
    return {"Neither of the two prefixes may contain the other: choose another COPY_PREFIX", p.prefix != p.copy_prefix};
  if (below(name + "/", p.prefix))
    return {"The mirror keeps its progress under " + name +
                "/, which must be outside the keys of the original: set -name",
            true};
  return {};
}

int mirror_command(const options& o, terminal t) {
  const auto both = copy_operands_of(o, true, t);
  auto name = without_leading_slash(o.value("name"));
  if (name.empty())
    name = "mirrors/" + both.copy_prefix;
  while (name.ends_with('/'))
    name.pop_back();
  if (below(name + "/", both.copy_prefix))
    return o.wrong_usage(t, "The mirror keeps its progress under " + name +
                                "/, which must be outside the keys of the copy: set -name");
  const auto in_one_cluster = complaint_about_one_cluster(both, name);
  if (both.original == both.copy && !in_one_cluster.text.empty())
    return o.wrong_usage(t, "Both servers are the same. " + in_one_cluster.text);
  if (o.on("repair") && !o.on("once"))
    return o.wrong_usage(t, "-repair requires -once");
  const auto servers = o.clients(both.original, both.copy, t);
  asio::io_context loop;
  return mirror_run(loop, servers, both, name, in_one_cluster, o, t).run();
}

} // namespace

std::vector<command> mirror_commands() {
  using enum flag_kind;
  return {
      {.name = "mirror",
       .help = "Keep a copy of keys on another server",
       .operands = "ORIGINAL COPY PREFIX [COPY_PREFIX]",
       .text = "Copies each change of a key under PREFIX, with its flags, until it is interrupted. It stores its\n"
               "progress on the copy, under -name: its cursor, and for each key the index of the original. So a key\n"
               "of the copy never returns to an older value, even if several mirrors run or their writes arrive\n"
               "late, and you can kill and restart a mirror at any time. It leaves keys alone that no mirror has\n"
               "written, unless the original has the same key. It waits out temporary errors of both servers. It\n"
               "copies everything again if the original was restored or formed again from a backup. -token and its\n"
               "variables apply to the original only. Either server may be a Consul server; if the original is one,\n"
               "intermediate values between two reads are not copied.\n\n"
               "Keys that the server of the copy rejects are printed, and the others are copied: values above its\n"
               "limits, names that are not UTF-8 or would be empty there, write guards. With -once the command ends\n"
               "when nothing is left to copy.\n\n"
               "Exit code: 0 if the copy has all keys, 1 if not.",
       .asks = reach::two,
       .formats = false,
       .flags = {{"name", text, "<key>",
                  "prefix on the copy under which progress is stored (default: mirrors/COPY_PREFIX)"},
                 {"once", toggle, "", "end when nothing is left to copy"},
                 {"repair", toggle, "", "overwrite changes that other clients made in the copy; requires -once"}},
       .examples = {{"mirror 10.0.0.1:8500 10.1.0.1:8500 app/",
                     "Keep app/ of the other cluster equal to that of this one"},
                    {"mirror -once localhost:8500 localhost:8500 app/ backup/app/",
                     "Copy the present keys once, on one server"}},
       .run = mirror_command},
  };
}

} // namespace belay::cli
