import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bothTransports, failure, httpRecord, ModernHttp, reply } from './modern-http.ts'
import { fixture, type Rig, serverRecord, startRig, until } from './support.ts'

const MODERN_STDIO = join(import.meta.dir, 'fixtures', 'modern-server.ts')
/** A modern server for `sh`, which starts at once on any machine, within the wait for the first answer. */
const QUICK_MODERN = `
complete() {
  printf '{"jsonrpc":"2.0","id":%s,"result":{%s,"resultType":"complete","ttlMs":0,"cacheScope":"private"}}\\n' "$id" "$1"
}
echo "pid $$" >> "$0"
while read -r line; do
  method=\${line#*'"method":"'} id=\${line##*'"id":'}
  method=\${method%%'"'*} id=\${id%%[!0-9]*}
  echo "$method" >> "$0"
  case $method in
  server/discover) complete '"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}' ;;
  tools/list) complete '"tools":[]' ;;
  esac
done`
const running: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

async function rigOf(...given: Parameters<typeof startRig>): Promise<Rig> {
  const [records, options] = given
  const rig = await startRig(records, { transports: bothTransports, ...options })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  return rig
}

function modernServer(): ModernHttp {
  const server = new ModernHttp()
  running.push(server)
  return server
}

/** A server that speaks 2025-11-25 only; `refusal` gives its answer to any request before the handshake. */
function legacyServer(refusal: (id: number | undefined) => Response): {
  readonly url: string
  readonly seen: string[]
} {
  const seen: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const { id, method } = (await request.json()) as { id?: number; method: string }
      seen.push(method)
      if (method === 'initialize') {
        const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'old', version: '1' } }
        return Response.json({ jsonrpc: '2.0', id, result })
      }
      return id === undefined ? new Response(null, { status: 202 }) : refusal(id)
    },
  })
  running.push({ [Symbol.asyncDispose]: () => server.stop(true) })
  return { url: `http://127.0.0.1:${server.port}/mcp`, seen }
}

/** Answers as the server at another address does. */
function passTo(url: string): (request: Request) => Promise<Response> {
  return async request => {
    const body = request.method === 'POST' ? { body: await request.text() } : {}
    // It may be stopped before the last request comes.
    return fetch(url, { method: request.method, ...body }).catch(() => new Response(null, { status: 502 }))
  }
}

async function eraOf(rig: Rig, id: string): Promise<string> {
  const { state, era, protocolVersion, reason } = await rig.connections.settled(id, 60_000)
  return state === 'online' ? `${era} ${protocolVersion}` : `${state} ${reason?.code}`
}

