#include "sim/clients/operation_kinds.hpp"

#include "protocol/http/routes.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace belay::sim {

namespace {

/// One step a line: METHOD TARGET BODY. The example is named after the last one. Prefixes: `once`:
/// with an Idempotency-Key; `any`: any response is right; `left`: the client disconnects while it
/// waits; `wait MS`: nothing is sent.
struct example {
  std::string_view what; ///< the variant; empty: the ordinary one
  std::string_view steps;
};

#define SESSION "PUT /v1/session/create {\"Node\":\"tour\",\"NodeChecks\":[\"serfHealth\"],\"LockDelay\":\"0s\"}\n"
#define CLAIM SESSION "PUT /v1/claim/$k?session=$1&id=a value\n"
#define SEMAPHORE SESSION "PUT /v1/claim/$k?session=$1&id=a&kind=semaphore&limit=3&permits=2 value\n"
#define ELECTION SESSION "PUT /v1/claim/$k?session=$1&id=a&kind=election value\n"
#define GUARD CLAIM "PUT /v1/guard/$k/?claim=$k\n"
#define SERVICE                                                                                                        \
  "PUT /v1/catalog/register "                                                                                          \
  "{\"Node\":\"$k\",\"Address\":\"10.0.0.8\",\"TaggedAddresses\":{\"lan\":\"10.0.0.8\"},\"NodeMeta\":{\"a\":\"b\"},"   \
  "\"Service\":{\"ID\":\"db\",\"Service\":\"db\",\"Port\":80,\"Tags\":[\"x\"],\"Meta\":{\"c\":\"d\"}},"                \
  "\"Checks\":[{\"Node\":\"$k\",\"CheckID\":\"alive\",\"Name\":\"alive\",\"Status\":\"passing\"},"                     \
  "{\"Node\":\"$k\",\"CheckID\":\"of-db\",\"Name\":\"of-db\",\"Status\":\"warning\",\"ServiceID\":\"db\"}]}\n"
#define OWN_SERVICE                                                                                                    \
  "PUT /v1/agent/service/register {\"Name\":\"$k\",\"Port\":81,\"Tags\":[\"y\"],\"Check\":{\"CheckID\":\"of-$k\","     \
  "\"TTL\":\"10s\"}}\n"
#define OWN_CHECK "PUT /v1/agent/check/register {\"Name\":\"$k\",\"TTL\":\"10s\"}\n"
#define POLICY "PUT /v1/acl/policy {\"Name\":\"$k\",\"Rules\":\"key \\\"$k\\\" { policy = \\\"read\\\" }\"}\n"
#define ROLE POLICY "PUT /v1/acl/role {\"Name\":\"$k\",\"Policies\":[{\"Name\":\"$k\"}]}\n"
#define TOKEN                                                                                                          \
  ROLE "PUT /v1/acl/token {\"AccessorID\":\"$3\",\"Description\":\"t\",\"Policies\":[{\"Name\":\"$k\"}],"              \
       "\"Roles\":[{\"Name\":\"$k\"}]}\n"

constexpr example examples[] = {
    {"", "PUT /v1/kv/$k/a?flags=7 1\nGET /v1/kv/$k/a"},
    {"all below a prefix", "PUT /v1/kv/$k/a 1\nGET /v1/kv/$k/?recurse"},
    {"names", "PUT /v1/kv/$k/a 1\nGET /v1/kv/$k/?keys&separator=/"},
    {"changes", "PUT /v1/kv/$k/a 1\nGET /v1/kv/$k/?recurse&changes&snapshot"},
    {"history", "PUT /v1/kv/$k/a 1\nany GET /v1/kv/$k/a?history"},
    {"", "PUT /v1/kv/$k/a?flags=18446744073709551615 1"},
    {"an empty value", "PUT /v1/kv/$k/a"},
    {"cas", "PUT /v1/kv/$k/a?cas=0 1"},
    {"acquire", SESSION "PUT /v1/kv/$k/a?acquire=$1 1"},
    {"acquire again", SESSION "PUT /v1/kv/$k/a?acquire=$1 1\nPUT /v1/kv/$k/a?acquire=$1 2"},
    {"write of a locked key", SESSION "PUT /v1/kv/$k/a?acquire=$1 1\nPUT /v1/kv/$k/a 2"},
    {"release", SESSION "PUT /v1/kv/$k/a?acquire=$1 1\nPUT /v1/kv/$k/a?release=$1 2"},
    {"add", "PUT /v1/kv/$k/n?add=5\nPUT /v1/kv/$k/n?add=-7&min=-10&max=10"},
    {"acquire and wait", SESSION "PUT /v1/kv/$k/a?acquire=$1&queue=1s 1"},
    {"wait in vain", SESSION SESSION "PUT /v1/kv/$k/a?acquire=$1 1\nPUT /v1/kv/$k/a?acquire=$2&queue=300ms 1"},
    {"wait that is left", // and withdrawn
     SESSION SESSION "PUT /v1/kv/$k/a?acquire=$1 1\nleft PUT /v1/kv/$k/a?acquire=$2&queue=1m 1\nwait 7000"},
    {"fenced", GUARD "PUT /v1/kv/$k/a?fence=$fence&claim=$k 1"},
    {"fenced acquire", GUARD "PUT /v1/kv/$k/a?acquire=$1&queue=1s&fence=$fence&claim=$k 1"},
    {"once", "once PUT /v1/kv/$k/a 1"},
    {"refused once", "PUT /v1/kv/$k/a 1\nonce PUT /v1/kv/$k/a?cas=0 1"},
    {"add once", "once PUT /v1/kv/$k/n?add=5"},
    {"", "PUT /v1/kv/$k/a 1\nDELETE /v1/kv/$k/a\nwait 3000"}, // and its tombstone is reaped
    {"cas", "PUT /v1/kv/$k/a 1\nDELETE /v1/kv/$k/a?cas=1"},
    {"all below a prefix", "PUT /v1/kv/$k/a 1\nPUT /v1/kv/$k/b 1\nDELETE /v1/kv/$k/?recurse\nwait 3000"},
    {"of a locked key", SESSION "PUT /v1/kv/$k/a?acquire=$1 1\nDELETE /v1/kv/$k/a"},
    {"fenced", GUARD "PUT /v1/kv/$k/a?fence=$fence&claim=$k 1\nDELETE /v1/kv/$k/a?fence=$fence&claim=$k"},

    {"writes of keys",
     "PUT /v1/kv/$k/c 1\nPUT /v1/txn [{\"KV\":{\"Verb\":\"set\",\"Key\":\"$k/a\",\"Value\":\"MQ==\",\"Flags\":3}},"
     "{\"KV\":{\"Verb\":\"cas\",\"Key\":\"$k/b\",\"Value\":\"MQ==\",\"Index\":0}},"
     "{\"KV\":{\"Verb\":\"get\",\"Key\":\"$k/a\"}},{\"KV\":{\"Verb\":\"get-tree\",\"Key\":\"$k/\"}},"
     "{\"KV\":{\"Verb\":\"check-not-exists\",\"Key\":\"$k/none\"}},{\"KV\":{\"Verb\":\"delete\",\"Key\":\"$k/c\"}},"
     "{\"KV\":{\"Verb\":\"delete-tree\",\"Key\":\"$k/d/\"}},{\"KV\":{\"Verb\":\"add\",\"Key\":\"$k/n\",\"Add\":4}}]"},
    {"locks",
     SESSION "PUT /v1/txn [{\"KV\":{\"Verb\":\"lock\",\"Key\":\"$k/a\",\"Value\":\"MQ==\",\"Session\":\"$1\"}},"
             "{\"KV\":{\"Verb\":\"check-session\",\"Key\":\"$k/a\",\"Session\":\"$1\"}},"
             "{\"KV\":{\"Verb\":\"lock\",\"Key\":\"$k/b\",\"Value\":\"MQ==\",\"Session\":\"$1\"}},"
             "{\"KV\":{\"Verb\":\"unlock\",\"Key\":\"$k/b\",\"Value\":\"MQ==\",\"Session\":\"$1\"}}]"},
    {"locks, once", SESSION
     "once PUT /v1/txn [{\"KV\":{\"Verb\":\"lock\",\"Key\":\"$k/a\",\"Value\":\"MQ==\",\"Session\":\"$1\"}},"
     "{\"KV\":{\"Verb\":\"get\",\"Key\":\"$k/a\"}},{\"KV\":{\"Verb\":\"set\",\"Key\":\"$k/a\",\"Value\":\"Mg==\"}},"
     "{\"KV\":{\"Verb\":\"check-session\",\"Key\":\"$k/a\",\"Session\":\"$1\"}}]"},
    {"refused once", "any once PUT /v1/txn [{\"KV\":{\"Verb\":\"check-index\",\"Key\":\"$k/none\",\"Index\":5}},"
                     "{\"KV\":{\"Verb\":\"set\",\"Key\":\"$k/a\",\"Value\":\"MQ==\"}}]"},
    {"counter, once", "once PUT /v1/txn [{\"KV\":{\"Verb\":\"add\",\"Key\":\"$k/n\",\"Add\":4,\"Min\":-9,\"Max\":9}}]"},
    {"fenced", GUARD "PUT /v1/txn [{\"KV\":{\"Verb\":\"check-fence\",\"Fence\":$fence,\"Claim\":\"$k\"}},"
                     "{\"KV\":{\"Verb\":\"set\",\"Key\":\"$k/a\",\"Value\":\"MQ==\"}}]"},
    {"fenced, once", GUARD "once PUT /v1/txn [{\"KV\":{\"Verb\":\"check-fence\",\"Fence\":$fence,\"Claim\":\"$k\"}},"
                           "{\"KV\":{\"Verb\":\"set\",\"Key\":\"$k/a\",\"Value\":\"MQ==\"}}]"},
    {"catalog",
     "PUT /v1/txn [{\"Node\":{\"Verb\":\"set\",\"Node\":{\"Node\":\"$k\",\"Address\":\"10.0.0.7\"}}},"
     "{\"Service\":{\"Verb\":\"set\",\"Node\":\"$k\",\"Service\":{\"ID\":\"db\",\"Service\":\"db\",\"Port\":80}}},"
     "{\"Check\":{\"Verb\":\"set\",\"Check\":{\"Node\":\"$k\",\"CheckID\":\"c\",\"Name\":\"c\",\"Status\":\"passing\","
     "\"ServiceID\":\"db\"}}},{\"Node\":{\"Verb\":\"get\",\"Node\":{\"Node\":\"$k\"}}}]"},
    {"catalog, once",
     "once PUT /v1/txn "
     "[{\"Node\":{\"Verb\":\"set\",\"Node\":{\"Node\":\"$k\",\"Address\":\"10.0.0.7\",\"Meta\":{\"a\":\"b\"}}}},"
     "{\"Service\":{\"Verb\":\"set\",\"Node\":\"$k\",\"Service\":{\"ID\":\"db\",\"Service\":\"db\",\"Port\":80,"
     "\"Tags\":[\"x\"]}}},"
     "{\"Check\":{\"Verb\":\"set\",\"Check\":{\"Node\":\"$k\",\"CheckID\":\"c\",\"Name\":\"c\",\"Status\":\"warning\"}}"
     "}]"},
    {"catalog, removed",
     SERVICE "PUT /v1/txn [{\"Check\":{\"Verb\":\"delete\",\"Check\":{\"Node\":\"$k\",\"CheckID\":\"alive\"}}},"
             "{\"Service\":{\"Verb\":\"delete\",\"Node\":\"$k\",\"Service\":{\"ID\":\"db\",\"Service\":\"db\"}}},"
             "{\"Node\":{\"Verb\":\"delete\",\"Node\":{\"Node\":\"$k\"}}}]"},
    {"only reads", "PUT /v1/txn [{\"KV\":{\"Verb\":\"get-tree\",\"Key\":\"$k/\"}}]"},

    {"",
     SESSION "any GET /v1/session/info/$1\nPUT /v1/session/create {\"Node\":\"tour\",\"Name\":\"$k\",\"TTL\":\"10s\","
             "\"Behavior\":\"delete\",\"LockDelay\":\"15s\",\"NodeChecks\":[\"serfHealth\"]}"},
    {"exact, with OnEnd",
     "PUT /v1/session/create {\"Node\":\"tour\",\"TTL\":\"10s\",\"TTLMode\":\"exact\",\"OnEnd\":[{\"Verb\":\"set\","
     "\"Key\":\"$k/a\",\"Value\":\"MQ==\",\"Flags\":3},{\"Verb\":\"delete\",\"Key\":\"$k/b\"}]}"},
    {"of a service check", SERVICE
     "PUT /v1/session/create {\"Node\":\"$k\",\"NodeChecks\":[\"alive\"],\"ServiceChecks\":[{\"ID\":\"of-db\"}]}"},
    {"once", "once PUT /v1/session/create {\"Node\":\"tour\",\"LockDelay\":\"0s\"}"},
    {"that ends by its TTL",
     "PUT /v1/kv/$k/a 1\nPUT /v1/session/create {\"Node\":\"tour\",\"TTL\":\"2s\",\"LockDelay\":\"1s\"}\n"
     "PUT /v1/kv/$k/a?acquire=$2 1\nwait 6000\nPUT /v1/session/create {\"Node\":\"tour\"}"},
    {"", SESSION "PUT /v1/session/destroy/$1"},
    {"that holds locks, a claim and a guard", GUARD "PUT /v1/kv/$k-l?acquire=$1 1\nPUT /v1/session/destroy/$1"},
    {"with a lock delay, a claim and OnEnd",
     "PUT /v1/session/create "
     "{\"Node\":\"tour\",\"LockDelay\":\"15s\",\"OnEnd\":[{\"Verb\":\"add\",\"Key\":\"$k/n\",\"Add\":2}]}\n"
     "PUT /v1/claim/$k?session=$1&id=a value\nPUT /v1/kv/$k/a?acquire=$1 1\nPUT /v1/session/destroy/$1"},
    {"once", SESSION "once PUT /v1/session/destroy/$1"},
    {"", "PUT /v1/session/create {\"Node\":\"tour\",\"TTL\":\"10s\"}\nPUT /v1/session/renew/$1"},
    {"", "PUT /v1/session/create {\"Node\":\"tour\",\"TTL\":\"10s\"}\nPUT /v1/session/renew [\"$1\"]"},
    {"", SESSION "PUT /v1/session/destroy/$1\nany GET /v1/session/ended/$1"},
    {"", SESSION "GET /v1/session/info/$1"},
    {"", SESSION "GET /v1/session/node/tour"},
    {"", SESSION "GET /v1/session/list"},

    {"", CLAIM "GET /v1/claim/$k"},
    {"", SESSION "PUT /v1/claim/$k?session=$1&id=a value"},
    {"that waits", CLAIM SESSION "PUT /v1/claim/$k?session=$3&id=b&priority=7&deadlock=refuse value"},
    {"that waits until its deadline",
     CLAIM SESSION "PUT /v1/claim/$k?session=$3&id=b&deadline=500ms value\nwait 2000\nGET /v1/claim/$k\n"
                   "PUT /v1/claim/$k?session=$1&id=a value"},
    {"rw", SESSION SESSION "PUT /v1/claim/$k?session=$1&id=a&kind=rw&mode=shared value\n"
                           "PUT /v1/claim/$k?session=$2&id=b&kind=rw&mode=shared other"},
    {"semaphore", SEMAPHORE "PUT /v1/claim/$k?session=$1&id=b&permits=1 value"},
    {"election", ELECTION SESSION "PUT /v1/claim/$k?session=$3&id=b value"},
    {"transferred", CLAIM SESSION "PUT /v1/claim/$k?session=$3&id=b value\nPUT /v1/claim/$k/transfer?id=a"},
    {"mode", SESSION "PUT /v1/claim/$k?session=$1&id=a&kind=rw value\nPUT /v1/claim/$k/mode?id=a&mode=shared"},
    {"limit", SEMAPHORE "PUT /v1/claim/$k/limit?n=8"},
    {"", CLAIM "DELETE /v1/claim/$k?id=a"},
    {"before it was requested", CLAIM "DELETE /v1/claim/$k?id=later"},
    {"limit", SEMAPHORE "PUT /v1/claim/$k/limit?n=8\nDELETE /v1/claim/$k/limit"},
    {"", CLAIM "GET /v1/claims"},
    {"", CLAIM SESSION "PUT /v1/claim/$k?session=$3&id=b value\nGET /v1/claims/graph"},
    {"", CLAIM "PUT /v1/guard/$k/?claim=$k"},
    {"by the lock of a key", "PUT /v1/guard/$k/?lock=$k"},
    {"once", "once PUT /v1/guard/$k/?claim=$k"},
    {"", GUARD "DELETE /v1/guard/$k/"},
    {"with a fence", GUARD "DELETE /v1/guard/$k/?fence=$fence"},
    {"", GUARD "GET /v1/guards"},
    {"", "once PUT /v1/kv/$k/a 1\nGET /v1/outcome/$1"},
    {"", "once PUT /v1/kv/$k/a 1\nPUT /v1/outcome/$1/cancel"},
    {"of a write that was never received", "PUT /v1/outcome/$k/cancel\nGET /v1/outcome/$k\nPUT /v1/outcome/$k/cancel"},
    {"", "once PUT /v1/kv/$k/a 1\nDELETE /v1/outcome/$1"},

    {"", "GET /v1/status/leader"},
    {"", "GET /v1/status/peers"},
    {"", SERVICE "PUT /v1/catalog/register {\"Node\":\"$k\",\"Address\":\"10.0.0.8\",\"SkipNodeUpdate\":true,"
                 "\"Service\":{\"ID\":\"web\",\"Service\":\"web\"}}"},
    {"that ends a session",
     SERVICE "PUT /v1/session/create {\"Node\":\"$k\",\"NodeChecks\":[\"alive\"]}\nPUT /v1/kv/$k/a?acquire=$2 1\n"
             "PUT /v1/catalog/register {\"Node\":\"$k\",\"Address\":\"10.0.0.8\",\"Checks\":[{\"Node\":\"$k\","
             "\"CheckID\":\"alive\",\"Name\":\"alive\",\"Status\":\"critical\",\"Output\":\"gone\"}]}"},
    {"once", "once PUT /v1/catalog/register {\"Node\":\"$k\",\"Address\":\"10.0.0.8\"}"},
    {"", SERVICE "PUT /v1/catalog/deregister {\"Node\":\"$k\"}"},
    {"of a service", SERVICE "PUT /v1/catalog/deregister {\"Node\":\"$k\",\"ServiceID\":\"db\"}"},
    {"of a check", SERVICE "PUT /v1/catalog/deregister {\"Node\":\"$k\",\"CheckID\":\"alive\"}"},
    {"", "GET /v1/catalog/datacenters"},
    {"", SERVICE "GET /v1/catalog/nodes"},
    {"", SERVICE "GET /v1/catalog/services"},
    {"", SERVICE "GET /v1/catalog/service/db"},
    {"", SERVICE "GET /v1/catalog/node/$k"},
    {"", SERVICE "GET /v1/catalog/node-services/$k"},
    {"", SERVICE "GET /v1/health/node/$k"},
    {"", SERVICE "GET /v1/health/checks/db"},
    {"", SERVICE "GET /v1/health/state/any"},
    {"", SERVICE "GET /v1/health/service/db"},
    {"", SERVICE "GET /v1/health/connect/db"},
    {"", SERVICE "GET /v1/health/ingress/db"},
    {"", SERVICE "GET /v1/catalog/connect/db"},
    {"", SERVICE "GET /v1/catalog/gateway-services/db"},
    {"", "any GET /v1/coordinate/datacenters"},
    {"", "any GET /v1/coordinate/nodes"},
    {"", "any GET /v1/coordinate/node/tour"},
    {"", "any PUT /v1/coordinate/update {\"Node\":\"tour\",\"Coord\":{\"Vec\":[0,0,0,0,0,0,0,0]}}"},

    {"", "GET /v1/agent/self"},
    {"", "GET /v1/agent/members"},
    {"", "GET /v1/agent/metrics"},
    {"", "any GET /v1/agent/live"},
    {"", "any GET /v1/agent/ready"},
    {"", "any PUT /v1/agent/reload"},
    {"", "any GET /v1/agent/host"},
    {"", "any PUT /v1/agent/join/10.0.0.9"},
    {"of a server that is not there", "any PUT /v1/agent/force-leave/n9"},
    {"", "GET /v1/agent/services"},
    {"", OWN_SERVICE "GET /v1/agent/service/$k"},
    {"", OWN_SERVICE "GET /v1/agent/services\nPUT /v1/agent/service/register {\"Name\":\"$k\",\"Port\":82}"},
    {"", OWN_SERVICE "PUT /v1/agent/service/deregister/$k"},
    {"", OWN_SERVICE "PUT /v1/agent/service/maintenance/$k?enable=true"},
    {"", OWN_SERVICE "any GET /v1/agent/health/service/id/$k"},
    {"", OWN_SERVICE "any GET /v1/agent/health/service/name/$k"},
    {"", "PUT /v1/agent/maintenance?enable=true\nPUT /v1/agent/maintenance?enable=false"},
    {"", "GET /v1/agent/checks"},
    {"", OWN_CHECK "GET /v1/agent/checks\nPUT /v1/agent/check/register {\"Name\":\"$k-2\",\"TTL\":\"10s\"}"},
    {"", OWN_CHECK "PUT /v1/agent/check/deregister/$k"},
    {"", OWN_CHECK "PUT /v1/agent/check/pass/$k?note=well"},
    {"", OWN_CHECK "PUT /v1/agent/check/warn/$k"},
    {"", OWN_CHECK "PUT /v1/agent/check/fail/$k"},
    {"", OWN_CHECK "PUT /v1/agent/check/update/$k {\"Status\":\"passing\",\"Output\":\"well\"}"},
    {"", "any PUT /v1/event/fire/$k what"},
    {"", "any GET /v1/event/list"},

    {"", GUARD "GET /v1/snapshot"},
    {"", GUARD "once PUT /v1/kv/$k-o 1\nGET /v1/snapshot\nPUT /v1/kv/$k-later 1\nPUT /v1/snapshot $archive"},
    {"that is cut", "GET /v1/snapshot\nany PUT /v1/snapshot $half"},
    {"", "GET /v1/operator/raft/configuration"},
    {"of a server that is not there", "any DELETE /v1/operator/raft/peer?address=10.0.0.9:8300"},
    {"of a server that is not there", "any PUT /v1/operator/raft/peer?address=10.0.0.9:8300"},
    {"", "GET /v1/operator/autopilot/configuration"},
    {"", "PUT /v1/operator/autopilot/configuration {\"CleanupDeadServers\":false,\"LastContactThreshold\":\"300ms\"}"},
    {"once", "once PUT /v1/operator/autopilot/configuration {\"CleanupDeadServers\":false}"},
    {"", "any GET /v1/operator/autopilot/health"},
    {"", "any GET /v1/operator/keyring"},
    {"", "any POST /v1/operator/keyring {\"Key\":\"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=\"}"},
    {"", "any PUT /v1/operator/keyring {\"Key\":\"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=\"}"},
    {"", "any DELETE /v1/operator/keyring {\"Key\":\"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=\"}"},

    {"", "any PUT /v1/acl/bootstrap"},
    {"", "GET /v1/acl/policies"},
    {"", "PUT /v1/acl/policy {\"Name\":\"$k\",\"Description\":\"d\",\"Rules\":\"key \\\"$k\\\" { policy = \\\"read\\\" "
         "}\"}"},
    {"", POLICY "GET /v1/acl/policy/$1"},
    {"", POLICY "PUT /v1/acl/policy/$1 {\"Name\":\"$k\",\"Rules\":\"key \\\"$k\\\" { policy = \\\"write\\\" }\"}"},
    {"", POLICY "DELETE /v1/acl/policy/$1"},
    {"", POLICY "GET /v1/acl/policy/name/$k"},
    {"", ROLE "GET /v1/acl/roles"},
    {"", POLICY "PUT /v1/acl/role {\"Name\":\"$k\",\"Policies\":[{\"Name\":\"$k\"}]}"},
    {"", ROLE "GET /v1/acl/role/$2"},
    {"", ROLE "PUT /v1/acl/role/$2 {\"Name\":\"$k\",\"Description\":\"d\",\"Policies\":[{\"Name\":\"$k\"}]}"},
    {"", ROLE "DELETE /v1/acl/role/$2"},
    {"", ROLE "GET /v1/acl/role/name/$k"},
    {"", TOKEN "GET /v1/acl/tokens"},
    {"", TOKEN "GET /v1/acl/tokens\nPUT /v1/acl/token {\"Description\":\"t\",\"ExpirationTTL\":\"1h\"}"},
    {"", TOKEN "GET /v1/acl/token/$3"},
    {"",
     TOKEN "PUT /v1/acl/token/$3 {\"AccessorID\":\"$3\",\"Description\":\"other\",\"Policies\":[{\"Name\":\"$k\"}]}"},
    {"clone", TOKEN "PUT /v1/acl/token/$3/clone {}"},
    {"", TOKEN "DELETE /v1/acl/token/$3"},
    {"", "GET /v1/acl/token/self"},
    {"", "any GET /v1/acl/list"},
    {"", "any GET /v1/acl/replication"},
    {"", "any POST /v1/acl/rules/translate key \"\" { policy = \"read\" }"},
    {"", TOKEN "any GET /v1/acl/rules/translate/$3"},
    {"", "any POST /v1/internal/acl/authorize [{\"Resource\":\"key\",\"Segment\":\"a\",\"Access\":\"read\"}]"},
    {"", "any PUT /v1/agent/token/replication {\"Token\":\"x\"}"},
    {"", "any GET /v1/internal/acl/rules"},
    {"", "any PUT /v1/internal/agent/alive"},
    {"", "any DELETE /v1/internal/agent/alive"},
};

#undef SESSION
#undef CLAIM
#undef SEMAPHORE
#undef ELECTION
#undef GUARD
#undef SERVICE
#undef OWN_SERVICE
#undef OWN_CHECK
#undef POLICY
#undef ROLE
#undef TOKEN

/// They do not end, or end the server.
constexpr std::pair<std::string_view, std::string_view> left_out[] = {
    {"GET", "/v1/agent/monitor"},
    {"PUT", "/v1/agent/leave"},
};

std::string_view word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto first = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return first;
}

