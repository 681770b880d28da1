import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { callText, online, statusOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { KNOWN, known } from './fixtures/known.ts'

const SUPERGATEWAY = join(ROOT, 'node_modules/supergateway/dist/index.js')
const OWN_TOOLS = ['echo', 'whoami']

let hub: Hub
let admin: Client
let bearer: string

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { one: known('echo') } } })
  admin = await hub.setup()
  bearer = `Bearer ${await admin.mcpKey()}`
  await online(admin, ['one'])
}, 120_000)

afterAll(() => hub?.stop(), 120_000)

/** A proxy that passes everything on as it is; `seen` are the chains that came by. */
function forwarder(target: string) {
  const seen: (string | null)[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      seen.push(request.headers.get('x-patchbay-instance'))
      const { pathname, search } = new URL(request.url)
      return fetch(`${target}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        signal: request.signal,
      })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, seen, [Symbol.asyncDispose]: () => server.stop(true) }
}

async function loopFound(client: Client, ref: string): Promise<string> {
  const status = await until(
    async () => {
      const now = await statusOf(client, ref)
      return now.reason?.code === 'loop_detected' ? now : undefined
    },
    { timeoutMs: 60_000, what: `"${ref}" to be found out` },
  )
  expect(status.state).toBe('offline')
  // It may be fixed elsewhere.
  expect(status.nextAttemptAt).toBeDefined()
  return status.reason?.message ?? ''
}

/** The tools at one address, without the names of their servers before them. */
async function tools(client: Client): Promise<string[]> {
  const mcp = await client.mcp('/mcp')
  const names = await toolNames(mcp)
  await mcp.close()
  return names
}

async function refusesItsMark(own: string): Promise<void> {
  expect(own).not.toBe('')
  const ask = (path: string, chain: string) =>
    fetch(`${hub.url}${path}`, {
      method: path === '/mcp' ? 'POST' : 'GET',
      headers: {
        authorization: path === '/mcp' ? bearer : `Bearer ${admin.token}`,
        'x-patchbay-instance': chain,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      ...(path === '/mcp'
        ? {
            body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
          }
        : {}),
    })
  for (const path of ['/mcp', '/api/servers']) {
    expect((await ask(path, 'first-hub')).status).toBe(200)
    const refused = await ask(path, `first-hub, ${own},last-hub`)
    expect(refused.status).toBe(508)
    expect(await refused.text()).toContain('loop_detected')
    const long = Array.from({ length: 17 }, (_, at) => `hub-${at}`).join(', ')
    expect((await ask(path, long)).status).toBe(508)
  }
}

describe('a hub that is its own upstream', () => {
  test('by a proxy that passes headers on: the server is offline for it, the lists stay, and its mark in any chain is refused', async () => {
    const before = await tools(admin)
    await using proxy = forwarder(hub.url)
    const self = { name: 'self', url: `${proxy.url}/mcp`, headers: { authorization: bearer } }
    await admin.ok('POST', '/api/servers', self)
    expect(await loopFound(admin, 'self')).toContain('back to this hub')
    expect(await tools(admin)).toEqual(before)
    await admin.ok('DELETE', '/api/servers/self')
    await refusesItsMark(proxy.seen.at(-1) ?? '')
  }, 120_000)

  beyondCore(() => {
    test('by a program that drops headers: its lists are recognised', async () => {
      const before = await tools(admin)
      const args = [SUPERGATEWAY, '--streamableHttp', `${hub.url}/mcp`, '--header', `Authorization: ${bearer}`]
      await admin.ok('POST', '/api/servers', { name: 'self', command: process.execPath, args, ...KNOWN })
      expect(await loopFound(admin, 'self')).toContain('lists')
      expect(await tools(admin)).toEqual(before)
      const mcp = await admin.mcp('/mcp/one')
      expect(await callText(mcp, 'echo', { text: 'on' })).toBe('on')
      await admin.ok('DELETE', '/api/servers/self')
    }, 120_000)
  })
})
beyondCore(() => {
  describe('beside another hub, with a server of its own', () => {
    let other: Hub
    let there: Client

    beforeAll(async () => {
      other = await startHub({ settings: { mcpServers: { two: known('echo') } } })
      there = await other.setup()
      await online(there, ['two'])
    }, 120_000)

    afterAll(() => other?.stop(), 120_000)

    test('a ring of two hubs is found by one of them, and no list grows', async () => {
      try {
        const headers = { authorization: `Bearer ${await there.mcpKey()}` }
        await admin.ok('POST', '/api/servers', { name: 'other', url: `${other.url}/mcp`, headers })
        await online(admin, ['other'])
        const back = { name: 'back', url: `${hub.url}/mcp`, headers: { authorization: bearer } }
        await there.ok('POST', '/api/servers', back)
        await loopFound(there, 'back')
        const [here, beyond] = [await tools(admin), await tools(there)]
        for (const own of OWN_TOOLS) {
          expect(here.filter(name => name.endsWith(own))).toHaveLength(2)
          expect(beyond.filter(name => name.endsWith(own))).toHaveLength(1)
        }
        const mcp = await admin.mcp('/mcp/other')
        expect(await callText(mcp, 'echo', { text: 'there' })).toBe('there')
      } finally {
        await admin.ok('DELETE', '/api/servers/other')
        await there.ok('DELETE', '/api/servers/back')
      }
    }, 120_000)

    test('a hub upstream receives the chain of callers, as marks that have nothing in common', async () => {
      try {
        await using proxy = forwarder(other.url)
        const headers = { authorization: `Bearer ${await there.mcpKey()}` }
        await admin.ok('POST', '/api/servers', { name: 'far', url: `${proxy.url}/mcp`, headers })
        await online(admin, ['far'])
        const own = proxy.seen.at(-1) ?? ''
        const mcp = await admin.mcp('/mcp/far', { headers: { 'x-patchbay-instance': 'first-hub, second.hub' } })
        await callText(mcp, 'echo', { text: 'x' })
        expect(proxy.seen).toContain(`first-hub, second.hub, ${own}`)
        // Two marks of one hub have nothing in common.
        const raw = await (await admin.mcp('/mcp')).listTools()
        const marks = (raw._meta?.['patchbay/instances'] ?? []) as string[]
        expect(marks.length).toBeGreaterThan(0)
        expect(marks).not.toContain(own)
        expect(JSON.stringify(marks)).not.toContain(own.slice(0, 8))
      } finally {
        await admin.ok('DELETE', '/api/servers/far')
      }
    }, 120_000)
  })
})
