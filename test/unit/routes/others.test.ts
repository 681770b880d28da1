import { describe, expect, spyOn, test } from 'bun:test'
import type { HubConfig } from '../../../core/config/schema.ts'
import { countStates, endpointOf } from '../../../core/http/routes/groups/group-view.ts'
import { liveConnections } from '../../../core/http/routes/hub/admin.ts'
import { healthStatus } from '../../../core/http/routes/hub/health.ts'
import { limitItems } from '../../../core/http/routes/hub/limits.ts'
import { changedKeys } from '../../../core/http/routes/hub/settings.ts'
import {
  readSettings,
  refuseLocked,
  settingSources,
  systemSettings,
} from '../../../core/http/routes/hub/system-settings.ts'
import { ada, ask, bob, groupRecord, info, of, root, serverRecord, status, World } from './doubles.ts'

const SESSION = {
  kind: 'session',
  tokenId: 't',
  familyId: 't',
  signedInAtMs: 0,
  expiresAtMs: Date.now() + 60_000,
} as const

describe('groups', () => {
  function world(visibility: 'public' | 'private') {
    const made = new World()
    made.groups = [groupRecord({ visibility: 'public' })]
    made.servers = [serverRecord({ visibility }), serverRecord({ id: 's-2', name: 'notes' })]
    made.states.set('s-2', 'connecting')
    return made
  }

  test('show the owner every member, the endpoint, states, tools and tokens', async () => {
    const { body, headers } = await ask(world('public').deps, 'GET', '/api/groups/{ref}', { params: { ref: 'daily' } })
    expect(headers).toEqual({ etag: '"5"' })
    expect(of(body)).toMatchObject({
      endpoint: 'http://hub.test/base/mcp/daily',
      members: [{ server: 'ada~s-1' }, { server: 'ada~s-2' }],
      status: { total: 2, online: 1, connecting: 1, offline: 0 },
      tools: 7,
      tokens: 90,
    })
  })

  test('leave no trace of private members for others', async () => {
    const { body } = await ask(world('public').deps, 'GET', '/api/groups/{ref}', {
      actor: bob,
      params: { ref: 'daily' },
    })
    expect(of(body).members).toEqual([{ server: 'ada~s-1' }])
    expect(of(body).status.total).toBe(1)
    expect(JSON.stringify(body)).not.toContain('s-2')
  })

  test('are reached under their owner’s name by others', () => {
    const group = groupRecord({ name: 'daily work' })
    expect(endpointOf(info, ada, group)).toBe('http://hub.test/base/mcp/daily%20work')
    expect(endpointOf(info, bob, group)).toBe('http://hub.test/base/mcp/@ada/daily%20work')
  })

  test('give a client configuration with the endpoint of the caller', async () => {
    const asked = { actor: bob, params: { ref: 'daily' }, query: { client: 'cursor' } }
    const { body } = await ask(world('public').deps, 'GET', '/api/groups/{ref}/client-config', asked)
    expect(of(body).text).toContain('http://hub.test/base/mcp/@ada/daily')
  })

  test('countStates() counts each state', () => {
    expect(countStates(['online', 'offline', 'offline'])).toEqual({ total: 3, online: 1, connecting: 0, offline: 2 })
  })
})

