// Load generator for servers with Consul's HTTP API (Belay, Consul), etcd and ZooKeeper. It runs
// closed loops on one thread and checks each response. It speaks all native protocols itself,
// without a heavy client library. For bench/compare.py and growth.py. Prints one JSON object;
// latencies in microseconds.
//
//  load_generator --proto consul|etcd|zookeeper --server HOST:PORT --workload NAME [--OPTION VALUE]
//
//   put, get, mixed, txn   random ones of the --keys keys below --prefix, which exist ...
//   fill                   ... because this wrote them; --batch in each transaction
//   list                   all of them
//   --idempotent 1         each put has an Idempotency-Key of its own (Belay)
//   --tls on               each connection with TLS; any certificate is accepted
//   --tokens FILE          one SecretID per line: the clients use them in turn (Consul's API)
//   session                create, renew and destroy one
//   renew                  --sessions live ones; --renew-list N: N per request (Belay by its list,
//                          etcd without waiting for each response on its stream)
//   lock                   pass one lock on among --clients; --lock-claims 1 (Belay), --lock-rpc 1
//                          or --lock-tuned 1 (etcd) replace the official client's recipe
//   elect                  pass an election on; --rejoin 0: each client leads only once
//   --counters 1           prints "begin" and "end" of the window, and waits for a line at each
//   watch                  --watchers of one key, --rounds writes: from write to last wake-up;
//                          --follow 1: of the prefix above the key (etcd; Belay by streams)
//   follow                 --watchers as change streams (Belay), each of other keys, for --seconds
#include "bench/load/client.hpp"
#include "bench/load/consul.hpp"
#include "bench/load/etcd.hpp"
#include "bench/load/measured_run.hpp"
#include "bench/load/values.hpp"
#include "bench/load/zookeeper.hpp"

#include <csignal>
#include <fstream>
#include <set>

