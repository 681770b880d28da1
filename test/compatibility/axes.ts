/** The features, clients and servers that are tried, and the combinations that are not expected to work, with the reason. */
import { extent } from '../support/extent.ts'

export const FEATURES = [
  'tool call',
  'progress',
  'cancel',
  'sampling',
  'elicitation',
  'roots',
  'subscribe',
  'log messages',
  'list_changed',
] as const
export type Feature = (typeof FEATURES)[number]

/**
 * The rounds in which the clients take turns at an upstream. Calls are cancelled only in the last round: on a shared
 * connection whose log messages do not name their call, the hub passes none on for a while after somebody else's call was
 * cancelled.
 */
export const ROUNDS: readonly (readonly Feature[])[] = [FEATURES.filter(each => each !== 'cancel'), ['cancel']]

export interface ClientKind {
  readonly name: string
  readonly wire: 'sse' | 'streamable'
  readonly version: string
}

/** The clients in the page's tables. */
export const MAIN_CLIENTS: readonly ClientKind[] = [
  { name: 'SSE, 2024-11-05', wire: 'sse', version: '2024-11-05' },
  { name: 'streamable HTTP, 2025-11-25', wire: 'streamable', version: '2025-11-25' },
  { name: 'streamable HTTP, 2026-07-28', wire: 'streamable', version: '2026-07-28' },
]

/** Clients that a server can ask while their call waits. */
export const HANDSHAKING_CLIENTS = MAIN_CLIENTS.filter(({ version }) => version < '2026')

/** Versions before the last one of their era. */
export const OLDER_CLIENTS: readonly ClientKind[] = [
  { name: 'streamable HTTP, 2025-06-18', wire: 'streamable', version: '2025-06-18' },
  { name: 'streamable HTTP, 2025-03-26', wire: 'streamable', version: '2025-03-26' },
  { name: 'streamable HTTP, 2024-11-05', wire: 'streamable', version: '2024-11-05' },
]

export const CLIENTS: readonly ClientKind[] = [...MAIN_CLIENTS, ...OLDER_CLIENTS]

export interface UpstreamKind {
  readonly id: string
  readonly name: string
  readonly transport: 'stdio' | 'sse' | 'http' | 'openapi'
  readonly era: 'legacy' | 'modern' | 'none'
  /** The one version that it answers in `initialize`, whatever it is asked for; default the newest of its era. */
  readonly version?: string
}

export const UPSTREAMS: readonly UpstreamKind[] = [
  { id: 'stdio-old', name: 'stdio, 2025-11-25', transport: 'stdio', era: 'legacy' },
  { id: 'stdio-new', name: 'stdio, 2026-07-28', transport: 'stdio', era: 'modern' },
  // Servers that still have this transport answer the newest version that their package knows.
  { id: 'sse', name: 'SSE, 2025-11-25', transport: 'sse', era: 'legacy' },
  { id: 'http-old', name: 'streamable HTTP, 2025-11-25', transport: 'http', era: 'legacy' },
  { id: 'http-new', name: 'streamable HTTP, 2026-07-28', transport: 'http', era: 'modern' },
  { id: 'openapi', name: 'OpenAPI', transport: 'openapi', era: 'none' },
]

/** Servers that answer an older version in `initialize` than they are asked for. */
export const OLDER_UPSTREAMS: readonly UpstreamKind[] = ['2025-06-18', '2025-03-26', '2024-11-05'].flatMap(version => [
  { id: `stdio-${version}`, name: `stdio, ${version}`, transport: 'stdio', era: 'legacy', version },
  { id: `http-${version}`, name: `streamable HTTP, ${version}`, transport: 'http', era: 'legacy', version },
])

/** Clients with which the page says that such a server works. */
export function clientsOf(upstream: UpstreamKind): readonly ClientKind[] {
  return UPSTREAMS.includes(upstream) ? CLIENTS : MAIN_CLIENTS
}

/**
 * Clients with which the suite tries this server. Each kind of server is tried with the newest client and, by turns, with one
 * of the two transports of the older era. Each older version is tried with some server, and the oldest one also with a
 * client. With PATCHBAY_WHOLE=1, all clients that the page names are tried.
 */
