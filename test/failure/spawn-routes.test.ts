/**
 * Every way that could start a process, on a machine without a sandbox and for people who may not run commands: strace writes
 * down each program that the hub starts, and none of theirs is among them.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, PASSWORD, startHub } from '../support/hub.ts'
import { failureOf, online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

/** A text in the arguments of every command that must never run. */
const DENIED = 'denied-command'
const ALLOWED = 'allowed-command'
const denied = (what: string, more: object = {}): object => ({
  command: '/usr/bin/env',
  args: [`${DENIED}-${what}`],
  ...more,
})

let folder = ''
let hub: Hub
let admin: Client
let bob: Client

beforeAll(async () => {
  if (Bun.which('strace') === null) throw new Error('This test needs strace: apt-get install strace')
  folder = await makeTemp('traced')
  // Without bubblewrap there is no sandbox. The tracer runs beside, so that the hub keeps its place and its signals.
  const script = `mount --bind /dev/null /usr/bin/bwrap && exec strace -D -f --seccomp-bpf -qq -s 300 -e trace=execve,execveat -o ${folder}/log "$@"`
  hub = await startHub({
    wrap: ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh'],
    timeoutMs: 60_000,
    settings: {
      users: { filed: { password: await Bun.password.hash(PASSWORD, { algorithm: 'bcrypt', cost: 4 }) } },
      mcpServers: {
        allowed: known('echo', {}, ALLOWED),
        'filed::entry': denied('in-the-file'),
        'filed::lazy': denied('lazy-in-the-file', { start: 'lazy' }),
      },
    },
  })
  admin = await hub.setup()
  bob = await hub.user('bob')
  await online(admin, ['allowed'], 60_000)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  if (folder !== '') await removeTemp(folder)
}, 120_000)

/** Lines of the trace about programs that were started with this word. */
function started(word: string): string[] {
  return readFileSync(join(folder, 'log'), 'utf8')
    .split('\n')
    .filter(line => line.includes(word))
}

const REFUSED = [403, 'stdio_not_permitted']

async function refused(client: Client, method: string, path: string, body?: object): Promise<void> {
  const answer = await client.request(method, path, body)
  expect([method, path, answer.status, answer.json.code]).toEqual([method, path, ...REFUSED])
}

test('the trace sees what is started, and this machine has no sandbox', async () => {
  expect(started(ALLOWED).length).toBeGreaterThan(0)
  const { sandbox } = (await admin.ok('GET', '/health')).checks
  expect(sandbox).not.toBe('full')
})

test('servers to save or try: create, test, import, edit, replace, gift', async () => {
  await refused(bob, 'POST', '/api/servers', { name: 'made', ...denied('create') })
  await refused(bob, 'POST', '/api/servers', { name: 'made', ...denied('disabled', { enabled: false }) })
  await refused(bob, 'POST', '/api/servers', { name: 'made', ...denied('lazy', { start: 'lazy' }) })
  await refused(bob, 'POST', '/api/servers', { name: 'made', config: denied('nested') })
  await refused(bob, 'POST', '/api/servers', { name: 'made', command: 'npx', args: ['-y', `${DENIED}-package`] })
  await refused(bob, 'POST', '/api/servers/test', { name: 'tried', ...denied('test') })
  await refused(bob, 'POST', '/api/servers/test', { name: 'tried', command: 'npx', args: [`${DENIED}-package`] })
  const { entries } = await bob.ok('POST', '/api/servers/import', {
    document: { mcpServers: { one: denied('import'), two: { command: 'uvx', args: [`${DENIED}-package`] } } },
  })
  for (const { error } of entries) expect(error.code).toBe('stdio_not_permitted')
  const batch = [
    { name: 'one', ...denied('batch') },
    { name: 'two', command: 'npx', args: [`${DENIED}-package`] },
  ]
  const { results } = await bob.ok('POST', '/api/servers/batch', { servers: batch })
  for (const { status, error } of results) expect([status, error.code]).toEqual(REFUSED)
  await bob.ok('POST', '/api/servers', { name: 'remote', url: 'https://mcp.example/mcp', enabled: false })
  await refused(bob, 'PATCH', '/api/servers/remote', { url: null, ...denied('edit') })
  await refused(bob, 'PUT', '/api/servers/remote', { name: 'remote', ...denied('replace') })
  await admin.ok('POST', '/api/servers', { name: 'gift', ...denied('gift', { enabled: false }) })
  await refused(admin, 'PATCH', '/api/servers/gift', { owner: 'bob' })
  expect((await bob.ok('GET', '/api/servers?scope=mine')).items).toHaveLength(1)
})

