/** The catalogue of public groups and their server cards, which strangers may read. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, send, startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'

const CATALOG = '/.well-known/mcp/catalog.json'
const ODD = 'Größe 你好.v2'
const LONG = `Reads\n the ${'𝒙'.repeat(200)}`

let hub: Hub
let off: Hub
let admin: Client
let alice: Client

beforeAll(async () => {
  const [on, without] = await Promise.all([
    startHub({ env: { DISCOVERY_ENABLED: 'true', BASE_PATH: '/hub', TRUSTED_PROXIES: '127.0.0.1' } }),
    startHub(),
  ])
  hub = on
  off = without
  admin = await hub.setup()
  alice = await hub.user('alice')
  const group = (name: string, visibility: string, more: object = {}) =>
    alice.ok('POST', '/api/groups', { name, visibility, members: [], ...more })
  await group('docs', 'public', { description: 'Search in our documents' })
  await group(ODD, 'public', { description: LONG })
  await group('server-card', 'public')
  await group('hidden', 'private', { description: 'canary-4471' })
  const own = await off.user('alice')
  await own.ok('POST', '/api/groups', { name: 'docs', visibility: 'public', members: [] })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await off?.stop()
}, 120_000)

/** Each request comes from another address, since an address has a rate. */
let senders = 0
const ask = (method: string, path: string, headers: Record<string, string> = {}, of = hub): Promise<Answer> => {
  senders += 1
  return send(of.url, method, path, method === 'POST' ? {} : undefined, {
    'x-forwarded-for': `198.18.${senders >> 8}.${senders & 255}`,
    ...headers,
  })
}
const get = (path: string, headers: Record<string, string> = {}, of = hub) => ask('GET', path, headers, of)
const card = (owner: string, name: string) => `/mcp/@${owner}/${encodeURIComponent(name)}/server-card`

/** Returns the text of a refusal, without the parts that differ by request. */
function words({ status, headers, json }: Answer, path: string, name: string): unknown {
  const { requestId, instance, detail, ...rest } = json
  expect([typeof requestId, instance]).toEqual(['string', path])
  return [status, headers.get('content-type'), headers.get('www-authenticate'), detail.replace(name, '…'), rest]
}

