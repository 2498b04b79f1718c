#pragma once
// Answers that are lists, row by row, so that a long one can be written some rows at a time.

#include "protocol/http/render.hpp"

#include <functional>
#include <optional>
#include <string>

namespace belay::http {

/// The body is `begin`, then the rows with commas between them, then `end`. Refers to the result it was made of.
struct list_rows {
  std::string begin = "[", end = "]";
  std::size_t count = 0;
  std::function<void(std::string& out, std::size_t row)> append;
  bool json = true; ///< else the rows are parts of a value, with nothing between them (?raw)

  /// Appends the row with what stands before it.
  void append_row(std::string& out, std::size_t row) const {
    if (row != 0 && json)
      out += ',';
    append(out, row);
  }
};

/// @returns nullopt: the answer is no list, or an empty one that is answered in another way (404).
std::optional<list_rows> rows_of(const state::query& q, const state::query_result& result,
                                 const render_options& options);
std::string whole(const list_rows& rows);

/// It asks for one key, whose value can be the whole answer (?raw).
bool asks_one_key(const state::query& q);
/// About how long the body would be: bytes. Cheap, and never less than a third of it.
/// @param enough beyond that it need not be exact: of many keys not all are looked at
std::size_t estimated_bytes(const state::query_result& result, std::size_t enough = SIZE_MAX);
/// They consist of the very same rows: written in the same way, their bodies are equal.
bool same_rows(const state::query_result& a, const state::query_result& b);

} // namespace belay::http
