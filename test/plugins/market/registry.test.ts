/** Templates from an MCP registry: a server of the test speaks its API v0.1. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { GuardedFetch } from '../../../core/contract/mod.ts'
import { serverJsonTemplate } from '../../../core/domain/templates/server-json.ts'
import { MarketCache } from '../../../plugins/market/cache.ts'
import { checkTemplate } from '../../../plugins/market/template-check.ts'
import { registrySource } from '../../../plugins/market-registry/source.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'

const OFFICIAL = 'io.modelcontextprotocol.registry/official'
const entry = (server: JsonObject, official: JsonObject = { status: 'active', isLatest: true }) => ({
  server: { name: 'io.github.x/y', description: 'Does y', version: '1.2.3', ...server },
  _meta: { [OFFICIAL]: official },
})
const npm = (more: JsonObject = {}) => ({
  ...{ registryType: 'npm', identifier: '@x/y', version: '1.2.3', transport: { type: 'stdio' } },
  ...more,
})

describe('an entry of a registry', () => {
  test('is a template as far as the hub can start it', () => {
    const template = serverJsonTemplate(
      entry({
        title: 'Y',
        websiteUrl: 'https://y.example.com/',
        repository: { url: 'https://github.com/x/y', source: 'github' },
        packages: [
          npm({
            runtimeHint: 'npx',
            packageArguments: [
              { type: 'positional', value: 'serve' },
              { type: 'positional', valueHint: 'folder', isRequired: true, description: 'Where\nto look' },
              { type: 'named', name: '--mode', value: 'fast' },
              { type: 'named', name: '--level', default: 'low', choices: ['low', 'high'] },
              { type: 'named', name: '--token=', isSecret: true, valueHint: 'token' },
              { type: 'named', name: '--region', value: 'eu-{zone}', variables: { zone: { isRequired: true } } },
              { type: 'named', name: '--verbose' },
            ],
            environmentVariables: [
              { name: 'API_KEY', isRequired: true, isSecret: true, description: 'The key' },
              { name: 'MODE', value: 'production' },
            ],
          }),
          { registryType: 'oci', identifier: 'docker.io/x/y', version: '1', transport: { type: 'stdio' } },
        ],
        remotes: [
          {
            ...{ type: 'streamable-http', url: 'https://{tenant}.example.com/mcp' },
            variables: { tenant: { isRequired: true, default: 'main' } },
            headers: [{ name: 'X-Key', value: 'Key {API_KEY}', variables: { API_KEY: { isSecret: true } } }],
          },
        ],
      }),
    )
    expect(checkTemplate(template)).toEqual({
      ...{ name: 'io.github.x/y', title: 'Y', description: 'Does y', version: '1.2.3', publisher: 'io.github.x' },
      ...{ status: 'active', homepage: 'https://y.example.com/', repository: 'https://github.com/x/y' },
      ...{ categories: ['utility'], tags: [] },
      variants: [
        {
          ...{ id: 'npm', kind: 'npm', package: '@x/y', version: '1.2.3' },
          args: [
            'serve',
            '{folder}',
            ['--mode', 'fast'],
            ['--level', '{level}'],
            '--token={token}',
            ['--region', 'eu-{zone}'],
            '--verbose',
          ],
          env: { API_KEY: '{API_KEY}', MODE: 'production' },
        },
        {
          ...{ id: 'remote', kind: 'remote', url: 'https://{tenant}.example.com/mcp', transport: 'streamable-http' },
          headers: { 'X-Key': 'Key {API_KEY}' },
        },
      ],
      inputs: [
        { name: 'folder', description: 'Where to look', required: true },
        { name: 'level', default: 'low', choices: ['low', 'high'] },
        { name: 'token', secret: true },
        { name: 'zone', required: true },
        { name: 'API_KEY', description: 'The key', required: true, secret: true },
        { name: 'tenant', required: true, default: 'main' },
      ],
    })
  })

  test.each([
    ['deleted', entry({ packages: [npm()] }, { status: 'deleted', isLatest: true })],
    ['not the latest', entry({ packages: [npm()] }, { status: 'active', isLatest: false })],
    ['without anything to start', entry({})],
    ['of a container alone', entry({ packages: [{ ...npm(), registryType: 'oci' }] })],
    ['of a kind that every object has', entry({ packages: [{ ...npm(), registryType: 'constructor' }] })],
    [
      'of such a kind at an address',
      entry({ packages: [npm({ registryType: 'toString', registryBaseUrl: 'https://x' })] }),
    ],
    ['of another package registry', entry({ packages: [npm({ registryBaseUrl: 'https://npm.example.com' })] })],
    [
      'that listens itself',
      entry({ packages: [npm({ transport: { type: 'streamable-http', url: 'http://localhost' } })] }),
    ],
    [
      'with arguments for its runner',
      entry({ packages: [npm({ runtimeArguments: [{ type: 'named', name: '--registry', value: 'https://x' }] })] }),
    ],
    [
      'with an argument of unknown kind',
      entry({ packages: [npm({ packageArguments: [{ type: 'other', value: 'x' }] })] }),
    ],
    ['without a name', { server: { version: '1', packages: [npm()] } }],
    ['in the form of before 2025-09', entry({ packages: [{ registry_name: 'npm', name: '@x/y', version: '1.2.3' }] })],
    ['that is none', 7],
    ['of null', { server: null, _meta: null }],
  ])('%s is left out', (_what, given) => {
    expect(serverJsonTemplate(given as never)).toBeUndefined()
  })

  test('odd members break nothing', () => {
    const odd = entry({
      packages: [
        npm({ packageArguments: [null, 7], environmentVariables: [null, { name: 7 }, { value: 'x' }] }),
        null,
        'x',
      ],
      remotes: [
        null,
        { type: 'sse' },
        { type: 'other', url: 'https://x' },
        { type: 'sse', url: 'https://y.example.com', headers: 'x' },
      ],
    })
    expect(serverJsonTemplate(odd as never)?.variants).toEqual([
      { id: 'remote-4', kind: 'remote', url: 'https://y.example.com', transport: 'sse' },
    ])
  })
})

describe('a registry as a source', () => {
  let registry: ReturnType<typeof Bun.serve>
  let hub: Hub
  let admin: Client
  let respond: (url: URL, at: number) => Response
  const asked: string[] = []

  const pages =
    (count: number, size = 2) =>
    (url: URL) => {
      const at = Number(url.searchParams.get('cursor')?.split(':')[1] ?? 0)
      const servers = Array.from({ length: size }, (_, index) =>
        entry({ name: `com.example/s${at * size + index}`, packages: [npm({ identifier: `s${at * size + index}` })] }),
      )
      return Response.json({
        servers,
        metadata: { count: size, nextCursor: at + 1 < count ? `a&b=c:${at + 1}` : null },
      })
    }

  beforeAll(async () => {
    registry = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: request => {
        const url = new URL(request.url)
        asked.push(url.pathname + url.search)
        return respond(url, asked.length)
      },
    })
    hub = await startHub({ env: LOOPBACK })
    admin = await hub.setup()
    respond = pages(3)
    const registries = { mine: registry.url.href }
    await admin.ok('PATCH', '/api/admin/plugins/market-registry', { config: { registries } })
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await registry?.stop(true)
  }, 120_000)
  beforeEach(() => {
    asked.length = 0
  })

  const read = async () => {
    const state = await admin.ok('POST', '/api/market/sources/mine/refresh')
    const { total } = await admin.ok('GET', '/api/market/templates?source=mine')
    return { ...state, total }
  }

  test('is read page by page, the cursor as it came, and installed from', async () => {
    respond = pages(3)
    expect(await read()).toMatchObject({ state: 'ready', templates: 6, total: 6, leftOut: 0 })
    expect(asked.map(path => new URL(path, 'http://x').searchParams.get('cursor'))).toEqual([
      null,
      'a&b=c:1',
      'a&b=c:2',
    ])
    expect(asked[0]).toBe('/v0.1/servers?limit=100&version=latest')
    const path = '/api/market/templates/mine:com.example~s3/install'
    const { planHash, argv } = await admin.ok('POST', `${path}?dryRun=true`, { name: 's3' })
    expect(argv).toEqual(['npx', '-y', 's3@1.2.3'])
    expect(await admin.ok('POST', path, { name: 's3', planHash })).toMatchObject({ name: 's3', enabled: false })
  })

  test.each<[string, (url: URL) => Response]>([
    ['a status', () => new Response('no', { status: 500 })],
    ['no JSON', () => new Response('<html>')],
    ['another document', () => Response.json({ items: [] })],
    ['a redirect', () => Response.redirect('https://example.com/', 302)],
    ['a long Retry-After', () => new Response(null, { status: 429, headers: { 'retry-after': '86400' } })],
    ['9 MiB', () => new Response(`{"servers":[],"x":"${'y'.repeat(9 * 1024 * 1024)}"}`)],
  ])('that answers with %s keeps its last list, whole', async (_what, answer) => {
    respond = pages(2)
    expect(await read()).toMatchObject({ total: 4 })
    const good = pages(2)
    respond = url => (url.searchParams.has('cursor') ? answer(url) : good(url))
    expect(await read()).toMatchObject({
      state: 'failed',
      total: 4,
      lastError: { message: expect.stringMatching(/\S{3}/) },
    })
    expect((await admin.ok('GET', '/api/market/templates?source=bundled')).total).toBeGreaterThan(60)
    respond = pages(1)
    expect(await read()).toMatchObject({ state: 'ready', total: 2 })
  })

  const cycle = (length: number) => (url: URL) =>
    Response.json({
      servers: [entry({ name: `com.example/${asked.length}`, packages: [npm()] })],
      metadata: { nextCursor: `c${(Number(url.searchParams.get('cursor')?.slice(1) ?? -1) + 1) % length}` },
    })
  const always = (nextCursor: () => unknown) => () =>
    Response.json({ servers: [entry({ packages: [npm()] })], metadata: { nextCursor: nextCursor() } })

  test.each<[string, (url: URL) => Response, says: string, requests: number]>([
    ['has one cursor for ever', cycle(1), 'cursor of an earlier one', 2],
    ['goes round in two', cycle(2), 'cursor of an earlier one', 3],
    ['goes round in seven', cycle(7), 'cursor of an earlier one', 8],
    ['tells one page again, with a new cursor each time', always(() => crypto.randomUUID()), 'of earlier pages', 2],
    ['has a cursor that is a number', always(() => 7), 'no text', 1],
    ['has a cursor of 5,000 characters', always(() => 'x'.repeat(5_000)), 'at most 4096', 1],
  ])('that %s is a failed walk, and its last list stays', async (_what, answer, says, requests) => {
    respond = pages(2)
    expect(await read()).toMatchObject({ state: 'ready', total: 4 })
    asked.length = 0
    respond = answer
    expect(await read()).toMatchObject({
      ...{ state: 'failed', total: 4 },
      lastError: { code: 'upstream_protocol', message: expect.stringContaining(says) },
    })
    expect(asked).toHaveLength(requests)
    respond = pages(1)
    expect(await read()).toMatchObject({ state: 'ready', total: 2 })
  })

  test('says what an input is for, and a blank fills neither a required one nor a secret', async () => {
    const remote = {
      ...{ type: 'streamable-http', url: 'https://{region}.example.com/mcp' },
      variables: { region: { isRequired: true, choices: ['eu', 'us'], title: 'Region' } },
      headers: [
        { name: 'X-Key', isRequired: true, isSecret: true, description: 'The key', placeholder: 'sk-…' },
        { name: 'Authorization', value: 'Bearer {token}', isSecret: true, variables: { token: { format: 'string' } } },
        { name: 'X-Depth', format: 'number', default: 3 },
        { name: 'X-Fast', format: 'boolean' },
      ],
    }
    respond = () => Response.json({ servers: [entry({ remotes: [remote] })], metadata: {} })
    await read()
    const path = '/api/market/templates/mine:io.github.x~y'
    expect((await admin.ok('GET', path)).inputs).toEqual([
      { name: 'region', label: 'Region', format: 'string', required: true, choices: ['eu', 'us'] },
      {
        ...{ name: 'X-Key', label: 'X Key', description: 'The key', placeholder: 'sk-…', format: 'string' },
        ...{ required: true, secret: true },
      },
      { name: 'token', label: 'Token', format: 'string', secret: true },
      { name: 'X-Depth', label: 'X Depth', format: 'number', default: '3' },
      { name: 'X-Fast', label: 'X Fast', format: 'boolean' },
    ])
    for (const blank of ['', ' ', '\t\u00a0 ', '\u200b\u2060', '\u3000', '\u2800']) {
      const inputs = { region: 'eu', 'X-Key': blank, token: blank }
      const plan = await admin.ok('POST', `${path}/install?dryRun=true`, { name: 'y', inputs })
      expect(plan).toMatchObject({ missing: ['X-Key'], headers: ['X-Depth'] })
      const refused = await admin.request('POST', `${path}/install`, { name: 'y', inputs, planHash: plan.planHash })
      expect([refused.status, refused.json.errors]).toMatchObject([
        400,
        [{ pointer: '#/inputs/X-Key', code: 'required', detail: '"X-Key" is missing' }],
      ])
    }
    const wrong = { region: 'eu', 'X-Key': 'k', 'X-Depth': 'deep', 'X-Fast': 'yes' }
    const refused = await admin.request('POST', `${path}/install?dryRun=true`, { name: 'y', inputs: wrong })
    expect(refused.json.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
      ['#/inputs/X-Depth', 'range'],
      ['#/inputs/X-Fast', 'range'],
    ])
  })

  test('that asks to wait is asked again', async () => {
    const good = pages(1)
    respond = (url, at) => (at === 1 ? new Response(null, { status: 503, headers: { 'retry-after': '1' } }) : good(url))
    expect(await read()).toMatchObject({ state: 'ready', total: 2 })
    expect(asked).toHaveLength(2)
  })

  test('hostile entries are left out and counted, the others are there', async () => {
    const bad = [
      { name: 'a\nb' },
      { name: 'x'.repeat(300) },
      { packages: [npm({ identifier: '../../etc' })] },
      { packages: [npm({ environmentVariables: Array.from({ length: 60 }, (_, at) => ({ name: `V${at}` })) })] },
    ].map((more, at) => entry({ name: `com.example/bad${at}`, packages: [npm()], ...more }))
    respond = () => Response.json({ servers: [...bad, entry({ packages: [npm()] })], metadata: {} })
    const state = await read()
    expect(state).toMatchObject({ state: 'ready', leftOut: 3, total: 2 })
    const path = '/api/market/templates/mine:com.example~bad2/install?dryRun=true'
    expect((await admin.request('POST', path, { name: 'x' })).json.code).toBe('template_unusable')
  })

  test('goes with its configuration', async () => {
    await admin.ok('PATCH', '/api/admin/plugins/market-registry', { config: {} })
    expect((await admin.request('POST', '/api/market/sources/mine/refresh')).json.code).toBe('source_not_found')
    expect((await admin.ok('GET', '/api/market/templates?source=mine')).total).toBe(0)
  })
})

test('a registry is asked for what changed, and as a whole once a week or after a failure', async () => {
  const asked: URL[] = []
  const gone = { status: 'deleted', isLatest: true }
  const one = (name: string, more: JsonObject = {}, official?: JsonObject) =>
    entry({ name, packages: [npm({ identifier: name })], ...more }, official)
  let servers: object[] = [one('kept'), one('changed'), one('deleted'), one('stopped')]
  let status = 200
  await using registry = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const url = new URL(request.url)
      asked.push(url)
      const half = url.searchParams.has('cursor') ? servers.slice(2) : servers.slice(0, 2)
      const next = url.searchParams.has('cursor') || servers.length <= 2 ? {} : { nextCursor: 'more' }
      return Response.json({ servers: half, metadata: next }, { status })
    },
  })
  const guarded: GuardedFetch = async (url, { signal }) => {
    const answer = await fetch(url, signal ? { signal } : {})
    const headers = Object.fromEntries(answer.headers)
    return {
      status: answer.status,
      headers,
      text: () => answer.text(),
      cancel: () => void answer.body?.cancel(),
    } as never
  }
  const source = { ...registrySource(registry.url.href, guarded), refreshMs: 1 }
  let nowMs = 0
  let aheadMs = 0
  const cache = new MarketCache({
    sources: () => new Map([['mine', source]]),
    log: { warn() {} },
    now: () => nowMs,
    date: () => new Date(Date.now() + aheadMs),
  })
  const ON = { offline: false, off: [] }
  const versions = async () =>
    Object.fromEntries((await cache.all(ON)).map(({ template }) => [template.name, template.version]))
  const due = async () => {
    const before = (await cache.states(ON))[0]?.readAt
    nowMs += 3_600_000
    asked.length = 0
    await cache.all(ON)
    await until(async () => (await cache.states(ON))[0]?.readAt !== before, { what: 'the source read again' })
    return asked.map(({ searchParams }) => searchParams)
  }
  try {
    const begun = Date.now()
    await cache.refresh('mine', ON)
    expect(Object.keys(await versions())).toEqual(['kept', 'changed', 'deleted', 'stopped'])
    expect(asked.some(({ searchParams }) => searchParams.has('updated_since'))).toBe(false)
    servers = [
      one('changed', { version: '2.0.0' }),
      one('deleted', {}, gone),
      one('stopped', { packages: [] }),
      one('kept', { version: '0.9.0' }, { status: 'active', isLatest: false }),
      one('added'),
    ]
    const changes = await due()
    expect(changes.map(query => [query.get('include_deleted'), query.get('version')])).toEqual(
      Array(2).fill(['true', 'latest']),
    )
    const since = Date.parse(changes[0]?.get('updated_since') ?? '')
    expect(since).toBeLessThanOrEqual(begun - 3_600_000 + 1_000)
    expect(since).toBeGreaterThan(begun - 3_700_000)
    expect(await versions()).toEqual({ kept: '1.2.3', changed: '2.0.0', added: '1.2.3' })
    // After a failure the last list stays, and the next reading is a whole one.
    status = 500
    nowMs += 3_600_000
    await cache.all(ON)
    await until(async () => (await cache.states(ON))[0]?.state === 'failed', { what: 'the failure' })
    expect(Object.keys(await versions())).toEqual(['kept', 'changed', 'added'])
    status = 200
    servers = [one('only')]
    expect((await due())[0]?.has('updated_since')).toBe(false)
    expect(await versions()).toEqual({ only: '1.2.3' })
    expect((await due())[0]?.has('updated_since')).toBe(true)
    aheadMs = 8 * 24 * 3_600_000
    expect((await due())[0]?.has('updated_since')).toBe(false)
    // With a clock that was set back, the time of the last reading shows nothing.
    aheadMs = 0
    expect((await due())[0]?.has('updated_since')).toBe(false)
  } finally {
    cache.dispose()
  }
})
