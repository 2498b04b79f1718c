#pragma once
// Large answers to reads. Each is rendered in pieces, so that others are served in between, and once for all clients that get the same
// rows in the same form: those that were woken by the same change, and those that ask while one of them still takes it.

#include "actors/gateway/requests/byte_budget.hpp"
#include "actors/gateway/requests/pending_requests.hpp"
#include "actors/gateway/requests/request_admission.hpp"
#include "protocol/http/piecewise_body.hpp"

#include <list>
#include <utility>
#include <vector>

namespace belay::actors {

class shared_answers {
public:
  /// Answers that are estimated to be shorter are rendered as a whole, each for itself.
  static constexpr std::size_t bytes_min = 64 << 10;
  /// Answers that are estimated to be longer are rendered as their client takes them, in pieces whose memory does not depend on their number;
  /// their length is not known before.
  static constexpr std::size_t streamed_from = 64 << 20;
  /// Of one piece: about a millisecond, or three when it is compressed.
  static constexpr std::size_t piece_bytes = 256 << 10;

  /// @param pending,admission,held,m outlive it; of `held` also the bodies have need, until the last of their clients is gone
  shared_answers(pending_requests& pending, request_admission& admission, byte_budget& held, metrics& m)
      : pending_(pending), admission_(admission), held_(held), metrics_(m) {}

  /// A read that was settled has this answer. @param due when it is given up
  /// @returns false: it is not large, nothing was done. Else its answer is there, or it is pending again until go_on() has made it
  bool take(exchange& e, read_result& r, monotonic_time due, monotonic_time now);

  /// go_on() has to be called, after others were served.
  bool busy() const { return rendered_in_turn_ || !active_.empty(); }
  /// Renders a piece of the answer that has waited longest. What is complete is settled.
  void go_on(monotonic_time now);

  /// The client takes more of an answer that is rendered meanwhile.
  static void next_piece(exchange& e);

  /// Somebody who may have waited for one of them is gone.
  void forget();
  /// Lets go of the rows whose bodies no client holds any more. Now and then.
  void tick();

private:
  /// What must be equal for two answers to have one body. Their headers may differ.
  struct form {
    std::size_t query = 0; ///< which kind: the same rows are shown in several shapes
    bool raw = false, keys_only = false, pretty = false, gzip = false;
    std::string viewer = {}; ///< the token whose permissions decide what is shown; empty: ACLs are not in force
    /// How long it takes tells nothing of the viewer.
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
    std::size_t held = 0; ///< as the budget knows it

    rendering(rows_in_form w, const state::query& q, const http::render_options& o)
        : what(std::move(w)), body(what.rows, q, o) {}
  };
  struct rendered {
    rows_in_form what;
    std::weak_ptr<const http::shared_body> body;
  };

  void stream(exchange& e, const rows_in_form& what, const http::render_options& options);
  static rows_in_form what_of(const exchange& e, read_result& r);
  http::shared_body_ptr find_rendered(const rows_in_form& what);
  http::shared_body_ptr keep(http::shared_body made, std::size_t held_before, rows_in_form what);
  void finish(rendering& r, monotonic_time now);
  bool wanted(rendering& r);
  void hold(rendering& r);

  pending_requests& pending_;
  request_admission& admission_;
  byte_budget& held_;
  metrics& metrics_;
  std::list<rendering> active_; ///< whose turn it is comes first
  std::vector<rendered> rendered_;
  bool rendered_in_turn_ = false;
};

} // namespace belay::actors
