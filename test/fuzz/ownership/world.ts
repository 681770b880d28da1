import { join } from 'node:path'
import type { Answer } from '../../support/client.ts'
import { type Client, type Hub, LOOPBACK, ROOT, startHub } from '../../support/hub.ts'
import { type Program, startProgram } from '../../support/program.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import type { Person } from './model.ts'

export const PEOPLE: readonly Person[] = [
  { name: 'anna', admin: false },
  { name: 'bert', admin: false },
  { name: 'cleo', admin: true },
]

/** A hub with three people, and one upstream behind all their servers that tells which of them a call came through. */
export class World {
  readonly hub: Hub
  readonly upstream: Program
  readonly #people: ReadonlyMap<string, Client>

  private constructor(hub: Hub, upstream: Program, people: ReadonlyMap<string, Client>) {
    this.hub = hub
    this.upstream = upstream
    this.#people = people
  }

  static async start(): Promise<World> {
    const upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
    const hub = await startHub({ env: LOOPBACK })
    const people = new Map<string, Client>()
    for (const { name, admin } of PEOPLE) people.set(name, await hub.user(name, admin ? 'admin' : 'user'))
    return new World(hub, upstream, people)
  }

  async stop(): Promise<void> {
    await this.hub.stop()
    await this.upstream.stop()
  }

  person(name: string): Client {
    const found = this.#people.get(name)
    if (!found) throw new Error(`No such person: ${name}`)
    return found
  }

  /** Repeats a request when the limits of requests say so. */
  async ask(who: string, method: string, path: string, body?: unknown): Promise<Answer> {
    for (;;) {
      const answer = await this.person(who).request(method, path, body)
      if (answer.status !== 429) return answer
      await Bun.sleep(Number(answer.headers.get('retry-after') ?? 1) * 1_000)
    }
  }

  /** A new server exists at once, and its tools when it is online. */
  async online(owner: string, name: string): Promise<void> {
    await until(async () => (await statusOf(this.person(owner), `${owner}~${name}`)).state === 'online', {
      timeoutMs: 60_000,
      intervalMs: 30,
      what: `${owner}~${name} to be online`,
    })
  }

  /** The tags of all servers that a credential reaches at a path; undefined when the path is refused with 404. */
  async reached(path: string, credential: string): Promise<Set<string> | undefined> {
    const client = new RawClient(this.hub, path, credential)
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'model', version: '1' } }
    const first = await client.send('initialize', params)
    await first.text()
    if (first.status === 404) return undefined
    if (first.status !== 200) throw new Error(`${path} answered ${first.status}`)
    await client.open()
    const tags = new Set<string>()
    const { result } = await client.call('tools/list')
    for (const { name } of result.tools as { name: string }[]) {
      if (!name.endsWith('whoami')) continue
      const answer = await client.call('tools/call', { name, arguments: {} })
      if (!answer.result) throw new Error(`${path}: ${name}: ${JSON.stringify(answer.error)}`)
      tags.add(JSON.parse(answer.result.content[0].text).headers['x-tag'])
    }
    await client.delete()
    return tags
  }

  async clear(): Promise<void> {
    for (const kind of ['groups', 'servers']) {
      const { items } = (await this.ask('cleo', 'GET', `/api/${kind}?scope=all`)).json
      for (const { owner, name } of items) await this.ask('cleo', 'DELETE', `/api/${kind}/${owner}~${name}`)
    }
    for (const { name } of PEOPLE) {
      const { items } = (await this.ask(name, 'GET', '/api/keys')).json
      for (const { id, label } of items) if (label === 'model') await this.ask(name, 'DELETE', `/api/keys/${id}`)
    }
  }
}
