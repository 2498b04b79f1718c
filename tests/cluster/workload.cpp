#include "tests/cluster/workload.hpp"

#include "tests/harness/base64.hpp"

#include <boost/json.hpp>

#include <algorithm>

namespace belay::harness {

namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds request_limit{3000};
/// Keeps 16 writers from using all of a small machine; well below the measured gaps.
constexpr milliseconds think_time{2};

struct entry {
  std::string value;
  std::uint64_t modify_index = 0;
};

std::map<std::string, entry> entries_of(const http_reply& reply) {
  std::map<std::string, entry> out;
  boost::system::error_code ec;
  auto body = json::parse(reply.body, ec);
  if (ec || !body.is_array())
    return out;
  for (const auto& row : body.get_array()) {
    entry e;
    if (const auto* value = row.at("Value").if_string())
      e.value = base64_decoded(*value);
    e.modify_index = row.at("ModifyIndex").to_number<std::uint64_t>();
    out[std::string(row.at("Key").as_string())] = e;
  }
  return out;
}

} // namespace

class workload::writer {
public:
  writer(workload& all, std::size_t number) : all_(all), number_(number), at_(number % all.ports_.size()) {
    connection_ = std::make_unique<http_connection>(all_.ports_[at_]);
    thread_ = std::thread([this] { run(); });
  }
  void join() {
    if (thread_.joinable())
      thread_.join();
  }
  const std::map<std::string, allowed_values>& keys() const { return keys_; }

private:
  void run() {
    while (!all_.stopping_) {
      if (number_ % 3 == 0)
        add_unique();
      else if (number_ % 3 == 1)
        count();
      else
        overwrite();
      std::this_thread::sleep_for(think_time);
    }
  }

  void next_port() {
    at_ = (at_ + 1) % all_.ports_.size();
    connection_ = std::make_unique<http_connection>(all_.ports_[at_]);
    std::this_thread::sleep_for(milliseconds{5});
  }

  outcome put(const std::string& key, const std::string& query, const std::string& value) {
    // A request that never got a connection was certainly not carried out.
    if (!connection_->connect(milliseconds{1000}).empty()) {
      next_port();
      return outcome::refused;
    }
    auto begun = steady_clock::now();
    auto reply = connection_->ask({"PUT", "/v1/kv/" + key + query, all_.headers_, value, false}, request_limit);
    if (reply.ok() && reply.body.starts_with("true")) {
      all_.acknowledge(begun);
      return outcome::done;
    }
    if (reply.ok() && reply.body.starts_with("false")) {
      sent_false_ = true;
      return outcome::refused;
    }
    ++all_.unknown_count_;
    next_port();
    return outcome::unknown;
  }

  /// A consistent read; false if there was no response. A missing key has index 0.
  bool read(const std::string& key, entry& out) {
    auto reply = connection_->ask({"GET", "/v1/kv/" + key + "?consistent", all_.headers_, {}, false}, request_limit);
    if (reply.status == 404) {
      out = {};
      return true;
    }
    auto found = reply.ok() ? entries_of(reply) : std::map<std::string, entry>();
    if (!found.count(key)) {
      next_port();
      return false;
    }
    out = found[key];
    return true;
  }

  void add_unique() {
    auto key = "load/unique/" + std::to_string(number_) + "/" + std::to_string(++round_);
    auto value = std::to_string(round_);
    sent_false_ = false;
    auto result = put(key, "?cas=0", value);
    if (result == outcome::done)
      keys_[key] = {{value}, false};
    else if (result == outcome::unknown)
      keys_[key] = {{value}, true};
    else if (sent_false_)
      all_.violation(key + " was new and its creation was answered false");
  }

  void count() {
    auto key = "load/counter/" + std::to_string(number_);
    auto& allowed = keys_.try_emplace(key, allowed_values{{}, true}).first->second;
    entry now;
    if (!read(key, now))
      return;
    bool expected = now.modify_index == 0 ? allowed.may_be_absent : allowed.values.count(now.value) > 0;
    if (!expected)
      all_.violation(key + " reads '" + now.value + "' at index " + std::to_string(now.modify_index) +
                     ", which was overwritten or never written");
    auto value = std::to_string(++round_);
    auto result = put(key, "?cas=" + std::to_string(now.modify_index), value);
    // Until its outcome is read, an unknown write and what it would replace are both possible.
    if (result == outcome::done)
      allowed = {{value}, false};
    else if (result == outcome::unknown)
      allowed.values.insert(value);
  }

