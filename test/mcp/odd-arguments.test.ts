import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { HEADERS, RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'

setDefaultTimeout(120_000)

const VERSION = '2026-07-28'
/** Keys that reach a prototype where they are assigned instead of defined, and a number that a double cannot hold. */
const ODD = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"in":[{"__proto__":null}]}'

let hub: Hub
let admin: Client
let key: string

beforeAll(async () => {
  hub = await startHub({
    settings: {
      mcpServers: {
        varied: stdioFixture('varied'),
        shaped: { ...stdioFixture('varied'), tools: { raw: { arguments: { given: { pin: 1 } } } } },
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['varied', 'shaped'])
  key = await admin.mcpKey()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

/** A call in each era, by its arguments as text; undefined: without the member. */
const ways: readonly [string, (args: string | undefined, tool?: string) => Promise<string>][] = [
  [
    'of an older client',
    async (args, tool = 'raw') => {
      const client = await new RawClient(hub, '/mcp/varied', key).open()
      const written = args === undefined ? '' : `,"arguments":${args}`
      const params = `{"name":"${tool}"${written}}`
      return (await client.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)).text()
    },
  ],
  [
    'of a modern client, more than once',
    async (args, tool = 'raw') => {
      const written = args === undefined ? '' : `,"arguments":${args}`
      const meta = `{"io.modelcontextprotocol/protocolVersion":"${VERSION}","io.modelcontextprotocol/clientCapabilities":{}}`
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}"${written},"_meta":${meta}}}`
      const headers = {
        ...HEADERS,
        authorization: `Bearer ${key}`,
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': tool,
      }
      const ask = async () => (await fetch(`${hub.url}/mcp/varied`, { method: 'POST', headers, body })).text()
      const first = await ask()
      // What is known of the first call shortens the second, which must not change it.
      expect((await ask()).replace(/"requestId":"[^"]*"/, '')).toBe(first.replace(/"requestId":"[^"]*"/, ''))
      return first
    },
  ],
]

for (const [who, call] of ways) {
  test(`arguments ${who} are data, whatever their keys are`, async () => {
    expect(await call(ODD)).toContain(`"structuredContent":${ODD}`)
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted')
  })

  test(`null as the arguments ${who} is none`, async () => {
    expect(await call('null', 'name')).toBe(await call(undefined, 'name'))
    const seen = await admin.request('POST', '/api/servers/varied/tools/seen/call', {})
    expect(seen.text).toContain('\\"name\\":\\"name\\"')
    expect(seen.text).not.toContain('\\"arguments\\":null')
  })

  test(`a key twice in the arguments ${who} is refused`, async () => {
    expect(await call('{"a":{"b":1,"b":1}}')).toContain('json_duplicate_key')
  })
}

test('arguments over REST are data too, and elsewhere in the body such keys are refused', async () => {
  const path = '/api/servers/varied/tools/raw/call'
  const answer = await admin.request('POST', path, `{"arguments":${ODD}}`)
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(`"structuredContent":${ODD}`)])
  for (const none of ['{}', '{"arguments":null}'])
    expect((await admin.request('POST', path, none)).json.result.structuredContent).toEqual({})
  for (const [body, code] of [
    ['{"__proto__":{}}', 'key_forbidden'],
    ['{"constructor":{}}', 'key_forbidden'],
    ['{"arguments":{"a":1,"a":2}}', 'json_duplicate_key'],
    [`{"arguments":${'{"a":'.repeat(64)}1${'}'.repeat(64)}}`, 'json_too_deep'],
  ]) {
    const refused = await admin.request('POST', path, body)
    expect([refused.status, refused.json.code]).toEqual([400, code])
  }
})

test('arguments that a server shapes stay data as well', async () => {
  const client = await new RawClient(hub, '/mcp/shaped', key).open()
  const text = await client.post(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw","arguments":${ODD}}}`,
  )
  expect(await text.text()).toContain(`"structuredContent":${ODD.slice(0, -1)},"given":1}`)
})
