/** An inline OpenAPI document is checked when it is saved, by every route: in YAML and JSON, small, and so large that a thread parses it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MAIN_THREAD_BYTES } from '../../core/http/body/body-parser.ts'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'
import { MOST_MS, slowness } from '../support/work.ts'

/** Documents that one user sends at once, and how many of them others wait for at most. */
const [LARGE, BEFORE] = [12, 8]
let hub: Hub
let admin: Client
let ada: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub({ watchTurns: true })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await ada.ok('POST', '/api/servers', SAVED)
  bob = await hub.user('bob')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const yaml = (url: string, rest = ''): string =>
  `openapi: 3.1.0\ninfo: {title: Pets, version: '1'}\nservers: [{url: '${url}'}]\npaths: {}\n${rest}`

const SAVED = { name: 'pets', enabled: false, openapi: { schema: yaml('https://pets.example') } }

/** Each alias means ten of the one before: a document of 500 bytes has a million million values. */
const ALIASES = Array.from({ length: 12 }, (_, at) => `x-${at + 1}: &x${at + 1} [${Array(10).fill(`*x${at}`)}]`)

const WRONG: readonly (readonly [what: string, schema: string, field: string, code: string, said: RegExp])[] = [
  ['a bracket that is not closed', 'openapi: 3.1.0\npaths: {\n', 'schema', 'openapi_unsupported', /line 3, column 1/],
  ['an unknown version', 'openapi: 4.0.0\npaths: {}\n', 'schema', 'openapi_unsupported', /"4\.0\.0"/],
  ['another file', yaml('https://a.example', 'x: {$ref: ./x.yaml}'), 'schema', 'openapi_external_ref', /\.\/x\.yaml/],
  ['no address', 'openapi: 3.1.0\npaths: {}\n', 'baseUrl', 'required', /"baseUrl"/],
  ['aliases', yaml('https://a.example', `x-0: &x0 1\n${ALIASES.join('\n')}\n`), 'schema', 'openapi_bomb', /more than/],
]

test.each(WRONG)('%s is told when the document is saved, by every route', async (what, schema, field, code, words) => {
  const openapi = { schema }
  const answers = [
    await ada.request('POST', '/api/servers', { name: 'wrong', openapi }),
    await ada.request('PUT', '/api/servers/pets', { ...SAVED, openapi }),
    await ada.request('PATCH', '/api/servers/pets', { openapi }),
    await ada.request('POST', '/api/servers/test', { openapi }),
  ]
  for (const { status, json } of answers) {
    expect([status, json.errors]).toMatchObject([400, [{ pointer: `#/openapi/${field}`, code }]])
    expect(json.errors[0].detail).toMatch(words)
  }
  const nested = await ada.request('POST', '/api/servers', { name: 'wrong', config: { openapi } })
  expect([nested.status, nested.json.errors]).toMatchObject([400, [{ pointer: `#/config/openapi/${field}`, code }]])
  for (const dryRun of [true, false]) {
    const document = { mcpServers: { [what.replaceAll(' ', '-')]: { openapi } } }
    const { entries } = await ada.ok('POST', `/api/servers/import?dryRun=${dryRun}`, { document })
    const { verdict, error } = entries[0]
    expect([verdict, error.errors]).toMatchObject(['invalid', [{ code }]])
  }
  expect((await ada.ok('GET', '/api/servers?scope=mine')).items.map(({ name }: { name: string }) => name)).toEqual([
    'pets',
  ])
})

test('an entry of the settings file with such a document is listed with its problem, and repaired by an edit', async () => {
  const write = (schema: string) =>
    writeFile(
      join(hub.folder, 'mcp_settings.json'),
      JSON.stringify({ mcpServers: { filed: { openapi: { schema }, enabled: false } } }),
    )
  const entry = async () => (await admin.request('GET', '/api/servers/filed')).json
  await write('openapi: 3.1.0\npaths: {\n')
  await until(async () => (await entry()).problem)
  expect((await entry()).problem).toMatchObject({ code: 'config_invalid', pointer: '#/openapi/schema' })
  await write(yaml('https://filed.example/v1'))
  await until(async () => (await entry()).problem === undefined)
  expect((await entry()).openapi.document.servers).toEqual(['https://filed.example'])
})

test('the addresses in it are checked, and its origins are known', async () => {
  const send = (by: Client, url: string) =>
    by.request('POST', '/api/servers', { name: 'address', enabled: false, openapi: { schema: yaml(url) } })
  expect((await send(ada, 'http://10.1.2.3')).json.code).toBe('url_address_blocked')
  expect((await send(admin, hub.url)).text).toContain('loop_detected')
  const { json } = await send(ada, 'https://pets.example/v1')
  expect(json.openapi.document.servers).toEqual(['https://pets.example'])
})

beyondCore(() => {
  test('large documents of one user hold neither the hub nor another user’s requests', async () => {
    const lines = Array.from({ length: 40_000 }, (_, at) => `  k${at}: {type: string, description: text ${at}}`)
    const schema = yaml('https://pets.example', `x-all:\n${lines.join('\n')}\n`)
    expect(schema.length).toBeGreaterThan(1.5 * 2 ** 20)
    const slow = slowness()
    await hub.longestTurnMs()
    const order: string[] = []
    const save = async (by: Client, name: string, text: string) => {
      await by.ok('POST', '/api/servers', { name, enabled: false, openapi: { schema: text } })
      order.push(name)
    }
    const many = Array.from({ length: LARGE }, (_, at) => save(ada, `large${at}`, schema))
    await until(() => order.length > 0, { what: 'the first large document', timeoutMs: 60_000 })
    await save(bob, 'small', yaml('https://pets.example'))
    await save(bob, 'padded', JSON.stringify({ openapi: '3.1.0', paths: {}, servers: [{ url: 'https://a.example' }] }))
    // Each of the two waits for work that is under way when it comes, not for documents that the other user sent later.
    expect(order.filter(name => name.startsWith('large')).length).toBeLessThanOrEqual(BEFORE)
    await Promise.all(many)
    expect(await hub.longestTurnMs()).toBeLessThan(MOST_MS * 1.5 * Math.max(slow, slowness()))
  }, 120_000)
})

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
    const refused = await ada.request('POST', '/api/servers', { name: `inside-${size}`, enabled: false, openapi })
    expect(refused.json.code).toBe('url_address_blocked')
  },
)

test.each(SIZES)('a %s document is stored with the origins that it names', async (size, padding) => {
  const schema = documentOf('https://pets.example/v1', padding)
  const text = JSON.stringify(schema)
  const { openapi } = await ada.ok('POST', '/api/servers', { name: size, enabled: false, openapi: { schema } })
  const sha256 = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  expect(openapi).toEqual({ document: { sha256, bytes: text.length, servers: ['https://pets.example'] } })
  const moved = await ada.ok('PATCH', `/api/servers/${size}`, {
    openapi: { schema: documentOf('https://cats.example', padding) },
  })
  expect(moved.openapi.document.servers).toEqual(['https://cats.example'])
})
