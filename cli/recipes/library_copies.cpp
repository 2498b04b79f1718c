#include "cli/recipes/library_copies.hpp"

#include "cli/recipes/command_world.hpp"
#include "cli/recipes/library_errors.hpp"
#include "cli/recipes/running_task.hpp"

#include <belay/diff.hpp>
#include <belay/mirror.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <set>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto look_every = 200ms;
constexpr auto answer_within = 10s;
constexpr auto after_failure = 1s;

/// With the name of the server that refused, if it is known.
library_end end_at(const error& why, const command_world& original, const command_world& copy) {
  auto end = end_of(why);
  const auto refused = [](const command_world& w) { return w.last_status() >= 400 && w.last_status() < 500; };
  if (refused(original) != refused(copy))
    end.why = (refused(original) ? "the original's server: " : "the copy's server: ") + end.why;
  return end;
}

task<void> compare_until(command_world& original, command_world& copy, const two_places& places, patience limit,
                         diff_options options, compared& out) {
  belay::v0::result<std::vector<difference>> found =
      co_await diff(original, places.prefix, copy, places.copy_prefix, limit, options);
  if (!found) {
    out.end = end_at(found.why(), original, copy);
    co_return;
  }
  for (auto& d : *found)
    out.differences.push_back({std::string(name_of(d.kind)), std::move(d.key)});
}

} // namespace

compared compare(const two_places& places, std::chrono::milliseconds settle, std::chrono::milliseconds within,
                 const std::function<void()>& waiting) {
  asio::io_context loop;
  command_world original(loop.get_executor(), places.original, {}), copy(loop.get_executor(), places.copy, {});
  diff_options options;
  options.settle = settle;
  compared out;
  auto comparing = compare_until(original, copy, places, patience(original.now() + within), options, out);
  comparing.start();
  while (!comparing.done()) {
    loop.run_one_for(look_every);
    loop.restart();
    waiting();
  }
  return out;
}

struct library_mirror::parts {
  parts(const asio::any_io_executor& executor, const two_places& places, std::string name)
      : original(executor, places.original, {}), copy(executor, places.copy, {}), prefix(places.prefix),
        copy_prefix(places.copy_prefix), copies(original, places.prefix, copy, places.copy_prefix, std::move(name)),
        running(executor) {}

  patience until_stopped() { return patience(original.now() + for_ever, &stopped); }

  /// @returns refused: what asking again cannot change, or it was stopped
  task<status> copy_next() {
    for (;;) {
      patience limit = until_stopped();
      status copied = co_await copies.step(limit);
      const bool again = !copied && !stopped.stopped() && (copied.unknown() || passes(copied.why()));
      if (!again)
        co_return copied;
      auto later = original.now() + after_failure;
      co_await sleep_until(original, later, &stopped);
    }
  }

  task<void> step() {
    status copied = co_await copy_next();
    keep(copied);
  }

  task<void> catch_up() {
    for (;;) {
      patience limit = until_stopped();
      belay::v0::result<bool> current = co_await copies.is_current(limit);
      if (!current && !stopped.stopped() && passes(current.why())) {
        auto later = original.now() + after_failure;
        co_await sleep_until(original, later, &stopped);
        continue;
      }
      end = current ? library_end() : end_at(current.why(), original, copy);
      if (!current || *current)
        co_return;
      status copied = co_await copy_next();
      if (!copied) {
        keep(copied);
        co_return;
      }
    }
  }

  /// @returns an answer that says something of the question, or the reason why there is none
  task<belay::v0::result<answer>> ask_until_known(world& w, request q) {
    for (;;) {
      auto deadline = w.now() + answer_within;
      answer a = co_await ask(w, q, deadline, &stopped);
      if (stopped.stopped())
        co_return error(outcome::refused, reason::stopped, "stopped by the caller");
      if (a.status() == 200 || a.status() == 404)
        co_return a;
      error why = a.judge(false);
      if (!passes(why))
        co_return why;
      auto later = w.now() + after_failure;
      co_await sleep_until(w, later, &stopped);
    }
  }

  task<belay::v0::result<std::uint64_t>> history_at(world& w, std::string below) {
    request where("GET", request::path_of("/v1/kv/", below));
    where.query("recurse").query("changes").query("keys");
    belay::v0::result<answer> cursor = co_await ask_until_known(w, where);
    if (!cursor)
      co_return cursor.why();
    co_return history_of(cursor->header("X-Belay-Cursor"));
  }

