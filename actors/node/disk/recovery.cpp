#include "actors/node/disk/recovery.hpp"

#include "actors/node/config/file_text.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/log/segment_log.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>

namespace belay::actors {

namespace {

/// One server in peers.json: an object (Raft protocol 3), or only an address.
bool names(const boost::json::value& entry, const raft::member& self) {
  const auto text = [](const boost::json::value* v) {
    return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
  };
  if (entry.is_string())
    return text(&entry) == self.address;
  const auto* o = entry.if_object();
  if (o == nullptr)
    return false;
  const auto* votes = o->if_contains("non_voter");
  return text(o->if_contains("id")) == self.uuid && text(o->if_contains("address")) == self.address &&
         (votes == nullptr || *votes == boost::json::value(false));
}

} // namespace

result<recovery> recovery::open(const std::string& data_dir) {
  recovery r;
  r.data_dir_ = data_dir;
  auto who = read_identity(data_dir);
  if (!who)
    return who.reason();
  r.who_ = std::move(*who);
  auto log = storage::segment_log::open(storage::posix_file_system(), data_dir + "/raft");
  if (!log)
    return log.reason();
  auto checkpoints = storage::lmdb_checkpoint::open(data_dir);
  if (!checkpoints)
    return checkpoints.reason();
  auto disk = read_disk(std::move(*log), std::move(*checkpoints));
  if (!disk)
    return disk.reason();
  if (auto s = check_memory(r.who_.cluster_id, disk->restored); !s)
    return s.reason();
  r.log_ = disk->log;
  auto& found = disk->restored;
  r.hard_ = found.hard;
  // As in the core: a log that contradicts the checkpoint remains from installing a snapshot.
  if (!r.entries_.restore(found.snapshot, std::move(found.entries)))
    r.restart_after_ = found.snapshot;
  const auto& before = r.entries_.config();
  const auto* self = before.find(r.who_.id);
  if (self == nullptr)
    return failure{"the server of " + data_dir + " is not a member of a cluster: there is nothing to recover"};
  r.self_ = *self;
  r.before_ = before;
  return r;
}

status recovery::carry_out() {
  auto now = who_;
  now.cluster_id = random_u64();
  // The number first: former members would follow a server that leads alone under the old one.
  if (auto s = save_identity(data_dir_, now); !s)
    return s;
  raft::persist_batch batch;
  batch.token = 1;
  batch.hard = raft::hard_state{std::max(hard_.term, entries_.last_term()).next(), {}};
  batch.restart_after = restart_after_;
  raft::entry alone;
  alone.index = last_index().next();
  alone.term = batch.hard->term;
  alone.time = entries_.last_time();
  alone.kind = raft::entry_kind::configuration;
  alone.data = make_payload(encode(raft::configuration_of_voters({self_})));
  batch.entries.push_back(std::move(alone));
  return log_->append({std::move(batch)});
}

result<bool> follow_peers_file(const std::string& data_dir, storage::file_system& files) {
  const auto folder = data_dir + "/raft", file = folder + "/peers.json";
  const auto text = read_file_text_if_there(file);
  if (!text)
    return text.reason();
  if (!*text)
    return false;
  boost::system::error_code ec;
  const auto peers = boost::json::parse(**text, ec);
  if (ec || !peers.is_array())
    return failure{file + " is not a list of servers; nothing was changed"};
  auto found = recovery::open(data_dir);
  if (!found)
    return found.reason();
  const auto& list = peers.get_array();
  if (list.size() != 1 || !names(list.front(), found->self()))
    return failure{file + " must contain only this server, as [{\"id\": \"" + found->self().uuid +
                   "\", \"address\": \"" + found->self().address +
                   "\"}]: start the other servers with empty data directories, and add them. Nothing was changed"};
  if (auto s = found->carry_out(); !s)
    return s.reason();
  // Durably: after a power failure it would be applied again, and cut off the servers that joined.
  auto removed = files.remove(file);
  if (removed)
    removed = files.sync_directory(folder);
  if (!removed)
    return failure{file + " was applied, but cannot be removed: " + removed.error()};
  return true;
}

} // namespace belay::actors
