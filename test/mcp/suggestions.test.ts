import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { HEADERS, RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'

setDefaultTimeout(120_000)

const VERSION = '2026-07-28'
let hub: Hub
let admin: Client
let key: string

beforeAll(async () => {
  hub = await startHub({
    settings: { mcpServers: { varied: stdioFixture('varied', { PROMPTS: JSON.stringify(['greeting']) }) } },
  })
  admin = await hub.setup()
  await online(admin, ['varied'])
  key = await admin.mcpKey()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const older = async (method: string, name: string) =>
  (await (await new RawClient(hub, '/mcp/varied', key).open()).call(method, { name })).error
const modern = async (method: string, name: string) => {
  const headers = {
    ...HEADERS,
    authorization: `Bearer ${key}`,
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    'mcp-name': name,
  }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { name, _meta } })
  const answer = await fetch(`${hub.url}/mcp/varied`, { method: 'POST', headers, body })
  return ((await answer.json()) as { error: { message: string } }).error
}

for (const [era, ask] of [
  ['older', older],
  ['modern', modern],
] as const) {
  test(`a client of the ${era} era that shows the message alone shows what was meant`, async () => {
    const tool = await ask('tools/call', 'emti')
    expect(tool?.message).toBe('There is no tool "emti" here. Did you mean "emit"?')
    const prompt = await ask('prompts/get', 'greting')
    expect(prompt?.message).toBe('There is no prompt "greting" here. Did you mean "greeting"?')
    // A hint that every such error has is in the data alone.
    expect((await ask('tools/call', 'utterly-else'))?.message).toBe('There is no tool "utterly-else" here')
  })
}

test('REST says what was meant as the hint of its problem', async () => {
  const answer = await admin.request('POST', '/api/servers/varied/tools/emti/call', {})
  expect([answer.status, answer.json.hint]).toEqual([404, 'Did you mean "emit"?'])
})
