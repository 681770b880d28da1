import type { ConnectedClient, ConnectedServer, ConnectionLink, Connections } from '../../api/connections.ts'
import { session } from '../../app/session.ts'
import { formatNumber } from '../../text/format.ts'
import { problemText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import { causeOf } from '../servers/cause.ts'
import { isResting, type Tone } from '../servers/status.ts'
import { type Edge, ordered } from './order.ts'

/** A client, a group or a server in the patch bay. */
export interface BayNode {
  readonly id: string
  readonly kind: 'client' | 'group' | 'server'
  readonly name: string
  readonly icon: string
  readonly tone: Tone
  /** Calls in a minute. */
  readonly rate: number
  /** Second line. */
  readonly sub: string
  /** Text at the right: calls per minute, or the reason why there are none. */
  readonly note: string
  /** Path of its own page. */
  readonly path?: string
  /** Servers of a group: faulty ones first, then by calls. */
  readonly servers?: readonly string[]
}

/** A connection between two neighbouring columns. */
export interface BayCord extends Edge {
  readonly rate: number
  readonly look: 'bad' | 'warn' | 'idle' | 'w1' | 'w2' | 'w3' | 'w4'
}

/** The patch bay, each column in its order. */
export interface Bay {
  readonly clients: readonly BayNode[]
  readonly groups: readonly BayNode[]
  readonly servers: readonly BayNode[]
  readonly cords: readonly BayCord[]
  readonly nodes: ReadonlyMap<string, BayNode>
}

/** Part of the calls of a cord that fail, from which on it counts as failing. */
const FAILING = 0.5
/** Above this many clients, those of one name are one. */
const MOST_CLIENTS = 12

/** Calls in a minute, as a word. */
export function rateText(rate: number): string {
  if (rate === 0) return t('silent')
  return t('{n}/min', { n: formatNumber(rate, rate < 1 ? 2 : rate < 10 ? 1 : 0) })
}

/** Builds the patch bay from a response; `known`: the previous one, whose order is kept while it has the same items. */
export function bayOf(data: Connections, known?: Bay): Bay {
  const clientIds = merged(data.clients)
  const cords = cordsOf(data, clientIds)
  const servers = data.servers.map(server => serverNode(server, rateOf(cords, 'to', server.id)))
  const byId = new Map(servers.map(node => [node.id, node]))
  const groups = data.groups.map(group => {
    const members = [...new Set(cords.filter(({ from }) => from === group.id).map(({ to }) => to))]
    return groupNode(
      group,
      members.flatMap(id => byId.get(id) ?? []),
      rateOf(cords, 'to', group.id),
    )
  })
  const clients = [...Map.groupBy(data.clients, ({ id }) => clientIds.get(id) ?? id)].map(([id, each]) =>
    clientNode(id, each, rateOf(cords, 'from', id)),
  )
  const columns = ordered([clients, groups, servers], cords, known && [known.clients, known.groups, known.servers])
  const [first = [], second = [], third = []] = columns as BayNode[][]
  const nodes = new Map([...first, ...second, ...third].map(node => [node.id, node]))
  return { clients: first, groups: second, servers: third, cords, nodes }
}

/** All nodes on paths through a node: the node, those that reach it, and those that it reaches. */
export function wayOf({ cords }: Bay, id: string): ReadonlySet<string> {
  const way = new Set([id])
  const follow = (start: string, from: 'from' | 'to', to: 'from' | 'to'): void => {
    for (const cord of cords) {
      if (cord[from] !== start || way.has(cord[to])) continue
      way.add(cord[to])
      follow(cord[to], from, to)
    }
  }
  follow(id, 'from', 'to')
  follow(id, 'to', 'from')
  return way
}

function merged(clients: readonly ConnectedClient[]): ReadonlyMap<string, string> {
  const sum = clients.length > MOST_CLIENTS
  return new Map(clients.map(({ id, kind, name }) => [id, sum ? `${kind}/${name}` : id]))
}

function cordsOf(data: Connections, clientIds: ReadonlyMap<string, string>): BayCord[] {
  const servers = new Map(data.servers.map(server => [server.id, server]))
  const links = new Map<string, { from: string; to: string; calls: number; failures: number; rate: number }>()
  const add = (
    from: string,
    to: string,
    { calls, failures, callsPerMinute }: Pick<ConnectionLink, 'calls' | 'failures' | 'callsPerMinute'>,
  ): void => {
    const key = `${from}\n${to}`
    const sum = links.get(key) ?? { from, to, calls: 0, failures: 0, rate: 0 }
    sum.calls += calls
    sum.failures += failures
    sum.rate += callsPerMinute
    links.set(key, sum)
  }
  const none = { calls: 0, failures: 0, callsPerMinute: 0 }
  for (const group of data.groups) for (const id of group.servers ?? []) if (servers.has(id)) add(group.id, id, none)
  for (const link of data.links) {
    add(clientIds.get(link.client) ?? link.client, link.group, link)
    if (link.server !== undefined && servers.has(link.server)) add(link.group, link.server, link)
  }
  return [...links.values()].map(({ from, to, calls, failures, rate }) => ({
    ...{ from, to, rate },
    look: lookOf(servers.get(to), calls, failures, rate),
  }))
}

function lookOf(server: ConnectedServer | undefined, calls: number, failures: number, rate: number): BayCord['look'] {
  const tone = server ? toneOf(server) : 'ok'
  if (tone === 'bad' || (calls > 0 && failures / calls >= FAILING)) return 'bad'
  if (tone === 'warn') return 'warn'
  if (calls === 0) return 'idle'
  if (rate < 5) return 'w1'
  if (rate < 15) return 'w2'
  return rate <= 30 ? 'w3' : 'w4'
}

function rateOf(cords: readonly BayCord[], end: 'from' | 'to', id: string): number {
  return cords.reduce((sum, cord) => sum + (cord[end] === id ? cord.rate : 0), 0)
}

function toneOf({ state, reason }: ConnectedServer): Tone {
  if (state === 'online') return 'ok'
  if (state === 'connecting') return 'warn'
  const status = { state, since: '', counts: { tools: 0, prompts: 0, resources: 0 } } as const
  return isResting(reason ? { ...status, reason } : status) ? 'rest' : 'bad'
}

const SERVER_ICONS: Readonly<Record<Tone, string>> = {
  ok: 'circle-check',
  warn: 'loader-circle',
  bad: 'circle-x',
  rest: 'circle-minus',
}

function serverNode(server: ConnectedServer, rate: number): BayNode {
  const tone = toneOf(server)
  const words = {
    ok: rateText(rate),
    warn: t('connecting'),
    bad: (server.reason && (causeOf(server.reason.code) ?? problemText(server.reason))) ?? t('offline'),
    rest: t('stopped'),
  }
  if (server.reason?.code === 'idle') words.rest = t('sleeping')
  return {
    ...{
      id: server.id,
      kind: 'server',
      name: server.name,
      icon: SERVER_ICONS[tone],
      tone,
      rate,
      sub: '',
      note: words[tone],
    },
    path: `/servers/${encodeURIComponent(server.ref)}`,
  }
}

const WEIGHT: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, ok: 2, rest: 3 }

