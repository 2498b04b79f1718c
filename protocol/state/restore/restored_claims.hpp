#pragma once
// Restores claims, write guards and ended sessions: what comes back from
// the archive, and what stays (docs/reference/claims.md, rule 38, and docs/internals/adr/0016).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// - A claim reported as ended does not hold again: current ends survive, remove archived claims.
/// - What a client may still believe it holds and is not restored is withheld by delayed holders.
/// - Dangling rows, and rows that no request can create (only in forged archives), are left out.
class claims_restorer {
public:
  /// Both must outlive this.
  claims_restorer(const tables& old, tables& fresh) : old_(old), fresh_(fresh) {}

  /// @returns false: the row is of another table; the caller must handle it
  bool take(const dirty_row& row);
  /// Whether claims are in use after the restore. @pre all rows were taken; `fresh` has the marks
  bool in_use() const;
  /// Writes all to `fresh`. @pre in_use(); it has sessions, keys, fencing tokens and lock delays
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
