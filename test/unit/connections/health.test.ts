import { describe, expect, test } from 'bun:test'
import type { HealthCheck, ServerRecord } from '../../../core/contract/records.ts'
import type { ServerHealth } from '../../../core/domain/server/status.ts'
import { extent } from '../../support/extent.ts'
import { atLeast, atMost } from '../../support/pace.ts'
import { LegacyHttp, mcpTransports } from './legacy-http.ts'
import { httpRecord, ModernHttp } from './modern-http.ts'
import { isAlive, type Rig, serverRecord, startRig, until } from './support.ts'

function check(more: Partial<HealthCheck> = {}): HealthCheck {
  return { enabled: true, interval: 100, timeout: atLeast(1_000), retries: 2, ...more }
}

/** Redirects requests for the paths of `endpoints` to another address. */
function away(location: string): (request: Request) => Response | undefined {
  return request =>
    ['/health', '/tools'].includes(new URL(request.url).pathname)
      ? new Response(null, { status: 302, headers: { location } })
      : undefined
}

async function start(...records: ServerRecord[]): Promise<Rig> {
  const rig = await startRig(records, { transports: mcpTransports, random: () => 0 })
  await Promise.all(records.map(({ id }) => rig.connections.settled(id, 60_000)))
  return rig
}

const healthOf = (rig: Rig, id = 'a'): ServerHealth => rig.connections.status(id).health ?? { state: 'unknown' }
/** The announced states of health of a server, in order. */
const told = (rig: Rig): string[] =>
  rig.events.flatMap(({ name, data }) => (name === 'server.health' ? [(data as { state: string }).state] : []))

// Nearly all of their time is waiting for checks.
describe.concurrent('a server that is pinged', () => {
  test('is healthy from its handshake on, with the time and duration of the last check', async () => {
    await using server = new LegacyHttp()
    await using rig = await start(httpRecord('a', `${server.url}/mcp`, { healthCheck: check() }))
    const { state, misses, lastCheck } = healthOf(rig)
    expect([state, misses, lastCheck?.ok]).toEqual(['healthy', 0, true])
    expect(Math.abs(Date.now() - Date.parse(lastCheck?.at ?? ''))).toBeLessThan(atMost(5_000))
    expect(lastCheck?.durationMs).toBeGreaterThan(0)
    await until('three pings', () => server.of('ping').length >= 3)
    expect(Date.parse(healthOf(rig).lastCheck?.at ?? '')).toBeGreaterThan(Date.parse(lastCheck?.at ?? ''))
    expect(told(rig)).toEqual([])
  })

  test('and hangs is reported as failing, is lost after `retries` misses, and is healthy when it answers again', async () => {
    await using server = new LegacyHttp()
    await using rig = await start(httpRecord('a', `${server.url}/mcp`, { healthCheck: check({ retries: 3 }) }))
    server.ping = 'hangs'
    await until('it fails', () => healthOf(rig).state === 'failing')
    expect(healthOf(rig).lastCheck).toMatchObject({ ok: false, error: { code: 'upstream_timeout' } })
    await until('it is lost', () => JSON.stringify(rig.events).includes('did not answer 3 pings in a row'))
    server.ping = 'well'
    await until('it is well', () => healthOf(rig).state === 'healthy')
    expect((await rig.connections.settled('a', 60_000)).state).toBe('online')
    expect(told(rig)).toEqual(['failing', 'healthy'])
    expect(server.of('initialize').length).toBeGreaterThan(1)
  })

  test('over the older pair and in the modern era is asked in the way of each', async () => {
    await using server = new LegacyHttp()
    await using modern = new ModernHttp()
    await using rig = await start(
      serverRecord('a', { transport: 'sse', config: { url: `${server.url}/sse` }, healthCheck: check() }),
      httpRecord('b', modern.url, { healthCheck: check() }),
    )
    const before = modern.of('server/discover').length
    await until('pings', () => server.of('ping').length >= 2)
    await until('discoveries', () => modern.of('server/discover').length >= before + 2)
    server.forget()
    await modern[Symbol.asyncDispose]()
    await until('the second is lost', () => rig.connections.status('b').state === 'offline')
    await until('the first is back', () => server.of('initialize').length === 2)
    expect(healthOf(rig, 'b').state).toBe('failing')
  })

  test('as a program that is stopped is replaced, and a program has no paths', async () => {
    await using rig = await start(serverRecord('a', { healthCheck: check({ endpoints: { ping: '/nothing' } }) }))
    const { pid } = rig.connections.status('a')
    process.kill(pid!, 'SIGSTOP')
    await until('another process runs', () => ![undefined, pid].includes(rig.connections.status('a').pid))
    await until('the stopped one is gone', () => !isAlive(pid!))
    await until('it is well', () => healthOf(rig).state === 'healthy')
    expect(told(rig)).toEqual(['failing', 'healthy'])
  })

  test('with checks switched off is not asked, though its neighbour is; and asked once they are on, without a new connection', async () => {
    await using off = new LegacyHttp()
    await using on = new LegacyHttp()
    const record = httpRecord('a', `${off.url}/mcp`, { healthCheck: check({ enabled: false }) })
    await using rig = await start(record, httpRecord('b', `${on.url}/mcp`, { healthCheck: check() }))
    await until('the neighbour is asked', () => on.of('ping').length >= 4)
    expect([off.of('ping').length, healthOf(rig)]).toEqual([0, { state: 'off' }])
    rig.put({ ...record, healthCheck: check(), revision: 2 })
    await until('it is asked', () => off.of('ping').length >= 2)
    expect(off.of('initialize')).toHaveLength(1)
    expect(healthOf(rig).state).toBe('healthy')
  })
})