function groupNode(group: Connections['groups'][number], members: readonly BayNode[], rate: number): BayNode {
  const sorted = [...members].sort(
    (a, b) => WEIGHT[a.tone] - WEIGHT[b.tone] || b.rate - a.rate || a.name.localeCompare(b.name),
  )
  const bad = members.filter(({ tone }) => tone === 'bad').length
  const ref = group.owner === undefined ? group.name : `${group.owner}~${group.name}`
  return {
    ...{ id: group.id, kind: 'group', icon: 'cable', tone: bad > 0 ? 'bad' : 'ok', rate, note: rateText(rate) },
    name: group.kind === 'all' ? t('All servers') : group.name,
    // A group that is shared shows its tools, and not its owner's private servers.
    sub:
      members.length === 0 && group.owner !== undefined && group.owner !== session.user?.name
        ? t('by {name}', { name: group.owner })
        : plural(members.length, '{n} server', '{n} servers'),
    servers: sorted.map(({ id }) => id),
    ...(group.kind === 'group' ? { path: `/groups/${encodeURIComponent(ref)}` } : {}),
  }
}

const CLIENT_ICONS: readonly (readonly [RegExp, string])[] = [
  [/claude.?code|codex|gemini|terminal|cli|curl/i, 'square-terminal'],
  [/cursor|windsurf/i, 'text-cursor-input'],
  [/code|visual/i, 'code'],
  [/claude|chat/i, 'message-square'],
  [/voice|xiaozhi|assistant|speaker/i, 'audio-lines'],
]

function clientNode(id: string, each: readonly ConnectedClient[], rate: number): BayNode {
  const [{ kind, name, user, key } = { kind: 'client', name: '', user: undefined, key: undefined }] = each
  const icon = kind === 'api' ? 'braces' : (CLIENT_ICONS.find(([pattern]) => pattern.test(name))?.[1] ?? 'bot')
  const sub =
    each.length > 1
      ? plural(each.length, '{n} of them', '{n} of them')
      : [key?.label, user].filter(part => part !== undefined && part !== '').join(' · ')
  const shown = kind === 'api' ? t('Console and API') : name === '' ? t('A client') : name
  return { id, kind: 'client', name: shown, icon, tone: 'ok', rate, sub, note: rateText(rate) }
}
