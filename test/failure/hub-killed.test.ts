import { afterAll, expect, test } from 'bun:test'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { alive, commandOf, descendants } from '../support/processes.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const hubs: Hub[] = []

afterAll(async () => {
  for (const hub of hubs) if (alive(hub.pid)) await hub.stop({ keep: true })
  for (const hub of hubs) await removeTemp(hub.folder)
}, 40_000)

test('kill -9 of the hub under load leaves no child after 1 s, and the next start serves the same state', async () => {
  const names = ['one', 'two', 'three', 'four']
  const first = await startHub({
    settings: {
      mcpServers: Object.fromEntries(names.slice(0, 2).map(name => [name, stdioFixture('echo', { WHO: name })])),
    },
  })
  hubs.push(first)
  const admin = await first.setup()
  for (const name of names.slice(2)) {
    await admin.ok('POST', '/api/servers', { name, ...stdioFixture('echo', { WHO: name }) })
  }
  await admin.ok('POST', '/api/groups', { name: 'g', members: [...names, 'deaf'].slice(0, 4) })
  await admin.ok('POST', '/api/admin/users', {
    username: 'bob',
    password: 'correct horse battery staple 7',
    role: 'user',
  })
  await online(admin, names)
  const before = await state(admin)
  const key = await admin.mcpKey()
  const client = await admin.mcp('/mcp/g')
  const loading = Array.from({ length: 8 }, async () => {
    for (;;) await client.callTool({ name: 'one_echo', arguments: { text: 'x' } })
  })
  const outcome = Promise.allSettled(loading)
  const children = descendants(first.pid).map(stat => stat.pid)
  expect(children.length).toBeGreaterThanOrEqual(4)

  await first.kill9()
  const start = performance.now()
  await until(() => children.every(pid => !alive(pid)), { timeoutMs: atMost(1_000), what: 'all children to be gone' })
  expect(performance.now() - start).toBeLessThanOrEqual(atMost(1_000))
  await client.close()
  await outcome

  const second = await startHub({ folder: first.folder })
  hubs.push(second)
  const again = await second.signIn('admin')
  await online(again, names)
  expect(await state(again)).toEqual(before)
  expect(await second.signIn('bob')).toBeDefined()
  const next = await again.mcp('/mcp/g', { credential: key })
  expect(await callText(next, 'three_echo', { text: 'kept' })).toBe('kept')
}, 60_000)

test('children that outlive both the hub and its watchdog are ended by the next start, and nothing else is', async () => {
  const settings = { mcpServers: { stubborn: stdioFixture('unruly', { STUBBORN: '1' }) } }
  const first = await startHub({ settings })
  hubs.push(first)
  const admin = await first.setup()
  await online(admin, ['stubborn'])
  const stubborn = (await statusOf(admin, 'stubborn')).pid ?? 0
  const watchdog = descendants(first.pid).find(({ pid }) => pid !== stubborn)?.pid ?? 0
  // The table of processes is written a moment after each change.
  await until(async () => (await Bun.file(`${first.dataDir}/processes.json`).text()).includes(String(stubborn)))
  const bystander = Bun.spawn(['sleep', '60'], { detached: true })
  process.kill(watchdog, 'SIGKILL')
  await first.kill9()
  expect(alive(stubborn)).toBe(true)
  const second = await startHub({ folder: first.folder })
  hubs.push(second)
  await until(() => !alive(stubborn), { timeoutMs: 2_000, what: 'the child of the first hub to be gone' })
  await online(await second.signIn('admin'), ['stubborn'])
  expect(bystander.exitCode).toBeNull()
  bystander.kill('SIGKILL')
  await bystander.exited
}, 40_000)

test('a watchdog that is killed is replaced, and does its work', async () => {
  const hub = await startHub({
    settings: { mcpServers: { stubborn: stdioFixture('unruly', { STUBBORN: '1' }) } },
  })
  hubs.push(hub)
  const admin = await hub.setup()
  await online(admin, ['stubborn'])
  const stubborn = (await statusOf(admin, 'stubborn')).pid ?? 0
  // A shell; the other children are the server and, for a moment, the process that was asked which version it speaks.
  const watchdog = () =>
    descendants(hub.pid).find(({ pid, state }) => state !== 'Z' && commandOf(pid).startsWith('/bin/sh'))?.pid
  const old = watchdog()
  if (old === undefined) throw new Error('there is no watchdog')
  process.kill(old, 'SIGKILL')
  await until(() => ![undefined, old].includes(watchdog()), { what: 'another watchdog' })
  await hub.kill9()
  await until(() => !alive(stubborn), { timeoutMs: atMost(1_000), what: 'the child to be gone' })
}, 40_000)

async function state(client: Awaited<ReturnType<Hub['setup']>>): Promise<unknown> {
  const servers = (await client.ok('GET', '/api/servers?sort=name')).items
  const groups = (await client.ok('GET', '/api/groups')).items
  return {
    servers: servers.map((server: Record<string, unknown>) => [
      server.id,
      server.name,
      server.command,
      server.args,
      server.revision,
    ]),
    groups: groups.map((group: Record<string, unknown>) => [group.id, group.name, group.members, group.revision]),
  }
}
