#pragma once
// The verbs of `belay`: each takes the words behind its name and returns the exit code.

#include <iosfwd>
#include <string>
#include <vector>

namespace belay::cli {

/// What a verb reads and writes.
struct terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};
using arguments = std::vector<std::string>;

/// Writes a complaint as a line. @returns the exit code of a verb that failed
int error(terminal t, const std::string& text);

/// Finds the verb in the first words. Without one, or with an unknown one: usage and 127, as Consul does.
int run(const arguments& words, terminal t);

int agent(const arguments& args, terminal t);
int validate(const arguments& args, terminal t);
int version(terminal t);

int kv_get(const arguments& args, terminal t);
int kv_put(const arguments& args, terminal t);
int kv_delete(const arguments& args, terminal t);
int kv_export(const arguments& args, terminal t);
int kv_import(const arguments& args, terminal t);

int keygen(const arguments& args, terminal t);
int keyring(const arguments& args, terminal t);
int tls_ca_create(const arguments& args, terminal t);
int tls_cert_create(const arguments& args, terminal t);

int members(const arguments& args, terminal t);
int info(const arguments& args, terminal t);
int raft_add_peer(const arguments& args, terminal t);
int raft_list_peers(const arguments& args, terminal t);
int raft_recover(const arguments& args, terminal t);

} // namespace belay::cli
