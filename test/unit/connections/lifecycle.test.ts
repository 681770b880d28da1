import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { UpstreamReply } from '../../../core/connections/api.ts'
import { startTimeOf } from '../../../core/connections/process/process-tree.ts'
import { atLeast } from '../../support/pace.ts'
import { fixture, isAlive, type Rig, serverRecord, startRig, textOf, until } from './support.ts'

let rig: Rig | undefined
afterEach(async () => {
  await rig?.dispose()
  rig = undefined
})

async function start(...args: Parameters<typeof startRig>): Promise<Rig> {
  rig = await startRig(...args)
  return rig
}

test('dispose() leaves no process, no descriptor and no child that ignores TERM', async () => {
  const descriptors = (): number => readdirSync('/proc/self/fd').length
  await start([])
  await rig?.dispose()
  const before = descriptors()
  const { connections } = await start([
    serverRecord('a'),
    fixture('b', 'stubborn'),
    fixture('c', 'hang'),
    serverRecord('d'),
  ])
  await connections.settled('a', 60_000)
  await connections.settled('b', 60_000)
  await until('all four run', () => connections.processes().length === 4, 30_000)
  const pids = connections.processes().map(({ pid }) => pid)
  expect(pids).toHaveLength(4)
  await rig?.dispose()
  rig = undefined
  expect(pids.filter(isAlive)).toEqual([])
  await until('the descriptors are closed', () => descriptors() <= before, 30_000)
}, 120_000)

test('stop() during a start ends offline, and start() starts again', async () => {
  const { connections, call, turn } = await start([fixture('a', 'hang'), serverRecord('b')])
  await until('it is starting', () => connections.processes().some(({ serverId }) => serverId === 'a'))
  turn('a', false)
  expect(connections.status('a')).toMatchObject({ state: 'offline', reason: { code: 'stopped' } })
  await until('its process ends', () => !connections.processes().some(({ serverId }) => serverId === 'a'))
  await connections.settled('b', 60_000)
  turn('b', false)
  const refused = await call('b', 'echo')
  expect(refused).toMatchObject({ kind: 'failed', code: 'server_offline' })
  // It does not start again by itself, so there is no time to name.
  expect(refused).not.toHaveProperty('retryAfterSeconds')
  turn('b', true)
  expect(textOf(await call('b', 'echo', {}))).toBe('{}')
})

test('start() and stop() do not outlive what the registry says', async () => {
  const { connections, put } = await start([serverRecord('a', { enabled: false }), serverRecord('b')])
  await connections.settled('b', 60_000)
  // As if somebody else had switched it just before.
  connections.start('a')
  connections.stop('b')
  await until('a is off', () => connections.status('a').reason?.code === 'stopped')
  await until('b is on', () => connections.status('b').state === 'online')
  expect(connections.processes().map(({ serverId }) => serverId)).toEqual(['b'])
  put(serverRecord('b', { revision: 2, enabled: false }))
  connections.restart('b')
  await until('b is off', () => connections.status('b').reason?.code === 'stopped')
})

test('switching off during a start that followed a stop ends offline', async () => {
  const { connections, put, turn } = await start([serverRecord('a')])
  await connections.settled('a', 60_000)
  turn('a', false)
  turn('a', true)
  put(serverRecord('a', { revision: 2, enabled: false }))
  await until('it is off', () => connections.status('a').state === 'offline')
  await until('no process is left', () => connections.processes().length === 0)
  expect(connections.status('a').reason?.code).toBe('stopped')
})

test('a call in flight when its server is stopped fails, and one that waits for a start is cancelled by its caller', async () => {
  const { connections, call, turn } = await start([fixture('a', 'hang'), serverRecord('b')])
  await connections.settled('b', 60_000)
  const inFlight = call('b', 'never')
  await call('b', 'echo')
  turn('b', false)
  expect(await inFlight).toMatchObject({ kind: 'failed', code: 'connection_lost' })
  const waiting = connections.request('a', { method: 'tools/call', params: { name: 'echo' } })
  waiting.cancel()
  expect(await waiting.reply).toEqual({ kind: 'cancelled', unsent: true })
})

test('an update restarts a server only when its connection would be another one', async () => {
  const { connections, put, call } = await start([serverRecord('a')])
  const { pid } = await connections.settled('a', 60_000)
  put(serverRecord('a', { revision: 2, description: 'new', timeoutMs: atLeast(500) }))
  // The new limit holds for calls after the update, which is done long before a child has answered.
  await call('a', 'echo')
  expect(await call('a', 'never')).toMatchObject({ kind: 'failed', code: 'upstream_timeout' })
  expect(connections.status('a').pid).toBe(pid)
  put(fixture('a', 'old', { revision: 3 }))
  await until('it was restarted', () => connections.status('a').protocolVersion === '2024-11-05')
  expect(isAlive(pid!)).toBe(false)
})

test('servers come and go with the registry', async () => {
  const { connections, put, remove, bus } = await start([])
  put(serverRecord('a'))
  await until('it is known', () => connections.counts().total === 1)
  expect((await connections.settled('a', 60_000)).state).toBe('online')
  put(serverRecord('a', { revision: 2, enabled: false }))
  await until('it is off', () => connections.status('a').state === 'offline')
  put(serverRecord('a', { revision: 3 }))
  await until('it is on', () => connections.status('a').state === 'online')
  remove('a')
  await until('nothing is left', () => connections.processes().length === 0 && connections.counts().total === 0)
  expect(bus.wants('tool.called')).toBe(true)
})