namespace {

options opt;

std::string key_of(u64 i) {
  char b[24];
  snprintf(b, sizeof b, "/k%08llu", static_cast<unsigned long long>(i));
  return opt.prefix + b;
}

std::vector<std::unique_ptr<client>> make_clients(int n, int conns) {
  std::vector<std::unique_ptr<client>> v;
  if (opt.proto == "consul") {
    for (int i = 0; i < n; i++)
      v.push_back(
          std::make_unique<consul_client>(opt, opt.tokens.empty() ? "" : opt.tokens[size_t(i) % opt.tokens.size()]));
    return v;
  }
  if (opt.proto == "zookeeper") {
    for (int i = 0; i < n; i++)
      v.push_back(std::make_unique<zookeeper_client>(opt));
    return v;
  }
  std::vector<std::shared_ptr<etcd_connection>> pool;
  for (int i = 0; i < std::min(conns > 0 ? conns : 8, n); i++)
    pool.push_back(std::make_shared<etcd_connection>(opt.server));
  for (int i = 0; i < n; i++)
    v.push_back(std::make_unique<etcd_client>(opt, pool[size_t(i) % pool.size()]));
  return v;
}

json_object head() {
  json_object j;
  j.str("workload", opt.workload).str("proto", opt.proto).num("clients", opt.clients);
  return j;
}

task<outcome> clock_task(measured_run& r) {
  co_await loop().sleep(u64(opt.warmup * 1e9));
  r.start(opt);
  co_await loop().sleep(u64(opt.seconds * 1e9));
  r.end(opt);
  r.stop = true;
  co_return outcome::ok;
}

// Runs the spawned clients, for as long as the options say.
json_object run_timed(measured_run& r) {
  loop().spawn(clock_task(r));
  loop().run();
  json_object j = head();
  r.print_to(j, double(r.ops));
  return j;
}

// Pauses after a failure: a stopped server must not get a million requests.
auto pause_after_failure() {
  return loop().sleep(10'000'000);
}

task<outcome> put_one(client& c, u32 key, u64 version, const known_values& vals) {
  co_return co_await c.put(key_of(key), vals.make(key, version));
}

task<outcome> get_one(client& c, u32 key, const known_values& vals) {
  outcome s = co_await c.get(key_of(key), opt.read);
  if (s == outcome::ok && !vals.check(key, c.got)) {
    c.err = "not a value of " + key_of(key);
    s = outcome::body;
  }
  co_return s;
}

task<outcome> list_all(client& c) {
  outcome s = co_await c.list(opt.prefix + "/");
  if (s == outcome::ok && c.listed != int(opt.keys)) {
    c.err = "listed " + std::to_string(c.listed);
    s = outcome::body;
  }
  co_return s;
}

task<outcome> session_life(client& c) {
  outcome s = co_await c.session_create(opt.ttl_s);
  if (s != outcome::ok)
    co_return s;
  std::string id = c.sid;
  s = co_await c.session_renew(id);
  if (s == outcome::ok)
    s = co_await c.session_destroy(id);
  co_return s;
}

enum class workload { put, get, mixed, list, txn, session };

task<outcome> steady_client(measured_run& r, client& c, int i, workload what, const known_values& vals) {
  random_numbers rng(u64(i) + 1 + now_ns());
  u64 version = u64(i) * 1'000'000 + 1;
  while (!r.stop) {
    bool write = what == workload::put || (what == workload::mixed && double(rng.below(10000)) < opt.write_pct * 100);
    u32 key = u32(rng.below(opt.keys));
    std::vector<std::string> keys, values;
    std::set<u32> used;
    while (what == workload::txn && int(keys.size()) < opt.batch) {
      u32 k = u32(rng.below(opt.keys));
      if (!used.insert(k).second)
        continue;
      keys.push_back(key_of(k));
      values.push_back(vals.make(k, version++));
    }
    outcome s;
    u64 t0 = now_ns();
    if (write)
      s = co_await put_one(c, key, version++, vals);
    else if (what == workload::list)
      s = co_await list_all(c);
    else if (what == workload::txn)
      s = co_await c.txn(keys, values);
    else if (what == workload::session)
      s = co_await session_life(c);
    else
      s = co_await get_one(c, key, vals);
    r.record(write ? r.writes : r.reads, s, now_ns() - t0, c);
    if (s != outcome::ok)
      co_await pause_after_failure();
  }
  co_return outcome::ok;
}

void steady(workload what) {
  measured_run r;
  known_values vals(opt.vsize);
  auto cs = make_clients(opt.clients, opt.conns);
  for (int i = 0; i < opt.clients; i++)
    loop().spawn(steady_client(r, *cs[size_t(i)], i, what, vals));
  json_object j = run_timed(r);
  if (what == workload::mixed)
    j.raw("read_us", r.reads.json()).raw("write_us", r.writes.json());
  j.print();
}

// ---- renew: existing sessions

struct renew_state {
  int ready = 0;       ///< clients that have their sessions, or failed
  size_t sessions = 0; ///< sessions of each client
};

task<outcome> renew_client(measured_run& r, client& c, renew_state& all) {
  std::vector<std::string> ids;
  outcome s = outcome::ok;
  while (s == outcome::ok && ids.size() < all.sessions) {
    s = co_await c.session_create(opt.ttl_s);
    ids.push_back(c.sid);
  }
  all.ready++;
  if (s != outcome::ok) {
    r.failed(s, c.err);
    co_return s;
  }
  while (all.ready < opt.clients)
    co_await loop().sleep(5'000'000);
  std::vector<std::string> some;
  for (size_t next = 0; !r.stop;) {
    some.clear();
    for (int i = 0; i < opt.renew_list; i++)
      some.push_back(ids[next++ % ids.size()]);
    u64 t0 = now_ns();
    if (opt.renew_list == 1)
      s = co_await c.session_renew(some[0]);
    else
      s = co_await c.session_renew_list(some);
    r.record(r.writes, s, now_ns() - t0, c);
    if (s != outcome::ok)
      co_await pause_after_failure();
    else if (r.measuring)
      r.ops += u64(opt.renew_list) - 1;
  }
  for (const auto& id : ids) {
    s = co_await c.session_destroy(id);
    if (s != outcome::ok)
      r.failed(s, c.err);
  }
  co_return s;
}

task<outcome> renew_clock(measured_run& r, renew_state& all) {
  while (all.ready < opt.clients)
    co_await loop().sleep(5'000'000);
  co_return co_await clock_task(r);
}

void renew() {
  measured_run r;
  renew_state all;
  // ZooKeeper's clients have one each: a session is a connection there.
  all.sessions = opt.proto == "zookeeper" ? 1 : size_t(std::max(1, opt.sessions / opt.clients));
  auto cs = make_clients(opt.clients, opt.conns);
  for (auto& c : cs)
    loop().spawn(renew_client(r, *c, all));
  loop().spawn(renew_clock(r, all));
  loop().run();
  json_object j = head();
  r.print_to(j, double(r.ops));
  j.num("sessions", double(all.sessions) * opt.clients).num("list", opt.renew_list).print();
}

// ---- fill

task<outcome> fill_client(measured_run& r, client& c, u64& next, const known_values& vals) {
  while (next < opt.keys) {
    u64 from = next, to = std::min<u64>(opt.keys, from + u64(opt.batch));
    next = to;
    std::vector<std::string> keys, values;
    for (u64 i = from; i < to; i++) {
      keys.push_back(key_of(i));
      values.push_back(vals.make(u32(i), 0));
    }
    u64 t0 = now_ns();
    outcome s;
    if (keys.size() == 1)
      s = co_await c.put(keys[0], values[0]); // a transaction has a limit of bytes
    else
      s = co_await c.txn(keys, values);
    r.record(r.writes, s, now_ns() - t0, c);
    if (s != outcome::ok)
      co_return s; // without all keys no later response can be checked
  }
  co_return outcome::ok;
}

void fill() {
  measured_run r;
  known_values vals(opt.vsize);
  auto cs = make_clients(opt.clients, opt.conns);
  u64 next = 0;
  r.start(opt);
  for (auto& c : cs)
    loop().spawn(fill_client(r, *c, next, vals));
  loop().run();
  r.end(opt);
  json_object j = head();
  r.print_to(j, double(next));
  j.print();
}

// ---- lock and election transfer: from the holder's release until the next contender's response
// arrives

struct lock_state {
  int holder = -1, last = -1;
  u64 released_at = 0, violations = 0, self = 0, handed_on = 0;
  int ready = 0;           ///< clients that have their session, or failed
  bool may_release = true; ///< without --rejoin: the window has begun
  bool abandoned = false;  ///< from now on failures are expected
  std::vector<u64> grants; ///< grants of each client in the window
  std::vector<bool> ended;
  int left() const { return int(std::count(ended.begin(), ended.end(), false)); }
};

task<outcome> lock_client(measured_run& r, client& c, int i, lock_state& l, const std::string& name) {
  outcome s = co_await c.lock_prepare(name);
  l.ready++;
  if (s != outcome::ok) {
    r.failed(s, c.err);
    l.ended[size_t(i)] = true;
    co_return s;
  }
  while (!r.stop) {
    s = co_await c.lock_acquire();
    u64 t = now_ns();
    if (l.abandoned)
      co_return s;
    if (s != outcome::ok) {
      r.failed(s, c.err);
      co_await pause_after_failure();
      continue;
    }
    if (l.holder != -1)
      l.violations++;
    l.holder = i;
    if (r.measuring)
      l.grants[size_t(i)]++;
    if (l.last == i)
      l.self++;
    else if (l.released_at) {
      l.handed_on++;
      r.record(r.writes, outcome::ok, t - l.released_at, c);
    }
    // Holds it for one turn of the loop: another contender's early response reveals two holders.
    co_await loop().sleep(0);
    while (!l.may_release)
      co_await loop().sleep(1'000'000);
    l.last = i;
    l.holder = -1;
    bool nobody_waits = !opt.rejoin && r.ops + 1 == u64(opt.clients);
    if (nobody_waits)
      break;
    l.released_at = now_ns();
    if (opt.elect)
      s = co_await c.lock_transfer();
    else
      s = co_await c.lock_release();
    if (l.abandoned)
      co_return s;
    if (s != outcome::ok) {
      r.failed(s, c.err);
      co_await pause_after_failure();
    }
    if (!opt.rejoin)
      break;
  }
  while (!r.stop) // the end of a session is not measured
    co_await loop().sleep(5'000'000);
  s = co_await c.lock_end();
  l.ended[size_t(i)] = true;
  co_return s;
}

task<outcome> destroy_sessions(client& c, std::vector<std::string>& sessions) {
  while (!sessions.empty()) {
    std::string id = sessions.back();
    sessions.pop_back();
    co_await c.session_destroy(id); // it may be gone
  }
  co_return outcome::ok;
}

task<outcome> lock_clock(measured_run& r, lock_state& l, std::vector<std::unique_ptr<client>>& cs,
                         std::vector<std::unique_ptr<client>>& helpers) {
  while (l.ready < opt.clients)
    co_await loop().sleep(5'000'000);
  if (opt.rejoin) {
    // A thousand concurrent requests keep some servers busy for seconds: wait for two transfers.
    for (u64 until = now_ns() + opt.timeout_ns; l.handed_on < 2 && opt.clients > 1 && now_ns() < until;)
      co_await loop().sleep(5'000'000);
    co_await clock_task(r);
  } else {
    co_await loop().sleep(u64(opt.warmup * 1e9)); // until all have sent their requests
    r.start(opt);
    l.may_release = true;
    for (u64 until = now_ns() + opt.timeout_ns; r.ops + 1 < u64(opt.clients) && now_ns() < until;)
      co_await loop().sleep(1'000'000);
    r.end(opt);
    r.stop = true;
  }
  // Each client still gets the lock once. If that takes too long, the rest is skipped.
  constexpr u64 time_limit_ns = 2'000'000'000;
  for (u64 until = now_ns() + time_limit_ns; l.left() > 0 && now_ns() < until;)
    co_await loop().sleep(10'000'000);
  if (l.left() == 0)
    co_return outcome::ok;
  l.abandoned = true;
  std::vector<std::string> sessions;
  for (size_t i = 0; i < cs.size(); i++)
    if (!l.ended[i]) {
      if (auto id = cs[i]->lock_session(); !id.empty())
        sessions.push_back(id);
      cs[i]->lock_abandon();
    }
  for (size_t i = 1; i < helpers.size(); i++)
    loop().spawn(destroy_sessions(*helpers[i], sessions));
  co_return co_await destroy_sessions(*helpers[0], sessions);
}

/// Jain's index: 1 if all are equal, 1/n if one has all.
double fairness(const std::vector<u64>& shares) {
  double sum = 0, squares = 0;
  for (u64 n : shares) {
    sum += double(n);
    squares += double(n) * double(n);
  }
  return squares > 0 ? sum * sum / (double(shares.size()) * squares) : 0;
}

/// The index for the same sum, distributed as evenly as possible.
double best_fairness(const std::vector<u64>& shares) {
  u64 sum = 0;
  for (u64 n : shares)
    sum += n;
  std::vector<u64> even(shares.size(), sum / shares.size());
  for (size_t i = 0; i < sum % shares.size(); i++)
    even[i]++;
  return fairness(even);
}

void lock() {
  measured_run r;
  opt.ttl_s = std::max(opt.ttl_s, 60 + int(2 * (opt.seconds + opt.warmup))); // sessions are not renewed here
  auto cs = make_clients(opt.clients, opt.conns ? opt.conns : opt.clients);
  auto helpers = make_clients(std::min(opt.clients, 16), 16);
  lock_state l;
  l.may_release = opt.rejoin;
  l.grants.resize(cs.size());
  l.ended.resize(cs.size());
  std::string name = opt.prefix + "-lock-" + std::to_string(now_ns() % 1'000'000);
  for (int i = 0; i < opt.clients; i++)
    loop().spawn(lock_client(r, *cs[size_t(i)], i, l, name));
  loop().spawn(lock_clock(r, l, cs, helpers));
  loop().run();
  json_object j = head();
  r.print_to(j, double(r.ops));
  auto [least, most] = std::minmax_element(l.grants.begin(), l.grants.end());
  j.num("violations", double(l.violations)).num("self_reacquired", double(l.self));
  j.num("jain", fairness(l.grants)).num("jain_best", best_fairness(l.grants));
  j.num("least_grants", double(*least)).num("most_grants", double(*most)).print();
}

// ---- watch
// A woken watcher only notes the time. All prepare again after the last one was woken, to keep the
// generator's own work out of the measured time as far as possible.

struct watch_state {
  u32 want = 0; ///< the version awaited
  u64 t0 = 0, first = 0, last = 0, spurious = 0;
  int left = 0, armed = 0;
  histogram each;
  std::coroutine_handle<> driver;
  std::vector<std::coroutine_handle<>> woken;
};

task<outcome> watcher(measured_run& r, client& c, watch_state& w, const known_values& vals) {
  struct until_all_are_woken {
    watch_state& w;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> h) {
      w.woken.push_back(h);
      if (--w.left == 0 && w.driver)
        std::exchange(w.driver, {}).resume();
    }
    void await_resume() {}
  };
  outcome s = co_await c.watch_begin(key_of(0));
  w.armed++;
  if (s != outcome::ok) {
    r.failed(s, c.err);
    co_return s;
  }
  u32 seen = 0;
  for (;;) {
    s = co_await c.watch_next(60'000'000'000ull);
    u64 n = now_ns();
    if (s != outcome::ok) {
      r.failed(s, c.err);
      co_await pause_after_failure();
      continue;
    }
    if (!vals.check(0, c.got)) {
      r.failed(outcome::body, "a watcher got what was not written");
      continue;
    }
    u32 v = known_values::version(c.got);
    if (v == seen || v != w.want) { // Consul's API allows a response without a change
      w.spurious++;
      continue;
    }
    seen = v;
    if (!w.first)
      w.first = n;
    w.last = n;
    w.each.add(n - w.t0);
    co_await until_all_are_woken{w};
  }
}

task<outcome> watch_driver(measured_run& r, client& c, watch_state& w, const known_values& vals) {
  struct until_none_left {
    watch_state& w;
    bool await_ready() { return w.left <= 0; }
    void await_suspend(std::coroutine_handle<> h) { w.driver = h; }
    void await_resume() {}
  };
  constexpr u64 time_limit_ns = 20'000'000'000ull; // far more than any server needed for 5,000
  histogram first, acknowledged;
  u64 incomplete = 0;
  u64 until = now_ns() + 3 * time_limit_ns;
  while (w.armed < opt.watchers && now_ns() < until)
    co_await loop().sleep(10'000'000);
  co_await loop().sleep(500'000'000); // until the watches have reached the server
  // Differs from those of an earlier run on the same key.
  u32 version = u32(1 + now_ns() / 1'000'000 % 1'000'000'000);
  constexpr int unmeasured = 2;
  for (int round = -unmeasured; round < opt.rounds && incomplete < 3; round++) {
    if (round == 0) {
      w.each = histogram();
      r.start(opt);
    }
    w.want = ++version;
    w.left = opt.watchers;
    w.first = w.last = 0;
    std::string v = vals.make(0, version);
    w.t0 = now_ns();
    outcome s = co_await c.put(key_of(0), v);
    u64 t1 = now_ns();
    if (s != outcome::ok) {
      incomplete++;
      r.failed(s, c.err);
      continue;
    }
    bool expired = false;
    loop().at(now_ns() + time_limit_ns, [&w, &expired, &version, mine = version] {
      if (mine != version || w.left <= 0)
        return;
      expired = true;
      w.left = 0;
      if (w.driver)
        std::exchange(w.driver, {}).resume();
    });
    co_await until_none_left{w};
    if (expired)
      incomplete++;
    if (round >= 0 && !expired) {
      r.record(r.writes, outcome::ok, w.last - w.t0, c);
      first.add(w.first - w.t0);
      acknowledged.add(t1 - w.t0);
    }
    std::vector<std::coroutine_handle<>> woken;
    woken.swap(w.woken);
    for (auto h : woken)
      h.resume();
    co_await loop().sleep(100'000'000); // all are waiting again
  }
  r.end(opt);
  json_object j = head();
  j.num("watchers", opt.watchers);
  double rounds = double(r.ops);
  r.print_to(j, rounds);
  j.raw("first_us", first.json()).raw("each_us", w.each.json()).raw("write_us", acknowledged.json());
  j.num("incomplete", double(incomplete)).num("spurious", double(w.spurious));
  j.num("srv_us_wake", (r.b.srv_cpu_s - r.a.srv_cpu_s) * 1e6 / std::max(1.0, rounds * opt.watchers));
  j.print();
  fflush(stdout);
  _exit(0); // the watchers still wait
}

void watch() {
  measured_run r;
  known_values vals(opt.vsize);
  auto cs = make_clients(opt.watchers, opt.conns ? opt.conns : opt.watchers);
  auto writer = make_clients(1, 1);
  watch_state w;
  for (auto& c : cs)
    loop().spawn(watcher(r, *c, w, vals));
  loop().spawn(watch_driver(r, *writer[0], w, vals));
  loop().run();
}

// ---- follow

task<outcome> follower(measured_run& r, consul_client& c, std::string prefix) {
  outcome s = co_await c.follow(prefix);
  while (s == outcome::ok)
    s = co_await c.next_event();
  r.failed(s, c.err);
  co_return s;
}

void follow() {
  measured_run r;
  std::vector<std::unique_ptr<consul_client>> cs;
  size_t digits = 0; // digits in which the keys of one stream differ
  u64 each = 1;
  for (; each * u64(opt.watchers) < opt.keys; each *= 10)
    digits++;
  for (int i = 0; i < opt.watchers; i++) {
    cs.push_back(
        std::make_unique<consul_client>(opt, opt.tokens.empty() ? "" : opt.tokens[size_t(i) % opt.tokens.size()]));
    std::string name = key_of(u64(i) * each);
    loop().spawn(follower(r, *cs.back(), name.substr(0, name.size() - digits)));
  }
  loop().spawn([](measured_run& run, std::vector<std::unique_ptr<consul_client>>& all) -> task<outcome> {
    co_await clock_task(run);
    for (const auto& c : all)
      run.ops += c->received;
    json_object j = head();
    j.num("watchers", opt.watchers);
    run.print_to(j, double(run.ops));
    j.print();
    fflush(stdout);
    _exit(0); // the streams continue
    co_return outcome::ok;
  }(r, cs));
  loop().run();
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty())
      lines.push_back(line);
  if (lines.empty())
    die("cannot be read, or is empty: " + path);
  return lines;
}

int number(const std::string& name, const std::string& text, int from, int to) {
  char* end = nullptr;
  long n = strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || n < from || n > to)
    die(name + " takes a number from " + std::to_string(from) + " to " + std::to_string(to));
  return int(n);
}

