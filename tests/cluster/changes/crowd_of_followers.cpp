#include "tests/cluster/changes/crowd_of_followers.hpp"

#include "tests/cluster/changes/change_follower.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <random>

namespace belay::harness {

namespace {

constexpr milliseconds look_up_every{100}, all_within{60000}, poll_answered_within{15000};

/// A change from a long poll, in the form of a stream's event.
sim::stream_event event_of(const boost::json::object& change) {
  boost::json::object data;
  for (const auto& [name, value] : change)
    if (name != "ID" && name != "Event")
      data[name] = value;
  return {std::string(change.at("ID").as_string()), std::string(change.at("Event").as_string()),
          boost::json::serialize(data)};
}

} // namespace

bool received_changes::agrees(std::size_t number, const sim::stream_event& e) {
  const std::lock_guard lock(guard_);
  if (number == all_.size()) {
    all_.push_back(e);
    checker_.take(e);
    return true;
  }
  const auto& known = all_[number];
  // Long polls get the same without the history.
  return cursor_of(known.id) == cursor_of(e.id) && known.kind == e.kind && known.data == e.data;
}

std::size_t received_changes::count_up_to(change_position at) const {
  const auto behind = std::upper_bound(all_.begin(), all_.end(), at,
                                       [](const change_position& p, const auto& e) { return p < cursor_of(e.id); });
  return static_cast<std::size_t>(behind - all_.begin());
}

class crowd_of_followers::member {
public:
  member(crowd_of_followers& crowd, std::size_t number, const std::string& prefix, bool polls)
      : crowd_(crowd), name_((polls ? "poll " : "stream ") + std::to_string(number)),
        target_("/v1/kv/" + prefix + "?recurse&changes"), port_(number % crowd.ports_.size()),
        random_(static_cast<unsigned>(number) + 1), thread_([this, polls] { polls ? poll() : stream(); }) {}
  ~member() { join(); }

  void join() {
    if (thread_.joinable())
      thread_.join();
  }
  const std::string& name() const { return name_; }
  change_position position() const { return cursor_; }

  /// What was wrong. @pre joined
  std::vector<std::string> complaints() const {
    auto out = wrong_;
    for (const auto& [at, count] : progress_)
      if (crowd_.received_.count_up_to(at) != count)
        out.push_back("received " + std::to_string(count) + " changes up to " + std::to_string(at.first) +
                      ", and there were " + std::to_string(crowd_.received_.count_up_to(at)));
    if (count_ != crowd_.received_.size())
      out.push_back("received " + std::to_string(count_) + " changes of " + std::to_string(crowd_.received_.size()));
    return out;
  }

private:
  bool over() const { return crowd_.given_up_ || (cursor_.first >= crowd_.end_ && begun_); }

  void stream() {
    while (!over()) {
      event_stream s(crowd_.ports_[port_], target_ + "&snapshot", last_id_);
      cut_ = false;
      for (bool goes_on = true; goes_on && !over();) {
        goes_on = s.read(look_up_every, 65536);
        for (const auto& e : s.take_events())
          take(e);
      }
      if (!over() && cut_)
        ++crowd_.cut_;
      else if (!over())
        go_elsewhere();
    }
  }

  void poll() {
    auto c = std::make_unique<http_connection>(crowd_.ports_[port_]);
    while (!over()) {
      const auto where = last_id_.empty() ? std::string("&snapshot") : "&wait=5s&index=" + last_id_;
      const auto r = c->ask({"GET", target_ + where, {}, std::nullopt}, poll_answered_within);
      if (r.status == 410)
        take({"0", "reset", {}});
      if (r.ok()) {
        const auto changes = boost::json::parse(r.body);
        for (const auto& each : changes.as_array())
          take(event_of(each.as_object()));
        const auto* cursor = r.header("X-Belay-Cursor"); // none while there is a server of 0.2.0
        take({cursor != nullptr ? *cursor : *r.header("X-Consul-Index"), "progress", {}});
      } else if (!over()) {
        go_elsewhere();
        c = std::make_unique<http_connection>(crowd_.ports_[port_]);
      }
    }
  }

  void go_elsewhere() {
    ++crowd_.resumed_;
    port_ = (port_ + 1 + random_() % (crowd_.ports_.size() - 1)) % crowd_.ports_.size();
    std::this_thread::sleep_for(milliseconds{20});
  }

  void take(const sim::stream_event& e) {
    if (!e.id.empty())
      last_id_ = e.id;
    if (e.kind == "snapshot" && !begun_)
      return;
    if (e.kind == "cut") {
      cut_ = true;
      return;
    }
    if (e.kind == "snapshot" || e.kind == "reset" || e.kind == "refused") {
      crowd_.void_states_ += e.kind == "reset" ? 1 : 0;
      return wrong(e.kind + " behind " + std::to_string(cursor_.first) + ": " + e.data);
    }
    if (e.id.empty()) // a row of the snapshot that should not have been sent
      return;
    const auto at = cursor_of(e.id);
    if (e.kind == "progress") {
      if (at < cursor_ && begun_)
        wrong("progress went back to " + e.id);
      crowd_.begun_ += begun_ ? 0 : 1;
      begun_ = true;
      cursor_ = at;
      progress_.emplace_back(at, count_);
      return;
    }
    if (at <= cursor_)
      wrong("received " + e.id + " after " + std::to_string(cursor_.first));
    if (!crowd_.received_.agrees(count_, e))
      wrong("received " + e.id + " as change " + std::to_string(count_) + ", and others another one");
    cursor_ = at;
    ++count_;
  }
  void wrong(std::string what) {
    if (wrong_.size() < 5)
      wrong_.push_back(std::move(what));
  }

  crowd_of_followers& crowd_;
  std::string name_, target_, last_id_;
  std::size_t port_;
  std::minstd_rand random_;
  std::atomic<bool> begun_{false};
  bool cut_ = false;
  change_position cursor_{0, 0};
  std::size_t count_ = 0;
  std::vector<std::pair<change_position, std::size_t>> progress_; ///< and the number of changes received before
  std::vector<std::string> wrong_;
  std::thread thread_;
};

crowd_of_followers::crowd_of_followers(std::vector<std::uint16_t> ports, const std::string& prefix, std::size_t streams,
                                       std::size_t polls)
    : ports_(std::move(ports)) {
  for (std::size_t i = 0; i < streams + polls; ++i)
    members_.push_back(std::make_unique<member>(*this, i, prefix, i >= streams));
  if (!eventually(all_within, [&] { return begun_ == members_.size(); }))
    late_.push_back("only " + std::to_string(begun_) + " have begun");
}

crowd_of_followers::~crowd_of_followers() {
  given_up_ = true;
  members_.clear();
}

void crowd_of_followers::end_at(std::uint64_t index) {
  end_ = index;
  std::thread watchdog([&, until = std::chrono::steady_clock::now() + all_within] {
    while (!given_up_ && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(look_up_every);
    given_up_ = true;
  });
  for (auto& m : members_)
    m->join();
  given_up_ = true;
  watchdog.join();
}

std::vector<std::string> crowd_of_followers::complaints() const {
  auto out = late_;
  for (const auto& m : members_)
    for (const auto& each : m->complaints())
      out.push_back(m->name() + ' ' + each);
  out.resize(std::min<std::size_t>(out.size(), 20));
  return out;
}

} // namespace belay::harness
