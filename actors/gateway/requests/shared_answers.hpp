#pragma once
// Large answers to reads and transactions. Each is filtered and rendered in pieces; others are
// served in between. It is rendered once for all clients that get the same rows in the same form:
// woken by one change, or at the same time.

#include "actors/gateway/requests/byte_budget.hpp"
#include "actors/gateway/requests/pending_requests.hpp"
#include "actors/gateway/requests/request_admission.hpp"
#include "actors/interfaces.hpp"
#include "protocol/http/piecewise_body.hpp"
#include "protocol/http/reading/filtering.hpp"

#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace belay::actors {

class shared_answers {
public:
  /// Answers with a smaller estimated size are rendered at once, each for its own client.
  static constexpr std::size_t bytes_min = 64 << 10;
  /// Answers with a larger estimated size are rendered in pieces, as their clients take them. Then
  /// the memory does not depend on their size, and the length is not known in advance.
  static constexpr std::size_t streamed_from = 64 << 20;
  /// Size of one piece: it takes about a millisecond to render, three with compression.
  static constexpr std::size_t piece_bytes = 256 << 10;

  /// @param pending,admission,held,m must outlive it; `held` must also outlive all bodies
  shared_answers(pending_requests& pending, request_admission& admission, byte_budget& held, metrics& m,
                 node_actors_ptr node_actors)
      : pending_(pending), admission_(admission), held_(held), metrics_(m), node_actors_(std::move(node_actors)) {}

  /// Handles the result of a settled read.
  /// @param due deadline @returns false: neither large nor filtered, nothing was done. Else it is
  /// answered, or pending until go_on() is done
  bool take(exchange& e, read_result& r, monotonic_time due, monotonic_time now);
  /// The same for a settled write, which may be a transaction. It is done, so it has no deadline.
  bool take(exchange& e, write_result& r, monotonic_time now);

  /// Whether to call go_on(), after other work.
  bool busy() const { return worked_in_batch_ || !active_.empty() || !sifted_.empty(); }
  /// Filters rows or renders a piece of the answer that waits longest. Settles completed ones.
  void go_on(monotonic_time now);

  /// The client can take more of an answer that is being rendered.
  static void next_piece(exchange& e);

  /// A client that may have waited for one of the answers is gone.
  void forget();
  /// Frees the rows whose bodies no client needs. Call it regularly.
  void tick();

private:
  /// What must be equal for two answers to have one body. Their headers may differ.
  struct form {
    std::size_t query = 0; ///< kind of query: several kinds render the same rows differently
    bool raw = false, keys_only = false, pretty = false, gzip = false;
    std::string viewer = {}; ///< the token that determines the visible rows; empty: ACLs are not in force
    /// The time of a comparison reveals nothing about the viewer.
    bool operator==(const form& other) const;
  };
  struct rows_in_form {
    form shown_as;
    std::shared_ptr<const state::query_result> rows;

    bool same_as(const rows_in_form& other) const;
  };
  struct waiter {
    request_id id;
    http::response head;
  };
  struct rendering {
    rows_in_form what;
    http::piecewise_body body;
    std::vector<waiter> waiting;
    std::size_t held = 0; ///< as counted in the budget

    rendering(rows_in_form w, const state::query& q, const http::render_options& o, const http::read_meta* meta)
        : what(std::move(w)), body(what.rows, q, o, meta) {}
  };
  struct sifting {
    request_id id;
    monotonic_time due;
    http::read_meta meta;
    http::row_sieve rows;
  };
  struct rendered {
    rows_in_form what;
    std::weak_ptr<const http::shared_body> body;
  };

  void sift(exchange& e, sifting s, monotonic_time now);
  void sift_on(monotonic_time now);
  void finish(exchange& e, sifting& s, monotonic_time now);
  /// @param meta null: of a write
  void render(exchange& e, std::shared_ptr<const state::query_result> rows, const state::query& q, http::response head,
              const http::read_meta* meta, monotonic_time due, monotonic_time now);
  static void stream(exchange& e, std::unique_ptr<http::piecewise_body> rows, byte_budget& held);
  static rows_in_form what_of(const exchange& e, const state::query& q,
                              std::shared_ptr<const state::query_result> rows);
  http::shared_body_ptr find_rendered(const rows_in_form& what);
  http::shared_body_ptr keep(http::shared_body made, std::size_t held_before, rows_in_form what);
  void render_on(monotonic_time now);
  void finish(rendering& r, monotonic_time now);
  bool wanted(rendering& r);
  void hold(rendering& r);

  pending_requests& pending_;
  request_admission& admission_;
  byte_budget& held_;
  metrics& metrics_;
  node_actors_ptr node_actors_;
  std::list<rendering> active_; ///< the next to be rendered comes first
  std::vector<rendered> rendered_;
  std::list<sifting> sifted_;    ///< the next to be filtered comes first
  bool worked_in_batch_ = false; ///< a slice was processed, and no other work since
  bool sifts_next_ = false;      ///< filters and renderings take turns
};

} // namespace belay::actors
