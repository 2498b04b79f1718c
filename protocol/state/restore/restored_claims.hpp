#pragma once
// Claims, guards and ended sessions of an archive: what of them comes back, and what of now stays (docs/claims.md, rule 38, and
// docs/adr/0016).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// - Who was told that his claim is over does not have it again: ends of now survive, and remove claims from the archive.
/// - Nobody has what somebody else may still believe to have: who holds now and not in the archive leaves a ghost.
/// - Rows that refer to nothing, or that no requests could have led to (only in archives that were tampered with), are left out.
class claims_restorer {
public:
  /// Both outlive this.
  claims_restorer(const tables& old, tables& fresh) : old_(old), fresh_(fresh) {}

  /// @returns false: the row is of another table, and the caller's
  bool take(const dirty_row& row);
  /// Whether claims are in use from the restore on. After all rows were taken; marks have to be in `fresh`.
  bool in_use() const;
  /// Puts everything into `fresh`. @pre in_use(); sessions, keys, fences and lock delays are there
  void run(applying& a);

private:
  void ends(const applying& a);
  void guards();
  void ghosts(const applying& a);
  void resources(const applying& a);
  void holders(applying& a);
  void waiters(applying& a);
  void later_claims(applying& a);
  void ended_sessions(applying& a);

  claim_resource_ptr shape_of(const applying& a, const resource_name& of);
  bool may_return(const claim_record& c) const;

  const tables& old_;
  tables& fresh_;
  std::vector<claim_ptr> claims_;
  std::map<resource_name, claim_resource_ptr> resources_;
  std::vector<claim_ghost_ptr> ghosts_;
  std::vector<claim_end_ptr> ends_;
  std::vector<guard_ptr> guards_;
  std::vector<ended_session_ptr> ended_;
};

} // namespace belay::state
