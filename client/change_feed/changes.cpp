#include <belay/changes.hpp>

#include "client/core/asking.hpp"
#include "client/core/cursors.hpp"
#include "client/core/entries.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace belay {
inline namespace v0 {

namespace {

constexpr milliseconds longest_poll{60000};

/// The entries of a listing as changes: for Consul, which ignores unknown parameters.
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
  return detail::order_of(later) > detail::order_of(earlier);
}

std::string position_of(std::string_view cursor) {
  return detail::parts_of_cursor(cursor).position;
}

std::uint64_t history_of(std::string_view cursor) {
  return detail::parts_of_cursor(cursor).history;
}

// docs/reference/changes.md, Cursors: the upper half identifies the cluster.
bool in_one_cluster(std::uint64_t history, std::uint64_t other) noexcept {
  return history >> 32 == other >> 32;
}

changes::changes(environment& env, std::string prefix, std::string cursor)
    : env_(env), prefix_(std::move(prefix)), cursor_(std::move(cursor)) {}

/// @param names_history false: for a server of 0.2.0, which cannot parse one
request changes::asking(milliseconds wait, bool names_history) const {
  request q("GET", request::path_of("/v1/kv/", prefix_));
  q.query("recurse").query("changes").query("wait", detail::text_of(wait));
  if (cursor_.empty())
    q.query("snapshot").query("consistent");
  else if (cursor_ != "now")
    q.query("index", names_history ? cursor_ : position_of(cursor_));
  return q;
}

task<result<change_batch>> changes::next(deadline limit) {
  bool names_history = history_of(cursor_) != 0 && !CLIENT_MUTANT(history_unsaid);
  for (;;) {
    bool snapshot = cursor_.empty();
    auto wait = std::min(detail::until(env_.now(), limit.at()), longest_poll);
    request q = asking(wait, names_history);
    answer a = co_await detail::ask_until_answered(env_, q, limit, wait + wait / 16 + detail::one_try);
    if (a.status() == 400 && names_history) {
      names_history = false; // a server of 0.2.0, after a downgrade of the cluster
      continue;
    }
    if (a.status() == 410) {
      // The history after the cursor is gone.
      cursor_ = CLIENT_MUTANT(gap_unsaid) ? "now" : "";
      continue;
    }
    change_batch out;
    out.cursor = a.header("X-Consul-Index");
    auto response = detail::changes_in(a.body());
    auto listed = detail::entries_in(a.body());
    if (a.status() == 404 && !out.cursor.empty()) {
      // The listing is empty: servers that support changes send [].
      out.is_snapshot = true;
    } else if (a.status() == 200 && response && !out.cursor.empty()) {
      detail::cursor_parts reached = detail::parts_of_cursor(a.header("X-Belay-Cursor"));
      for (auto& c : *response)
        if (!c.cursor.empty())
          c.cursor = detail::cursor_parts{c.cursor, reached.history}.text();
      out.cursor = detail::cursor_parts{out.cursor, reached.history}.text();
      out.changes = std::move(*response);
      out.is_snapshot = snapshot;
    } else if (a.status() == 200 && listed && !out.cursor.empty()) {
      out.changes = changes_of(std::move(*listed));
      out.is_snapshot = true;
    } else {
      error why = a.to_error(false);
      if (!a.received() && limit.over(env_.now()))
        why = limit.error();
      co_return why;
    }
    out.is_newest = out.is_snapshot && snapshot;
    // The list may be truncated: the cursor is that of its last change, not the server's.
    if (CLIENT_MUTANT(rest_of_list_lost) && out.cursor.find('.') != out.cursor.npos)
      out.cursor = out.cursor.substr(0, out.cursor.find('.'));
    // An index that goes back is of another history; on Consul the same one means no change.
    bool same = out.is_snapshot && !snapshot && out.cursor == cursor_;
    bool first = cursor_ == "now";
    cursor_ = out.cursor;
    names_history = history_of(cursor_) != 0 && !CLIENT_MUTANT(history_unsaid);
    bool something = !out.changes.empty() || (out.is_snapshot && !same);
    if (something && !(first && out.is_snapshot))
      co_return out;
    if (limit.over(env_.now()))
      co_return limit.error();
  }
}

task<result<bool>> changes::is_current(deadline limit) {
  if (cursor_.empty() || cursor_ == "now")
    co_return false;
  bool names_history = history_of(cursor_) != 0;
  for (;;) {
    request q = asking(milliseconds(10), names_history);
    q.query("keys");
    answer a = co_await detail::ask_until_answered(env_, q, limit, detail::one_try);
    if (a.status() == 400 && names_history) {
      names_history = false;
      continue;
    }
    if (a.status() == 410)
      co_return CLIENT_MUTANT(gap_taken_for_nothing);
    auto response = detail::changes_in(a.body());
    // On Consul, which lists the keys, the same index means that nothing has changed.
    if (a.status() == 200 && response)
      co_return response->empty();
    if (a.status() == 200 || a.status() == 404)
      co_return a.header("X-Consul-Index") == cursor_;
    error why = a.to_error(false);
    if (!a.received() && limit.over(env_.now()))
      why = limit.error();
    co_return why;
  }
}

namespace {

/// More than any cursor and its history need.
constexpr std::size_t file_bytes_max = 4096;

error of_file(const std::string& path, const std::string& why) {
  return error(outcome::refused, reason::unavailable, path + ": " + why);
}

/// Closes the file when it is destroyed.
class file_descriptor {
public:
  explicit file_descriptor(int fd) : fd_(fd) {}
  ~file_descriptor() { (void)close(); }
  file_descriptor(const file_descriptor&) = delete;
  file_descriptor& operator=(const file_descriptor&) = delete;

  int number() const { return fd_; }
  bool opened() const { return fd_ >= 0; }
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

private:
  int fd_;
};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

} // namespace

// Not by a stream, which throws if a folder is opened as a file (docs/internals/pitfalls.md R43).
result<std::string> file_cursor::load() const {
  // Opening a pipe or a device must not block.
  file_descriptor in(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!in.opened() && errno == ENOENT)
    return std::string();
  struct stat found {};
  if (!in.opened() || ::fstat(in.number(), &found) != 0)
    return of_file(path_, std::strerror(errno));
  if (!S_ISREG(found.st_mode))
    return of_file(path_, S_ISDIR(found.st_mode) ? std::strerror(EISDIR) : "it is not a regular file");
  std::string text(file_bytes_max, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    auto n = ::read(in.number(), text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return of_file(path_, std::strerror(errno));
    if (n == 0)
      break;
    have += static_cast<std::size_t>(n);
  }
  text.resize(have);
  auto cursor = have < file_bytes_max ? detail::cursor_in_file_text(text) : std::nullopt;
  if (!cursor)
    return error(outcome::refused, reason::invalid, "the file has no cursor: " + path_);
  return *cursor;
}

status file_cursor::store(const std::string& cursor) const {
  // The new file is complete and on disk before it is renamed over the old one.
  auto fresh = path_ + ".new";
  {
    file_descriptor out(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!out.opened() || !write_all(out.number(), detail::file_text_of(cursor)) || ::fsync(out.number()) != 0 ||
        !out.close() || ::rename(fresh.c_str(), path_.c_str()) != 0)
      return of_file(path_, std::strerror(errno));
  }
  auto slash = path_.rfind('/');
  auto name = slash == path_.npos ? std::string(".") : path_.substr(0, slash + 1);
  file_descriptor folder(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.opened() || ::fsync(folder.number()) != 0)
    return of_file(path_, std::strerror(errno));
  return nothing();
}

task<result<std::string>> key_cursor::load(deadline limit) {
  result<reading> now = co_await read_key(env_, key_, limit);
  if (!now)
    co_return now.error();
  std::string cursor;
  if (now->found)
    cursor = detail::cursor_parts{now->found->value, now->found->flags}.text();
  co_return cursor;
}

task<result<std::string>> key_cursor::store(std::string cursor, deadline limit) {
  auto wanted = detail::parts_of_cursor(cursor);
  detail::entry_change forwards = [&wanted](const std::optional<entry>& now) -> std::optional<detail::value_and_flags> {
    bool other = now && now->flags != wanted.history && now->flags != 0 && wanted.history != 0;
    if (now && !other && !is_behind(wanted.position, now->value) && !CLIENT_MUTANT(place_goes_back))
      return std::nullopt;
    return detail::value_and_flags{wanted.position, wanted.history};
  };
  backoff pauses;
  result<entry> there = co_await detail::update_entry(env_, key_, forwards, limit, pauses);
  if (!there)
    co_return there.error();
  auto out = detail::cursor_parts{there->value, there->flags}.text();
  co_return out;
}

} // namespace v0
} // namespace belay
