import { writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { type Client, send } from '../support/hub.ts'
import { alive } from '../support/processes.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { statusOf } from '../support/servers.ts'
import type { SoakHub } from './soak-hub.ts'

const PAUSE_MS = 60

type Fault = (soak: SoakHub, admin: Client, number: number) => Promise<unknown>

/** An MCP session that is opened for one purpose and ended again. */
async function session(soak: SoakHub, path: string, use: (client: RawClient) => Promise<unknown>): Promise<void> {
  const client = await new RawClient(soak.hub, path, soak.key).open()
  try {
    await use(client)
  } finally {
    await (await client.delete()).text()
  }
}

async function kill(client: Client, name: string): Promise<void> {
  const { pid } = await statusOf(client, name)
  if (pid !== undefined && alive(pid)) process.kill(pid, 'SIGKILL')
}

const call = (client: RawClient, name: string, args: object) => client.send('tools/call', { name, arguments: args })

export const FAULTS: Readonly<Record<string, Fault>> = {
  'child killed': (_, admin, number) => kill(admin, number % 2 === 0 ? 'shaky-1' : 'shaky-2'),
  'server restarted': (_, admin) => admin.request('POST', '/api/servers/shaky-1/restart'),
  'server edited': (_, admin, number) =>
    admin.request('PATCH', '/api/servers/shaky-2', { env: { WHO: `edit ${number}` } }),
  'settings file edited': async (soak, _, number) =>
    writeFile(soak.hub.settingsFile, JSON.stringify(soak.settings(`edited ${number}`), null, 2), { mode: 0o600 }),
  'upstream forgets its sessions': soak =>
    fetch(new URL('/control/forget', soak.upstream.url), { method: 'POST' }).then(answer => answer.text()),
  'worker ended': soak =>
    session(soak, '/mcp/alone', async client => (await call(client, 'crash', { how: 'throw' })).text()),
  'call cancelled': soak =>
    session(soak, '/mcp/slow', async client => {
      const waiting = client.send('tools/call', { name: 'wait', arguments: { ms: 60_000 } }, 'cancelled')
      await (await call(client, 'quick', {})).text()
      await (
        await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'cancelled' } })
      ).text()
      const over = new AbortController()
      setTimeout(() => over.abort(), 200)
      await Promise.race([
        waiting.then(answer => answer.text()),
        new Promise(resolve => over.signal.addEventListener('abort', resolve)),
      ])
    }),
  'client gone in a call': soak =>
    session(soak, '/mcp/slow', async client => {
      const gone = new AbortController()
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'wait', arguments: { ms: 60_000 } },
      })
      const dropped = fetch(`${soak.hub.url}/mcp/slow`, {
        method: 'POST',
        headers: client.headers,
        body,
        signal: gone.signal,
      })
      await (await call(client, 'quick', {})).text()
      gone.abort()
      await dropped.catch(() => undefined)
    }),
  'stream opened and dropped': soak =>
    session(soak, '/mcp/steady', async client => {
      const stream = await client.get()
      await stream.body?.cancel()
    }),
  flood: async (soak, admin, number) => {
    const mode = ['notices', 'garbage', 'stderr', 'answers', 'huge'][number % 5]
    await session(soak, '/mcp/flooding', async client => (await call(client, 'flood', { mode })).text())
    await admin.request('POST', '/api/servers/flooding/restart')
  },
  'sign-in failed': soak =>
    send(soak.hub.url, 'POST', '/api/auth/login', { username: 'admin', password: 'not the passphrase' }),
  'key made and revoked': async (soak, admin) => {
    const answer = await admin.request('POST', '/api/keys', { label: 'soak', scopes: ['mcp'] })
    if (answer.status !== 201) return
    const client = await new RawClient(soak.hub, '/mcp/steady', answer.json.secret).open()
    await (await call(client, 'echo', { text: 'x' })).text()
    await admin.request('DELETE', `/api/keys/${answer.json.id ?? answer.json.key.id}`)
  },
}

/** Makes faults one after the other, in an order that the seed decides, until `rest()` is called. */
export class FaultMaker {
  readonly made = new Map<string, number>()
  readonly failed: string[] = []
  readonly #soak: SoakHub
  readonly #order: readonly (readonly [string, number])[]
  #next = 0
  #resting = true
  #work: Promise<void> = Promise.resolve()

  constructor(soak: SoakHub, seed: number) {
    this.#soak = soak
    const fault = fc.tuple(fc.constantFrom(...Object.keys(FAULTS)), fc.nat(999))
    this.#order = fc.sample(fault, { seed, numRuns: 10_000 })
  }

  start(): void {
    this.#resting = false
    this.#work = this.#make()
  }

  async rest(): Promise<void> {
    this.#resting = true
    await this.#work
  }

  async #make(): Promise<void> {
    while (!this.#resting) {
      const [name, number] = this.#order[this.#next % this.#order.length] ?? ['sign-in failed', 0]
      this.#next += 1
      try {
        await FAULTS[name]?.(this.#soak, this.#soak.admin, number)
      } catch (error) {
        // A session may use a server that another fault has just removed.
        this.failed.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      }
      this.made.set(name, (this.made.get(name) ?? 0) + 1)
      await Bun.sleep(PAUSE_MS)
    }
  }
}
