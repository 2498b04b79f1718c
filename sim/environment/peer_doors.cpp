#include "sim/environment/peer_doors.hpp"

#include "actors/consensus/peer_handshake.hpp"
#include "actors/node/disk/peer_keyring.hpp"
#include "protocol/base/probe.hpp"
#include "sim/disks/simulated_disk.hpp"
#include "storage/file_system.hpp"

#include <boost/json.hpp>
#include <openssl/ssl.h>

#include <algorithm>
#include <filesystem>

namespace belay::sim {

namespace {

// A limit on connections that is never reached: the simulated handshakes are not limited.
constexpr std::size_t plenty = 1000;

struct end_of_connection {
  tls::credentials_ptr mine;
  std::int64_t now = 0; ///< seconds since 1970, by its own clock
};

/// Without this OpenSSL would read the real clock.
void look_at_clock(ssl_ctx_st* context, std::int64_t now) {
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context), now);
}

/// Runs the handshake from the first byte to the hellos.
peer_doors::admission identify(const end_of_connection& dialler, const end_of_connection& accepter,
                               const wire::hello& hello) {
  look_at_clock(dialler.mine->dialling(), dialler.now);
  look_at_clock(accepter.mine->accepting(), accepter.now);
  actors::peer_handshake door(accepter.mine);
  std::string words;
  wire::encode_frame(hello, words);
  std::optional<tls::channel> channel;
  if (dialler.mine->dials_with_tls())
    channel.emplace(dialler.mine, tls::channel::side::dials);
  bool greeted = false;
  for (;;) {
    std::string out;
    if (!greeted && (!channel || channel->established())) {
      greeted = true;
      if (!channel)
        out = words;
      else if (auto written = channel->write(words); !written)
        return {false, true, written.error()};
    }
    if (channel)
      channel->take_output(out);
    if (out.empty())
      return {false, channel.has_value(), "both wait for each other"};
    const auto decrypted = door.feed(out);
    if (decrypted && *decrypted) {
      INVARIANT((*decrypted)->hello == hello);
      return {true, (*decrypted)->channel.has_value(), {}};
    }
    const auto answer = door.take_answer();
    std::string nothing;
    const auto received = channel ? channel->feed(answer, nothing) : status(done{});
    if (!decrypted)
      return {false, channel.has_value(), decrypted.error()};
    if (!received)
      return {false, true, "the dialling side: " + received.error()};
  }
}

/// The keys in a keyring after an operation that succeeded (docs/contract/12).
std::vector<std::string> keys_after(std::vector<std::string> keys, const forward::keyring_operation& op) {
  const auto at = std::find(keys.begin(), keys.end(), op.key);
  if (op.verb == forward::keyring_verb::install && at == keys.end())
    keys.push_back(op.key);
  if (op.verb == forward::keyring_verb::remove && at != keys.end())
    keys.erase(at);
  if (op.verb == forward::keyring_verb::use && at != keys.end()) {
    keys.erase(at);
    keys.insert(keys.begin(), op.key);
  }
  return keys;
}

std::string identities_of(const std::vector<std::string>& keys) {
  std::string text;
  for (const auto& k : keys)
    text += " " + k.substr(0, 4);
  return text.empty() ? " none" : text;
}

} // namespace

// ---- operators

void peer_doors::configure(std::size_t node, credential_facts f) {
  PRECONDITION(f.encrypt.size() <= 1);
  servers_[node].configured = std::move(f);
}

void peer_doors::reload(std::size_t node) {
  auto& s = servers_[node];
  PRECONDITION(s.reloads != nullptr);
  auto reloaded = s.reloads->reload();
  if (!reloaded) // a disk call failed (nemesis): the previous credentials stay in force, and the operator retries
    reloaded = s.reloads->reload();
  if (!reloaded)
    return complain("credentials", "n" + std::to_string(node) + " does not reload: " + reloaded.error());
  take_over(node);
}

bool peer_doors::write_keyring(std::size_t node, storage::file_system& data, const keys& list) {
  const auto file = actors::keyring_file(simulated_disk::data_directory);
  const auto folder = std::filesystem::path(file).parent_path().string();
  auto& may_be = servers_[node].keyring;
  may_be.insert(list);
  const auto text = boost::json::serialize(boost::json::value_from(list));
  if (!data.make_directory(folder) || !storage::replace_file(data, file, text, true) || !data.sync_directory(folder))
    return false;
  may_be = {list};
  servers_[node].keyring_unknown = false;
  return true;
}

// ---- processes

actors::node_config peer_doors::config_of(std::size_t node) {
  actors::node_config c;
  c.data_dir = simulated_disk::data_directory;
  c.peer_tls = ca_.settings_of(servers_[node].configured);
  c.log.to_stdout = false;
  return c;
}

