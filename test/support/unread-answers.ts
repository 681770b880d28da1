/** Requests with long answers that are not read, and a hub on which an ordinary user has long answers of every kind. */

import type { Answer } from './client.ts'
import {
  type HealthFigures,
  healthDuring,
  type Latencies,
  latenciesOf,
  residentMiB,
  slowerThanAllowed,
} from './health-watch.ts'
import { type HeavyUpstream, heavyUpstream } from './heavy-upstream.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from './hub.ts'
import { watchLatency } from './latency-watch.ts'
import { online } from './servers.ts'
import { StubbornClient } from './stubborn-client.ts'
import { HEAVY_PLUGINS } from './unread-requests.ts'
import { until } from './wait.ts'
import { memorySlowness, slowness } from './work.ts'

const MIB = 2 ** 20
/** Limit for the memory of the hub's process, at any moment. */
export const MOST_RESIDENT_MIB = 700
/** Limits of the response times of others, at worst and for one read of a hundred, on a machine that is fast enough. */
const WORST_MS = 250
const P99_MS = 50
const TIMES_CALM = 5
/** Pause between two reads of another user, in milliseconds. */
const READ_MS = 25
/** Two requests in this time are fewer than the 50 a second of one user. */
const PACE_MS = 45
const READS = ['/api/servers', '/api/groups', '/api/settings', '/api/servers/admin~lists', '/api/limits']

/** One request, of any user. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Lengths of the answers for the users of this hub, in bytes. */
export interface Lengths {
  readonly document: number
  readonly list: number
}

export class UnreadHub {
  readonly hub: Hub
  readonly upstream: HeavyUpstream
  readonly admin: Client
  readonly #reader: Client
  readonly #lengths: Lengths
  #stubborn: StubbornClient
  #calm: Seen | undefined

  constructor(hub: Hub, upstream: HeavyUpstream, admin: Client, reader: Client, lengths: Lengths) {
    this.hub = hub
    this.upstream = upstream
    this.admin = admin
    this.#reader = reader
    this.#lengths = lengths
    this.#stubborn = new StubbornClient(hub)
  }

  static async start(lengths: Lengths): Promise<UnreadHub> {
    const megabytes = String(lengths.list / 1e6)
    const lists = { ...stdioFixture('heavy-lists', { MEGABYTES: megabytes }), visibility: 'public' }
    const hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { lists }, plugins: HEAVY_PLUGINS } })
    const [upstream, admin] = await Promise.all([heavyUpstream(), hub.setup()])
    await online(admin, ['lists'], 60_000)
    return new UnreadHub(hub, upstream, admin, await hub.user('reader'), lengths)
  }

  /**
   * Creates a user with a server `heavy`, whose tool `bytes` answers with the requested size, a server `pets` with a long
   * document, and a group `g` with `heavy` and the public server `admin~lists`.
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
    const text = body === undefined ? undefined : JSON.stringify(body)
    const sent = new Headers({ authorization: `Bearer ${user.token}` })
    if (text !== undefined) {
      sent.set('content-type', 'application/json')
      sent.set('content-length', String(Buffer.byteLength(text)))
    }
    for (const [name, value] of Object.entries(headers)) sent.set(name, value)
    const head = [`${method} ${path} HTTP/1.1`, ...[...sent].map(([name, value]) => `${name}: ${value}`)]
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

  /** Bytes on the account of a user. Waits first: a request that is sent unread does not see a refusal for its user's rate. */
  async used(user: Client): Promise<number> {
    await Bun.sleep(PACE_MS)
    const { items } = await user.ok('GET', '/api/limits')
    return items.find((item: { name: string }) => item.name === 'bytesInFlightPerUser').used
  }

  /** Ends all connections, and waits until their bytes are released. `kept`: bytes that sessions hold for a client that resumes. */
  async leave(users: readonly Client[], kept = 0): Promise<void> {
    this.#stubborn.close()
    this.#stubborn = new StubbornClient(this.hub)
    for (const user of users)
      await until(async () => (await this.used(user)) <= kept, { timeoutMs: 60_000, what: 'all bytes given back' })
  }

  /** Measures what others have of the hub at rest, for {@link attack}. */
  async calm(): Promise<void> {
    this.#calm = await this.#watched(() => Bun.sleep(1_500))
  }

  /**
   * Returns the problems while `work` ran, as texts: the hub's memory, `/health`, and the reads and writes of others. Prints the
   * figures.
   */
  async attack(name: string, work: () => Promise<unknown>): Promise<string[]> {
    const seen = await this.#watched(work)
    const { health, reads } = seen
    console.log(
      `${name}: ${Math.round(health.residentMiB)} MiB; at p99 and worst /health ${pair(health.p99Ms, health.worstMs)}, ` +
        `writes of others ${pair(health.writes.p99Ms, health.writes.worstMs)}, reads ${pair(reads.p99Ms, reads.worstMs)}`,
    )
    const calm = this.#calm
    if (!calm) throw new Error('The hub was not watched at rest')
    const slow = Math.max(slowness(), memorySlowness())
    const p99Ms = Math.max(P99_MS * slow, TIMES_CALM * calm.reads.p99Ms)
    const worstMs = Math.max(WORST_MS * slow, TIMES_CALM * calm.reads.worstMs)
    const isSlow = reads.worstMs > worstMs || (reads.answers >= 100 && reads.p99Ms > p99Ms)
    return [
      ...(health.residentMiB > MOST_RESIDENT_MIB ? [`${name}: ${Math.round(health.residentMiB)} MiB resident`] : []),
      ...slowerThanAllowed(health, calm.health, (slow * WORST_MS) / 150).map(text => `${name}: ${text}`),
      ...(isSlow ? [`${name}: reads took ${pair(reads.p99Ms, reads.worstMs)} of ${pair(p99Ms, worstMs)}`] : []),
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

  async #watched(work: () => Promise<unknown>): Promise<Seen> {
    const watch = await watchLatency({
      ...{ url: this.hub.url, everyMs: READ_MS, headers: { authorization: `Bearer ${this.#reader.token}` } },
      requests: READS.map(path => ({ method: 'GET', path, body: '' })),
    })
    try {
      const health = await healthDuring(this.hub, work)
      return { health, reads: latenciesOf(await watch.stop()) }
    } catch (error) {
      await watch.stop()
      throw error
    }
  }
}

/** Measurements of other users' requests. */
interface Seen {
  readonly health: HealthFigures
  readonly reads: Latencies
}

function pair(one: number, other: number): string {
  return `${one.toFixed(0)} and ${other.toFixed(0)} ms`
}

function operation(operationId: string): object {
  return { operationId, description: 'd'.repeat(50_000), responses: { 200: { description: 'ok' } } }
}
