import { afterEach, expect, test } from 'bun:test'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { LegacyHttp, mcpTransports } from './legacy-http.ts'
import { httpRecord, ModernHttp } from './modern-http.ts'
import { type Rig, serverRecord, startRig } from './support.ts'

const running: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

async function start(record: ServerRecord): Promise<Rig> {
  const rig = await startRig([record], { transports: mcpTransports, random: () => 0 })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  await rig.connections.settled('a', 60_000)
  return rig
}

/** Leads each path below `/old` to the same path without it, and counts how often. */
function moves(counts: Record<string, number>): (request: Request) => Response | undefined {
  return request => {
    const { pathname, search } = new URL(request.url)
    if (!pathname.startsWith('/old/')) return undefined
    counts[request.method] = (counts[request.method] ?? 0) + 1
    return new Response(null, { status: 307, headers: { location: pathname.slice(4) + search } })
  }
}

function legacy(counts: Record<string, number>): LegacyHttp {
  const server = new LegacyHttp()
  server.refuse = moves(counts)
  running.push(server)
  return server
}

async function echo(rig: Rig): Promise<void> {
  for (const text of ['one', 'two', 'three']) {
    const params = { name: 'echo', arguments: { text } }
    const answered = await rig.connections.request('a', { method: 'tools/call', params }).reply
    expect(JSON.stringify(answered)).toContain(text)
  }
}

test('a server of the earlier era behind a redirect works, and is found out to be one', async () => {
  const counts: Record<string, number> = {}
  const server = legacy(counts)
  const rig = await start(httpRecord('a', `${server.url}/old/mcp`))
  expect(rig.connections.status('a')).toMatchObject({ state: 'online', era: 'legacy' })
  const posts = counts.POST ?? 0
  await echo(rig)
  // The connection knows by now where they go.
  expect(counts.POST).toBe(posts)
})

test('a server of the modern era behind a redirect works, and is found out to be one', async () => {
  const counts: Record<string, number> = {}
  const server = new ModernHttp()
  running.push(server)
  server.refuse = moves(counts)
  const rig = await start(httpRecord('a', server.url.replace('/mcp', '/old/mcp')))
  expect(rig.connections.status('a')).toMatchObject({ state: 'online', era: 'modern' })
  const posts = counts.POST ?? 0
  await echo(rig)
  expect(counts.POST).toBe(posts)
})

test('a server of the older pair behind a redirect is found by falling back, and its messages go straight', async () => {
  const counts: Record<string, number> = {}
  const server = legacy(counts)
  server.streamable = false
  const rig = await start(httpRecord('a', `${server.url}/old/mcp`, { transportInferred: true }))
  expect(rig.connections.status('a')).toMatchObject({ state: 'online', transport: 'sse' })
  await echo(rig)
  expect(counts.GET).toBeGreaterThan(0)
})

test('the endpoint of an SSE server may be redirected too', async () => {
  const counts: Record<string, number> = {}
  const server = legacy(counts)
  server.endpoint = '/old/messages'
  const rig = await start(serverRecord('a', { transport: 'sse', config: { url: `${server.url}/old/sse` } }))
  expect(rig.connections.status('a').state).toBe('online')
  const posts = counts.POST ?? 0
  await echo(rig)
  expect([posts, counts.POST]).toEqual([1, 1])
})
