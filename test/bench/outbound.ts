// The hub's own HTTP client against node:http and fetch: processor time of the client per call, for a small JSON POST on
// loopback. Not part of the suite. Run: bun test/bench/outbound.ts
import { spawn } from 'node:child_process'
import { Agent, request as httpRequest } from 'node:http'
import { createGuardedFetch } from '../../core/outbound/create.ts'
import transport from '../../plugins/transport-http/transport.ts'

const CALLS = 8_000
const ROUNDS = 5
const IN_FLIGHT = [1, 16, 64]

if (process.argv[2] === 'serve') serve()
else await main()

function serve(): void {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const { id, params } = (await request.json()) as { id: number; params: { arguments: { text: string } } }
      const text = JSON.stringify({
        jsonrpc: '2.0',
        id,
        result: { content: [{ type: 'text', text: params.arguments.text }] },
      })
      if (!request.url.endsWith('/events'))
        return new Response(text, { headers: { 'content-type': 'application/json' } })
      return new Response(`event: message\ndata: ${text}\n\n`, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  console.log(server.port)
}

async function main(): Promise<void> {
  const child = spawn(process.execPath, [import.meta.path, 'serve'], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const port = await new Promise<string>(resolve => child.stdout.once('data', data => resolve(String(data).trim())))
    const clients = await makeClients(`http://127.0.0.1:${port}`)
    for (const [name, call] of clients) {
      for (const inFlight of IN_FLIGHT) report(name, inFlight, await measure(call, inFlight))
    }
  } finally {
    child.kill()
  }
  process.exit(0)
}

type Call = (id: number) => Promise<string>

async function makeClients(origin: string): Promise<readonly (readonly [string, Call])[]> {
  const url = `${origin}/json`
  const body = (id: number): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"${'x'.repeat(64)}"}}}`
  const headers = Object.freeze({
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    'mcp-session-id': '0123456789abcdef0123456789abcdef',
    'mcp-protocol-version': '2025-11-25',
  })
  const guarded = createGuardedFetch({ rights: { networks: [], admin: true }, instanceId: 'bench' })
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const own: Call = async id => {
    const response = await guarded(url, { method: 'POST', headers, body: body(id), headTimeoutMs: 0, idleTimeoutMs: 0 })
    return await response.text()
  }
  const node: Call = id =>
    new Promise((resolve, reject) => {
      const text = body(id)
      const length = Buffer.byteLength(text)
      const options = { method: 'POST', agent, headers: { ...headers, 'content-length': length } }
      const request = httpRequest(url, options, response => {
        const parts: Buffer[] = []
        response.on('data', part => parts.push(part))
        response.on('end', () => resolve(Buffer.concat(parts).toString()))
      })
      request.on('error', reject)
      request.end(text)
    })
  const builtIn: Call = async id => (await fetch(url, { method: 'POST', headers, body: body(id) })).text()
  const link = async (path: string): Promise<Call> => {
    const waiting = new Map<number, (text: string) => void>()
    const opened = await transport.open(
      { url: origin + path },
      {
        signal: new AbortController().signal,
        maxResultBytes: 10 * 1024 * 1024,
        tooLong: () => console.error('a message was too long'),
        fetch: guarded,
        connect: () => Promise.reject(new Error('no WebSocket here')),
        message: (text, related = 0) => {
          waiting.get(related)?.(text)
          waiting.delete(related)
        },
        closed: reason => console.error(reason),
        lost: reason => console.error(reason),
        failed: (_id, reason) => console.error(reason),
        log: (_level, message) => console.error(message),
      },
    )
    return id =>
      new Promise(resolve => {
        waiting.set(id, resolve)
        opened.send(body(id), id)
      })
  }
  return [
    ['own client', own],
    ['node:http', node],
    ['fetch', builtIn],
    ['transport, JSON', await link('/json')],
    ['transport, SSE', await link('/events')],
  ]
}

interface Figures {
  readonly cpuMicros: number
  readonly callsPerSecond: number
}

async function measure(call: Call, inFlight: number): Promise<Figures> {
  let id = 0
  const round = async (): Promise<Figures> => {
    let left = CALLS
    const cpu = process.cpuUsage()
    const start = performance.now()
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const text = await call(++id)
        if (!text.includes('"result"')) throw new Error(text)
      }
    }
    await Promise.all(Array.from({ length: inFlight }, worker))
    const { user, system } = process.cpuUsage(cpu)
    return {
      cpuMicros: (user + system) / CALLS,
      callsPerSecond: (CALLS / (performance.now() - start)) * 1000,
    }
  }
  await round()
  const rounds: Figures[] = []
  for (let index = 0; index < ROUNDS; index++) rounds.push(await round())
  const middle = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0
  return {
    cpuMicros: middle(rounds.map(figures => figures.cpuMicros)),
    callsPerSecond: middle(rounds.map(figures => figures.callsPerSecond)),
  }
}

function report(name: string, inFlight: number, { cpuMicros, callsPerSecond }: Figures): void {
  const flight = String(inFlight).padStart(3)
  console.log(
    `${name.padEnd(16)} ${flight} in flight  ${cpuMicros.toFixed(1).padStart(5)} µs CPU  ${callsPerSecond.toFixed(0).padStart(7)} calls/s`,
  )
}