describe('health', () => {
  const fine = { store: 'ok', sinks: 'none', plugins: 'ok', descriptors: 'ok', sandbox: 'none', ofPlugins: [] } as const

  test('tells how long the hub has run, whatever becomes of the clock', async () => {
    const { deps } = new World({ startedAtMs: performance.now() - 5_000 })
    // Bun's setSystemTime would move the monotonic clock as well.
    const clock = spyOn(Date, 'now')
    try {
      for (const now of ['1999-01-01T00:00:00Z', '2099-01-01T00:00:00Z']) {
        clock.mockReturnValue(Date.parse(now))
        const { body } = await ask(deps, 'GET', '/health')
        expect((body as { uptimeMs: number }).uptimeMs).toBeWithin(4_999, 60_000)
      }
    } finally {
      clock.mockRestore()
    }
  })

  test('is 200 while the hub serves, 503 while it stops and when its store is lost', () => {
    expect(healthStatus(fine, false)).toEqual({ status: 'ok', httpStatus: 200 })
    expect(healthStatus({ ...fine, plugins: 'failed' }, false)).toEqual({ status: 'degraded', httpStatus: 200 })
    expect(healthStatus({ ...fine, store: 'lost' }, false)).toEqual({ status: 'degraded', httpStatus: 503 })
    expect(healthStatus(fine, true)).toEqual({ status: 'draining', httpStatus: 503 })
  })

  test('answers everybody, and an offline server alone changes nothing', async () => {
    const { status: code, body } = await ask(new World().deps, 'GET', '/health', { actor: undefined })
    expect(code).toBe(200)
    expect(of(body)).toMatchObject({ status: 'ok', version: '1.1.0', servers: { total: 2, offline: 1 }, tools: 7 })
  })

  test('says when to come back while the hub stops', async () => {
    const { status: code, headers } = await ask(new World({ draining: () => true }).deps, 'GET', '/health')
    expect(code).toBe(503)
    expect(headers).toHaveProperty('retry-after')
  })
})

test('limitItems() names a unit for each limit, and what is used of those that were counted', () => {
  const items = limitItems({ serversPerUser: 4 })
  expect(items).toContainEqual({ name: 'serversPerUser', value: 200, unit: 'count', used: 4 })
  expect(items).toContainEqual({ name: 'bodyBytes', value: 1_048_576, unit: 'bytes' })
  expect(items).toContainEqual({ name: 'drainMs', value: 30_000, unit: 'ms' })
})

test('the public list has public servers alone, in the short form, and may be cached', async () => {
  const made = new World()
  made.servers = [serverRecord(), serverRecord({ id: 's-2', name: 'open', visibility: 'public' })]
  const { response } = await ask(made.deps, 'GET', '/api/public/servers', { actor: undefined })
  const body = of(await response?.json())
  expect(body).toMatchObject({ total: 1, items: [{ name: 'open' }] })
  expect(body.items[0]).not.toHaveProperty('id')
  expect(response?.headers.get('cache-control')).toBe('public, max-age=60')
})

test('liveConnections() lists children with their owner, then what is online without one', async () => {
  const records = [
    serverRecord(),
    serverRecord({ id: 's-2', name: 'web', transport: 'sse' }),
    serverRecord({ id: 's-3' }),
  ]
  const child = { serverId: 's-1', command: 'uvx', startedAt: '2026-11-21T09:00:00.000Z', sandbox: 'off' } as const
  const orphan = { ...child, pid: 9, serverId: 'gone' }
  const found = await liveConnections(records, [{ ...child, pid: 8 }, orphan], id =>
    status(id === 's-3' ? 'offline' : 'online'),
  )
  expect(found).toMatchObject([
    { kind: 'process', server: 'ada~time', owner: 'ada', pid: 8 },
    { kind: 'process', server: '', pid: 9 },
    { kind: 'connection', server: 'ada~web', transport: 'sse' },
  ])
  expect(found).toHaveLength(3)
})

describe('sessions and plugins', () => {
  test('a session that is not open is 404', async () => {
    const asked = { actor: root, params: { id: 'x' } }
    await expect(ask(new World().deps, 'DELETE', '/api/admin/sessions/{id}', asked)).rejects.toMatchObject({
      code: 'session_not_found',
    })
  })

  test('a plugin is changed by name, and one that is not there is 404', async () => {
    const plugin = {
      name: 'groups',
      state: 'running',
      bundled: true,
      isolated: false,
      contributions: [],
      starts: 1,
    } as const
    const changes: object[] = []
    const made = new World({
      plugins: {
        ...new World().deps.plugins,
        list: () => [plugin],
        configure: async (_actor, _name, change) => {
          changes.push(change)
          return { ...plugin, state: 'disabled' }
        },
      },
    })
    const change = { params: { name: 'groups' }, body: { enabled: false } }
    const byLocal = ask(made.deps, 'PATCH', '/api/admin/plugins/{name}', { ...change, actor: root })
    await expect(byLocal).rejects.toMatchObject({ code: 'insufficient_scope' })
    const asked = { ...change, actor: { ...root, credential: SESSION } }
    const { body } = await ask(made.deps, 'PATCH', '/api/admin/plugins/{name}', asked)
    expect(of(body).state).toBe('disabled')
    expect(changes).toEqual([{ enabled: false }])
    expect(made.audit).toMatchObject([{ action: 'plugin.update', target: 'groups', detail: { fields: ['enabled'] } }])
    const missing = ask(made.deps, 'PATCH', '/api/admin/plugins/{name}', { ...asked, params: { name: 'x' } })
    await expect(missing).rejects.toMatchObject({ code: 'plugin_not_found' })
  })
})