  void overwrite() {
    auto key = "load/register/" + std::to_string(number_) + "/" + std::to_string(epoch_);
    auto& allowed = keys_.try_emplace(key, allowed_values{{}, true}).first->second;
    auto value = std::to_string(++round_);
    auto result = put(key, "", value);
    if (result == outcome::unknown) {
      allowed.values.insert(value);
      ++epoch_;
      return;
    }
    if (result == outcome::refused)
      return;
    allowed = {{value}, false};
    entry now;
    if (round_ % 4 == 0 && read(key, now) && now.value != value)
      all_.violation(key + " reads '" + now.value + "' after '" + value + "' was acknowledged");
  }

  workload& all_;
  std::size_t number_;
  std::size_t at_;
  std::unique_ptr<http_connection> connection_;
  bool sent_false_ = false;
  std::uint64_t round_ = 0;
  std::uint64_t epoch_ = 0;
  std::map<std::string, allowed_values> keys_;
  std::thread thread_;
};

workload::workload(std::vector<std::uint16_t> ports, std::size_t writers, const std::string& token)
    : ports_(std::move(ports)) {
  if (!token.empty())
    headers_ = {{"X-Consul-Token", token}};
  for (std::size_t i = 0; i < writers; ++i)
    writers_.push_back(std::make_unique<writer>(*this, i));
}

workload::~workload() {
  stop();
}

void workload::stop() {
  stopping_ = true;
  for (auto& writer : writers_)
    writer->join();
}

void workload::acknowledge(steady_time begun) {
  auto now = steady_clock::now();
  std::lock_guard lock(guard_);
  acknowledged_.push_back({now, std::chrono::duration<double>(now - begun).count()});
  ++acknowledged_count_;
}

void workload::violation(const std::string& what) {
  std::lock_guard lock(guard_);
  if (violations_.size() < 20)
    violations_.push_back(what);
}

std::vector<std::string> workload::violations() const {
  std::lock_guard lock(guard_);
  return violations_;
}

bool workload::wait_for_more(std::size_t more, milliseconds limit) {
  auto target = acknowledged_count_ + more;
  return eventually(limit, [&] { return acknowledged_count_ >= target; });
}

std::vector<acknowledged> workload::between(steady_time from, steady_time to) const {
  std::lock_guard lock(guard_);
  std::vector<acknowledged> out;
  for (const auto& a : acknowledged_)
    if (a.at >= from && a.at <= to)
      out.push_back(a);
  return out;
}

double workload::longest_gap(steady_time from, steady_time to) const {
  double longest = 0;
  auto last = from;
  for (const auto& a : between(from, to)) {
    longest = std::max(longest, std::chrono::duration<double>(a.at - last).count());
    last = a.at;
  }
  return std::max(longest, std::chrono::duration<double>(to - last).count());
}

double workload::p99_ms(steady_time from, steady_time to) const {
  auto all = between(from, to);
  if (all.empty())
    return 0;
  auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 99 / 100);
  std::nth_element(all.begin(), at, all.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return at->seconds * 1000;
}

std::vector<std::string> workload::compare(std::uint16_t port, const std::string& mode) const {
  auto reply = exchange(port, {"GET", "/v1/kv/load/?recurse&" + mode, headers_, {}, false}, milliseconds{60000});
  if (!reply.ok())
    return {mode + " read: " + std::to_string(reply.status) + " " + reply.error + reply.body.substr(0, 200)};
  auto found = entries_of(reply);
  std::vector<std::string> out;
  auto complain = [&](const std::string& what) {
    if (out.size() < 20)
      out.push_back(mode + " read: " + what);
  };
  std::size_t known = 0;
  for (const auto& writer : writers_)
    for (const auto& [key, allowed] : writer->keys()) {
      auto at = found.find(key);
      known += at != found.end();
      if (at == found.end() && !allowed.may_be_absent)
        complain(key + " is lost");
      else if (at != found.end() && !allowed.values.count(at->second.value))
        complain(key + " is '" + at->second.value + "', which it must not be");
    }
  if (known != found.size())
    complain(std::to_string(found.size() - known) + " keys nobody wrote");
  return out;
}

} // namespace belay::harness
