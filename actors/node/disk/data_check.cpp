#include "actors/node/disk/data_check.hpp"

#include "actors/agent/registration_keeper.hpp"
#include "actors/node/disk/acl_files.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/node_disk.hpp"
#include "actors/tables/checkpointer.hpp"
#include "protocol/state/commands.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/registration_codec.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/log/segment_log.hpp"
#include "storage/read_only_files.hpp"

#include <filesystem>

namespace belay::actors {

namespace fs = std::filesystem;

namespace {

constexpr auto state_folder = "/state", log_folder = "/raft";

std::string count(std::size_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

/// A folder for copies, removed at the end.
class temporary_folder {
public:
  temporary_folder() {
    std::error_code ec;
    auto name = (fs::temp_directory_path(ec) / "belay-check-XXXXXX").string();
    if (!ec && ::mkdtemp(name.data()) != nullptr)
      path_ = name;
  }
  ~temporary_folder() {
    std::error_code ec;
    if (!path_.empty())
      fs::remove_all(path_, ec);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

class inspection {
public:
  explicit inspection(std::string data_dir) : dir_(std::move(data_dir)) {}

  result<data_report> run() {
    auto who = read_identity(dir_);
    if (!who)
      return who.reason();
    add("identity", true,
        "node " + who->uuid + ", datacenter " + who->datacenter +
            (who->cluster_id == 0 ? ", not a member of a cluster yet"
                                  : ", cluster " + std::to_string(who->cluster_id)));
    if (auto s = look_at_log(); !s)
      return s.reason();
    if (auto s = look_at_checkpoints(); !s)
      return s.reason();
    look_at_other_files();
    start(*who);
    return std::move(report_);
  }

private:
  void add(std::string name, bool right, std::string what) {
    report_.parts.push_back({std::move(name), right, std::move(what)});
  }

  result<std::shared_ptr<storage::log_store>> open_log() {
    auto log = storage::segment_log::open(files_, dir_ + log_folder);
    if (!log)
      return log.reason();
    return std::shared_ptr<storage::log_store>(std::move(log).value());
  }

  /// Checks all of it, even what a start would not read.
  status look_at_log() {
    if (std::error_code ec; !fs::is_directory(dir_ + log_folder, ec)) {
      add("log", false, "the folder raft is missing");
      return done{};
    }
    auto log = open_log();
    if (!log)
      return log.reason();
    const auto found = (*log)->load();
    if (!found) {
      add("log", false, found.error());
      return done{};
    }
    const auto& entries = found->entries;
    add("log", true,
        entries.empty() ? "no entries"
                        : "entries " + to_string(entries.front().index) + " to " + to_string(entries.back().index) +
                              ", " + std::to_string(found->bytes) + " bytes, term " + to_string(found->hard.term));
    return done{};
  }

  result<std::shared_ptr<storage::checkpoint_store>> open_checkpoints(const std::string& folder,
                                                                      storage::file_system& files) {
    storage::lmdb_checkpoint_options o;
    o.files = &files;
    auto store = storage::lmdb_checkpoint::open(folder, o);
    if (!store)
      return store.reason();
    return std::shared_ptr<storage::checkpoint_store>(std::move(store).value());
  }

  status look_at_checkpoints() {
    const auto file = dir_ + state_folder + "/checkpoint.mdb";
    std::error_code ec;
    has_checkpoint_ = fs::exists(file, ec);
    newest_is_right_ = false;
    if (has_checkpoint_) {
      auto store = open_checkpoints(dir_, files_);
      if (!store && store.error().find("in use by another process") != std::string::npos)
        return store.reason();
      look_at_newest(store);
    } else {
      add("checkpoint", false, "none (state/checkpoint.mdb)");
    }
    look_at_older();
    return done{};
  }

  void look_at_newest(result<std::shared_ptr<storage::checkpoint_store>>& store) {
    const auto info = store ? (*store)->info() : result<std::optional<storage::checkpoint_info>>(store.reason());
    if (!info)
      return add("checkpoint", false, info.error());
    newest_is_right_ = true;
    if (!*info)
      return add("checkpoint", true, "empty");
    const auto machine = load_machine(**store, **info);
    newest_is_right_ = machine.ok();
    if (!machine)
      return add("checkpoint", false, machine.error());
    add("checkpoint", true,
        "index " + to_string((*info)->meta.index) + ", " + count((*machine)->all_rows().size(), "row") + ", " +
            count((*machine)->key_count(), "key") + ", digest correct");
    std::size_t changes = 0;
    const auto kept = (*store)->load_changes([&](log_index, std::uint64_t, std::string_view) { ++changes; });
    add("kept changes", kept.ok(),
        !kept   ? kept.error()
        : *kept ? count(changes, "change") + ", after index " + to_string(**kept)
                : "none for this checkpoint");
  }

  void look_at_older() {
    storage::older_generation older(files_, dir_ + state_folder, storage::hash_of_state_rows);
    if (auto s = older.open(); !s || !older.info())
      return add("older checkpoint", true, "none");
    auto f = older.open_file();
    const auto s = f ? storage::prove_flat(**f, *older.info(), storage::hash_of_state_rows) : status(f.reason());
    add("older checkpoint", s.ok(),
        s ? "index " + to_string(older.info()->meta.index) + ", digest correct" : s.error());
  }

  void look_at_other_files() {
    const auto promised = load_promise(dir_, files_);
    add("formation", promised.ok(), promised ? "readable" : promised.error());
    look_at_registrations();
    const auto tokens = read_agent_tokens(dir_);
    add("agent tokens", tokens.ok(), tokens ? "readable" : tokens.error());
  }

  void look_at_registrations() {
    const auto folder = registrations_directory(dir_);
    if (std::error_code ec; !fs::is_directory(folder, ec))
      return add("agent", true, "no registrations");
    const auto names = files_.list(folder);
    if (!names)
      return add("agent", false, names.error());
    std::string wrong;
    for (const auto& name : *names) {
      const auto bytes = files_.read_if_there(folder + "/" + name);
      const auto found = bytes && *bytes ? wire::decode_registration(**bytes, 0)
                                         : result<wire::registration>(failure{bytes ? "it is missing" : bytes.error()});
      if (!found)
        wrong += (wrong.empty() ? "" : "; ") + name + ": " + found.error();
    }
    add("agent", wrong.empty(), wrong.empty() ? count(names->size(), "registration") : wrong);
  }

  /// A damaged checkpoint is copied, because a start would replace it by an older one.
  result<std::shared_ptr<storage::checkpoint_store>> checkpoints_for_start() {
    if (newest_is_right_)
      return open_checkpoints(dir_, files_);
    if (copies_.path().empty())
      return failure{"cannot create a temporary folder for copies of the checkpoints"};
    std::error_code ec;
    fs::create_directory(copies_.path() + state_folder, ec);
    for (const auto* name : {"/checkpoint.mdb", "/older.snapshot"})
      if (const auto from = dir_ + state_folder + name; fs::exists(from, ec))
        if (!fs::copy_file(from, copies_.path() + state_folder + name, ec))
          return failure{"cannot copy " + from + " to " + copies_.path() + " (TMPDIR): " + ec.message()};
    return open_checkpoints(copies_.path(), storage::posix_file_system());
  }

  void start(const identity& who) {
    auto checkpoints = checkpoints_for_start();
    auto log = open_log();
    auto disk = !checkpoints ? result<node_disk>(checkpoints.reason())
                : !log       ? result<node_disk>(log.reason())
                             : read_disk(std::move(*log), std::move(*checkpoints));
    const auto memory = disk ? check_memory(who.cluster_id, disk->restored) : status(done{});
    if (!disk || !memory) {
      report_.conclusion = "A server would not start from it: " + (disk ? memory.error() : disk.error());
      return;
    }
    const auto from = disk->restored.snapshot.index;
    if (const auto wrong = apply(*disk); !wrong.empty()) {
      report_.conclusion = "A server would start from it, and stop: " + wrong;
      return;
    }
    report_.starts = true;
    report_.conclusion = "A server would start from it at index " + to_string(from) +
                         (newest_is_right_ || !has_checkpoint_ ? ""
                          : from.is_zero()                     ? " (the log alone: the checkpoint is damaged)"
                                                               : " (an older checkpoint: the newest one is damaged)") +
                         ", and apply the log up to " + to_string(disk->machine->applied_index());
  }

  /// Entries at the end may be uncommitted; a server that is elected commits them.
  std::string apply(node_disk& disk) {
    auto& m = *disk.machine;
    std::size_t applied = 0;
    for (const auto& e : disk.restored.entries) {
      if (e.index <= m.applied_index())
        continue;
      state::effects changed;
      if (e.kind != raft::entry_kind::command) {
        m.skip(e.index, e.time, changed);
      } else if (const auto c = wire::decode_command(*e.data)) {
        m.apply(e.index, e.time, *c, changed);
      } else {
        const auto needs = wire::needs_of(*e.data);
        return "entry " + to_string(e.index) + " cannot be read" +
               (needs && needs->level > state::own_level ? ": " + wire::too_new(*needs, "this program")
                                                         : std::string());
      }
      ++applied;
    }
    const bool same = m.recompute_digest() == m.digest();
    const auto miscounted = m.recount();
    add("state", same && !miscounted,
        std::to_string(applied) + " entries of the log applied" +
            (!same        ? ", and its digest differs from that of its rows: check the memory of this machine"
             : miscounted ? ", and a sum or an index is wrong: " + *miscounted
                          : ", digest and indexes correct"));
    return !same ? "the state has a wrong digest" : miscounted ? *miscounted : "";
  }

  std::string dir_;
  storage::read_only_files files_{storage::posix_file_system()};
  temporary_folder copies_;
  bool has_checkpoint_ = false, newest_is_right_ = false;
  data_report report_;
};

} // namespace

result<data_report> check_data(const std::string& data_dir) {
  return inspection(data_dir).run();
}

} // namespace belay::actors