example_step step_in(std::string_view line) {
  example_step s;
  auto first = word(line);
  if (first == "wait") {
    std::int64_t ms = 0;
    std::from_chars(line.data(), line.data() + line.size(), ms);
    s.wait = std::chrono::milliseconds(ms);
    return s;
  }
  for (; first == "any" || first == "once" || first == "left"; first = word(line)) {
    s.takes_all = s.takes_all && first == "once";
    s.left = s.left || first == "left";
    s.keyed = s.keyed || first == "once";
  }
  s.method = first;
  s.target = word(line);
  s.body = line;
  return s;
}

std::vector<example_step> steps_in(std::string_view text) {
  std::vector<example_step> out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    out.push_back(step_in(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// The request that the example is named after: the last one.
const example_step& named_by(const std::vector<example_step>& steps) {
  auto last = steps.rbegin();
  while (last->wait > last->wait.zero())
    ++last;
  return *last;
}

template <class T>
constexpr std::string_view name_of_type() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

template <class... Commands>
std::vector<std::string_view> names_of_alternatives(const std::variant<Commands...>*) {
  return {name_of_type<Commands>()...};
}

} // namespace

std::vector<operation_kind> operation_kinds() {
  std::vector<operation_kind> out;
  for (const auto& route : http::all_routes())
    for (const auto method : http::method_names_of(route)) {
      const auto is_left_out = [&](const auto& each) { return each.first == method && each.second == route.pattern; };
      if (std::any_of(std::begin(left_out), std::end(left_out), is_left_out))
        continue;
      const auto base = std::string(method) + ' ' + std::string(route.pattern);
      const bool acls = route.pattern.find("/acl/") != route.pattern.npos || route.pattern == "/v1/agent/token/";
      const auto before = out.size();
      for (const auto& each : examples) {
        auto steps = steps_in(each.steps);
        const auto& own = named_by(steps);
        if (own.method != method || http::find_route(own.target.substr(0, own.target.find('?'))) != &route)
          continue;
        out.push_back({base + (each.what.empty() ? "" : " (" + std::string(each.what) + ")"), std::move(steps), acls});
      }
      if (out.size() == before)
        out.push_back({base, {}, acls});
    }
  return out;
}

std::vector<std::string_view> names_of_commands() {
  return names_of_alternatives(static_cast<const state::plain_command::plain*>(nullptr));
}

} // namespace belay::sim
