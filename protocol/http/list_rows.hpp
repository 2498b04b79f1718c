#pragma once
// Responses that are lists, row by row, so that a long one can be written some rows at a time.

#include "protocol/http/render.hpp"

#include <functional>
#include <optional>
#include <string>

namespace belay::http {

/// The body is `begin`, the rows separated by commas, `end`. Refers to the result.
struct list_rows {
  std::string begin = "[", end = "]";
  std::size_t count = 0;
  std::function<void(std::string& out, std::size_t row)> append;
  bool json = true; ///< else the rows are parts of a value, without separators (?raw)

  /// Appends the row with its separator.
  void append_row(std::string& out, std::size_t row) const {
    if (row != 0 && json)
      out += ',';
    append(out, row);
  }
};

/// @param meta shown in the body of a transaction that only reads; null: it also writes
/// @returns nullopt: the result is not a list, or is empty with a response of its own (404).
std::optional<list_rows> rows_of(const state::query& q, const state::query_result& result,
                                 const render_options& options, const read_meta* meta = nullptr);
/// The results of a transaction, or its errors. `meta`: see rows_of().
list_rows txn_rows(const state::txn_reply& r, const read_meta* meta);
std::string whole(const list_rows& rows);

/// Whether it reads one key, whose value can be the whole response (?raw).
bool asks_one_key(const state::query& q);
/// Rough size of the body in bytes. Cheap, and at least a third of the real size.
/// @param enough need not be exact above it: may stop early if there are many keys
std::size_t estimated_bytes(const state::query_result& result, std::size_t enough = SIZE_MAX);
std::size_t estimated_bytes(const state::txn_reply& result, std::size_t enough = SIZE_MAX);
/// Whether both have the same rows: rendered with the same options, their bodies are equal.
bool same_rows(const state::query_result& a, const state::query_result& b);

} // namespace belay::http