status peer_doors::start(std::size_t node, storage::file_system& data, std::shared_ptr<const simulated_clock> clock) {
  auto& s = servers_[node];
  const auto config = config_of(node);
  if (s.keyring.contains(keys{}) && !s.configured.encrypt.empty())
    s.keyring.insert(s.configured.encrypt); // a new keyring starts with that key
  auto loaded = actors::peer_credentials_of(config, data);
  if (!loaded)
    return loaded.reason();
  s.clock = std::move(clock);
  s.store = std::make_shared<tls::credential_store>(*loaded);
  s.reloads = std::make_unique<actors::reloader>(
      actors::parsed_command_line{config, {}, {}, {}},
      [this, node]() -> result<actors::parsed_command_line> {
        return actors::parsed_command_line{config_of(node), {}, {}, {}};
      },
      actors::reloader::parts{s.store, nullptr, plenty, plenty, [](const actors::acl_config&) {},
                              [](const actors::node_config&) -> status { return done{}; }, data});
  take_over(node);
  return done{};
}

/// It has read its configuration and its keyring: both are in force.
void peer_doors::take_over(std::size_t node) {
  auto& s = servers_[node];
  keys found;
  for (const auto& k : s.store->now()->keys())
    found.push_back(k.text);
  if (s.keyring.contains(keys{}) && !s.configured.encrypt.empty())
    s.keyring.insert(s.configured.encrypt);
  if (!s.keyring.contains(found) && !s.keyring_unknown)
    complain("keyring", "n" + std::to_string(node) + " begins with the keys" + identities_of(found) +
                            " and had the keys" + identities_of(*s.keyring.rbegin()));
  s.keyring = {found};
  auto f = s.configured;
  f.encrypt = std::move(found);
  now_in_force(node, std::move(f));
}

void peer_doors::now_in_force(std::size_t node, credential_facts f) {
  auto& s = servers_[node];
  s.in_force = std::move(f);
  s.past.emplace_back(time_.now(), s.in_force);
}

/// All that was in force at some moment since then.
std::vector<credential_facts> peer_doors::in_force_since(std::size_t node, virtual_time t) const {
  const auto& past = servers_[node].past;
  std::vector<credential_facts> found;
  for (std::size_t i = 0; i < past.size(); ++i)
    if (i + 1 == past.size() || past[i + 1].first >= t)
      found.push_back(past[i].second);
  return found;
}

void peer_doors::ended(std::size_t node) {
  servers_[node].reloads.reset();
  servers_[node].store.reset();
}

void peer_doors::wiped(std::size_t node) {
  auto& s = servers_[node];
  // The other servers may by now have other keys than its configuration.
  s.excused = s.excused || !s.configured.encrypt.empty();
  s.keyring = {keys{}};
  s.keyring_unknown = false;
}

void peer_doors::damaged(std::size_t node) {
  servers_[node].excused = servers_[node].keyring_unknown = true;
}

forward::keyring_answer peer_doors::operate(std::size_t node, const forward::keyring_operation& op) {
  auto& s = servers_[node];
  const auto next = keys_after(s.in_force.encrypt, op);
  s.keyring.insert(next);
  auto answer = s.reloads->operate_keyring(op);
  if (trace_.wanted())
    trace_.line(time_.now(), node,
                std::string("keyring: ") + forward::name_of(op.verb) + " " + op.key.substr(0, 4) +
                    (answer.ok ? "" : ": " + answer.text));
  if (answer.ok) {
    s.keyring = {next};
    auto f = s.in_force;
    f.encrypt = next;
    now_in_force(node, std::move(f));
  }
  if (answer.ok && op.verb == forward::keyring_verb::list && answer.keys != next)
    complain("keyring", "n" + std::to_string(node) + " lists the keys" + identities_of(answer.keys) +
                            ", and should have the keys" + identities_of(next));
  return answer;
}

bool peer_doors::keyring_is(std::size_t node, const keys& list) const {
  const auto& s = servers_[node];
  const auto same = [&list](const keys& found) {
    return !found.empty() && found.front() == list.front() &&
           std::set<std::string>(found.begin(), found.end()) == std::set<std::string>(list.begin(), list.end());
  };
  return std::all_of(s.keyring.begin(), s.keyring.end(), same);
}

bool peer_doors::has_key(std::size_t node, const std::string& key) const {
  const auto& may_be = servers_[node].keyring;
  return std::all_of(may_be.begin(), may_be.end(),
                     [&key](const keys& k) { return std::find(k.begin(), k.end(), key) != k.end(); });
}

bool peer_doors::dials_with_key(std::size_t node, const std::string& key) const {
  const auto& may_be = servers_[node].keyring;
  return std::all_of(may_be.begin(), may_be.end(), [&key](const keys& k) { return !k.empty() && k.front() == key; });
}

// ---- connections

std::int64_t peer_doors::seconds_at(std::size_t node) const {
  return static_cast<std::int64_t>(servers_[node].clock->wall().value / 1000);
}

