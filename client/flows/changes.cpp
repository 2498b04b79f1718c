#include <belay/changes.hpp>

#include "client/core/asking.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace belay {
inline namespace v0 {

namespace {

constexpr milliseconds longest_poll{60000};

/// The entry, and how much of it. INDEX alone is all of it.
std::pair<std::uint64_t, std::uint64_t> parts_of(std::string_view place) {
  auto dot = place.find('.');
  auto index = detail::number_in(place.substr(0, dot)).value_or(0);
  auto number = dot == place.npos ? UINT64_MAX : detail::number_in(place.substr(dot + 1)).value_or(0);
  return {index, number};
}

/// The rows of a listing as changes: on Consul, which ignores what it does not know.
std::vector<key_change> changes_of(std::vector<entry> entries) {
  std::vector<key_change> out;
  for (auto& e : entries) {
    key_change c;
    c.key = std::move(e.key);
    c.value = std::move(e.value);
    c.flags = e.flags;
    c.session = std::move(e.session);
    c.index = e.index;
    out.push_back(std::move(c));
  }
  return out;
}

} // namespace

bool is_behind(std::string_view later, std::string_view earlier) {
  return parts_of(later) > parts_of(earlier);
}

changes::changes(world& w, std::string prefix, std::string place)
    : world_(w), prefix_(std::move(prefix)), place_(std::move(place)) {}

task<result<change_batch>> changes::next(patience limit) {
  for (;;) {
    bool snapshot = place_.empty();
    auto wait = std::min(detail::until(world_.now(), limit.deadline()), longest_poll);
    request q("GET", request::path_of("/v1/kv/", prefix_));
    q.query("recurse").query("changes").query("wait", detail::text_of(wait));
    if (snapshot)
      q.query("snapshot").query("consistent");
    else if (place_ != "now")
      q.query("index", place_);
    answer a = co_await detail::ask_until_answered(world_, q, limit, wait + wait / 16 + detail::one_try);
    if (a.status() == 410) {
      // What happened behind the place is gone.
      place_ = CLIENT_MUTANT(gap_unsaid) ? "now" : "";
      continue;
    }
    change_batch out;
    out.place = a.header("X-Consul-Index");
    auto told = detail::changes_in(a.body());
    auto listed = detail::entries_in(a.body());
    if (a.status() == 404 && !out.place.empty()) {
      // A listing of nothing: servers with changes say [].
      out.is_snapshot = true;
    } else if (a.status() == 200 && told && !out.place.empty()) {
      out.changes = std::move(*told);
      out.is_snapshot = snapshot;
    } else if (a.status() == 200 && listed && !out.place.empty()) {
      out.changes = changes_of(std::move(*listed));
      out.is_snapshot = true;
    } else {
      error why = a.judge(false);
      if (!a.came() && limit.over(world_.now()))
        why = limit.why();
      co_return why;
    }
    // A list may have been cut: the place is behind its last one, not that of the server.
    if (CLIENT_MUTANT(rest_of_list_lost) && out.place.find('.') != out.place.npos)
      out.place = out.place.substr(0, out.place.find('.'));
    // An index that goes back is that of another history; on Consul the same index means that nothing has changed.
    bool same = out.is_snapshot && !snapshot && out.place == place_;
    bool first = place_ == "now";
    place_ = out.place;
    bool something = !out.changes.empty() || (out.is_snapshot && !same);
    if (something && !(first && out.is_snapshot))
      co_return out;
    if (limit.over(world_.now()))
      co_return limit.why();
  }
}

std::string place_in_file::load() const {
  std::ifstream in(path_, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text;
}

status place_in_file::store(const std::string& place) const {
  // The new one is complete and on the disk before it takes the name of the old one.
  auto fresh = path_ + ".new";
  auto failed = [&](int fd) -> status {
    std::string why = std::strerror(errno);
    if (fd >= 0)
      ::close(fd);
    return error(outcome::refused, reason::unavailable, path_ + ": " + why);
  };
  auto text = place + "\n";
  int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0)
    return failed(fd);
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fsync(fd) != 0)
    return failed(fd);
  if (::close(fd) != 0 || ::rename(fresh.c_str(), path_.c_str()) != 0)
    return failed(-1);
  auto slash = path_.rfind('/');
  auto folder = slash == path_.npos ? std::string(".") : path_.substr(0, slash + 1);
  fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || ::fsync(fd) != 0)
    return failed(fd);
  ::close(fd);
  return nothing();
}

task<result<std::string>> place_in_key::load(patience limit) {
  result<reading> now = co_await read_key(world_, key_, limit);
  if (!now)
    co_return now.why();
  std::string place;
  if (now->found)
    place = now->found->value;
  co_return place;
}

task<result<std::string>> place_in_key::store(std::string place, patience limit) {
  auto forwards = [&place](const std::optional<entry>& now) -> std::optional<std::string> {
    if (now && !is_behind(place, now->value) && !CLIENT_MUTANT(place_goes_back))
      return std::nullopt;
    return place;
  };
  result<std::string> there = co_await update(world_, key_, forwards, limit);
  co_return there;
}

} // namespace v0
} // namespace belay
