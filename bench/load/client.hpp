#pragma once
// What a workload may ask of a store. One client is one closed loop: it never has more than one operation under way.

#include "bench/load/stream.hpp"

enum class read_mode {
  strong, ///< linearizable: Consul's `?consistent`, etcd's default
  def,    ///< what the store does if not told otherwise
  stale,  ///< what the server that is asked has: Consul's `?stale`, etcd's serializable
};

struct options {
  std::string proto, workload;
  endpoint server;
  int clients = 1;
  int conns = 0;                      ///< etcd: connections the clients share; 0: one for each client, at most 8
  double seconds = 2, warmup = 0.5;   ///< measured for so long, after so long
  u32 keys = 10000;                   ///< that exist below the prefix (`fill` writes them); at most 100,000,000
  size_t vsize = 256;                 ///< bytes of a value, at least 16
  u64 timeout_ns = 30'000'000'000ull; ///< of one operation, except the waiting ones
  std::string prefix = "bench";
  std::vector<int> pids;           ///< the servers, for their processor time and memory
  std::vector<std::string> tokens; ///< Consul's API: those of the clients, in turn; empty: none
  read_mode read = read_mode::strong;
  int batch = 16;                   ///< keys of a transaction
  int rounds = 20, watchers = 1000; ///< watch: so many writes
  int ttl_s = 60;                   ///< of sessions
  double write_pct = 10;            ///< mixed
  bool lock_tuned = false;          ///< etcd: a lock recipe better than the official client's
};

class client {
public:
  virtual ~client() = default;
  virtual task<outcome> put(const std::string& key, const std::string& value) = 0;
  /// All keys in one transaction.
  virtual task<outcome> txn(const std::vector<std::string>& keys, const std::vector<std::string>& values) = 0;
  /// The value is left in `got`.
  virtual task<outcome> get(const std::string& key, read_mode mode) = 0;
  /// How many entries with a value of the right size there are below a prefix: left in `listed`.
  virtual task<outcome> list(const std::string& prefix) = 0;
  /// Sessions (Consul) or leases (etcd). The id, in the store's own text, is left in `sid`.
  virtual task<outcome> session_create(int ttl_s) = 0;
  virtual task<outcome> session_renew(const std::string& id) = 0;
  virtual task<outcome> session_destroy(const std::string& id) = 0;
  /// A lock, by the steps of the store's official client.
  virtual task<outcome> lock_prepare(const std::string& name) = 0;
  virtual task<outcome> lock_acquire() = 0;
  virtual task<outcome> lock_release() = 0;
  virtual task<outcome> lock_end() = 0;
  /// watch_begin reads the present state; watch_next returns when it has changed, with the new value in `got`.
  virtual task<outcome> watch_begin(const std::string& key) = 0;
  virtual task<outcome> watch_next(u64 timeout_ns) = 0;

  std::string got, sid, err;
  int listed = 0;
};