peer_doors::admission peer_doors::let_in(std::size_t dialler, std::size_t accepter, const wire::hello& hello) {
  const auto& d = servers_[dialler];
  const auto& a = servers_[accepter];
  PRECONDITION(d.store != nullptr && a.store != nullptr);
  const auto his = seconds_at(dialler), own = seconds_at(accepter);
  auto greeted = checked("n" + std::to_string(dialler) + " at n" + std::to_string(accepter),
                         identify({d.store->now(), his}, {a.store->now(), own}, hello),
                         expect_admission(d.in_force, his, a.in_force, own,
                                          hello.client_agent ? dials_as::client_agent : dials_as::server));
  if (greeted.in) {
    if (greeted.encrypted)
      PROBE("doors: a server is let in by credentials");
    return greeted;
  }
  ++refusals_;
  PROBE("doors: a server is refused");
  trace_.add(0xd003 + dialler * 64 + accepter);
  if (trace_.wanted())
    trace_.line(time_.now(), accepter, "refuses n" + std::to_string(dialler) + ": " + greeted.why);
  if (orderly && !d.excused && !a.excused)
    complain("credentials",
             "n" + std::to_string(accepter) + " refuses n" + std::to_string(dialler) +
                 ", although credentials are only changed in the order of the documentation: " + greeted.why);
  return greeted;
}

peer_doors::admission peer_doors::admit_unverified_peer(const credential_facts& his, std::size_t accepter,
                                                        const wire::hello& hello) {
  const auto& a = servers_[accepter];
  PRECONDITION(a.store != nullptr);
  const auto loaded = tls::credentials::load(ca_.settings_of(his));
  INVARIANT(loaded.ok());
  const auto now = seconds_at(accepter);
  auto greeted =
      checked("an unverified peer at n" + std::to_string(accepter),
              identify({*loaded, now}, {a.store->now(), now}, hello), expect_admission(his, now, a.in_force, now));
  if (greeted.in)
    PROBE("doors: a stranger is let in, as he should be");
  else
    PROBE("doors: a stranger is refused");
  trace_.add(0x57a6 + accepter * 2 + (greeted.in ? 1 : 0));
  return greeted;
}

void peer_doors::before_dialling(std::size_t agent) {
  if (const auto& store = servers_[agent].store)
    look_at_clock(store->now()->dialling(), seconds_at(agent));
}

tls::credentials_ptr peer_doors::demanded_by(std::size_t server) {
  const auto& store = servers_[server].store;
  PRECONDITION(store != nullptr);
  const auto mine = store->now();
  look_at_clock(mine->accepting(), seconds_at(server));
  return mine;
}

/// An agent takes its credentials shortly before it dials. Both sides read their clocks around it.
void peer_doors::check(const agent_connections::admission& real) {
  constexpr std::chrono::seconds before{30};
  auto& d = servers_[real.agent];
  const auto& a = servers_[real.server];
  if (d.store == nullptr || a.store == nullptr)
    return;
  d.kept_out = !real.in;
  const auto earlier = std::chrono::duration_cast<std::chrono::seconds>(time_.now() - real.dialled + before).count();
  std::optional<expected_admission> other;
  bool right = false;
  for (const auto& his : in_force_since(real.agent, real.dialled - before))
    for (const auto& own : in_force_since(real.server, real.accepted))
      for (const auto his_now : {seconds_at(real.agent), seconds_at(real.agent) - earlier})
        for (const auto own_now : {seconds_at(real.server), seconds_at(real.server) - earlier}) {
          auto e = expect_admission(his, his_now, own, own_now, dials_as::client_agent);
          const bool in = e.objection.empty();
          right = right || (in == real.in && (!in || e.encrypted == real.encrypted));
          other = std::move(e);
        }
  const auto who = "n" + std::to_string(real.agent) + ", a client agent, at n" + std::to_string(real.server);
  if (!right && other)
    checked(who, {real.in, real.encrypted, real.why}, *other);
  if (real.in) {
    if (real.encrypted)
      PROBE("doors: a client agent is let in by credentials");
    return;
  }
  ++refusals_;
  PROBE("doors: a client agent is refused");
  if (trace_.wanted())
    trace_.line(time_.now(), real.server, "refuses " + who + ": " + real.why);
  // The documented order protects nodes one step apart. A dial over a cut link may be late.
  const auto changes_since =
      in_force_since(real.agent, real.dialled).size() + in_force_since(real.server, real.dialled).size() - 2;
  if (orderly && !d.excused && !a.excused && changes_since < 2)
    complain("credentials",
             who + " is refused, although credentials are only changed in the order of the documentation: " + real.why);
}

peer_doors::admission peer_doors::checked(const std::string& who, admission real, const expected_admission& expected) {
  if (real.in && !expected.objection.empty())
    complain("credentials", who + " is admitted, although " + expected.objection);
  else if (!real.in && expected.objection.empty())
    complain("credentials", who + " is refused, although its credentials are right: " + real.why);
  else if (real.in && real.encrypted != expected.encrypted)
    complain("credentials", who + (real.encrypted ? " is admitted with TLS, and dials without"
                                                  : " is admitted without TLS, and dials with it"));
  return real;
}

void peer_doors::complain(const char* checker, std::string text) {
  if (!complaint_)
    complaint_ = {checker, std::move(text)};
}

} // namespace belay::sim
