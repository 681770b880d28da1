import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { beyondCore } from '../support/extent.ts'
import { type Footprint, footprint, footprintWithHistory, settledTo } from '../support/footprint.ts'
import { type Client, type Hub, PASSWORD, ROOT, startHub } from '../support/hub.ts'
import { atLeast } from '../support/pace.ts'
import { alive } from '../support/processes.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf, online, statusOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const IDLE_MS = atLeast(1_000)

let hub: Hub
let admin: Client
let before: Footprint
let remote: Program

beforeAll(async () => {
  remote = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({
    // The sandbox's own tests cover a demotion where there is a sandbox.
    env: { WORKERS: '1', STDIO_POLICY: 'admin' },
    settings: {
      mcpServers: {
        lazy: { ...known('echo', { WHO: 'lazy' }), start: 'lazy', idleTimeout: IDLE_MS },
        own: { ...known('echo', { WHO: 'own' }), session: 'per-session' },
        one: known('echo', { WHO: 'one' }),
        two: known('echo', { WHO: 'two' }),
      },
      groups: [{ name: 'g', servers: ['lazy', 'own', 'one', 'two'] }],
    },
  })
  admin = await hub.setup()
  await online(admin, ['own', 'one', 'two'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await remote?.stop()
}, 120_000)

async function asleep(): Promise<void> {
  await until(async () => (await statusOf(admin, 'lazy')).reason?.code === 'idle', { what: 'the lazy server to sleep' })
}

/** As a client that says goodbye: DELETE of its session. */
async function end(session: McpClient): Promise<void> {
  await (session.transport as StreamableHTTPClientTransport).terminateSession()
}

async function pidOf(path: string, tool = 'whoami'): Promise<number> {
  return JSON.parse(await callText(await admin.mcp(path), tool)).pid
}

test('a lazy server is looked at once and sleeps; its tools are listed, no process is left, no call is needed', async () => {
  await asleep()
  before = await footprintWithHistory(hub, admin)
  expect(await toolNames(await admin.mcp('/mcp/g'))).toContain('lazy_echo')
  expect(await statusOf(admin, 'lazy')).toMatchObject({ state: 'offline', counts: { tools: 3 } })
  expect((await statusOf(admin, 'lazy')).pid).toBeUndefined()
})

test('a call wakes it, several at once wake one process, and it sleeps again after idleTimeout', async () => {
  const client = await admin.mcp('/mcp/lazy')
  const answers = await Promise.all(Array.from({ length: 8 }, () => callText(client, 'whoami')))
  const pids = new Set(answers.map(text => JSON.parse(text).pid))
  expect(pids.size).toBe(1)
  await online(admin, ['lazy'])
  await asleep()
  await until(() => [...pids].every(pid => !alive(pid)), { what: 'its process to be gone' })
  await settledTo(hub.pid, before)
  expect(pids.has(await pidOf('/mcp/lazy'))).toBe(false)
  await asleep()
})

beyondCore(() => {
  test('a lazy server that is edited in its sleep is looked at with its new configuration and sleeps on', async () => {
    await admin.ok('PATCH', '/api/servers/lazy', known('slow'))
    await until(async () => (await toolNames(await admin.mcp('/mcp/g'))).includes('wait'), {
      intervalMs: 100,
      what: 'the new list of tools',
    })
    await asleep()
    await admin.ok('PATCH', '/api/servers/lazy', known('echo', { WHO: 'lazy' }))
    await until(async () => (await toolNames(await admin.mcp('/mcp/g'))).includes('lazy_echo'), { intervalMs: 100 })
    await asleep()
    await settledTo(hub.pid, before)
  }, 120_000)

  test('an edit restarts the server it changes and no other', async () => {
    const old = { one: await pidOf('/mcp/one'), two: await pidOf('/mcp/two') }
    await admin.ok('PATCH', '/api/servers/one', known('echo', { WHO: 'changed' }))
    await until(async () => (await statusOf(admin, 'one')).pid !== old.one, { what: 'another process' })
    await online(admin, ['one'])
    expect(JSON.parse(await callText(await admin.mcp('/mcp/one'), 'whoami')).who).toBe('changed')
    await admin.ok('PATCH', '/api/servers/two', { description: 'only a text', timeout: 5_000 })
    expect(await pidOf('/mcp/two')).toBe(old.two)
    await until(() => !alive(old.one))
  })

  test('two sessions of one server with connections of their own: two processes, which end with their sessions', async () => {
    const own = footprint(hub.pid)
    const sessions = [await admin.mcp('/mcp/own'), await admin.mcp('/mcp/own')]
    const pids = await Promise.all(sessions.map(async session => JSON.parse(await callText(session, 'whoami')).pid))
    const shared = (await statusOf(admin, 'own')).pid
    expect(new Set([...pids, shared]).size).toBe(3)
    expect(JSON.parse(await callText(sessions[0]!, 'whoami')).pid).toBe(pids[0])
    process.kill(pids[1], 'SIGKILL')
    const again = JSON.parse(await until(() => callText(sessions[1]!, 'whoami'))).pid
    expect(again).not.toBe(pids[1])
    expect((await statusOf(admin, 'own')).state).toBe('online')
    for (const session of sessions) await end(session)
    await until(() => !alive(pids[0]) && !alive(again), { what: 'the processes of the sessions to be gone' })
    expect(alive(shared ?? 0)).toBe(true)
    await settledTo(hub.pid, own)
  }, 120_000)
})

test('the processes of sessions end when their server is switched off, and with the key of their client', async () => {
  const own = footprint(hub.pid)
  const key = await admin.ok('POST', '/api/keys', { label: 'for a while', scopes: ['mcp'] })
  const mine = await admin.mcp('/mcp/own')
  const theirs = await admin.mcp('/mcp/own', { credential: key.secret })
  const [first, second] = [
    JSON.parse(await callText(mine, 'whoami')).pid,
    JSON.parse(await callText(theirs, 'whoami')).pid,
  ]
  await admin.ok('DELETE', `/api/keys/${key.id}`)
  await until(() => !alive(second), { what: 'the process of the revoked key to be gone' })
  expect(alive(first)).toBe(true)
  await admin.ok('POST', '/api/servers/own/stop')
  await until(() => !alive(first), { what: 'the other one to be gone' })
  expect((await failureOf(callText(mine, 'whoami'))).data?.code).toBe('server_offline')
  await admin.ok('POST', '/api/servers/own/start?wait=30s')
  expect(JSON.parse(await callText(mine, 'whoami')).who).toBe('own')
  await end(mine)
  await settledTo(hub.pid, own)
}, 120_000)

test('STDIO_POLICY admin refuses ordinary users whatever the sandbox, and takes administrators', async () => {
  const bob = await hub.user('bob')
  const body = { name: 'cat', command: 'cat', enabled: false }
  for (const path of ['/api/servers', '/api/servers/test']) {
    const answer = await bob.request('POST', path, body)
    expect([path, answer.status, answer.json.code]).toEqual([path, 403, 'stdio_not_permitted'])
  }
  expect((await admin.request('POST', '/api/servers', body)).status).toBe(201)
})

test('an owner who loses the role loses the process and the private address at once, and gets both back by a review', async () => {
  await admin.ok('POST', '/api/admin/users', { username: 'eve', password: PASSWORD, role: 'admin' })
  const eve = await hub.signIn('eve')
  await eve.ok('POST', '/api/servers', { name: 'local', ...known('echo') })
  await eve.ok('POST', '/api/servers', { name: 'inside', url: remote.url })
  await online(eve, ['local', 'inside'])
  const pid = await statusOf(eve, 'local').then(status => status.pid ?? 0)
  const key = await eve.mcpKey()
  await admin.ok('PATCH', `/api/admin/users/eve`, { role: 'user' })
  const reason = (name: string) => statusOf(admin, `eve~${name}`).then(status => status.reason?.code)
  await until(async () => (await reason('local')) === 'stdio_not_permitted', { what: 'the process to be refused' })
  await until(async () => (await reason('inside')) === 'url_address_blocked', { what: 'the address to be refused' })
  await until(() => !alive(pid))
  const failure = await failureOf(callText(await eve.mcp('/mcp/inside', { credential: key }), 'whoami'))
  expect(failure.data?.code).toBe('server_offline')
  await admin.ok('PATCH', `/api/admin/users/eve`, { role: 'admin' })
  const again = await hub.signIn('eve')
  for (const name of ['local', 'inside']) {
    const { review } = await again.ok('GET', `/api/servers/${name}`)
    await again.ok('PATCH', `/api/servers/${name}`, { reviewed: review.hash })
  }
  await online(admin, ['eve~local', 'eve~inside'])
}, 120_000)
