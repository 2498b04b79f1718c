#include "storage/checkpoint/older_generation.hpp"

#include <algorithm>

namespace belay::storage {

namespace {

/// Enough for the header.
constexpr std::size_t header_bytes_max = 1u << 20;

std::optional<checkpoint_info> read_header(file& f) {
  std::string bytes(header_bytes_max, '\0');
  const auto got = f.read_at(0, bytes.data(), bytes.size());
  if (!got)
    return std::nullopt;
  snapshot_parser parser;
  (void)parser.take(std::string_view(bytes).substr(0, *got), [](const row_view&) { return status(done{}); });
  return parser.info();
}

} // namespace

status older_generation::open() {
  auto names = files_.list(directory_);
  if (!names)
    return names.reason();
  const auto has = [&](const char* name) { return std::find(names->begin(), names->end(), name) != names->end(); };
  if (has("older.new"))
    if (auto s = files_.remove(new_path()); !s)
      return s;
  if (!has("older.snapshot"))
    return done{};
  is_there_ = true;
  auto f = open_file();
  if (!f)
    return f.reason();
  info_ = read_header(**f);
  return done{};
}

result<std::uint64_t> older_generation::keep(const checkpoint_info& info,
                                             const std::function<status(const row_receiver&)>& each_row) {
  auto f = files_.open(new_path(), open_mode::fresh);
  if (!f)
    return f.reason();
  auto bytes = write_flat(**f, info, each_row);
  auto s = bytes ? (*f)->sync() : status(bytes.reason());
  if (s)
    s = prove_flat(**f, info, hash_);
  if (s)
    s = put_in_place(new_path(), info);
  if (s)
    return *bytes;
  (void)files_.remove(new_path()); // if this fails, the next start removes it
  return s.reason();
}

status older_generation::adopt(const std::string& file, const checkpoint_info& info) {
  auto f = files_.open(file, open_mode::existing);
  if (!f)
    return f.reason();
  if (auto s = (*f)->sync(); !s)
    return s;
  return put_in_place(file, info);
}

void older_generation::forget() {
  info_.reset();
  is_there_ = !files_.remove(path()).ok(); // if this fails, a later start finds that the log does not reach back to it
}

status older_generation::put_in_place(const std::string& file, const checkpoint_info& info) {
  if (auto s = files_.rename(file, path()); !s)
    return s;
  // Until the name is durable the log of the previous copy is needed.
  if (auto s = files_.sync_directory(directory_); !s)
    return s;
  info_ = info;
  is_there_ = true;
  return done{};
}

result<std::uint64_t> write_flat(file& f, const checkpoint_info& info,
                                 const std::function<status(const older_generation::row_receiver&)>& each_row) {
  snapshot_writer writer(f, info);
  if (auto s = each_row([&](const row_view& r) { return writer.add(r); }); !s)
    return s.reason();
  return writer.finish();
}

status prove_flat(file& f, const checkpoint_info& info, row_hash_function hash) {
  row_sum sum(hash);
  const auto found = read_snapshot_file(f, [&](const row_view& r) { return sum.add(r); });
  if (!found)
    return failure{found.error(), failure_kind::unproven};
  if (found->meta != info.meta || found->digest != info.digest ||
      sum.compare(info.digest) == state::stored_digest::comparison::different)
    return failure{"the digest of the rows of the snapshot at index " + to_string(info.meta.index) +
                       " differs from that of the checkpoint",
                   failure_kind::unproven};
  return done{};
}

} // namespace belay::storage