test('entries of the settings file that belong to an ordinary user', async () => {
  for (const name of ['entry', 'lazy']) {
    const reason = await until(async () => (await statusOf(admin, `filed~${name}`)).reason?.code)
    expect([name, reason]).toEqual([name, 'stdio_not_permitted'])
  }
  const filed = await hub.signIn('filed')
  for (const name of ['entry', 'lazy']) {
    await filed.request('POST', `/api/servers/${name}/restart?wait=2s`)
    const called = await filed.request('POST', `/api/servers/${name}/tools/x/call`, { arguments: {} })
    expect([name, called.status >= 400]).toEqual([name, true])
  }
})

beyondCore(() => {
  test('servers of somebody who is no administrator any more: every way to start them again', async () => {
    const dora = await hub.user('dora', 'admin')
    const command = { ...known('echo', { WHO: DENIED }) }
    for (const [name, more] of Object.entries({
      eager: {},
      lazy: { start: 'lazy' },
      own: { session: 'per-session' },
    })) {
      await dora.ok('POST', '/api/servers', { name, ...command, ...more })
    }
    await online(dora, ['eager', 'own'], 60_000)
    const key = await dora.mcpKey()
    const own = await dora.mcp('/mcp/own', { credential: key })
    const names = ['eager', 'lazy', 'own']
    await admin.ok('PATCH', '/api/admin/users/dora', { role: 'user' })
    for (const name of ['eager', 'own']) {
      await until(async () => (await statusOf(admin, `dora~${name}`)).reason?.code === 'stdio_not_permitted')
    }
    // From here on, none of her programs may start.
    const before = started('/echo.js').length
    const again = await hub.signIn('dora')
    for (const name of names) {
      for (const verb of ['start', 'restart']) await again.request('POST', `/api/servers/${name}/${verb}?wait=2s`)
      await again.request('POST', `/api/servers/${name}/stop?wait=2s`)
      await again.request('POST', `/api/servers/${name}/start?wait=2s`)
      await again.request('GET', `/api/servers/${name}/tools`)
      await again.request('POST', `/api/servers/${name}/tools/echo/call`, { arguments: { text: 'x' } })
      await again.request('PATCH', `/api/servers/${name}`, { description: 'changed', env: { WHO: `${DENIED}-x` } })
      await admin.request('POST', `/api/servers/dora~${name}/restart?wait=2s`)
      const session = await again.mcp(`/mcp/${name}`, { credential: key })
      await session.listTools().catch(() => undefined)
      const failure = await failureOf(session.callTool({ name: 'echo', arguments: { text: 'x' } }))
      expect([name, failure.code === -32603 || failure.code === -32602]).toEqual([name, true])
    }
    await failureOf(own.callTool({ name: 'echo', arguments: { text: 'x' } }))
    for (const name of names) {
      const reason = await until(async () => (await statusOf(again, name)).reason?.code)
      expect(['stdio_not_permitted', 'stopped']).toContain(String(reason))
    }
    expect(started('/echo.js').length).toBe(before)
  }, 120_000)
})

test('none of it left a trace of a program', async () => {
  // The trace is in order: when this start is in it, every earlier start is in it too.
  await admin.ok('POST', '/api/servers/allowed/restart?wait=10s')
  await online(admin, ['allowed'])
  expect(started(DENIED)).toEqual([])
  expect(started('sandbox-install')).toEqual([])
  expect((await admin.request('GET', '/health')).status).toBe(200)
}, 120_000)
