// `belay mirror`: a copy of keys on another server, by the client library.

#include "cli/commands/all.hpp"
#include "cli/commands/copies/places.hpp"
#include "cli/locks/session_lease.hpp"
#include "cli/output/progress_line.hpp"
#include "cli/process/run_until_told.hpp"
#include "cli/recipes/library_copies.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <map>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// What is wrong if both servers have the same keys.
struct cluster_complaint {
  std::string text;     ///< empty: nothing
  bool endless = false; ///< what is copied would be copied again, and again
};

class mirror_run {
public:
  mirror_run(asio::io_context& loop, const two_places& places, std::string name, cluster_complaint in_one_cluster,
             bool once, bool repair, terminal t)
      : loop_(loop), in_one_cluster_(std::move(in_one_cluster)), once_(once), repair_(repair), terminal_(t),
        bell_(loop.get_executor()), progress_(t.out, t.screen), copies_(loop.get_executor(), places, std::move(name)) {
    copies_.on_trouble([this](const std::string& where, const std::string& what) {
      if (!what.empty())
        complain("The server of the " + where + ": " + what + ", it goes on when there is an answer");
    });
  }

  int run() {
    return run_until_told(
        loop_, [this] { return all(); },
        [this](int) {
          stopped_ = true;
          copies_.stop();
        });
  }

private:
  asio::awaitable<int> all() {
    if (terminal_.screen)
      asio::co_spawn(loop_, show_progress(), asio::detached);
    bool well = true;
    if (!in_one_cluster_.text.empty())
      well = co_await are_apart();
    if (well && once_) {
      const auto copied = co_await copies_.catch_up();
      well = is_done(copied);
      if (well && repair_ && !stopped_) {
        const auto repaired = co_await copies_.repair();
        well = is_done(repaired);
      }
    }
    while (!once_ && well && !stopped_) {
      const auto copied = co_await copies_.step();
      well = is_done(copied);
      tell_left_out();
    }
    ended_ = true;
    bell_.ring();
    progress_.end();
    tell_left_out();
    if (const auto n = copies_.left_out().size(); well && n > 0) {
      complain("Error! The copy is not as the original: " + std::to_string(n) +
               (n == 1 ? " key was not copied" : " keys were not copied"));
      well = false;
    }
    if (well && once_ && !stopped_)
      terminal_.out << "Success! " << written() << " written; the copy is as the original was at " << copies_.place()
                    << "\n";
    // Who asked for a whole copy did not get one.
    co_return !well || (once_ && stopped_) ? 1 : 0;
  }

  bool is_done(const library_end& end) {
    if (end.what == library_end::how::failed)
      complain("Error mirroring: " + end.why);
    return end.what != library_end::how::failed;
  }

  /// Two servers with keys of keys in each other's way must not be of one cluster.
  asio::awaitable<bool> are_apart() {
    const auto looked = co_await copies_.find_out_clusters();
    if (!is_done(looked) || stopped_)
      co_return false;
    const bool unknown = copies_.clusters() == cluster_relation::unknown;
    if (copies_.clusters() == cluster_relation::two || (unknown && !in_one_cluster_.endless))
      co_return true;
    complain((unknown ? "Error! It cannot be found out whether both servers are of one cluster. If they are: "
                      : "Error! Both servers are of one cluster. ") +
             in_one_cluster_.text);
    co_return false;
  }

  /// Each once, as long as the reason is the same.
  void tell_left_out() {
    const auto& now = copies_.left_out();
    for (const auto& [key, why] : now)
      if (const auto told = told_.find(key); told == told_.end() || told->second != why)
        complain("Error! Not copied: " + key + ": " + why);
    told_ = now;
  }

  std::string written() const {
    return std::to_string(copies_.written()) + (copies_.written() == 1 ? " key" : " keys");
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

  asio::io_context& loop_;
  cluster_complaint in_one_cluster_;
  bool once_, repair_;
  terminal terminal_;
  bell bell_;
  progress_line progress_;
  library_mirror copies_;
  std::map<std::string, std::string> told_; ///< of left_out()
  bool stopped_ = false, ended_ = false;
};

bool below(const std::string& key, const std::string& prefix) {
  return key.starts_with(prefix);
}

cluster_complaint complaint_about_one_cluster(const places_given& p, const std::string& name) {
  if (below(p.prefix, p.copy_prefix) || below(p.copy_prefix, p.prefix))
    return {"There the original and the copy must not be below each other: another second prefix is needed",
            p.prefix != p.copy_prefix};
  if (below(name + "/", p.prefix))
    return {"The mirror keeps notes below " + name + "/: they must not be among the keys of the original", true};
  return {};
}

int mirror_command(const options& o, terminal t) {
  const auto places = places_of(o, true, t);
  if (!places)
    return 1;
  auto name = without_leading_slash(o.value("name"));
  if (name.empty())
    name = "mirrors/" + places->copy_prefix;
  while (name.ends_with('/'))
    name.pop_back();
  if (below(name + "/", places->copy_prefix))
    return o.wrong_usage(t, "The mirror keeps notes below " + name + "/: they must not be among the keys of the copy");
  const auto in_one_cluster = complaint_about_one_cluster(*places, name);
  if (places->original == places->copy && !in_one_cluster.text.empty())
    return o.wrong_usage(t, "Both servers are the same. " + in_one_cluster.text);
  if (o.on("repair") && !o.on("once"))
    return o.wrong_usage(t, "-repair is for -once");
  const auto servers = o.clients(places->original, places->copy, t);
  if (!servers)
    return 1;
  asio::io_context loop;
  return mirror_run(loop, {servers->first.target(), places->prefix, servers->second.target(), places->copy_prefix},
                    name, in_one_cluster, o.on("once"), o.on("repair"), t)
      .run();
}

} // namespace

std::vector<command> mirror_commands() {
  using enum flag_kind;
  return {
      {.name = "mirror",
       .help = "Keeps a copy of keys on another server",
       .operands = "ORIGINAL COPY PREFIX [COPY_PREFIX]",
       .text =
           "Copies each change of a key below PREFIX, with its flags, until it is told to end. A key of the copy never "
           "goes back to an older\n"
           "value, however many of these run and however late what they write comes: beside the copy stands which "
           "index of the original each\n"
           "key has, and how far it is, below the name of -name. So it may be killed and begun again at any time. Keys "
           "that it has not written\n"
           "are left alone, unless they are in its way. Whatever is wrong for a while with one of the servers is "
           "waited out. An original that\n"
           "was restored, or formed anew from a backup, is copied again as a whole. -token and its variables are for "
           "the "
           "original alone. A server\n"
           "of Consul may be on either side; of an original there, what happened between two looks is not copied.\n"
           "\n"
           "Keys that the copy's server does not take (values above its limits, names that are not UTF-8 or would be "
           "empty there, write guards)\n"
           "are printed, and the others are copied. With -once it ends when there is nothing left to copy.\n"
           "\n"
           "Exit code: 0 if the copy has all keys, 1 if not.",
       .asks = reach::two,
       .formats = false,
       .flags = {{"name", text, "<key>", "what notes are kept below, at the copy (default: mirrors/COPY_PREFIX)"},
                 {"once", toggle, "", "end when there is nothing left to copy"},
                 {"repair", toggle, "", "write again what somebody has changed in the copy; for -once"}},
       .examples = {{"mirror 10.0.0.1:8500 10.1.0.1:8500 app/", "Keeps the other cluster's app/ like this one's"},
                    {"mirror -once localhost:8500 localhost:8500 app/ backup/app/", "A copy as of now, on one server"}},
       .run = mirror_command},
  };
}

} // namespace belay::cli
