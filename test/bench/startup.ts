import { join } from 'node:path'
import { startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'
import { ECHO, MCP_SERVERS } from './measure.ts'

export interface StartUp {
  readonly servers: number
  /** From the start of the process, in milliseconds. */
  readonly listeningMs: number
  readonly othersOnlineMs: number
  /** Duration of one `tools/list` over all servers after all were online, in milliseconds. */
  readonly toolsListMs: number
  readonly toolsListed: number
  /** The same servers started by hand, eight at a time, each up to its answer to `tools/list`. */
  readonly bareMs: number
}

/** Starts a hub with this many stdio servers. If there are several, the last one never answers `initialize`. */
export async function measureStartUp(servers: number): Promise<StartUp> {
  const [command = '', ...args] = ECHO
  const hanging = servers > 1 ? 1 : 0
  const mcpServers: Record<string, object> = {}
  for (let index = 1; index <= servers - hanging; index += 1) {
    mcpServers[`echo-${index}`] = { command, args, env: { WHO: String(index) } }
  }
  // Listed first, so that it is among the first that are started.
  const deaf = hanging === 0 ? {} : { deaf: { command, args: [join(MCP_SERVERS, 'deaf.ts')] } }
  const bareMs = await bareStart(servers - hanging)
  const start = performance.now()
  const hub = await startHub({ settings: { mcpServers: { ...deaf, ...mcpServers } } })
  try {
    const listeningMs = performance.now() - start
    await until(async () => (await (await fetch(`${hub.url}/health`)).json()).servers.online === servers - hanging, {
      timeoutMs: 60_000,
      intervalMs: 5,
      what: `${servers - hanging} servers to be online`,
    })
    const othersOnlineMs = performance.now() - start
    const admin = await hub.setup()
    const client = await admin.mcp('/mcp')
    const asked = performance.now()
    const { tools } = await client.listTools()
    return {
      servers,
      listeningMs,
      othersOnlineMs,
      toolsListMs: performance.now() - asked,
      toolsListed: tools.length,
      bareMs,
    }
  } finally {
    await hub.stop()
  }
}

const HANDSHAKE = [
  {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 2, method: 'tools/list' },
]
  .map(message => `${JSON.stringify(message)}\n`)
  .join('')

async function bareStart(count: number): Promise<number> {
  const start = performance.now()
  const children: Bun.Subprocess[] = []
  let left = count
  const starter = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const child = Bun.spawn([...ECHO], { stdin: 'pipe', stdout: 'pipe', stderr: 'ignore' })
      children.push(child)
      child.stdin.write(HANDSHAKE)
      child.stdin.flush()
      let text = ''
      const reader = child.stdout.getReader()
      while (!text.includes('"tools":')) {
        const { value, done } = await reader.read()
        if (done) throw new Error('The echo server ended before it answered')
        text += new TextDecoder().decode(value)
      }
      reader.releaseLock()
    }
  }
  await Promise.all(Array.from({ length: 8 }, starter))
  const ms = performance.now() - start
  for (const child of children) child.kill()
  await Promise.all(children.map(child => child.exited))
  return ms
}
