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

#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

class mirror_run {
public:
  mirror_run(asio::io_context& loop, const two_places& places, std::string name, bool once, bool repair, terminal t)
      : loop_(loop), once_(once), repair_(repair), terminal_(t), bell_(loop.get_executor()), progress_(t.out, t.screen),
        copies_(loop.get_executor(), places, std::move(name)) {
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
    if (once_) {
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
    }
    ended_ = true;
    bell_.ring();
    progress_.end();
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
  bool once_, repair_;
  terminal terminal_;
  bell bell_;
  progress_line progress_;
  library_mirror copies_;
  bool stopped_ = false, ended_ = false;
};

/// Where the copy is not meant to be; empty: it may be there.
std::string complaint_about_places(const places_given& p, const std::string& name) {
  const auto below = [](const std::string& key, const std::string& prefix) { return key.starts_with(prefix); };
  if (below(name + "/", p.copy_prefix))
    return "The mirror keeps notes below " + name + "/: they must not be among the keys of the copy";
  if (p.original != p.copy)
    return {};
  if (below(p.prefix, p.copy_prefix) || below(p.copy_prefix, p.prefix))
    return "On one server the original and the copy must not be below each other: a second prefix is needed";
  if (below(name + "/", p.prefix))
    return "The mirror keeps notes below " + name + "/: they must not be among the keys of the original";
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
  if (const auto complaint = complaint_about_places(*places, name); !complaint.empty())
    return o.wrong_usage(t, complaint);
  if (o.on("repair") && !o.on("once"))
    return o.wrong_usage(t, "-repair is for -once");
  const auto servers = o.clients(places->original, places->copy, t);
  if (!servers)
    return 1;
  asio::io_context loop;
  return mirror_run(loop, {servers->first.target(), places->prefix, servers->second.target(), places->copy_prefix},
                    name, o.on("once"), o.on("repair"), t)
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
           "waited out. -token and its\n"
           "variables are for the original alone. A server of Consul may be on either side; of an original there, what "
           "happened between two\n"
           "looks is not copied.\n"
           "\n"
           "With -once it ends when there is nothing left to copy.",
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
