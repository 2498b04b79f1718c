#pragma once
// The operations of a store for a workload. A client is a closed loop with one operation at a time.

#include "bench/load/stream.hpp"

enum class read_mode {
  strong, ///< linearizable: Consul's `?consistent`, etcd's default
  def,    ///< the store's default
  stale,  ///< from the server's own state: Consul's `?stale`, etcd's serializable
};

struct options {
  std::string proto, workload;
  endpoint server;
  int clients = 1;
  int conns = 0;                      ///< etcd: connections the clients share; 0: one for each client, at most 8
  double seconds = 2, warmup = 0.5;   ///< measured time, and time before it
  u32 keys = 10000;                   ///< keys below the prefix (`fill` writes them); at most 100,000,000
  size_t vsize = 256;                 ///< bytes of a value, at least 16
  u64 timeout_ns = 30'000'000'000ull; ///< timeout of one operation, except those that wait
  std::string prefix = "bench";
  std::vector<int> pids;           ///< the servers, for their CPU time and memory
  std::vector<std::string> tokens; ///< Consul's API: those of the clients, in turn; empty: none
  read_mode read = read_mode::strong;
  int batch = 16;                   ///< keys of a transaction
  int rounds = 20, watchers = 1000; ///< watch: number of writes
  int ttl_s = 60;                   ///< session TTL
  int sessions = 10000;             ///< renew: number of live sessions, shared among the clients
  int renew_list = 1;               ///< renew: sessions per request
  double write_pct = 10;            ///< mixed
  bool lock_tuned = false;          ///< etcd: a lock recipe better than the official client's
  bool lock_claims = false;         ///< Belay: claims, which the server grants
  bool lock_rpc = false;            ///< etcd: its Lock and Election RPCs, where the server follows the recipe
  bool elect = false;               ///< the lock is an election, which is transferred
  bool rejoin = true;               ///< elect: a former leader campaigns again
  bool idempotent = false;          ///< Belay: each put has an Idempotency-Key of its own
  bool follow = false;              ///< watch: everything below the prefix of the key; Belay: as a stream of changes
  bool counters = false;            ///< waits for a line on standard input at the beginning and the end of the window
};

class client {
public:
  virtual ~client() = default;
  virtual task<outcome> put(const std::string& key, const std::string& value) = 0;
  /// All keys in one transaction.
  virtual task<outcome> txn(const std::vector<std::string>& keys, const std::vector<std::string>& values) = 0;
  /// Stores the value in `got`.
  virtual task<outcome> get(const std::string& key, read_mode mode) = 0;
  /// Stores in `listed` the number of entries below a prefix whose values have the right size.
  virtual task<outcome> list(const std::string& prefix) = 0;
  /// Sessions (Consul) or leases (etcd). Stores the id, in the store's own text, in `sid`.
  virtual task<outcome> session_create(int ttl_s) = 0;
  virtual task<outcome> session_renew(const std::string& id) = 0;
  virtual task<outcome> session_destroy(const std::string& id) = 0;
  /// Several at once. Most stores do not support that.
  virtual task<outcome> session_renew_list(const std::vector<std::string>&) {
    co_return missing("this store renews one session per request");
  }
  /// A lock, by the steps of the store's official client, or by those that the options choose.
  virtual task<outcome> lock_prepare(const std::string& name) = 0;
  virtual task<outcome> lock_acquire() = 0;
  virtual task<outcome> lock_release() = 0;
  /// The leader passes its leadership on.
  virtual task<outcome> lock_transfer() { co_return co_await lock_release(); }
  virtual task<outcome> lock_end() = 0;
  /// Closes the connection during the current operation, which ends with outcome::conn.
  virtual void lock_abandon() = 0;
  /// What another client must destroy after lock_abandon(); empty: nothing.
  virtual std::string lock_session() const { return {}; }
  /// watch_begin reads the current state; watch_next returns when `got` has changed.
  virtual task<outcome> watch_begin(const std::string& key) = 0;
  virtual task<outcome> watch_next(u64 timeout_ns) = 0;

  std::string got, sid, err;
  int listed = 0;

protected:
  outcome missing(const char* what) {
    err = what;
    return outcome::status;
  }
};
