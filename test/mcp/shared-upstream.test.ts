import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { failureOf, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const ECHO_HTTP = join(import.meta.dir, '../support/mcp-servers/echo-http.ts')

let web: Program
let lax: Program
let hub: Hub
let admin: Client
let key = ''

beforeAll(async () => {
  web = await startProgram(ECHO_HTTP)
  lax = await startProgram(ECHO_HTTP, { env: { UNKNOWN: '400' } })
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: {
        varied: stdioFixture('varied'),
        slow: stdioFixture('slow'),
        // They number their sessions: none is wanted but the hub's own.
        web: { type: 'streamable-http', url: web.url, session: 'shared' },
        lax: { type: 'streamable-http', url: lax.url, session: 'shared' },
        dying: stdioFixture('crashing', { MODE: 'call' }),
      },
      groups: [{ name: 'g', servers: ['varied', 'slow', 'web', 'dying'] }],
    },
  })
  admin = await hub.setup()
  key = await admin.mcpKey()
  await online(admin, ['varied', 'slow', 'web', 'lax', 'dying'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await web?.stop()
  await lax?.stop()
}, 120_000)

describe('P-03 an upstream that has lost its sessions', () => {
  const whoami = async (client: RawClient) => {
    const { result, error } = await client.call('tools/call', { name: 'whoami' })
    return error ?? JSON.parse(result.content[0].text)
  }

  test.each([
    ['web', 404],
    ['lax', 400],
  ])(
    'P-03 is met with one handshake for 20 concurrent calls, and each client sees one answer: %s, HTTP %d',
    async name => {
      const server = name === 'web' ? web : lax
      const path = `/mcp/${name}`
      const clients = await Promise.all(Array.from({ length: 20 }, () => new RawClient(hub, path, key).open()))
      for (let round = 1; round <= 5; round += 1) {
        const before = (await whoami(clients[0] as RawClient)).session
        const forgotten = await (await fetch(server.url.replace('/mcp', '/control/forget'), { method: 'POST' })).json()
        expect(forgotten.forgotten).toBeGreaterThan(0)
        const answers = await Promise.all(clients.map(whoami))
        expect(answers.filter(({ session }) => session !== before + 1)).toEqual([])
        expect(answers.map(({ session }) => session)).toEqual(Array(20).fill(before + 1))
      }
      await online(admin, [name])
    },
    120_000,
  )

  test('P-03 a call that had begun when the connection was lost is not sent twice', async () => {
    const client = await new RawClient(hub, '/mcp/dying', key).open()
    const pid = async () => (await client.call('tools/call', { name: 'pid' })).result?.content[0].text
    const first = await pid()
    const { error } = await client.call('tools/call', { name: 'crash' })
    expect([error?.code, error?.data?.code]).toEqual([-32603, 'connection_lost'])
    const second = await until(pid, { what: 'the server to be back' })
    expect(second).not.toBe(first)
    // Had it been repeated, the second process would have ended as well.
    expect(await pid()).toBe(second)
  })
})

describe('an upstream that restarts under open sessions', () => {
  test('is reached again by the same sessions, and its lists are told once it is back', async () => {
    const sdk = await admin.mcp('/mcp/g')
    const raw = await new RawClient(hub, '/mcp/varied', key).open()
    const call = () => sdk.callTool({ name: 'raw', arguments: { n: 1 } })
    await call()
    await admin.ok('POST', '/api/servers/varied/restart')
    const answers = await Promise.all([call(), call(), raw.call('tools/call', { name: 'raw', arguments: { n: 2 } })])
    expect(answers.map(answer => JSON.stringify(answer)).every(text => text.includes('structuredContent'))).toBe(true)
  })

  test('a server that was stopped answers server_offline, the others go on, and its tools come back with it', async () => {
    const sdk = await admin.mcp('/mcp/g')
    await admin.ok('POST', '/api/servers/varied/stop?wait=30s')
    const failure = await failureOf(sdk.callTool({ name: 'raw', arguments: {} }))
    expect([failure.code, failure.data?.code]).toEqual([-32603, 'server_offline'])
    expect(JSON.stringify(await sdk.callTool({ name: 'quick', arguments: {} }))).toContain('quick')
    const names = async () => (await sdk.listTools()).tools.map(({ name }) => name)
    expect(await names()).not.toContain('raw')
    await admin.ok('POST', '/api/servers/varied/start?wait=30s')
    await until(async () => (await names()).includes('raw'), { what: 'the tools to be back' })
    await sdk.callTool({ name: 'raw', arguments: {} })
  })
})
