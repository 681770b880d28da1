import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MCP_SERVERS } from '../bench/measure.ts'
import { type Client, type Hub, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import type { CallerPlan } from './callers.ts'

const SERVERS = [
  'steady',
  'steady-http',
  'shaky-1',
  'shaky-2',
  'shaky-http',
  'slow',
  'flooding',
  'alone',
  'file-server',
]

/** A hub with what a soak needs: servers that are left in peace, and such as faults are made with. */
export class SoakHub {
  readonly hub: Hub
  readonly upstream: Program
  readonly admin: Client
  readonly key: string
  readonly #calm: Program

  private constructor(hub: Hub, upstream: Program, calm: Program, admin: Client, key: string) {
    this.hub = hub
    this.upstream = upstream
    this.#calm = calm
    this.admin = admin
    this.key = key
  }

  static async start(): Promise<SoakHub> {
    const calm = await startProgram(join(MCP_SERVERS, 'echo-http.ts'))
    const upstream = await startProgram(join(MCP_SERVERS, 'echo-http.ts'))
    const hub = await startHub({
      env: { BUN_OPTIONS: `--preload ${join(import.meta.dir, 'probe.ts')}` },
      settings: settingsOf('as it was at first'),
    })
    const admin = await hub.setup()
    const make = (name: string, body: object): Promise<unknown> => admin.ok('POST', '/api/servers', { name, ...body })
    await make('steady', stdioFixture('echo'))
    await make('steady-http', { url: calm.url })
    await make('shaky-1', stdioFixture('echo'))
    await make('shaky-2', stdioFixture('echo'))
    await make('shaky-http', { url: upstream.url })
    await make('slow', stdioFixture('slow'))
    await make('flooding', { ...stdioFixture('flooding'), timeout: 2_000 })
    const soak = new SoakHub(hub, upstream, calm, admin, await admin.mcpKey())
    await soak.settle()
    return soak
  }

  /** The settings file, whose servers the faults edit by `description`. */
  settings(description: string): object {
    return settingsOf(description)
  }

  callers(): readonly CallerPlan[] {
    const at = (server: string) => ({ url: `${this.hub.url}/mcp/${server}`, tool: 'echo', credential: this.key })
    return [
      { target: at('steady'), sessions: 4, shaky: false },
      { target: { ...at('steady'), wire: 'modern' }, sessions: 3, shaky: false },
      { target: at('steady-http'), sessions: 3, shaky: false },
      { target: { ...at('steady-http'), wire: 'modern' }, sessions: 2, shaky: false },
      { target: at('shaky-1'), sessions: 2, shaky: true },
      { target: { ...at('shaky-2'), wire: 'modern' }, sessions: 2, shaky: true },
      { target: at('shaky-http'), sessions: 2, shaky: true },
    ]
  }

  /** Everything as at first: the file, the edited server, all servers online. */
  async settle(): Promise<void> {
    await writeFile(this.hub.settingsFile, JSON.stringify(settingsOf('as it was at first'), null, 2), { mode: 0o600 })
    await this.admin.request('PATCH', '/api/servers/shaky-2', { env: {} })
    for (const name of SERVERS) await this.admin.request('POST', `/api/servers/${name}/start`)
    await online(this.admin, SERVERS, 60_000)
    await this.#recordsStored()
  }

  /** Up to 50,000 records wait in the main thread while calls come faster than they are stored; they are no growth. */
  #recordsStored(): Promise<unknown> {
    const stored = async (): Promise<boolean> => {
      const { sinks } = await this.admin.ok('GET', '/api/admin/logging')
      return sinks.every(({ waiting }: { readonly waiting: number }) => waiting < 100)
    }
    return until(stored, { timeoutMs: 60_000, what: 'the records to be stored' })
  }

  async stop(unhandled: number): Promise<void> {
    await this.hub.stop({ unhandled })
    await this.upstream.stop()
    await this.#calm.stop()
  }
}

function settingsOf(description: string): object {
  return {
    plugins: [
      // Its server takes a worker of its own down.
      { use: join(ROOT, 'test/failure/fixtures/crash-plugin.ts'), isolate: false },
    ],
    mcpServers: {
      alone: { transport: 'crashing', isolate: true },
      'file-server': { ...stdioFixture('echo', { WHO: description }) },
    },
  }
}