test('the catalogue lists the public groups alone, and each card leads to the endpoint', async () => {
  const answer = await get(CATALOG)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(answer.json.specVersion).toBe('draft')
  const { entries } = answer.json as { entries: Record<string, string>[] }
  expect(entries.map(({ displayName }) => displayName)).toEqual([
    'Patchbay: docs',
    `Patchbay: ${ODD}`,
    'Patchbay: server-card',
  ])
  expect(new Set(entries.map(({ identifier }) => identifier)).size).toBe(3)
  expect(answer.text).not.toMatch(/hidden|canary/)
  for (const { identifier, type, url = '' } of entries) {
    expect([identifier, type]).toEqual([
      expect.stringMatching(/^urn:air:127\.0\.0\.1:[a-zA-Z0-9._-]+$/),
      'application/mcp-server-card+json',
    ])
    const found = await fetch(url, { headers: { accept: 'application/mcp-server-card+json' } })
    expect([url, found.status, found.headers.get('content-type')]).toEqual([url, 200, type as string])
    const { name, remotes, description } = (await found.json()) as Record<string, never> & { description: string }
    const [remote] = remotes as unknown as { url: string }[]
    expect(name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
    expect(String(name).split('/')[1]).toBe(identifier?.split(':').at(-1) as string)
    expect([...description].length).toBeLessThanOrEqual(100)
    expect(url).toBe(`${remote?.url}/server-card`)
    const opened = await fetch(remote?.url ?? '', {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${await admin.mcpKey()}`, 'content-type': 'application/json' },
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      }),
    })
    expect([url, opened.status]).toEqual([url, 200])
    expect(await opened.text()).toContain('2025-11-25')
  }
})

test('a card has what a client needs to connect, and nothing else', async () => {
  const { json, headers } = await get(card('alice', 'docs'))
  expect(json).toEqual({
    $schema: 'https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json',
    name: '127.0.0.1/alice.docs',
    title: 'Patchbay: docs',
    description: 'Search in our documents',
    version: (await get('/api/public/info')).json.version,
    remotes: [
      {
        type: 'streamable-http',
        url: `${hub.url}/mcp/@alice/docs`,
        headers: [
          {
            ...{ name: 'Authorization', description: 'An access key of this hub. A user of the hub makes one.' },
            ...{ isRequired: true, isSecret: true, value: 'Bearer {key}' },
            variables: { key: { description: 'The access key, pb_...', isRequired: true, isSecret: true } },
          },
        ],
        supportedProtocolVersions: ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'],
      },
    ],
  })
  expect(headers.get('cache-control')).toBe('public, max-age=3600')
  const cut = (await get(card('alice', ODD))).json.description as string
  expect([cut.slice(0, 12), [...cut].length, cut.at(-1)]).toEqual(['Reads the 𝒙', 100, '…'])
  expect((await get(card('alice', 'server-card'))).json.description).toBe('The group "server-card" of this hub')
  expect((await get(card('ALICE', 'Docs'))).json.name).toBe('127.0.0.1/alice.docs')
})

test('addresses are those under which a trusted proxy serves the hub', async () => {
  const { json } = await get(card('alice', 'docs'), {
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'localhost',
    'x-forwarded-for': '192.0.2.1',
  })
  expect([json.name, json.remotes[0].url]).toEqual(['localhost/alice.docs', 'https://localhost/hub/mcp/@alice/docs'])
})

test('a private group is answered as one that does not exist, to its owner too', async () => {
  const path = (name: string) => card('alice', name)
  const none = words(await get(path('nobody')), path('nobody'), 'nobody')
  expect(none).toMatchObject([404, 'application/problem+json', null, 'There is no group "alice~…"', {}])
  for (const headers of [{}, { authorization: `Bearer ${alice.token}` }, { authorization: 'Bearer pb_wrong' }])
    expect(words(await get(path('hidden'), headers), path('hidden'), 'hidden')).toEqual(none)
  for (const other of [
    ...['/mcp/docs/server-card', '/mcp/server-card', '/mcp/$smart/docs/server-card'],
    ...['/mcp/$smart/@alice/docs/server-card', '/alice/mcp/docs/server-card', '/alice/mcp/@alice/docs/server-card'],
  ]) {
    const answer = await get(other, { accept: '*/*' })
    expect([other, answer.status]).toEqual([other, 404])
  }
})

test('a client that looks for metadata behind an endpoint finds none, whoever it is, and no endpoint that wants a credential', async () => {
  for (const of of [hub, off])
    for (const path of ['mcp.json', 'mcp/server-card.json', 'oauth-protected-resource', 'openid-configuration'].flatMap(
      name =>
        ['/mcp', '/mcp/docs', '/mcp/@alice/docs', '/mcp/$smart/docs', '/sse/docs'].map(
          at => `${at}/.well-known/${name}`,
        ),
    ))
      for (const headers of [{}, { authorization: 'Bearer pb_wrong' }]) {
        const answer = await get(path, headers, of)
        expect([path, answer.status, answer.headers.get('www-authenticate')]).toEqual([path, 404, null])
      }
})

test('a group that becomes private, or whose owner is disabled, is gone at once', async () => {
  const bob = await hub.user('bob')
  await bob.ok('POST', '/api/groups', { name: 'passing', visibility: 'public', members: [] })
  const status = async () => (await get(card('bob', 'passing'))).status
  expect(await status()).toBe(200)
  await bob.ok('PATCH', '/api/groups/passing', { visibility: 'private' })
  expect(await status()).toBe(404)
  await bob.ok('PATCH', '/api/groups/passing', { visibility: 'public' })
  expect(await status()).toBe(200)
  await admin.ok('PATCH', '/api/admin/users/bob', { disabled: true })
  expect(await status()).toBe(404)
  expect((await get(CATALOG)).text).not.toContain('passing')
})

test('HEAD, If-None-Match, other methods and scripts of any origin are served as the draft has it', async () => {
  for (const path of [CATALOG, card('alice', 'docs')]) {
    const { headers } = await get(path)
    const etag = headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]{22}"$/)
    const known = await get(path, { 'if-none-match': `"x", W/${etag}` })
    expect([known.status, known.text, known.headers.get('etag')]).toEqual([304, '', etag])
    const head = await ask('HEAD', path)
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag])
    const posted = await ask('POST', path)
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const foreign = await get(path, { origin: 'https://app.example' })
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    expect([headers.get('access-control-allow-origin'), headers.get('access-control-allow-headers')]).toEqual([
      '*',
      'Content-Type',
    ])
    const asked = { origin: 'null', 'access-control-request-method': 'GET' }
    const preflight = await ask('OPTIONS', path, asked)
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD'])
  }
  const refused = await get(card('alice', 'nobody'), { origin: 'https://app.example' })
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([404, '*'])
  const elsewhere = await get('/api/public/info', { origin: 'https://app.example' })
  expect([elsewhere.status, elsewhere.json.code]).toEqual([403, 'origin_not_allowed'])
})

test('the API document describes the routes, with examples that fit', async () => {
  const { paths } = (await get('/api/openapi.json')).json
  const { get: one } = paths['/mcp/{owner}/{name}/server-card']
  expect([Object.keys(one.responses['200'].content), one.security]).toEqual([['application/mcp-server-card+json'], []])
  expect(paths[CATALOG].get.tags).toEqual(['discovery'])
})

test('a group that is called server-card keeps its endpoint', async () => {
  const own = await fetch(`${hub.url}/mcp/server-card`, { headers: { accept: 'text/event-stream' } })
  expect(own.status).toBe(401)
  expect((await fetch(`${hub.url}/mcp/@alice/server-card`)).status).toBe(401)
  const client = await alice.mcp('/mcp/server-card')
  expect(client.getServerVersion()?.name).toBe('patchbay')
})

test('strangers have the rate of an address', async () => {
  const from = { 'x-forwarded-for': '198.51.100.7' }
  const answers = await Promise.all(Array.from({ length: 40 }, () => get(CATALOG, from)))
  const late = answers.filter(({ status }) => status === 429)
  expect(late.length).toBeGreaterThan(5)
  expect(late[0]?.json.code).toBe('rate_limited')
  expect((await get(CATALOG)).status).toBe(200)
})

test('the catalogue ends after 500 groups, and the cards of the others remain', async () => {
  const groups = Array.from({ length: 501 }, (_, at) => ({
    name: `z${String(at).padStart(3, '0')}`,
    ...{ visibility: 'public', servers: [] },
  }))
  await writeFile(hub.settingsFile, JSON.stringify({ groups }))
  await until(async () => (await get(card('admin', 'z500'))).status === 200, { what: 'the last group of the file' })
  const { entries } = (await get(CATALOG)).json
  expect([entries.length, entries.at(-1).displayName]).toEqual([500, 'Patchbay: z496'])
})

describe('without the setting', () => {
  test('nothing is there, whatever group is asked for', async () => {
    const path = (name: string) => card('alice', name)
    const none = words(await get(path('nobody'), {}, off), path('nobody'), 'nobody')
    expect(none).toMatchObject([404, 'application/problem+json', null, 'There is nothing at this path', {}])
    for (const headers of [{}, { accept: 'text/html' }, { authorization: 'Bearer pb_wrong' }])
      expect(words(await get(path('docs'), headers, off), path('docs'), 'docs')).toEqual(none)
    for (const other of [CATALOG, '/mcp/docs/server-card', '/mcp/server-card'])
      expect(words(await get(other, {}, off), other, 'docs')).toEqual(none)
    const script = await get(CATALOG, { origin: 'https://app.example' }, off)
    expect([script.status, script.json.code]).toEqual([403, 'origin_not_allowed'])
  })
})