describe.concurrent('a server whose paths are asked', () => {
  const headers = { Authorization: 'Bearer s3cret-of-health' }
  const endpoints = { ping: '/health', tools: '/tools?all=1' }

  for (const [kind, transport] of [
    ['/mcp', 'streamable-http'],
    ['/sse', 'sse'],
  ] as const) {
    test(`over ${transport}: with its credential, besides the ping; 500 makes it fail, and 2xx well again`, async () => {
      await using server = new LegacyHttp()
      const config = { url: `${server.url}${kind}`, headers }
      await using rig = await start(
        serverRecord('a', {
          transport,
          config,
          secrets: ['/headers/Authorization'],
          healthCheck: check({ endpoints }),
        }),
      )
      await until('checks', () => server.asked.length >= 6 && server.of('ping').length >= 2)
      expect(new Set(server.asked.map(({ path }) => path))).toEqual(new Set(['/health', '/tools']))
      expect(new Set(server.asked.map(one => one.headers.get('authorization')))).toEqual(
        new Set(['Bearer s3cret-of-health']),
      )
      server.health = 500
      await until('it is offline', () => rig.connections.status('a').state === 'offline')
      expect(rig.connections.status('a').reason).toMatchObject({ code: 'upstream_http_error' })
      expect(rig.connections.status('a').reason?.message).toContain('answered with HTTP 500')
      expect(healthOf(rig)).toMatchObject({ state: 'failing', lastCheck: { error: { code: 'upstream_http_error' } } })
      server.health = 'well'
      await until('it is back', () => rig.connections.status('a').state === 'online')
      expect(healthOf(rig).state).toBe('healthy')
      expect(told(rig)).toEqual(['failing', 'healthy'])
      expect(JSON.stringify(rig.events)).not.toContain('s3cret')
    })
  }

  test('is not online before they answer; a redirect elsewhere is no answer, and neither is silence', async () => {
    await using server = new LegacyHttp()
    server.refuse = away('http://127.0.0.1:9/login')
    await using rig = await start(httpRecord('a', `${server.url}/mcp`, { healthCheck: check({ endpoints }) }))
    expect(rig.connections.status('a')).toMatchObject({ state: 'offline', reason: { code: 'redirect_blocked' } })
    // Both are asked at once.
    expect(rig.connections.status('a').reason?.message).toMatch(/^The health endpoint "\/(?:health|tools\?all=1)": /)
    server.refuse = away('/elsewhere')
    await until('it is online behind a redirect', () => rig.connections.status('a').state === 'online')
    server.refuse = undefined
    server.health = 302
    await until('it is offline', () => rig.connections.status('a').state === 'offline')
    expect(healthOf(rig).state).toBe('failing')
    server.health = 'well'
    await until('it is online', () => rig.connections.status('a').state === 'online')
    server.health = 'hangs'
    await until('it is lost', () => JSON.stringify(rig.events).includes('2 pings in a row'))
  })

  for (const status of extent([404], [404, 405, 501])) {
    test(`answers ${status}: it stays online by its pings, and one record and a warning name the path`, async () => {
      await using server = new LegacyHttp()
      server.health = status
      await using rig = await start(httpRecord('a', `${server.url}/mcp`, { healthCheck: check({ endpoints }) }))
      await until('checks', () => server.asked.length >= 6 && server.of('ping').length >= 2)
      const named = endpoints.ping && `${endpoints.ping} (HTTP ${status}), ${endpoints.tools} (HTTP ${status})`
      expect(rig.connections.status('a')).toMatchObject({
        state: 'online',
        health: { state: 'healthy', missingPaths: [`/health (HTTP ${status})`, `/tools?all=1 (HTTP ${status})`] },
        warnings: [{ code: 'health_path_missing', message: expect.stringContaining(named) }],
      })
      expect(rig.logs.filter(({ message }) => message.includes('no such path'))).toMatchObject([
        { level: 'warn', message: expect.stringContaining(named), fields: { server: 'a' } },
      ])
      expect(told(rig)).toEqual([])
      server.ping = 'hangs'
      await until('it is lost by its pings', () => JSON.stringify(rig.events).includes('2 pings in a row'))
      server.ping = 'well'
      server.health = 'well'
      await until('the path is there', () => rig.connections.status('a').health?.missingPaths === undefined)
    })
  }

  test('is asked by the connection that all share, and not by those of its clients', async () => {
    await using server = new LegacyHttp()
    const record = httpRecord('a', `${server.url}/mcp`, {
      session: 'per-session',
      healthCheck: check({ interval: 60_000, endpoints: { ping: '/health' } }),
    })
    await using rig = await start(record)
    const session = { id: 's', userId: 'u', kind: 'session', capabilities: {}, protocolVersion: '2025-11-25' } as const
    await rig.connections.request('a', { method: 'tools/call', params: { name: 'echo' }, session }).reply
    expect([server.of('initialize').length, server.asked.length]).toEqual([2, 1])
  })
})