export function triedClientsOf(upstream: UpstreamKind): readonly ClientKind[] {
  const at = UPSTREAMS.indexOf(upstream)
  const older = OLDER_UPSTREAMS.indexOf(upstream)
  const core =
    at >= 0
      ? [
          ...MAIN_CLIENTS.filter((client, n) => modern(client) || n === at % 2),
          ...OLDER_CLIENTS.filter((_, n) => n === 2 && n === at),
        ]
      : // A version has one server on pipes and one over HTTP, of which every second is left to the whole.
        MAIN_CLIENTS.filter((_, n) => OLDER_TRIED[n] === older)
  return extent(core, clientsOf(upstream))
}

/**
 * For each main client, the index of the older server that it is tried with in the suite: all versions and both transports
 * occur.
 */
const OLDER_TRIED: readonly number[] = [0, 3, 4]

/** Every client with every kind. In the suite each kind has one client and each client some kind, and `turn` selects which. */
export function crossed(
  kinds: readonly UpstreamKind[],
  turn: number,
  clients = MAIN_CLIENTS,
): readonly (readonly [string, string, ClientKind, UpstreamKind])[] {
  return clients.flatMap((client, row) =>
    kinds
      .filter((_, column) => extent((row + column + turn) % clients.length === 0, true))
      .map(kind => [client.name, kind.name, client, kind] as const),
  )
}

/** `works`, or the result that the client gets instead. */
export type Outcome = 'works' | (string & {})

interface Exception {
  readonly features: readonly Feature[]
  readonly clients: (client: ClientKind) => boolean
  readonly upstreams: (upstream: UpstreamKind) => boolean
  readonly outcome: Outcome
  readonly reason: string
}

const modern = ({ version }: ClientKind): boolean => version >= '2026'
const handshaking = (client: ClientKind): boolean => !modern(client)
const openapi = ({ transport }: UpstreamKind): boolean => transport === 'openapi'
const everyone = (): boolean => true
/** Elicitation came with 2025-06-18. */
export const beforeElicitation = ({ version }: UpstreamKind): boolean => version !== undefined && version < '2025-06-18'

export const EXCEPTIONS: readonly Exception[] = [
  {
    features: ['progress'],
    clients: everyone,
    upstreams: openapi,
    outcome: 'none sent',
    reason: 'An HTTP API answers once: the call works, and no progress comes before its answer.',
  },
  {
    features: ['sampling', 'elicitation', 'roots'],
    clients: everyone,
    upstreams: openapi,
    outcome: 'never asked',
    reason: 'An HTTP API has nothing with which to ask: its calls work, and the client is asked nothing.',
  },
  {
    features: ['elicitation'],
    clients: everyone,
    upstreams: beforeElicitation,
    outcome: 'not offered',
    reason: 'Elicitation came with 2025-06-18: an older server is not told that the client takes it, and asks nothing.',
  },
  {
    features: ['subscribe'],
    clients: handshaking,
    upstreams: openapi,
    outcome: '-32601 method_not_found',
    reason: 'Operations become tools: there are no resources, and `resources` is not among the capabilities.',
  },
  {
    features: ['subscribe'],
    clients: modern,
    upstreams: openapi,
    outcome: 'not honoured',
    reason: '`subscriptions/listen` is acknowledged without the URI, as there are no resources.',
  },
  {
    features: ['log messages'],
    clients: handshaking,
    upstreams: openapi,
    outcome: '-32601 method_not_found',
    reason: 'No server at this address sends log messages: `logging` is not among the capabilities.',
  },
  {
    features: ['log messages'],
    clients: modern,
    upstreams: openapi,
    outcome: 'none sent',
    reason: 'A call may name a `logLevel`; an HTTP API sends no log messages.',
  },
]

export function exceptionFor(client: ClientKind, upstream: UpstreamKind, feature: Feature): Exception | undefined {
  return EXCEPTIONS.find(each => each.features.includes(feature) && each.clients(client) && each.upstreams(upstream))
}