describe('a server over HTTP', () => {
  test('that answers server/discover is modern, and is shown as such', async () => {
    const server = modernServer()
    const rig = await rigOf([httpRecord('m', server.url)])
    expect(await eraOf(rig, 'm')).toBe('modern 2026-07-28')
    expect(rig.connections.status('m').serverInfo).toEqual({ name: 'raw', version: '1' })
    expect(server.of('initialize')).toEqual([])
    const [question] = server.of('server/discover')
    expect(question?.headers.get('mcp-protocol-version')).toBe('2026-07-28')
    expect(question?.headers.get('mcp-method')).toBe('server/discover')
    expect(question?.headers.get('mcp-session-id')).toBeNull()
  })

  const refusals: readonly [string, (id: number | undefined) => Response][] = [
    ['404 without a body', () => new Response(null, { status: 404 })],
    ['405', () => new Response('no', { status: 405 })],
    ['400 and the error of a missing session', id => failure(id, -32000, 'Bad Request: no session', 400)],
    ['400 and an error under no id', () => failure(undefined, -32600, 'Missing session ID', 400)],
    ['200 and an unknown method', id => failure(id, -32601, 'Method not found', 200)],
    ['its own versions alone', id => failure(id, -32022, 'no', 400, { supported: ['2025-11-25'], requested: 'x' })],
  ]
  test.each(refusals)('that answers the question with %s is legacy', async (_, refusal) => {
    const server = legacyServer(refusal)
    const rig = await rigOf([httpRecord('l', server.url)])
    expect(await eraOf(rig, 'l')).toBe('legacy 2025-11-25')
    expect(server.seen.slice(0, 2)).toEqual(['server/discover', 'initialize'])
  })

  test.each([-32020, -32021, -32022])('that answers the question with the error %d is modern', async code => {
    const server = modernServer()
    let asked = 0
    server.refuse = async request => {
      const { id } = (await request.json()) as { id: number }
      asked += 1
      return asked === 1 ? failure(id, code, 'no') : undefined
    }
    const rig = await rigOf([httpRecord('m', server.url)])
    expect(await eraOf(rig, 'm')).toBe('modern 2026-07-28')
  })

  test('that answers the question with 500 says nothing by it: the handshake decides, and the next start asks again', async () => {
    const server = legacyServer(() => new Response('oops', { status: 500 }))
    const rig = await rigOf([httpRecord('l', server.url)])
    expect(await eraOf(rig, 'l')).toBe('legacy 2025-11-25')
    rig.connections.restart('l')
    await until('the second handshake', () => server.seen.filter(method => method === 'initialize').length === 2)
    expect(server.seen.filter(method => method === 'server/discover')).toHaveLength(2)
  })

  test('that wants a credential is offline for that reason, whichever era it may speak', async () => {
    const server = modernServer()
    server.refuse = () => new Response(null, { status: 401 })
    const rig = await rigOf([httpRecord('m', server.url)])
    expect(await eraOf(rig, 'm')).toBe('offline authorization_required')
  })

  test('that lists to older clients what this hub lists is offline as a loop, whatever it lists to newer ones', async () => {
    const server = modernServer()
    server.refuse = async request => {
      if (request.method !== 'POST' || request.headers.get('mcp-protocol-version') === '2026-07-28') return undefined
      const { id, method } = (await request.json()) as { id?: number; method: string }
      const serverInfo = { name: 'both', version: '1' }
      if (method === 'initialize')
        return reply(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo })
      if (method === 'tools/list') return reply(id, { tools: [], _meta: { 'patchbay/instances': ['own'] } })
      return id === undefined ? new Response(null, { status: 202 }) : reply(id, {})
    }
    const rig = await rigOf([httpRecord('m', server.url)], { isOwnMark: mark => mark === 'own' })
    expect(await eraOf(rig, 'm')).toBe('modern 2026-07-28')
    await rig.connections.awaitLegacySides(['m'])
    await until('the loop', () => rig.connections.status('m').reason?.code === 'loop_detected')
  })

  test('that speaks only a later version is modern and cannot be used', async () => {
    const server = modernServer()
    server.answers['server/discover'] = () => ({ supportedVersions: ['2099-01-01'], resultType: 'complete' })
    const rig = await rigOf([httpRecord('m', server.url)])
    expect(await eraOf(rig, 'm')).toBe('offline upstream_protocol')
    expect(rig.connections.status('m').reason?.message).toContain('2099-01-01')
    expect(server.of('initialize')).toEqual([])
  })
})

