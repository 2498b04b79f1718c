#include "actors/telemetry/log.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/base/overloaded.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace belay::log {

namespace {

std::atomic<int> lowest{static_cast<int>(level::info)}; ///< lowest level of all outputs

/// The outputs of the log. Guarded by `mutex`: lines of two threads must not mix.
struct sink {
  std::mutex mutex;
  settings now;
  int file = -1;
  std::vector<tap*> taps;
  std::multiset<level> levels_of_taps;

  /// @pre the mutex is held
  void find_lowest() const {
    auto l = now.lowest;
    if (!levels_of_taps.empty())
      l = std::min(l, *levels_of_taps.begin());
    lowest.store(static_cast<int>(l), std::memory_order_relaxed);
  }
};

sink& the_sink() {
  static sink* s = new sink; // never destroyed: actors may log while the process ends
  return *s;
}

std::int64_t unix_ms_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

int open_file(const std::string& name) {
  struct stat st {};
  bool folder = ::stat(name.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
  auto path = folder ? name + "/belay.log" : name;
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return; // a log that cannot be written must not stop the node
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_control(c)) {
      out += "\\u";
      append_hex(out, static_cast<unsigned char>(c), 4);
    } else {
      out += c;
    }
  }
  out += '"';
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

bool needs_quotes(std::string_view text) {
  return text.empty() || has_control(text) || text.find_first_of(" \"\\=") != text.npos;
}

void append_time(std::string& out, std::int64_t unix_ms) {
  auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm t{};
  gmtime_r(&seconds, &t);
  char text[40];
  auto n = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &t);
  out.append(text, n);
  n = static_cast<std::size_t>(std::snprintf(text, sizeof(text), ".%03dZ", static_cast<int>(unix_ms % 1000)));
  out.append(text, n);
}

// Widths as Consul's logger pads them, so that messages start in one column.
constexpr std::array<std::string_view, 5> brackets = {"[TRACE] ", "[DEBUG] ", "[INFO]  ", "[WARN]  ", "[ERROR] "};
constexpr std::array<std::string_view, 5> words = {"trace", "debug", "info", "warn", "error"};

} // namespace

std::optional<level> level_named(std::string_view name) {
  static constexpr std::pair<std::string_view, level> all[] = {
      {"TRACE", level::trace},  {"DEBUG", level::debug}, {"INFO", level::info},  {"WARN", level::warn},
      {"WARNING", level::warn}, {"ERR", level::error},   {"ERROR", level::error}};
  for (const auto& [text, l] : all)
    if (equal_ignoring_case(text, name))
      return l;
  return std::nullopt;
}

void field::append_plain(std::string& out) const {
  char text[32];
  std::visit(overloaded{
                 [](std::string_view) {},
                 [&](bool b) { out += b ? "true" : "false"; },
                 [&](double d) { out.append(text, std::size_t(std::snprintf(text, sizeof text, "%.6g", d))); },
                 [&](auto whole) { out += std::to_string(whole); },
             },
             value_);
}

std::string format_line(bool json, std::int64_t unix_ms, level l, std::string_view module, std::string_view message,
                        fields more) {
  std::string out;
  out.reserve(160);
  auto at = static_cast<std::size_t>(l);
  if (json) {
    out += R"({"@level":")";
    out += words[at];
    out += R"(","@message":)";
    append_quoted(out, message);
    out += R"(,"@module":)";
    append_quoted(out, module);
    out += R"(,"@timestamp":")";
    append_time(out, unix_ms);
    out += '"';
    for (const auto& f : more) {
      out += ',';
      append_quoted(out, f.key());
      out += ':';
      if (const auto* text = f.text())
        append_quoted(out, *text);
      else
        f.append_plain(out);
    }
    out += '}';
    return out;
  }
  append_time(out, unix_ms);
  out += ' ';
  out += brackets[at];
  out += module;
  out += ": ";
  if (has_control(message))
    append_quoted(out, message);
  else
    out += message;
  for (const auto& f : more) {
    out += ' ';
    out += f.key();
    out += '=';
    if (const auto* text = f.text(); text == nullptr)
      f.append_plain(out);
    else if (needs_quotes(*text))
      append_quoted(out, *text);
    else
      out += *text;
  }
  return out;
}

std::string configure(const settings& s) {
  int file = -1;
  if (!s.file.empty() && (file = open_file(s.file)) < 0)
    return "cannot open the log file " + s.file + ": " + std::strerror(errno);
  auto& to = the_sink();
  std::lock_guard lock(to.mutex);
  if (to.file >= 0)
    ::close(to.file);
  to.file = file;
  to.now = s;
  to.find_lowest();
  return {};
}

void set_level(level l) {
  auto& to = the_sink();
  std::lock_guard lock(to.mutex);
  to.now.lowest = l;
  to.find_lowest();
}

bool enabled(level l) {
  return static_cast<int>(l) >= lowest.load(std::memory_order_relaxed);
}

void write(level l, std::string_view module, std::string_view message, fields more) {
  const auto ms = unix_ms_now();
  auto& to = the_sink();
  std::lock_guard lock(to.mutex);
  if (l >= to.now.lowest) {
    const auto line = format_line(to.now.json, ms, l, module, message, more) + '\n';
    if (to.now.to_stdout)
      write_all(STDOUT_FILENO, line);
    if (to.file >= 0)
      write_all(to.file, line);
  }
  for (auto* t : to.taps) {
    if (l < t->lowest_)
      continue;
    const auto line = format_line(t->json_, ms, l, module, message, more) + '\n';
    if (t->lines_.size() + line.size() > t->bytes_max_ || t->lost_ != 0)
      ++t->lost_; // later lines are dropped, too, so that lines stay in order
    else
      t->lines_ += line;
  }
}

// ---- followers

tap::tap(level l, bool json, std::size_t bytes_max) : lowest_(l), json_(json), bytes_max_(bytes_max) {
  auto& to = the_sink();
  std::lock_guard lock(to.mutex);
  to.taps.push_back(this);
  to.levels_of_taps.insert(l);
  to.find_lowest();
}

tap::~tap() {
  auto& to = the_sink();
  std::lock_guard lock(to.mutex);
  std::erase(to.taps, this);
  to.levels_of_taps.erase(to.levels_of_taps.find(lowest_));
  to.find_lowest();
}

std::string tap::take() {
  std::uint64_t lost = 0;
  std::string out;
  {
    std::lock_guard lock(the_sink().mutex);
    out.swap(lines_);
    lost = std::exchange(lost_, 0);
  }
  if (lost != 0)
    out += format_line(json_, unix_ms_now(), level::warn, "log", "lines dropped: their reader is too slow",
                       {{"lines", lost}}) +
           '\n';
  return out;
}

} // namespace belay::log
