/** An inline document of a body that a thread parses is checked when it is saved, as a small one is. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { MAIN_THREAD_BYTES } from '../../core/http/body/body-parser.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'

let hub: Hub
let admin: Client
let user: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  user = await hub.user('ada')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const SIZES = [
  ['small', 0],
  ['large', 2 * MAIN_THREAD_BYTES],
] as const

function documentOf(url: string, padding: number): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Pets', version: '1' },
    servers: [{ url }],
    paths: { '/pets': { get: { operationId: 'pets', responses: { 200: { description: 'All' } } } } },
    'x-padding': 'x'.repeat(padding),
  }
}

test.each(SIZES)('a %s document that leads to the hub itself is refused by every route', async (size, padding) => {
  const openapi = { schema: documentOf(hub.url, padding) }
  const saved = {
    name: `pets-${size}`,
    enabled: false,
    openapi: { schema: documentOf('https://pets.example', padding) },
  }
  await admin.ok('POST', '/api/servers', saved)
  const created = await admin.request('POST', '/api/servers', { name: `loop-${size}`, enabled: false, openapi })
  const nested = await admin.request('POST', '/api/servers', { name: `loop-${size}`, config: { openapi } })
  const replaced = await admin.request('PUT', `/api/servers/pets-${size}`, { ...saved, openapi })
  const patched = await admin.request('PATCH', `/api/servers/pets-${size}`, { openapi })
  const tried = await admin.request('POST', '/api/servers/test', { openapi })
  for (const answer of [created, nested, replaced, patched, tried]) {
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('loop_detected')
  }
  const document = { mcpServers: { [`loop-${size}`]: { openapi } } }
  const imported = await admin.ok('POST', '/api/servers/import', { document })
  expect(JSON.stringify(imported)).toContain('loop_detected')
})

test.each(SIZES)(
  'a %s document of a user may not lead into a network that is closed to users',
  async (size, padding) => {
    const openapi = { schema: documentOf('http://10.1.2.3', padding) }
    const refused = await user.request('POST', '/api/servers', { name: `inside-${size}`, enabled: false, openapi })
    expect(refused.json.code).toBe('url_address_blocked')
  },
)

test.each(SIZES)('a %s document is stored with the origins that it names', async (size, padding) => {
  const schema = documentOf('https://pets.example/v1', padding)
  const text = JSON.stringify(schema)
  const { openapi } = await user.ok('POST', '/api/servers', { name: size, enabled: false, openapi: { schema } })
  const sha256 = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  expect(openapi).toEqual({ document: { sha256, bytes: text.length, servers: ['https://pets.example'] } })
  const moved = await user.ok('PATCH', `/api/servers/${size}`, {
    openapi: { schema: documentOf('https://cats.example', padding) },
  })
  expect(moved.openapi.document.servers).toEqual(['https://cats.example'])
})
