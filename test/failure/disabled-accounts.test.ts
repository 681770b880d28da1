/** Nothing lives on of an account that is disabled, demoted or removed: not for others, not over a restart. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, ROOT, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { atMost } from '../support/pace.ts'
import { descendants, runningWith } from '../support/processes.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf, online, statusOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { known, knownShutIn } from './fixtures/known.ts'

const ENDS_WITHIN_MS = 5_000
const OWNERS = ['bob', 'dana'] as const
/** A text in the arguments of every program of the two. */
const MARK = 'of-a-disabled-account'

let upstream: Program
let hub: Hub
let admin: Client
let carol: Client

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  carol = await hub.user('carol')
  const bob = await hub.user('bob')
  const dana = await hub.user('dana', 'admin')
  const sandboxed = await knownShutIn('x')
  const plain = known('slow', {}, MARK)
  for (const [owner, own] of [
    [bob, { ...sandboxed, args: [...(sandboxed.args as string[]), MARK] }],
    [dana, plain],
  ] as const) {
    for (const [name, more] of Object.entries({
      eager: own,
      lazy: { ...own, start: 'lazy' },
      each: { ...own, session: 'per-session' },
      remote: { url: upstream.url },
    }))
      await owner.ok('POST', '/api/servers', { ...more, name, visibility: 'public' })
    await owner.ok('POST', '/api/servers', { ...own, name: 'off', enabled: false })
    await owner.ok('POST', '/api/groups', { name: 'open', visibility: 'public', members: ['eager', 'remote'] })
    await online(owner, ['eager', 'each', 'remote'])
    await until(async () => (await statusOf(owner, 'lazy')).counts.tools > 0)
  }
  const members = OWNERS.flatMap(name => ['eager', 'lazy', 'each', 'remote'].map(server => `${name}~${server}`))
  await carol.ok('POST', '/api/servers', { name: 'own', url: upstream.url })
  await online(carol, ['own'])
  await carol.ok('POST', '/api/groups', { name: 'mixed', members: ['own', ...members] })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

const setDisabled = (name: string, disabled: boolean) => admin.ok('PATCH', `/api/admin/users/${name}`, { disabled })

/** The programs and connections of the two, as administrators see them. */
async function theirs(): Promise<unknown[]> {
  const { items } = await admin.ok('GET', '/api/admin/processes?limit=200')
  return (items as { owner: string }[]).filter(({ owner }) => (OWNERS as readonly string[]).includes(owner))
}

async function nothingRuns(): Promise<void> {
  expect(await theirs()).toEqual([])
  expect(runningWith(MARK)).toEqual([])
}

/** Every way by which others, and administrators, could reach or start what belongs to a disabled account. */
async function tryEverything(): Promise<void> {
  const mixed = await carol.mcp('/mcp/mixed')
  expect(
    (await toolNames(mixed)).every(name => name.startsWith('own') || ['echo', 'whoami', 'emit'].includes(name)),
  ).toBe(true)
  for (const name of OWNERS) {
    for (const server of ['eager', 'lazy', 'each', 'remote']) {
      const ref = `${name}~${server}`
      for (const [method, path, body] of [
        ['GET', `/api/servers/${ref}`],
        ['GET', `/api/servers/${ref}/tools`],
        ['POST', `/api/servers/${ref}/tools/echo/call`, { arguments: {} }],
      ] as const) {
        const answer = await carol.request(method, path, body)
        expect([path, answer.status, answer.json.code]).toEqual([path, 404, 'server_not_found'])
      }
      expect((await failureOf(carol.mcp(`/mcp/@${name}/${server}`))).message).toContain('group_not_found')
      for (const verb of ['start', 'restart', 'refresh']) {
        const answer = await admin.request('POST', `/api/servers/${ref}/${verb}`)
        expect([verb, answer.status, answer.json.code]).toEqual([verb, 503, 'owner_disabled'])
      }
      await admin.ok('PATCH', `/api/servers/${ref}`, { description: crypto.randomUUID() })
      const called = await admin.request('POST', `/api/servers/${ref}/tools/echo/call`, { arguments: {} })
      expect(called.status).toBeGreaterThanOrEqual(404)
      const status = await statusOf(admin, ref)
      expect([ref, status.state, status.reason?.code]).toEqual([ref, 'offline', 'owner_disabled'])
    }
    expect((await carol.request('GET', `/api/groups/${name}~open`)).status).toBe(404)
    const trial = await admin.request('POST', '/api/servers/test', { name: 't', owner: name, url: upstream.url })
    expect([trial.status, trial.json.code]).toEqual([503, 'owner_disabled'])
  }
  const { items } = (await carol.ok('GET', '/api/public/servers?limit=100')) as { items: { owner: string }[] }
  expect(items.filter(({ owner }) => owner !== 'carol')).toEqual([])
  await nothingRuns()
}