describe('system settings', () => {
  const values = { logLevel: 'info', workers: 2, allowedHosts: ['localhost'], port: 3000, jwtSecret: 'never shown' }
  const config = {
    values: values as unknown as HubConfig,
    sources: { logLevel: 'env', allowedHosts: 'file', workers: 'store', port: 'default' },
  } as const

  test('show what is stored where no stronger layer holds the key, and no secret', () => {
    const shown = systemSettings(config, { logLevel: 'debug', stdioPolicy: 'off' })
    expect(shown).toMatchObject({ logLevel: 'info', stdioPolicy: 'off', port: 3000 })
    expect(JSON.stringify(shown)).not.toContain('never shown')
  })

  test('tell the layer, the variable, the lock and what waits for a restart', () => {
    const sources = of(settingSources(config, { workers: 4, stdioPolicy: 'off' }))
    expect(sources.logLevel).toEqual({
      source: 'env',
      variable: 'LOG_LEVEL',
      locked: true,
      restart: true,
      pending: false,
      type: 'choice',
      choices: ['error', 'warn', 'info', 'debug', 'trace'],
      text: 'info',
    })
    expect(sources.requestLogs).toMatchObject({ source: 'default', variable: 'ENABLE_REQUEST_LOGS', pending: false })
    expect(sources.workers).toMatchObject({ locked: false, pending: true })
    expect(sources.port).toMatchObject({ locked: true })
    expect(of(settingSources(config, {})).workers.pending).toBe(true)
    expect(
      of(settingSources({ ...config, live: new Set(['workers'] as const) }, { workers: 4 })).workers,
    ).toMatchObject({
      restart: false,
      pending: false,
    })
  })

  test('refuse a key that the environment or the file holds, naming the holder', () => {
    expect(() => refuseLocked(config, ['logLevel', 'allowedHosts', 'workers'])).toThrow(
      /"logLevel" by the variable LOG_LEVEL, "allowedHosts" by the settings file$/,
    )
    expect(() => refuseLocked(config, ['workers'])).not.toThrow()
  })

  test('are kept as the environment would be read, and refused where it could not be', () => {
    expect(
      readSettings(config, { trustedProxies: ['10.0.0.0/8'], workers: 3, publicUrl: null, requestLogs: true }),
    ).toEqual({
      trustedProxies: ['10.0.0.0/8'],
      workers: 3,
      publicUrl: null,
      requestLogs: true,
    })
    expect(() => readSettings(config, { trustedProxies: ['nowhere'], publicUrl: 'ftp://x' })).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        errors: [
          expect.objectContaining({ pointer: '#/trustedProxies' }),
          expect.objectContaining({ pointer: '#/publicUrl' }),
        ],
      }),
    )
  })

  test('are changed by PATCH, with the keys alone in the audit', async () => {
    const made = new World({ config: { ...config, sources: {} } })
    const { body } = await ask(made.deps, 'PATCH', '/api/admin/settings', { actor: root, body: { logLevel: 'debug' } })
    expect(of(body).logLevel).toBe('debug')
    expect(made.audit).toMatchObject([{ action: 'settings.update', target: 'system', detail: { keys: ['logLevel'] } }])
    const unknown = ask(made.deps, 'PATCH', '/api/admin/settings', { actor: root, body: { port: 1 } })
    await expect(unknown).rejects.toThrow('port')
  })
})

test('changedKeys() names what was changed and shows no value', () => {
  const keys = changedKeys({ theme: 'dark', hostedKeys: { modelscope: 'sk-secret' } })
  expect(keys).toEqual(['theme', 'hostedKeys.modelscope'])
})
