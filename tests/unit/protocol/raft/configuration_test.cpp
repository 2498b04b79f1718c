#include "protocol/raft/configuration.hpp"
#include "protocol/raft/quorum.hpp"
#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::raft;
using namespace belay::raft::testing;

TEST_CASE("a configuration survives its encoding, and a shorter text is rejected") {
  auto c = first_step(make_config({1, 2, 3}), make_config({2, 3, 4}, {5}));
  const auto bytes = encode(c);
  CHECK(decode_configuration(bytes) == c);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    CHECK_FALSE(decode_configuration(std::string_view(bytes).substr(0, n)));
  CHECK_FALSE(decode_configuration(bytes + "x"));
}

TEST_CASE("ill-formed configurations are refused") {
  struct row {
    const char* name;
    void (*spoil)(configuration&);
  };
  const row rows[] = {
      {"no voter", [](configuration& c) { c.voters.clear(); }},
      {"voters unsorted", [](configuration& c) { std::swap(c.voters[0], c.voters[1]); }},
      {"voter twice", [](configuration& c) { c.voters.push_back(c.voters.back()); }},
      {"voter without member", [](configuration& c) { c.voters.push_back(node_id{9}); }},
      {"member without role", [](configuration& c) { c.members.push_back(make_member(9)); }},
      {"member twice", [](configuration& c) { c.members.push_back(c.members.back()); }},
      {"voter and learner", [](configuration& c) { c.learners.push_back(node_id{1}); }},
      {"id zero", [](configuration& c) { c.members[0].id = c.voters[0] = node_id{}; }},
      {"old voter unknown", [](configuration& c) { c.voters_old.push_back(node_id{9}); }},
  };
  CHECK(well_formed(make_config({1, 2, 3})));
  for (const auto& r : rows) {
    INFO(r.name);
    auto c = make_config({1, 2, 3});
    r.spoil(c);
    CHECK_FALSE(well_formed(c));
    CHECK_FALSE(decode_configuration(encode(c)));
  }
}

TEST_CASE("the two steps of a change") {
  const auto now = make_config({1, 2, 3});
  const auto target = make_config({3, 4}, {2});
  const auto joint = first_step(now, target);
  CHECK(well_formed(joint));
  CHECK(joint.joint());
  CHECK(joint.contains(node_id{1}));
  CHECK(joint.is_voter(node_id{2})); // still in the old half
  CHECK(second_step(joint) == target);
  const auto learner_only = make_config({1, 2, 3}, {4});
  CHECK(first_step(now, learner_only) == learner_only); // the same voters: one step
}

TEST_CASE("both halves of a joint configuration have to agree") {
  const auto joint = first_step(make_config({1, 2, 3}), make_config({3, 4, 5}));
  struct row {
    std::vector<std::uint64_t> yes;
    bool quorum;
  };
  for (const auto& [yes, quorum] : {row{{1, 2}, false}, row{{4, 5}, false}, row{{1, 2, 4, 5}, true},
                                    row{{2, 3, 4}, true}, row{{3}, false}, row{{}, false}}) {
    const auto agrees = [&yes = yes](node_id id) { return std::find(yes.begin(), yes.end(), id.value) != yes.end(); };
    CHECK(has_quorum(joint, agrees) == quorum);
    CHECK((quorum_value(joint, [&](node_id id) -> std::uint64_t { return agrees(id) ? 7 : 2; }) == 7) == quorum);
  }
  CHECK_FALSE(has_quorum(configuration{}, [](node_id) { return true; }));
  CHECK(quorum_value(make_config({1, 2, 3, 4}), [](node_id id) { return id.value; }) == 2);
}

// The log names added and removed servers; numbers would not show a replaced disk.
TEST_CASE("the difference of two configurations names each server that it is about") {
  using kind = member_change::kind;
  const auto of = [](const std::vector<member_change>& all) {
    std::vector<std::tuple<kind, std::uint64_t, bool>> out;
    for (const auto& c : all)
      out.emplace_back(c.what, c.who.id.value, c.votes);
    return out;
  };
  using list = std::vector<std::tuple<kind, std::uint64_t, bool>>;
  const auto three = make_config({1, 2, 3});
  CHECK(of(changes_between(three, three)).empty());
  CHECK(of(changes_between({}, three)) == list{{kind::added, 1, true}, {kind::added, 2, true}, {kind::added, 3, true}});
  CHECK(of(changes_between(three, make_config({1, 2, 3}, {4}))) == list{{kind::added, 4, false}});
  CHECK(of(changes_between(make_config({1, 2, 3}, {4}), make_config({1, 2, 4}))) ==
        list{{kind::removed, 3, true}, {kind::got_vote, 4, true}});
  CHECK(of(changes_between(three, make_config({1, 3}, {2}))) == list{{kind::lost_vote, 2, false}});
  auto moved = three;
  moved.members[1].address = "127.0.0.1:9";
  CHECK(of(changes_between(three, moved)) == list{{kind::renamed, 2, true}});
  // During joint consensus both halves vote.
  CHECK(of(changes_between(make_config({1, 2, 3}, {4}),
                           first_step(make_config({1, 2, 3}, {4}), make_config({1, 2, 4})))) ==
        list{{kind::got_vote, 4, true}});

  CHECK(text_of(changes_between(three, make_config({1, 2}))[0]) == "n3 (uuid-3) at 127.0.0.1:8003 is removed");
  CHECK(text_of(changes_between(three, make_config({1, 2, 3}, {4}))[0]) ==
        "n4 (uuid-4) at 127.0.0.1:8004 is added without a vote");
}