describe('a verdict', () => {
  test('is kept over restarts for as long as configuration and credential are the same', async () => {
    const server = modernServer()
    const record = httpRecord('m', server.url)
    const dataDir = mkdtempSync(join(tmpdir(), 'patchbay-era-'))
    const questions = (): number => server.of('server/discover').length
    const start = async (given = record, headers: Record<string, string> = {}): Promise<number> => {
      const before = questions()
      const rig = await startRig([given], {
        transports: bothTransports,
        config: { dataDir },
        headerProviders: () => new Map([['p', { headersFor: async () => headers }]]),
      })
      try {
        expect(await eraOf(rig, 'm')).toBe('modern 2026-07-28')
        return questions() - before
      } finally {
        await rig.connections.dispose()
      }
    }
    try {
      // The probe sends one request, and the connection itself another one.
      expect(await start()).toBe(2)
      expect(await start()).toBe(1)
      expect(await start(record, { Authorization: 'Bearer other' })).toBe(2)
      expect(await start({ ...record, config: { url: `${server.url}?x` } })).toBe(2)
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  test('that a server is modern is given up when it stops being so', async () => {
    const server = modernServer()
    const rig = await rigOf([httpRecord('m', server.url)])
    expect(await eraOf(rig, 'm')).toBe('modern 2026-07-28')
    const old = legacyServer(() => new Response(null, { status: 404 }))
    server.refuse = passTo(old.url)
    for (const listener of server.listening) listener.end()
    const reply = await rig.call('m', 'echo')
    expect(reply).toMatchObject({ kind: 'failed' })
    await until('the handshake', () => rig.connections.status('m').era === 'legacy')
    expect(old.seen).toContain('initialize')
  })

  test('that a server is legacy is looked at again on refresh, and followed when nothing is in flight', async () => {
    const server = modernServer()
    const old = legacyServer(() => new Response(null, { status: 404 }))
    const pass = passTo(old.url)
    server.refuse = pass
    const rig = await rigOf([httpRecord('m', server.url)])
    expect(await eraOf(rig, 'm')).toBe('legacy 2025-11-25')
    server.refuse = async request => {
      const modern = request.headers.get('mcp-protocol-version') === '2026-07-28'
      return modern ? undefined : pass(request)
    }
    rig.connections.refresh('m')
    await Bun.sleep(0)
    expect(server.of('server/discover')).toEqual([])
    rig.connections.refresh('m', { probe: true })
    await until('the other era', () => rig.connections.status('m').era === 'modern')
  })
})

describe('a program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'patchbay-era-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const journalOf = (name: string): string[][] => {
    const text = readFileSync(join(folder, name), 'utf8')
    return text
      .split(/^pid .*\n/m)
      .slice(1)
      .map(lines => lines.split('\n').filter(Boolean))
  }

  test('is asked in a process that is thrown away, and speaks the modern era in the next one', async () => {
    const config = { command: 'sh', args: ['-c', QUICK_MODERN, join(folder, 'a')] }
    await using rig = await startRig([serverRecord('s', { config })])
    expect(await eraOf(rig, 's')).toBe('modern 2026-07-28')
    const [probe, real] = journalOf('a')
    expect(probe).toEqual(['server/discover'])
    expect(real?.[0]).toBe('server/discover')
    expect(real).not.toContain('initialize')
    expect(rig.connections.processes()).toHaveLength(1)
  })

  // These wait for seconds each.
  test.concurrent.each([
    ['answers with an error', 'plain'],
    ['ignores the end of its input and TERM', 'stubborn'],
  ])('that %s is legacy, and the process that was asked is gone before the real one starts', async (_, mode) => {
    await using rig = await startRig([fixture('s', mode)])
    expect(await eraOf(rig, 's')).toBe('legacy 2025-11-25')
    expect(rig.connections.processes()).toHaveLength(1)
  })

  test.concurrent('that says nothing is legacy after three seconds', async () => {
    await using rig = await startRig([
      serverRecord('s', { config: { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] } }),
    ])
    const pid = (): number | undefined => rig.connections.processes()[0]?.pid
    await until('the process that is asked', () => pid() !== undefined)
    const [asked, start] = [pid(), performance.now()]
    await until('the real process', () => pid() !== undefined && pid() !== asked)
    expect(performance.now() - start).toBeGreaterThan(2_500)
    expect(rig.connections.status('s').state).toBe('connecting')
  })

  test.concurrent('that takes longer to start than it is asked for is modern as soon as it refuses the handshake of the other era', async () => {
    const slow = join(folder, 'slow')
    const config = { command: 'sh', args: ['-c', `sleep 3.5; exec "$0" "$@"`, process.execPath, MODERN_STDIO, slow] }
    await using rig = await startRig([serverRecord('s', { config })])
    // It is never offline in between: the refusal is an answer, not a failure.
    expect(await eraOf(rig, 's')).toBe('modern 2026-07-28')
    // The process that was asked may have read the question before its end.
    expect(
      journalOf('slow')
        .flatMap(heard => heard.slice(0, 1))
        .slice(-2),
    ).toEqual(['initialize', 'server/discover'])
  }, 120_000)

  test.concurrent('that is switched off while it is asked leaves nothing behind', async () => {
    const config = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] }
    const record = serverRecord('s', { config })
    await using rig = await startRig([record])
    await until('the process', () => rig.connections.processes().length === 1)
    rig.put({ ...record, enabled: false, revision: 2 })
    await until('its end', () => rig.connections.processes().length === 0)
    expect(rig.connections.status('s').reason?.code).toBe('stopped')
  })
})

test('trial() finds out the era, and says by which request the server was met', async () => {
  const server = modernServer()
  const rig = await rigOf([])
  const trial = {
    ownerId: 'user-1',
    ownerRole: 'admin' as const,
    transport: 'streamable-http',
    config: { url: server.url },
    timeoutMs: 60_000,
    secrets: [],
  }
  const report = await rig.connections.trial(trial, AbortSignal.timeout(60_000))
  expect(report.ok).toBe(true)
  expect(report.steps.map(({ name }) => name)).toEqual([
    'check',
    'load the transport streamable-http',
    'server/discover',
    'tools/list',
  ])
  expect(report.tools.map(({ name }) => name)).toEqual(['echo'])
})
