import { LIMITS } from '../../core/config/limits.ts'
import { Client, type Hub, PASSWORD } from './hub.ts'
import { PLUGIN_ROUTES, queryOf, routeGrowths } from './route-bodies.ts'
import { growsTooFast, MOST_MS, memorySlowness, slowness, workOf } from './work.ts'
import { type BodySchema, type Growth, growths, messageGrowths } from './work-bodies.ts'

/** Number of users that take turns, so that none reaches the rate limit. */
const PEOPLE = 4
/** A cost over the bound is measured again: the processor's own time has its stumbles, and a collection of memory may fall into it. */
const TRIES = 5
/** The garbage of earlier requests is collected during later ones, so that one measure may be half as much again. */
const TOLERANCE = 1.5
const ALIKE = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

export interface FuzzResult {
  readonly requests: number
  /** The costliest, most expensive first. */
  readonly worst: readonly { readonly name: string; readonly ms: number; readonly status: number }[]
  readonly problems: readonly string[]
}

interface Operation {
  readonly security?: readonly unknown[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: BodySchema }>> }
}

/** Bytes that arrive in one turn of the event loop at most. */
export const MOST_BYTES_AT_ONCE = 4 * 1024 * 1024

/** Receiver of bodies: a route such as `POST /api/servers`, or a method such as `MCP tools/call`. */
export interface Target {
  readonly name: string
  readonly growths: readonly Growth[]
  send(body: string): Promise<number>
}

/**
 * Sends growing bodies to the targets, one at a time, and measures the processor time of the hub's main thread, which needs
 * `watchTurns`. `rounds`: number of repetitions. After `limitMs` it ends with the results so far, so that a busy machine sends
 * fewer requests; each run begins with another route.
 */
export async function fuzzWork(
  hub: Hub,
  targets: readonly Target[],
  options: { readonly limitMs: number; readonly rounds?: number },
): Promise<FuzzResult> {
  const calm = MOST_MS * machineSlowness()
  const endMs = performance.now() + options.limitMs
  const worst: { name: string; ms: number; status: number }[] = []
  const problems: string[] = []
  let requests = 0
  const kept = new Map<string, string>()
  // Bodies of many megabytes take longer to write than the hub takes to reject them.
  const made = (growth: Growth, n: number): string => {
    if (n < 1_000_000) return growth.make(n)
    const key = `${growth.name} ${n}`
    const body = kept.get(key) ?? growth.make(n)
    kept.set(key, body)
    return body
  }
  for (let round = 0; round < (options.rounds ?? 1); round += 1) {
    const first = Math.floor(Math.random() * targets.length)
    for (const target of [...targets.slice(first), ...targets.slice(0, first)]) {
      for (const growth of target.growths) {
        const name = `${target.name}: ${growth.name}`
        const costs: { n: number; ms: number }[] = []
        for (const size of growth.sizes) {
          if (performance.now() > endMs) return { requests, worst: costliest(worst), problems }
          const n = Math.floor(size)
          const body = made(growth, n)
          let bound = calm
          let least = { ms: Number.POSITIVE_INFINITY, value: 0 }
          for (let attempt = 0; attempt < TRIES && least.ms > bound; attempt += 1) {
            // Measured again, since what else runs on the machine may have begun in between.
            if (attempt > 0) bound = Math.max(bound, MOST_MS * machineSlowness())
            const cost = await workOf(hub.pid, () => target.send(body))
            requests += 1
            if (cost.ms < least.ms) least = cost
          }
          // A body of megabytes arrives in many turns.
          const inTurns = growth.sliced || body.length > MOST_BYTES_AT_ONCE
          if (inTurns && least.ms > bound) {
            const turn = await longestTurn(hub, () => target.send(body))
            if (turn > bound) problems.push(`${name} of ${n}: a turn of ${turn.toFixed(0)} ms`)
            continue
          }
          costs.push({ n, ms: least.ms })
          worst.push({ name: `${name} ${n}`, ms: least.ms, status: least.value })
          if (least.ms > bound * TOLERANCE)
            problems.push(`${name} of ${n}: ${least.ms.toFixed(0)} ms, answered ${least.value}`)
          if (least.value === 500) problems.push(`${name} of ${n}: answered ${least.value}`)
        }
        const growing = growsTooFast(costs)
        if (growing) problems.push(`${name} grows: ${growing}`)
      }
    }
  }
  return { requests, worst: costliest(worst), problems }
}

/** Bodies of megabytes need new memory besides the work. */
function machineSlowness(): number {
  return Math.max(slowness(), memorySlowness())
}

function costliest(costs: FuzzResult['worst']): FuzzResult['worst'] {
  return costs.toSorted((left, right) => right.ms - left.ms).slice(0, 15)
}

/** The longest turn of work in slices, in milliseconds of processor time; the least of a few tries, as above. */
async function longestTurn(hub: Hub, work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < TRIES && least > MOST_MS; attempt += 1) {
    await hub.longestTurnMs()
    await work()
    least = Math.min(least, await hub.longestTurnMs())
  }
  return least
}

/** Records for routes that change one record. */
const RECORDS = [
  ['/api/groups', { name: 'g', members: ['s'] }],
  ['/api/groups', { name: 't', members: ['s'] }],
  ['/api/monitoring/rules', { name: 't', severity: 'warning', condition: 'servers_offline > 10' }],
  ['/api/monitoring/channels', { name: 't', type: 'webhook', enabled: false, config: { url: 'https://a.example/' } }],
  ['/api/monitoring/dashboards', { name: 't', widgets: [{ type: 'chart', query: 'request_count' }] }],
  ['/api/assistant/endpoints', { name: 't', direction: 'inbound', group: 's' }],
] as const

