/** Requests whose long answers nobody reads, and a hub on which an ordinary user has long answers of every kind. */

import type { Answer } from './client.ts'
import { type calmHealth, healthDuring, residentMiB, slowerThanAllowed } from './health-watch.ts'
import { type HeavyUpstream, heavyUpstream } from './heavy-upstream.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from './hub.ts'
import { online } from './servers.ts'
import { StubbornClient } from './stubborn-client.ts'
import { until } from './wait.ts'
import { memorySlowness, slowness } from './work.ts'

const MIB = 2 ** 20
/** Of the hub's process, at any moment. */
export const MOST_RESIDENT_MIB = 700
/** What others may wait at worst, on a machine that is quick enough. */
const WORST_MS = 250
const TIMES_CALM = 5
/** Between two writes of somebody else. */
const WRITE_MS = 50

/** One request, whoever sends it. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** How long the answers of the users of this hub are, in bytes. */
export interface Lengths {
  readonly document: number
  readonly list: number
}

export class UnreadHub {
  readonly hub: Hub
  readonly upstream: HeavyUpstream
  readonly #victim: Client
  readonly #lengths: Lengths
  #stubborn: StubbornClient
  #calmWriteMs = 0
  #calm: Awaited<ReturnType<typeof calmHealth>> | undefined

  constructor(hub: Hub, upstream: HeavyUpstream, victim: Client, lengths: Lengths) {
    this.hub = hub
    this.upstream = upstream
    this.#victim = victim
    this.#lengths = lengths
    this.#stubborn = new StubbornClient(hub)
  }

