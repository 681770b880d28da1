import { expect } from 'bun:test'
import fc from 'fast-check'
import { type Client, stdioFixture } from '../../support/hub.ts'
import { alive } from '../../support/processes.ts'
import { statusOf } from '../../support/servers.ts'

const VERBS = [
  'start',
  'stop',
  'restart',
  'refresh',
  'disable',
  'enable',
  'edit',
  'rename',
  'transfer',
  'recreate',
  'crash',
  'call',
] as const

export type Verb = (typeof VERBS)[number]

export const slotVerb = fc.constantFrom(...VERBS)

/** The model of one server through all changes: it has one place in the race under all its names. */
export class Slot {
  /** Its names and the answers of its servers begin with it. */
  readonly place: string
  owner = 'admin'
  enabled = true
  /** Number of the configuration that the last answer of the hub confirmed. */
  version = 0
  #renamed = false
  #sent = 0

  constructor(place: string) {
    this.place = place
  }

  get name(): string {
    return `${this.place}${this.#renamed ? '-renamed' : ''}`
  }

  get ref(): string {
    return `${this.owner}~${this.name}`
  }

  /** The answer of a server that has the configuration in force. */
  get who(): string {
    return `${this.place}.${this.version}`
  }

  #path(rest = ''): string {
    return `/api/servers/${this.ref}${rest}`
  }

  #body(): object {
    this.#sent += 1
    return stdioFixture('echo', { WHO: `${this.place}.${this.#sent}` })
  }

  async create(client: Client): Promise<void> {
    const body = this.#body()
    await client.ok('POST', '/api/servers', { name: this.name, owner: this.owner, ...body })
    this.version = this.#sent
    this.enabled = true
  }

  async remove(client: Client): Promise<void> {
    await client.ok('DELETE', this.#path())
  }

  /** One operation, up to the hub's answer; work that it starts continues afterwards. */
  async perform(client: Client, verb: Verb, owners: readonly string[]): Promise<void> {
    switch (verb) {
      case 'start':
      case 'restart':
        await client.ok('POST', this.#path(`/${verb}`))
        this.enabled = true
        return
      case 'stop':
        await client.ok('POST', this.#path('/stop'))
        this.enabled = false
        return
      case 'refresh':
        expect((await client.request('POST', this.#path('/refresh'))).status === 202).toBe(this.enabled)
        return
      case 'disable':
      case 'enable':
        await client.ok('PATCH', this.#path(), { enabled: verb === 'enable' })
        this.enabled = verb === 'enable'
        return
      case 'edit':
        await client.ok('PATCH', this.#path(), this.#body())
        this.version = this.#sent
        return
      case 'rename': {
        const path = this.#path()
        this.#renamed = !this.#renamed
        await client.ok('PATCH', path, { name: this.name })
        return
      }
      case 'transfer': {
        const owner = owners[(owners.indexOf(this.owner) + 1) % owners.length] as string
        // Secrets do not pass to another owner, so the environment is sent again.
        await client.ok('PATCH', this.#path(), { owner, ...this.#body() })
        this.owner = owner
        this.version = this.#sent
        return
      }
      case 'recreate':
        await this.remove(client)
        await this.create(client)
        return
      case 'crash': {
        const { pid } = await statusOf(client, this.ref)
        if (pid !== undefined && alive(pid)) process.kill(pid, 'SIGKILL')
        return
      }
      case 'call':
        await this.call(client)
        return
    }
  }

  /** A call that succeeds is answered by the configuration in force; returns whether it did. */
  async call(client: Client): Promise<boolean> {
    const answer = await client.request('POST', this.#path('/tools/whoami/call'), { arguments: {} })
    if (answer.status !== 200 || answer.json.result.isError) return false
    expect(this.enabled).toBe(true)
    expect(JSON.parse(answer.json.result.content[0].text).who).toBe(this.who)
    return true
  }
}
