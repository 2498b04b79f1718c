// The servers: the leader, how far behind the others are, which are unhealthy and why, and
// elections: those that this server remembers of the last hour, and those that this page has seen.

import { count, counted, duration, goDuration } from '../parts/format.js';
import { facts, h, panel, refill, refusal, table, tag } from '../parts/dom.js';
import { complaint } from '../parts/api.js';
import { copyCall } from '../parts/dialog.js';
import { electionsIn, valueOf } from '../parts/numbers.js';
import { onMetrics, series } from '../parts/samples.js';
import { watch } from '../parts/link.js';

const everyMs = 2000;
const electionsKept = 30;

// Kept while the page is loaded, even when another view is shown.
const elections = [];
let lastTerm = 0, lastLeader;

export function show(main) {
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const servers = h('div', {}), own = h('div', {}), timeline = h('div', {}), agents = h('div', {});
  const healthCall = { path: '/v1/operator/autopilot/health' };
  let health = null, configuration = null, self = null, numbers = null, members = null;

  main.append(h('div', { class: 'head' }, h('h1', {}, 'Cluster'), says), h('div', { class: 'stack' }, servers, h('div', { class: 'split' }, own, timeline), agents));

  const ends = [
    watch(healthCall.path, (a) => { health = a; see(); }, everyMs),
    watch('/v1/operator/raft/configuration?stale', (a) => { configuration = a; see(); }, everyMs),
    watch('/v1/agent/self', (a) => { self = a; see(); }, 10_000),
    onMetrics((a) => { numbers = a; drawOwn(); drawTimeline(); }),
    watch('/v1/agent/members', (a) => { members = a; see(); }, 10_000),
  ];

  // Autopilot responds with 429 if a server is unhealthy.
  const healthOf = () => (health && (health.status === 200 || health.status === 429) ? (typeof health.body === 'string' ? JSON.parse(health.body) : health.body) : null);

  function see() {
    const known = healthOf();
    const leader = known?.Servers.find((s) => s.Leader);
    if (leader && (leader.LastTerm > lastTerm || leader.Name !== lastLeader)) {
      if (lastTerm) elections.unshift({ at: new Date(), term: leader.LastTerm, leader: leader.Name });
      lastTerm = leader.LastTerm;
      lastLeader = leader.Name;
    } else if (health && !known && health.status === 500 && elections[0]?.leader !== null && lastTerm) {
      elections.unshift({ at: new Date(), term: null, leader: null });
      lastLeader = null;
    }
    elections.length = Math.min(elections.length, electionsKept);
    drawServers(known);
    drawOwn();
    drawTimeline();
    drawAgents();
  }

  function drawServers(known) {
    const listed = configuration?.status === 200 ? configuration.body.Servers : [];
    if (health && !known && !listed.length) return refill(servers, panel('Servers', null, refusal(health)));
    if (!health) return;
    const rows = known?.Servers ?? listed.map((s) => ({ ...s, Name: s.Node, unknown: true }));
    const newestLevel = Math.max(0, ...rows.map((s) => s.FeatureLevel || 0));
    const leaderIndex = Math.max(0, ...rows.filter((s) => s.Leader).map((s) => s.LastIndex || 0));
    const tolerance = known?.FailureTolerance ? `${counted(known.FailureTolerance, 'voter')} may fail.` : 'No server may fail: quorum would be lost.';
    if (!known && health.status !== 500) says.textContent = `Health unknown. ${complaint(health)}`;
    else if (!known) says.textContent = 'No leader: health unknown. Shown: the last known servers.';
    else says.textContent = `${counted(rows.length, 'server')}, ${known.Healthy ? 'all healthy' : 'not all healthy'}. ${tolerance}`;
    refill(servers, panel('Servers', copyCall('Health of the servers', healthCall, null),
      table('Servers', ['Server', 'Role', 'Health', 'Term #', 'Last index #', 'Entries behind #', 'Last heard', 'Feature level #', 'Stable since'],
        rows.map((s) => h('tr', { 'data-key': s.ID },
          h('th', { scope: 'row' }, s.Name, h('div', { class: 'quiet small' }, s.Address)),
          h('td', {}, s.Leader ? tag('leader', 'good') : s.Voter ? 'voter' : 'non-voter'),
          h('td', {}, s.unknown ? 'unknown' : s.Healthy ? tag('healthy', 'good') : [tag('unhealthy', 'bad'), h('div', { class: 'small' }, why(s, leaderIndex))]),
          h('td', { class: 'number' }, s.LastTerm ?? '–'), h('td', { class: 'number' }, s.LastIndex === undefined ? '–' : count(s.LastIndex)),
          h('td', { class: 'number' }, s.LastIndex === undefined ? '–' : count(Math.max(0, leaderIndex - s.LastIndex))),
          h('td', {}, s.Leader || s.LastContact === undefined ? '–' : silence(s.LastContact)),
          h('td', { class: 'number' }, !s.FeatureLevel ? '–' : s.FeatureLevel < newestLevel ? tag(`${s.FeatureLevel}, older`, 'warn') : String(s.FeatureLevel)),
          h('td', { class: 'tight' }, s.StableSince ? stable(s.StableSince) : '–'))))));
  }

  function why(s, leaderIndex) {
    if (s.SerfStatus && s.SerfStatus !== 'alive') return `not connected (${s.SerfStatus})`;
    if (leaderIndex - s.LastIndex > 250) return `${count(leaderIndex - s.LastIndex)} entries behind`;
    return s.LastContact === 'never' ? 'never heard' : `last heard ${silence(s.LastContact)}`;
  }

  function drawOwn() {
    if (!self) return;
    if (self.status !== 200) return refill(own, panel('This server', null, refusal(self)));
    const { Config: config, Stats: stats } = self.body;
    const raft = stats.raft;
    const n = (name) => (numbers?.status === 200 ? valueOf(numbers.body, name) : undefined);
    const gauge = (name, of = count) => (n(name)?.value === undefined ? undefined : of(n(name).value));
    const mean = (name) => (n(name)?.mean === undefined ? undefined : `mean ${duration(n(name).mean)}, max ${duration(n(name).max)}`);
    refill(own, panel(`${raft ? 'This server' : 'This client agent'}: ${config.NodeName}`, null, h('div', { class: 'inside' }, facts(
      ['Version', `${config.Revision || stats.build?.revision} (API of Consul ${config.Version})`], ['Datacenter', config.Datacenter],
      raft && ['State', `${raft.state.toLowerCase()}, term ${raft.term}`],
      raft && ['Committed index', `${count(raft.commit_index)}, ${raft.commit_index === raft.applied_index ? 'all applied' : `${count(raft.commit_index - raft.applied_index)} not yet applied`}`],
      raft && ['Log entries', `${count(raft.first_log_index)} to ${count(raft.last_log_index)}`], raft && ['Last checkpoint', Number(raft.last_snapshot_index) ? `index ${count(raft.last_snapshot_index)}` : 'none yet'],
      ['Log sync', mean('raft.fsync')], ['Checkpoint write', mean('checkpoint.write')],
      raft && ['Keys', gauge('state.keys')], ['Connections', gauge('http.connections')], ['Blocking queries', gauge('watch.parked_queries')],
      raft && ['Disk', n('raft.disk_full')?.value ? 'full: writes are not acknowledged until space is freed' : 'not full'],
      raft && ['Clock skew', gauge('raft.clock_skew_ms', duration)]))));
  }

  function drawTimeline() {
    const now = lastTerm ? ` (term ${lastTerm}, leader ${lastLeader})` : '';
    const line = (e) => h('li', {}, h('span', { class: 'quiet' }, e.at.toLocaleTimeString('en-GB')), ' ', e.leader === null ? tag('no leader', 'bad') : `term ${e.term}: ${e.leader} elected`);
    // The page has seen the elected leaders; the server remembers terms, and whether it led.
    const seen = new Set(elections.map((e) => e.term));
    const before = electionsIn(series.points).filter((e) => !seen.has(e.term));
    const remembered = (e) => h('li', {}, h('span', { class: 'quiet' }, new Date(e.at).toLocaleTimeString('en-GB')), ` term ${e.term}`, e.leads ? ': this server elected' : ' began');
    refill(timeline, panel('Elections', null, h('div', { class: 'inside' },
      !elections.length && !before.length ? h('p', { class: 'quiet' }, numbers && numbers.status !== 200 ? `Elections before this page was opened are unknown. ${complaint(numbers)}` : `No elections in the last hour${now}.`)
      : h('ol', { class: 'timeline' }, elections.map(line), before.map(remembered)))));
  }

  function drawAgents() {
    if (members?.status !== 200) return;
    const all = members.body.filter((m) => m.Tags.role === 'node');
    refill(agents, !all.length ? null : panel('Client agents', null, table('Client agents', ['Agent', 'Address', 'State'],
      all.map((m) => h('tr', {}, h('th', { scope: 'row' }, m.Name), h('td', {}, m.Addr), h('td', {}, m.Status === 1 ? tag('alive', 'good') : m.Status === 2 ? 'leaving' : tag('failed', 'bad')))))));
  }

  return {
    moved() {},
    end() {
      for (const end of ends) end();
    },
  };
}

const silence = (text) => (Number.isNaN(goDuration(text)) ? text : `${duration(goDuration(text))} ago`);

function stable(text) {
  const since = Date.now() - Date.parse(text);
  return since >= 0 && since < 1e12 ? `${duration(since)} ago` : '–';
}