/** All receivers of bodies: every route that accepts JSON, and every method of MCP. */
export async function targetsOf(hub: Hub): Promise<Target[]> {
  const admin = await hub.setup()
  const people: Client[] = [admin]
  for (let index = 1; index < PEOPLE; index += 1) {
    await admin.ok('POST', '/api/admin/users', { username: `worker${index}`, password: PASSWORD, role: 'admin' })
    people.push(new Client(hub.url, `worker${index}`, await signedIn(hub, `worker${index}`)))
  }
  let turn = 0
  const next = (): Client => people[++turn % people.length] ?? admin
  for (const [path, body] of RECORDS) await admin.ok('POST', path, body)
  return [...(await routeTargets(admin, next)), ...(await messageTargets(hub, admin))]
}

async function signedIn(hub: Hub, username: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${hub.url}/api/auth/login`, {
      method: 'POST',
      headers: ALIKE,
      body: JSON.stringify({ username, password: PASSWORD }),
    })
    const body = (await answer.json()) as { token?: string }
    if (body.token !== undefined) return body.token
    if (answer.status !== 429) throw new Error(`Sign-in of ${username} answered ${answer.status}`)
    await Bun.sleep(1_000 * Number(answer.headers.get('retry-after') ?? 1))
  }
}

/** Every route that accepts JSON, including those of plugins; `next` returns the client that sends the next body. */
export async function routeTargets(admin: Client, next: () => Client): Promise<Target[]> {
  const { paths } = (await admin.ok('GET', '/api/openapi.json')) as {
    paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { security = [], requestBody }]) => {
      if (!requestBody) return []
      const [schema = {}] = Object.values(requestBody.content).map(one => one.schema)
      return [{ method: method.toUpperCase(), path, schema, open: security.length === 0 }]
    }),
  )
  const offered = PLUGIN_ROUTES.map(route => {
    const [method = '', path = ''] = route.split(' ')
    return { method, path, schema: {}, open: false }
  })
  return [...documented, ...offered].map(({ method, path, schema, open }): Target => {
    const name = `${method} ${path}`
    const filled = path
      .replace('/templates/{id}', '/templates/bundled:memory')
      .replace('/groups/{ref}/tools/{tool}', '/groups/g/tools/echo')
      .replace('/members/{server}', '/members/s')
      .replace('{tool}', 'echo')
      .replace(/\{(?:ref|server|name)\}/, 't')
      .replaceAll(/\{\w+\}/g, 'raw')
    const limits = open
      ? { members: LIMITS.publicJsonMembers, bytes: LIMITS.publicBodyBytes }
      : { members: LIMITS.jsonMembers, bytes: LIMITS.bodyBytes }
    return {
      name,
      growths: [...growths(schema, limits), ...routeGrowths(name)],
      async send(body) {
        for (;;) {
          const answer = await fetch(`${admin.url}${filled}${queryOf(name)}`, {
            method,
            headers: {
              'content-type': 'application/json',
              ...(open ? {} : { authorization: `Bearer ${next().token}` }),
            },
            body,
          })
          await answer.arrayBuffer()
          // Counted before the body is read; the next one is measured.
          if (answer.status !== 429) return answer.status
          await Bun.sleep(100)
        }
      },
    }
  })
}

const LEGACY = [
  ...[
    'initialize',
    'ping',
    'tools/list',
    'tools/call',
    'prompts/list',
    'prompts/get',
    'resources/list',
    'resources/read',
  ],
  ...[
    'resources/templates/list',
    'resources/subscribe',
    'resources/unsubscribe',
    'completion/complete',
    'logging/setLevel',
  ],
  ...['notifications/cancelled', 'notifications/roots/list_changed', 'unknown/method'],
]
const MODERN = [
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
  'subscriptions/listen',
  'unknown/method',
]
const MODERN_VERSION = '2026-07-28'

async function messageTargets(hub: Hub, admin: Client): Promise<Target[]> {
  const headers = { ...ALIKE, authorization: `Bearer ${await admin.mcpKey()}` }
  const post = async (body: string, more: Record<string, string>): Promise<Response> =>
    fetch(`${hub.url}/mcp/s`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body,
      signal: AbortSignal.timeout(10_000),
    })
  const opened = await post(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } },
    }),
    {},
  )
  await opened.arrayBuffer()
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
  let id = 0
  const limits = { members: LIMITS.mcpJsonMembers, bytes: LIMITS.mcpBodyBytes }
  const send = async (text: string, more: Record<string, string>): Promise<number> => {
    const answer = await post(text, more)
    await answer.body?.cancel()
    return answer.status
  }
  const message = (method: string, params: string) => {
    id += 1
    const own = method.startsWith('notifications/') ? '' : `"id":${id},`
    return `{"jsonrpc":"2.0",${own}"method":"${method}","params":${params}}`
  }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'fuzz', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return [
    ...LEGACY.map(method => ({
      name: `MCP ${method}`,
      growths: messageGrowths(method, limits),
      send: (params: string) => send(message(method, params), method === 'initialize' ? {} : session),
    })),
    ...MODERN.map(method => ({
      name: `MCP ${method} ${MODERN_VERSION}`,
      growths: messageGrowths(method, limits),
      send: (params: string) =>
        send(message(method, `${params.slice(0, -1)},"_meta":${JSON.stringify(meta)}}`), {
          'mcp-protocol-version': MODERN_VERSION,
          'mcp-method': method,
          'mcp-name': 'echo',
        }),
    })),
    {
      name: 'MCP array of 100',
      growths: [{ name: 'unknown names', sizes: [100], make: () => JSON.stringify({ name: 'ecko' }) }],
      send: params => send(`[${Array.from({ length: 100 }, () => message('tools/call', params)).join(',')}]`, session),
    },
  ]
}
