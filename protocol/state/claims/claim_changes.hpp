#pragma once
// The steps of which everything consists that happens to claims: each keeps the resource's row, the indexes and the effects right.

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Something of the resource changed in this entry: its row comes, moves, or goes because nothing keeps it (docs/claims.md, rule 2), its readers
/// are woken, and its queue is looked at when the entry ends.
void resource_changed(applying& a, const resource_name& of);

/// Makes the row of a resource that has none. Its first claim, or its limit, has to follow.
void open_resource(applying& a, const resource_name& of, claim_kind kind, std::uint64_t limit);

/// The number behind the last one.
std::uint64_t next_ticket(applying& a);

/// The waiter becomes the holder. @returns the claim as it is now; of the lock of a key null
claim_ptr grant_claim(applying& a, const claim_record& waiter);

/// The claim, or the wait, is over, and its id is remembered. @param cause claim_end_record::cause
void end_claim(applying& a, const claim_record& c, claim_end why, const std::string& cause = {});
/// The same of an id that was not there.
void remember_unknown(applying& a, const resource_name& of, const std::string& id);
/// Whether the end that the claim will have, or has, can be kept for ten minutes beside all others (docs/claims.md, rule 7). True for
/// entries below client_address_level.
/// @param own_id the client chose the id
bool end_fits(const applying& a, const resource_name& of, std::string_view id, bool own_id);
/// Ends those that wait for more permits than the limit, which would stay at the head for ever (docs/claims.md, rule 5).
void end_too_large(applying& a, const resource_name& of, std::uint64_t limit);

} // namespace belay::state
