/** A process of a server is gone before the next one of the same server starts, however it was replaced. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { atLeast } from '../support/pace.ts'
import { alive, commandOf, processStat } from '../support/processes.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const HEALTH = { healthCheck: { interval: atLeast(500), timeout: atLeast(500), retries: 2 } }
/** By which the sampler finds the processes of a server. */
const mark = (name: string) => `--server=${name}`
const NAMES = ['frozen', 'resumed', 'stubborn', 'holding', 'session']

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    env: { WORKERS: '1' },
    settings: {
      mcpServers: {
        // Silence during a call counts only once a call has timed out.
        frozen: { ...known('echo', {}, mark('frozen')), ...HEALTH, timeout: atLeast(1_000) },
        resumed: { ...known('echo', {}, mark('resumed')), ...HEALTH, timeout: 10_000 },
        stubborn: { ...known('unruly', { STUBBORN: '1' }, mark('stubborn')), ...HEALTH },
        holding: { ...known('grandchild', { HOLDS: '1' }, mark('holding')), ...HEALTH },
        session: { ...known('echo', {}, mark('session')), session: 'per-session' },
      },
    },
  })
  admin = await hub.setup()
  await online(admin, NAMES)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Processes that the hub has started for this server and that have not ended; stopped ones count. */
function processesOf(name: string, hubPid = hub.pid): number[] {
  const children = readdirSync(`/proc/${hubPid}/task`).flatMap(thread => {
    try {
      return readFileSync(`/proc/${hubPid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
    } catch {
      // The thread has ended.
      return []
    }
  })
  return children.filter(pid => commandOf(pid).split('\0').includes(mark(name)) && alive(pid))
}

/** Counts the processes of a server all the while, and returns the most that there were at once. */
async function mostAtOnce(name: string, work: () => Promise<void>): Promise<number> {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, processesOf(name).length)
  }, 10)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return most
}

async function pidOf(name: string): Promise<number> {
  return (await statusOf(admin, name)).pid ?? 0
}

/** Waits for another process of the server than `old`. */
async function replaced(name: string, old: number): Promise<number> {
  return until(
    async () => {
      const { state, pid } = await statusOf(admin, name)
      return state === 'online' && pid !== undefined && pid !== old ? pid : undefined
    },
    { what: `another process of "${name}"` },
  )
}

describe('a process that stands still', () => {
  test('misses its pings, is killed, and only then another one starts', async () => {
    const old = await pidOf('frozen')
    const client = await admin.mcp('/mcp/frozen')
    // Its answer waits in the process, which never writes it.
    process.kill(old, 'SIGSTOP')
    const late = callText(client, 'whoami').catch(() => 'lost')
    const most = await mostAtOnce('frozen', async () => {
      const next = await replaced('frozen', old)
      expect(alive(old)).toBe(false)
      expect(JSON.parse(await callText(client, 'whoami')).pid).toBe(next)
    })
    expect(most).toBe(1)
    expect(await late).not.toContain(`"pid":${old}`)
    expect(processesOf('frozen')).toEqual([await pidOf('frozen')])
  }, 120_000)

  test('and continues before it has missed them is not replaced', async () => {
    const old = await pidOf('resumed')
    const client = await admin.mcp('/mcp/resumed')
    process.kill(old, 'SIGSTOP')
    const call = callText(client, 'whoami')
    await until(() => processStat(old)?.state === 'T')
    process.kill(old, 'SIGCONT')
    expect(JSON.parse(await call).pid).toBe(old)
    expect(await pidOf('resumed')).toBe(old)
  }, 120_000)

  test('is killed at once by a restart', async () => {
    const old = await pidOf('resumed')
    process.kill(old, 'SIGSTOP')
    const most = await mostAtOnce('resumed', async () => {
      await admin.ok('POST', '/api/servers/resumed/restart')
      await replaced('resumed', old)
    })
    expect(most).toBe(1)
  }, 120_000)
})

test('a process that ignores TERM and stops answering is gone before the next one starts', async () => {
  const old = await pidOf('stubborn')
  const most = await mostAtOnce('stubborn', async () => {
    process.kill(old, 'SIGSTOP')
    await replaced('stubborn', old)
  })
  expect(most).toBe(1)
}, 120_000)

test('two quick restarts of a process that ignores TERM start one other process', async () => {
  const old = await pidOf('stubborn')
  const most = await mostAtOnce('stubborn', async () => {
    await Promise.all([1, 2].map(() => admin.request('POST', '/api/servers/stubborn/restart')))
    await admin.request('POST', '/api/servers/stubborn/restart')
    await replaced('stubborn', old)
  })
  expect(most).toBe(1)
  expect(processesOf('stubborn')).toHaveLength(1)
}, 120_000)

test('a killed process whose descendant holds its output is replaced by one', async () => {
  const old = await pidOf('holding')
  const most = await mostAtOnce('holding', async () => {
    process.kill(old, 'SIGKILL')
    await replaced('holding', old)
  })
  expect(most).toBe(1)
}, 120_000)

test('a stopped process of one session is replaced by a restart, and never runs beside another one of that session', async () => {
  const client = await admin.mcp('/mcp/session')
  const { pid: old } = JSON.parse(await callText(client, 'whoami'))
  process.kill(old, 'SIGSTOP')
  await admin.ok('POST', '/api/servers/session/restart')
  const next = await until(async () => JSON.parse(await callText(client, 'whoami')).pid as number)
  expect(next).not.toBe(old)
  expect(alive(old)).toBe(false)
}, 120_000)

test('a hub that stops while a stopped process is replaced leaves none', async () => {
  const pids = await Promise.all(NAMES.slice(0, 4).map(pidOf))
  for (const pid of pids) if (pid > 0) process.kill(pid, 'SIGSTOP')
  await Promise.all(NAMES.slice(0, 2).map(name => admin.request('POST', `/api/servers/${name}/restart`)))
  const seen = NAMES.flatMap(name => processesOf(name))
  await hub.stop()
  expect([...pids, ...seen].filter(alive)).toEqual([])
}, 120_000)