test('a lazy server is looked at once, sleeps, and wakes with a call', async () => {
  const { connections, call } = await start([serverRecord('a', { start: 'lazy' })])
  await connections.catalogsReady(['a'], 60_000)
  expect(connections.catalog('a')?.tools).toHaveLength(5)
  await until('it sleeps', () => connections.status('a').reason?.code === 'idle')
  await until('its process ends', () => connections.processes().length === 0)
  expect(textOf(await call('a', 'echo', {}))).toBe('{}')
  expect((await connections.settled('a', 60_000)).state).toBe('online')
})

test('an idle server sleeps after idleTimeout, keeps its lists, and wakes with a call', async () => {
  const { connections, call } = await start([serverRecord('a', { idleTimeoutMs: 300 })])
  await connections.settled('a', 60_000)
  await until('it sleeps', () => connections.status('a').reason?.code === 'idle')
  expect(connections.status('a')).toMatchObject({ state: 'offline', attempts: 0, counts: { tools: 5 } })
  expect(textOf(await call('a', 'echo', {}))).toBe('{}')
})

test('the catalogue of a server outlives a restart of the hub, but not a change of its configuration', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'patchbay-catalog-'))
  const lazy = serverRecord('a', { start: 'lazy' })
  const first = await startRig([lazy], { config: { dataDir } })
  await first.connections.catalogsReady(['a'], 60_000)
  await first.connections.dispose()
  const second = await startRig([lazy], { config: { dataDir } })
  expect(second.connections.catalog('a')?.tools).toHaveLength(5)
  expect(second.connections.status('a').reason?.code).toBe('idle')
  expect(second.connections.processes()).toEqual([])
  await second.connections.dispose()
  const third = await startRig([fixture('a', 'old', { start: 'lazy', enabled: false })], { config: { dataDir } })
  expect(third.connections.catalog('a')).toBeUndefined()
  await third.dispose()
})

test('drain() waits for calls in flight and refuses new ones', async () => {
  const { connections, call } = await start([serverRecord('a')])
  await connections.settled('a', 60_000)
  let answered = false
  const slow = call('a', 'slow', { ms: 1_000 }).then(reply => {
    answered = true
    return reply
  })
  await call('a', 'echo')
  const draining = connections.drain(60_000)
  expect(await call('a', 'echo')).toMatchObject({ kind: 'failed', code: 'draining' })
  await draining
  expect(answered).toBe(true)
  expect(textOf(await slow)).toBe('slow')
})

test('after a kill -9 of the hub no child is left within a second', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'patchbay-killed-'))
  const hub = Bun.spawn([process.execPath, join(import.meta.dir, 'fixtures', 'hub.ts'), dataDir], { stdout: 'pipe' })
  const reader = hub.stdout.getReader()
  const { value } = await reader.read()
  const pids = JSON.parse(Buffer.from(value!).toString()) as number[]
  expect(pids.map(isAlive)).toEqual([true, true])
  const table = JSON.parse(readFileSync(join(dataDir, 'processes.json'), 'utf8')) as { children: { pid: number }[] }
  expect(table.children.map(({ pid }) => pid).sort()).toEqual([...pids].sort())
  hub.kill('SIGKILL')
  await until('no child is left', () => pids.every(pid => startTimeOf(pid) === undefined || isZombie(pid)), 1_000)
  await hub.exited
  rmSync(dataDir, { recursive: true, force: true })
})

test('begin() ends what an earlier run left, and nothing that only has the same number', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'patchbay-sweep-'))
  const left = Bun.spawn(['sleep', '60'], { detached: true })
  const other = Bun.spawn(['sleep', '60'], { detached: true })
  writeFileSync(
    join(dataDir, 'processes.json'),
    JSON.stringify({
      hub: { pid: 999_999_999, startTime: '1' },
      children: [
        { pid: left.pid, startTime: startTimeOf(left.pid), serverId: 'a' },
        { pid: other.pid, startTime: '1', serverId: 'b' },
        { pid: -1, startTime: '1', serverId: 'c' },
      ],
    }),
  )
  await start([], { config: { dataDir } })
  await left.exited
  expect(isAlive(other.pid)).toBe(true)
  other.kill('SIGKILL')
  await other.exited
})

function isZombie(pid: number): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

test('a call before the servers are started waits, and so does one to a server that was created just now', async () => {
  const made: { early?: Promise<UpstreamReply> } = {}
  const { call, connections, put } = await start([serverRecord('a')], {
    beforeBegin(connections) {
      const params = { name: 'echo', arguments: { text: 'early' } }
      made.early = connections.request('a', { method: 'tools/call', params }).reply
    },
  })
  expect(textOf((await made.early)!)).toContain('early')
  put(serverRecord('b'))
  const [called] = await Promise.all([call('b', 'echo', { text: 'new' }), connections.catalogsReady(['b'], 60_000)])
  expect(textOf(called)).toContain('new')
  put(serverRecord('c'))
  await connections.catalogsReady(['c'], 60_000)
  expect(connections.catalog('c')?.tools.length).toBeGreaterThan(0)
  expect(await call('none', 'echo')).toMatchObject({ kind: 'failed', code: 'server_offline' })
}, 120_000)
