import { join } from 'node:path'
import { type Hub, startHub } from '../support/hub.ts'
import { processStat } from '../support/processes.ts'
import { type Program, startProgram } from '../support/program.ts'
import { until } from '../support/wait.ts'
import type { HttpTarget, LoadResult, Wire } from './http-client.ts'
import type { LoadPlan } from './load.ts'

export const MCP_SERVERS = join(import.meta.dir, '../support/mcp-servers')
export const ECHO = [process.execPath, join(MCP_SERVERS, 'echo.ts')]

export type Transport = 'stdio' | 'http'

/**
 * The way a client reaches the server without the hub. `http`: the raw HTTP server. `stdio`: a child of its own for each
 * session, which is how stdio clients work. `pipe`: one child whose pipe all sessions share; no set of clients can do that,
 * but it shows what the server alone is able to do.
 */
export type Direct = Transport | 'pipe'

export interface Measured extends LoadResult {
  readonly callsPerSecond: number
  /** Processor time of the watched process per call, in microseconds. */
  readonly cpuMicros: number
  readonly residentBytes: number
}

/** One run of the load process; `watched` is the process whose processor time counts. */
export async function runLoad(plan: LoadPlan, watched?: number): Promise<Measured> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'load.ts'), JSON.stringify(plan)], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    env: { PATH: process.env.PATH ?? '' },
  })
  const cpu = (): number => (watched === undefined ? 0 : (processStat(watched)?.cpuMicros ?? 0))
  let text = ''
  let before: number | undefined
  let after: number | undefined
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk)
    if (before === undefined && text.includes('started\n')) before = cpu()
    if (after === undefined && text.includes('finished\n')) after = cpu()
  }
  const line = text.trim().split('\n').at(-1) ?? ''
  if ((await child.exited) !== 0 || !line.startsWith('{')) throw new Error(`The load process failed: ${text}`)
  const result: LoadResult = JSON.parse(line)
  return {
    ...result,
    callsPerSecond: result.calls / result.seconds,
    cpuMicros: ((after ?? 0) - (before ?? 0)) / Math.max(1, result.calls),
    residentBytes: watched === undefined ? 0 : (processStat(watched)?.residentBytes ?? 0),
  }
}

/**
 * A hub with one raw echo server of each transport, behind the groups `stdio` and `http`, the HTTP server itself, and a bare
 * server that answers in the form of either era.
 */
export class Bench {
  readonly hub: Hub
  readonly #echo: Program
  readonly #bare: Program
  readonly #credential: string
  readonly #wire: Wire

  private constructor(hub: Hub, echo: Program, bare: Program, credential: string, wire: Wire) {
    this.hub = hub
    this.#echo = echo
    this.#bare = bare
    this.#credential = credential
    this.#wire = wire
  }

  /** `wire`: the era that clients of the hub speak; `env`: variables of the hub. */
  static async start(wire: Wire = 'legacy', env: Readonly<Record<string, string>> = {}): Promise<Bench> {
    const echo = await startProgram(join(MCP_SERVERS, 'echo-http.ts'))
    try {
      const [command = '', ...args] = ECHO
      const hub = await startHub({
        env,
        settings: {
          mcpServers: { 'echo-stdio': { command, args }, 'echo-http': { type: 'streamable-http', url: echo.url } },
          groups: [
            { name: 'stdio', servers: ['echo-stdio'] },
            { name: 'http', servers: ['echo-http'] },
          ],
        },
      })
      try {
        const admin = await hub.setup()
        await until(async () => (await admin.ok('GET', '/health')).servers.online === 2, {
          timeoutMs: 20_000,
          what: 'both echo servers to be online',
        })
        return new Bench(hub, echo, await startProgram(join(import.meta.dir, 'bare.ts')), await admin.mcpKey(), wire)
      } catch (error) {
        await hub.stop()
        throw error
      }
    } catch (error) {
      await echo.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.hub.stop()
    await this.#echo.stop()
    await this.#bare.stop()
  }

  direct(way: Direct, sessions: number, seconds: number): Promise<Measured> {
    const common = { sessions, seconds, warmUpMs: 300 }
    if (way !== 'http') {
      return runLoad({ ...common, kind: 'pipe', command: ECHO, children: way === 'pipe' ? 1 : sessions })
    }
    return runLoad({ ...common, kind: 'http', target: { url: this.#echo.url, tool: 'echo' } })
  }

  through(transport: Transport, sessions: number, seconds: number, wire: Wire = this.#wire): Promise<Measured> {
    const target = this.#target(`${this.hub.url}/mcp/${transport}`, wire)
    return runLoad({ sessions, seconds, warmUpMs: 500, kind: 'http', target }, this.hub.pid)
  }

  /** Measures whole visits instead of calls. */
  visits(transport: Transport, sessions: number, seconds: number, wire: Wire): Promise<Measured> {
    const target = this.#target(`${this.hub.url}/mcp/${transport}`, wire)
    return runLoad({ sessions, seconds, warmUpMs: 500, kind: 'visits', target }, this.hub.pid)
  }

  /** Sends the same messages to the bare server, without a hub. */
  bare(sessions: number, seconds: number, wire: Wire): Promise<Measured> {
    const target = this.#target(this.#bare.url, wire)
    return runLoad({ sessions, seconds, warmUpMs: 500, kind: 'http', target }, this.#bare.pid)
  }

  #target(url: string, wire: Wire): HttpTarget {
    return { url, tool: 'echo', credential: this.#credential, wire }
  }
}