  /// Of the catalog.
  task<belay::v0::result<std::set<std::string>>> node_ids_at(world& w) {
    request nodes("GET", "/v1/catalog/nodes");
    belay::v0::result<answer> listed = co_await ask_until_known(w, nodes);
    if (!listed)
      co_return listed.why();
    std::set<std::string> ids;
    boost::system::error_code ec;
    const auto rows = boost::json::parse(listed->body(), ec);
    if (!ec && rows.is_array())
      for (const auto& row : rows.get_array())
        if (const auto* id = row.is_object() ? row.get_object().if_contains("ID") : nullptr;
            id != nullptr && id->is_string() && !id->get_string().empty())
          ids.emplace(id->get_string());
    co_return ids;
  }

  static cluster_relation relation_of(bool one) { return one ? cluster_relation::one : cluster_relation::two; }

  task<belay::v0::result<cluster_relation>> relation() {
    belay::v0::result<std::uint64_t> first = co_await history_at(original, prefix);
    if (!first)
      co_return first.why();
    belay::v0::result<std::uint64_t> second = co_await history_at(copy, copy_prefix);
    if (!second)
      co_return second.why();
    if (*first != 0 && *second != 0)
      co_return relation_of(in_one_cluster(*first, *second));
    // Servers of 0.2.0 and of Consul name none.
    belay::v0::result<std::set<std::string>> these = co_await node_ids_at(original);
    if (!these)
      co_return these.why();
    belay::v0::result<std::set<std::string>> those = co_await node_ids_at(copy);
    if (!those)
      co_return those.why();
    if (these->empty() || those->empty())
      co_return cluster_relation::unknown;
    const bool common = std::any_of(these->begin(), these->end(), [&](const auto& id) { return those->contains(id); });
    co_return relation_of(common);
  }

  task<void> find_out_clusters() {
    belay::v0::result<cluster_relation> found = co_await relation();
    apart = found ? *found : cluster_relation::unknown;
    end = found ? library_end() : end_at(found.why(), original, copy);
  }

  task<void> repair() {
    patience limit = until_stopped();
    belay::v0::result<std::uint64_t> repaired = co_await copies.repair(limit);
    end = repaired ? library_end() : end_at(repaired.why(), original, copy);
  }

  void keep(const status& copied) { end = copied ? library_end() : end_at(copied.why(), original, copy); }

  command_world original, copy;
  stopper stopped;
  std::string prefix, copy_prefix;
  mirror copies;
  cluster_relation apart = cluster_relation::unknown;
  library_end end;
  running_task running;
};

library_mirror::library_mirror(const asio::any_io_executor& executor, const two_places& places, std::string name)
    : parts_(std::make_unique<parts>(executor, places, std::move(name))) {}

library_mirror::~library_mirror() = default;

void library_mirror::on_trouble(const std::function<void(const std::string&, const std::string&)>& told) {
  parts_->original.on_trouble([told](const std::string& what) { told("original", what); });
  parts_->copy.on_trouble([told](const std::string& what) { told("copy", what); });
}

asio::awaitable<library_end> library_mirror::step() {
  auto copying = parts_->step();
  co_await parts_->running.run(std::move(copying));
  co_return parts_->end;
}

asio::awaitable<library_end> library_mirror::catch_up() {
  auto copying = parts_->catch_up();
  co_await parts_->running.run(std::move(copying));
  co_return parts_->end;
}

asio::awaitable<library_end> library_mirror::repair() {
  auto repairing = parts_->repair();
  co_await parts_->running.run(std::move(repairing));
  co_return parts_->end;
}

std::uint64_t library_mirror::written() const {
  return parts_->copy.transactions();
}

std::string library_mirror::place() const {
  return parts_->copies.place();
}

const std::map<std::string, std::string>& library_mirror::left_out() const {
  return parts_->copies.left_out();
}

asio::awaitable<library_end> library_mirror::find_out_clusters() {
  auto looking = parts_->find_out_clusters();
  co_await parts_->running.run(std::move(looking));
  co_return parts_->end;
}

cluster_relation library_mirror::clusters() const {
  return parts_->apart;
}

void library_mirror::stop() {
  parts_->stopped.stop();
}

} // namespace belay::cli
