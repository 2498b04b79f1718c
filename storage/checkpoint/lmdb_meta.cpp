#include "storage/checkpoint/lmdb_meta.hpp"

#include "storage/checkpoint/lmdb_layout.hpp"

namespace belay::storage {

namespace {

namespace layout = lmdb_layout;

/// The meta of the page at `offset`; empty: there is none.
result<std::string> read_meta(file& f, std::uint64_t offset) {
  std::string page(layout::page_header_bytes + layout::meta_bytes, '\0');
  auto got = f.read_at(offset, page.data(), page.size());
  if (!got)
    return got.reason();
  if (*got != page.size() || !layout::is_meta_page(page.data()))
    return std::string();
  return page.substr(layout::page_header_bytes);
}

} // namespace

result<std::optional<replaced_meta>> revert_newest_commit(file& f) {
  const auto first = read_meta(f, 0);
  if (!first)
    return first.reason();
  if (first->empty())
    return std::optional<replaced_meta>();
  const std::uint64_t page_bytes = layout::number_at<std::uint32_t>(first->data(), layout::page_size_at);
  const auto second = read_meta(f, page_bytes);
  if (!second)
    return second.reason();
  if (second->empty())
    return std::optional<replaced_meta>();
  const auto one = layout::number_at<std::uint64_t>(first->data(), layout::transaction_at);
  const auto other = layout::number_at<std::uint64_t>(second->data(), layout::transaction_at);
  if (one == other)
    return std::optional<replaced_meta>();
  // LMDB uses the meta with the larger number, so the older one overwrites the newer one.
  const bool second_is_newer = other > one;
  replaced_meta before{(second_is_newer ? page_bytes : 0) + layout::page_header_bytes,
                       second_is_newer ? *second : *first};
  INVARIANT(before.bytes.size() == layout::meta_bytes); // undo_revert() writes no more than was replaced
  if (auto s = f.write_at(before.offset, {second_is_newer ? *first : *second}); !s)
    return s.reason();
  if (auto s = f.sync(); !s)
    return s.reason();
  return std::optional(std::move(before));
}

status undo_revert(file& f, const replaced_meta& before) {
  PRECONDITION(before.bytes.size() == layout::meta_bytes);
  PRECONDITION(before.offset >= layout::page_header_bytes);
  if (auto s = f.write_at(before.offset, {before.bytes}); !s)
    return s;
  return f.sync();
}

} // namespace belay::storage