describe('an account that is disabled', () => {
  test('ends with its programs, connections, streams and public servers within 5 s', async () => {
    const bob = await hub.signIn('bob')
    const stream = await openStream(bob)
    const single = await carol.mcp('/mcp/@dana/each')
    const mixed = await carol.mcp('/mcp/mixed')
    expect((await toolNames(mixed)).length).toBeGreaterThan(10)
    const call = failureOf(single.callTool({ name: 'wait', arguments: { ms: 30_000 } }))
    await until(() => runningWith(MARK).length > 3)
    const startedMs = performance.now()
    for (const name of OWNERS) await setDisabled(name, true)
    await call
    await until(async () => (await theirs()).length === 0 && runningWith(MARK).length === 0)
    await until(() => stream.ended())
    await until(async () => (await toolNames(mixed)).length === 3)
    expect(performance.now() - startedMs).toBeLessThan(atMost(ENDS_WITHIN_MS))
    await stream.close()
    await tryEverything()
  }, 120_000)

  test.each(extent(['kill'], ['restart', 'kill']))(
    'stays ended over a %s of the hub',
    async how => {
      await (how === 'kill' ? hub.kill9() : hub.stop({ keep: true }))
      hub = await startHub({ folder: hub.folder, env: LOOPBACK })
      admin = await hub.signIn('admin')
      carol = await hub.signIn('carol')
      await online(carol, ['own'])
      await tryEverything()
    },
    120_000,
  )

  beyondCore(() => {
    test('gets its enabled servers back when it is enabled', async () => {
      for (const name of OWNERS) {
        await setDisabled(name, false)
        await online(admin, [`${name}~eager`, `${name}~each`, `${name}~remote`])
        expect((await statusOf(admin, `${name}~off`)).reason?.code).toBe('stopped')
        expect((await carol.request('GET', `/api/groups/${name}~open`)).status).toBe(200)
      }
      const lazy = await carol.mcp('/mcp/@dana/lazy')
      expect(await callText(lazy, 'quick')).not.toBe('')
      const session = await carol.mcp('/mcp/mixed')
      await until(async () => (await toolNames(session)).length > 10)
    }, 120_000)
  })
})

beyondCore(() => {
  test('an administrator who is demoted has programs in the sandbox at once', async () => {
    // The kernel tells this: a plain program runs as the hub's own user.
    const plain = () => runningWith(MARK).filter(pid => descendants(hub.pid).some(child => child.pid === pid))
    const dana = await hub.signIn('dana')
    await dana.ok('POST', '/api/servers', await knownShutIn('prying'))
    await online(dana, ['prying'])
    const { items } = await admin.ok('GET', '/api/admin/processes?limit=200')
    const before = (items as { server: string; sandbox: string; pid: number }[]).find(
      ({ server }) => server === 'dana~prying',
    )
    expect(before?.sandbox).toBe('off')
    expect(plain().length).toBeGreaterThan(0)
    const startedMs = performance.now()
    await admin.ok('PATCH', '/api/admin/users/dana', { role: 'user' })
    await until(async () => {
      const { items: now } = await admin.ok('GET', '/api/admin/processes?limit=200')
      const own = (now as { owner: string; server: string; sandbox: string }[]).filter(({ owner }) => owner === 'dana')
      const prying = own.find(({ server }) => server === 'dana~prying')
      return prying?.sandbox === 'full' && own.every(({ sandbox }) => sandbox === undefined || sandbox === 'full')
    })
    expect(performance.now() - startedMs).toBeLessThan(atMost(ENDS_WITHIN_MS))
  }, 120_000)

  test('an account that is deleted takes its programs along, those that others use too', async () => {
    const session = await carol.mcp('/mcp/@bob/each')
    await toolNames(session)
    const startedMs = performance.now()
    await admin.ok('DELETE', '/api/admin/users/bob?cascade=true')
    await admin.ok('DELETE', '/api/admin/users/dana?cascade=true')
    await until(async () => (await theirs()).length === 0 && runningWith(MARK).length === 0)
    expect(performance.now() - startedMs).toBeLessThan(atMost(ENDS_WITHIN_MS))
  }, 120_000)
})
