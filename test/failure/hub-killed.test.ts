import { afterAll, expect, test } from 'bun:test'
import { beyondCore } from '../support/extent.ts'
import { type Hub, PASSWORD, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { alive, commandOf, descendants } from '../support/processes.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const STUBBORN = { STUBBORN: '1' }

/** Hubs of one folder, one after the other. */
const hubs: Hub[] = []

afterAll(async () => {
  for (const hub of hubs) if (alive(hub.pid)) await hub.stop({ keep: true })
  for (const hub of hubs) await removeTemp(hub.folder)
}, 40_000)

test('kill -9 of the hub under load leaves no child after 1 s, by a watchdog that replaced a killed one; the next start serves the same state', async () => {
  const names = ['one', 'two', 'three', 'stubborn']
  const first = await startHub({
    settings: { mcpServers: { one: known('echo', { WHO: 'one' }), stubborn: known('unruly', STUBBORN) } },
  })
  hubs.push(first)
  const admin = await first.setup()
  for (const name of ['two', 'three']) {
    await admin.ok('POST', '/api/servers', { name, ...known('echo', { WHO: name }) })
  }
  await admin.ok('POST', '/api/groups', { name: 'g', members: names })
  await admin.ok('POST', '/api/admin/users', { username: 'bob', password: PASSWORD, role: 'user' })
  await online(admin, names)
  const before = await state(admin)
  const key = await admin.mcpKey()
  const old = watchdogOf(first)
  if (old === undefined) throw new Error('there is no watchdog')
  process.kill(old, 'SIGKILL')
  await until(() => ![undefined, old].includes(watchdogOf(first)), { what: 'another watchdog' })
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
}, 120_000)

beyondCore(() => {
  test('children that outlive both the hub and its watchdog are ended by the next start, and nothing else is', async () => {
    const first = hubs.at(-1) as Hub
    const admin = await first.signIn('admin')
    const stubborn = (await statusOf(admin, 'stubborn')).pid ?? 0
    // The table of processes is written a moment after each change.
    await until(async () => (await Bun.file(`${first.dataDir}/processes.json`).text()).includes(String(stubborn)))
    const bystander = Bun.spawn(['sleep', '60'], { detached: true })
    process.kill(watchdogOf(first) ?? 0, 'SIGKILL')
    await first.kill9()
    expect(alive(stubborn)).toBe(true)
    const second = await startHub({ folder: first.folder })
    hubs.push(second)
    await until(() => !alive(stubborn), { timeoutMs: 2_000, what: 'the child of the first hub to be gone' })
    await online(await second.signIn('admin'), ['stubborn'])
    expect(bystander.exitCode).toBeNull()
    bystander.kill('SIGKILL')
    await bystander.exited
  }, 120_000)
})

/**
 * The watchdog is a shell; the other children are the servers and, for a moment, the processes that were asked for their
 * version.
 */
function watchdogOf({ pid }: Hub): number | undefined {
  return descendants(pid).find(child => child.state !== 'Z' && commandOf(child.pid).startsWith('/bin/sh'))?.pid
}

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