  static async start(lengths: Lengths): Promise<UnreadHub> {
    const megabytes = String(lengths.list / 1e6)
    const lists = { ...stdioFixture('heavy-lists', { MEGABYTES: megabytes }), visibility: 'public' }
    const hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { lists } } })
    const [upstream, admin] = await Promise.all([heavyUpstream(), hub.setup()])
    await online(admin, ['lists'], 60_000)
    return new UnreadHub(hub, upstream, await hub.user('victim'), lengths)
  }

  /**
   * A user with a server `heavy`, whose tool `bytes` answers as much as it is asked for, a server `pets` with a long document,
   * and a group `g` with `heavy` and the public server `admin~lists`.
   */
  async user(name: string): Promise<Client> {
    const user = await this.hub.user(name)
    user.patient = true
    await user.ok('POST', '/api/servers', { name: 'heavy', url: this.upstream.url, maxResultBytes: 64 * MIB })
    const operations = Math.ceil(this.#lengths.document / 50_000)
    const paths = Object.fromEntries(
      Array.from({ length: operations }, (_, at) => [`/p${at}`, { get: operation(`o${at}`) }]),
    )
    const schema = { openapi: '3.1.0', info: { title: 't', version: '1' }, servers: [{ url: 'http://127.0.0.1:9/' }] }
    const openapi = { schema: { ...schema, paths } }
    await user.ok('POST', '/api/servers', { name: 'pets', transport: 'openapi', openapi, enabled: false })
    await user.ok('POST', '/api/groups', { name: 'g', members: ['heavy', 'admin~lists'] })
    await until(async () => (await user.ok('GET', '/api/servers/heavy')).status.state === 'online')
    return user
  }

  /** Sends a request on a connection of its own, from which nothing is read. */
  send(user: Client, { method, path, body, headers = {} }: Asked) {
    const lines = Object.entries({ Authorization: `Bearer ${user.token}`, ...headers })
    const text = body === undefined ? undefined : JSON.stringify(body)
    const more = text === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${text.length}`]
    const head = [`${method} ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), ...more]
    return this.#stubborn.send(head, ...(text === undefined ? [] : [text]))
  }

  /** Sends the request's bytes several times on one connection. */
  async sendPipelined(user: Client, path: string, times: number): Promise<void> {
    const line = `GET ${path} HTTP/1.1`
    const credential = `Authorization: Bearer ${user.token}`
    const further = `${line}\r\nHost: ${new URL(this.hub.url).host}\r\n${credential}\r\n\r\n`
    await this.#stubborn.send([line, credential], further.repeat(times - 1))
  }

  /** Reads the whole answer. */
  read(user: Client, { method, path, body, headers = {} }: Asked): Promise<Answer> {
    return user.request(method, path, body, headers)
  }

  /** Bytes on the account of a user. */
  async used(user: Client): Promise<number> {
    const { items } = await user.ok('GET', '/api/limits')
    return items.find((item: { name: string }) => item.name === 'bytesInFlightPerUser').used
  }

  /** Ends all connections, and waits until their bytes are given back. */
  async leave(...users: readonly Client[]): Promise<void> {
    this.#stubborn.close()
    this.#stubborn = new StubbornClient(this.hub)
    for (const user of users)
      await until(async () => (await this.used(user)) === 0, { timeoutMs: 60_000, what: 'all bytes given back' })
  }

  /** Measures what others have of the hub at rest, for {@link attack}. */
  async calm(): Promise<void> {
    const { writes, seen } = await this.#watched(() => Bun.sleep(1_500))
    this.#calm = seen
    this.#calmWriteMs = Math.max(...writes)
  }

  /**
   * What went wrong while `work` ran, as texts: the hub's memory, `/health`, and the writes of somebody else. Prints the
   * figures.
   */
  async attack(name: string, work: () => Promise<unknown>): Promise<string[]> {
    const { writes, seen } = await this.#watched(work)
    const worstWrite = Math.max(...writes)
    console.log(
      `${name}: ${Math.round(seen.residentMiB)} MiB, /health ${seen.p99Ms.toFixed(0)} ms at p99, ` +
        `${seen.worstMs.toFixed(0)} at worst; writes of others ${worstWrite.toFixed(0)} ms at worst of ${writes.length}`,
    )
    if (!this.#calm) throw new Error('The hub was not watched at rest')
    const slow = Math.max(slowness(), memorySlowness())
    const allowed = Math.max(WORST_MS * slow, TIMES_CALM * this.#calmWriteMs)
    return [
      ...(seen.residentMiB > MOST_RESIDENT_MIB ? [`${name}: ${Math.round(seen.residentMiB)} MiB resident`] : []),
      ...slowerThanAllowed(seen, this.#calm, (slow * WORST_MS) / 150).map(text => `${name}: /health ${text}`),
      ...(worstWrite > allowed ? [`${name}: a write took ${worstWrite.toFixed(0)} of ${allowed.toFixed(0)} ms`] : []),
    ]
  }

  residentMiB(): number {
    return residentMiB(this.hub)
  }

  async stop(): Promise<void> {
    this.#stubborn.close()
    await this.hub.stop()
    this.upstream.stop()
  }

  async #watched(work: () => Promise<unknown>) {
    const writes: number[] = []
    let over = false
    const writing = (async () => {
      for (let at = 0; !over; at += 1) {
        const sinceMs = performance.now()
        await this.#victim.ok('PATCH', '/api/settings', { theme: at % 2 === 0 ? 'dark' : 'light' })
        writes.push(performance.now() - sinceMs)
        await Bun.sleep(WRITE_MS)
      }
    })()
    try {
      return { seen: await healthDuring(this.hub, work), writes }
    } finally {
      over = true
      await writing
    }
  }
}

function operation(operationId: string): object {
  return { operationId, description: 'd'.repeat(50_000), responses: { 200: { description: 'ok' } } }
}

/** Requests to every route of the API document that reads, with what there is in the place of its parameters. */
export async function readingRequests(user: Client, size: number): Promise<readonly Asked[]> {
  const { paths } = await user.ok('GET', '/api/openapi.json')
  const asked: Asked[] = []
  for (const [path, item] of Object.entries(paths)) {
    // biome-ignore lint/suspicious/noExplicitAny: the document as it is
    for (const [name, operation] of Object.entries(item as Record<string, any>)) {
      const method = name.toUpperCase()
      const body = operation.requestBody?.content['application/json']?.example
      if (method !== 'GET' && !READING_POST.test(`${method} ${path}`)) continue
      for (const filled of filledPaths(path)) {
        const own = path.endsWith('/call') ? { arguments: { size } } : { size }
        const isCall = method === 'POST' && /\/tools\/\{tool\}(?:\/call)?$/.test(path)
        const result: Record<string, string> = isCall ? { accept: 'application/vnd.patchbay.result+json' } : {}
        if (method === 'GET') asked.push({ method, path: filled })
        else asked.push({ method, path: filled, body: isCall ? own : (body ?? {}), headers: result })
      }
    }
  }
  return asked
}

/** POST routes that change nothing. */
const READING_POST = /^POST \/api(?:\/.*)?\/(?:call|tools\/\{tool\}|search|query|preview|export)$/

function filledPaths(path: string): readonly string[] {
  const refs = path.startsWith('/api/servers/') ? ['heavy', 'pets', 'admin~lists'] : ['g']
  if (!path.includes('{ref}')) return [path.replace(/\{\w+\}/g, 'thing')]
  return refs.map(ref =>
    path
      .replace('{ref}', ref)
      .replace('{tool}', 'bytes')
      .replace(/\{\w+\}/g, 'thing'),
  )
}