void set(const std::string& k, const std::string& v) {
  constexpr int many = 20'000; // clients of one process: limited by the ports of one address, and by memory
  if (k == "--proto")
    opt.proto = v;
  else if (k == "--workload")
    opt.workload = v;
  else if (k == "--server")
    opt.server = endpoint::parse(v);
  else if (k == "--clients")
    opt.clients = number(k, v, 1, many);
  else if (k == "--conns")
    opt.conns = number(k, v, 0, many);
  else if (k == "--watchers")
    opt.watchers = number(k, v, 1, many);
  else if (k == "--seconds")
    opt.seconds = std::min(600.0, atof(v.c_str()));
  else if (k == "--warmup")
    opt.warmup = atof(v.c_str());
  else if (k == "--keys")
    opt.keys = u32(number(k, v, 1, 100'000'000)); // key_of() writes eight digits
  else if (k == "--vsize")
    opt.vsize = size_t(number(k, v, 16, 1 << 20));
  else if (k == "--timeout-ms")
    opt.timeout_ns = u64(number(k, v, 1, 3'600'000)) * 1'000'000;
  else if (k == "--prefix")
    opt.prefix = v;
  else if (k == "--pid")
    opt.pids.push_back(number(k, v, 1, 1 << 30));
  else if (k == "--tls" && v == "on")
    use_tls();
  else if (k == "--tokens")
    opt.tokens = lines_of(v);
  else if (k == "--read" && (v == "strong" || v == "default" || v == "stale"))
    opt.read = v == "strong" ? read_mode::strong : v == "stale" ? read_mode::stale : read_mode::def;
  else if (k == "--batch")
    opt.batch = number(k, v, 1, 1024);
  else if (k == "--rounds")
    opt.rounds = number(k, v, 1, 100'000);
  else if (k == "--ttl")
    opt.ttl_s = number(k, v, 1, 86'400);
  else if (k == "--write-pct")
    opt.write_pct = atof(v.c_str());
  else if (k == "--sessions")
    opt.sessions = number(k, v, 1, 1'000'000);
  else if (k == "--renew-list")
    opt.renew_list = number(k, v, 1, 4096); // as many as Belay accepts
  else if (k == "--lock-tuned")
    opt.lock_tuned = number(k, v, 0, 1) == 1;
  else if (k == "--lock-claims")
    opt.lock_claims = number(k, v, 0, 1) == 1;
  else if (k == "--lock-rpc")
    opt.lock_rpc = number(k, v, 0, 1) == 1;
  else if (k == "--rejoin")
    opt.rejoin = number(k, v, 0, 1) == 1;
  else if (k == "--idempotent")
    opt.idempotent = number(k, v, 0, 1) == 1;
  else if (k == "--follow")
    opt.follow = number(k, v, 0, 1) == 1;
  else if (k == "--counters")
    opt.counters = number(k, v, 0, 1) == 1;
  else
    die("unknown option " + k + " " + v);
}

} // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc)
      die("missing value for " + std::string(argv[i]));
    set(argv[i], argv[i + 1]);
  }
  if (opt.proto != "consul" && opt.proto != "etcd" && opt.proto != "zookeeper")
    die("--proto takes consul, etcd or zookeeper");
  if (opt.proto != "consul" && !opt.tokens.empty())
    die("--tokens is for --proto consul");
  if (opt.proto != "consul" && opt.lock_claims)
    die("--lock-claims is for --proto consul, to Belay");
  if (opt.proto != "consul" && opt.idempotent)
    die("--idempotent is for --proto consul, to Belay");
  if (opt.proto != "etcd" && (opt.lock_rpc || opt.lock_tuned))
    die("--lock-rpc and --lock-tuned are for --proto etcd");
  if (opt.proto == "zookeeper" && opt.renew_list > 1)
    die("ZooKeeper has no --renew-list: a session is a connection");
  if (opt.proto == "zookeeper" && opt.follow)
    die("ZooKeeper has no --follow: its watches of whole trees are not recipes of its client");
  if (opt.proto == "zookeeper" && opt.workload == "list")
    die("ZooKeeper has no workload list: it lists names without their values");
  if (opt.server.text.empty())
    die("--server is needed");
  const std::string& w = opt.workload;
  if (w == "put")
    steady(workload::put);
  else if (w == "get")
    steady(workload::get);
  else if (w == "mixed")
    steady(workload::mixed);
  else if (w == "list")
    steady(workload::list);
  else if (w == "txn" && u32(opt.batch) <= opt.keys)
    steady(workload::txn);
  else if (w == "session")
    steady(workload::session);
  else if (w == "renew")
    renew();
  else if (w == "fill")
    fill();
  else if (w == "lock")
    lock();
  else if (w == "elect") {
    opt.elect = true;
    lock();
  } else if (w == "watch")
    watch();
  else if (w == "follow" && opt.proto == "consul")
    follow();
  else
    die("unknown --workload " + w);
  fflush(stdout);
  _exit(0);
}
