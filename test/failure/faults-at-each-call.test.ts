/** Each kind of call of the store and of the history fails: an error or a wait, never the end of the hub, and no file is given up. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, HubDidNotStart, startHub } from '../support/hub.ts'
import { alive } from '../support/processes.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import {
  callsIn,
  collectGarbage,
  type Fault,
  type FileCall,
  faulty,
  putAside,
  traced,
  whileFailing,
} from './fixtures/injected.ts'

const ENV = { BUN_OPTIONS: `--preload ${join(import.meta.dir, 'fixtures/at-signal.cjs')}`, ENABLE_REQUEST_LOGS: 'true' }
const CLEAR = ['storage_full', 'storage_unavailable', 'storage_busy']
/** Bytes of changes after which the store checkpoints its log. */
const CHECKPOINT_BYTES = 4_500_000

let hub: Hub
let admin: Client
let folder = ''
let calls: readonly FileCall[] = []
let rounds = 0

beforeAll(async () => {
  folder = await makeTemp('each-call')
  const output = join(folder, 'calls.txt')
  hub = await startHub({ env: ENV, wrap: traced(output) })
  admin = await hub.setup()
  await fillLog()
  await stored(1)
  await hub.stop({ keep: true })
  calls = callsIn(output, hub.dataDir)
  await restart()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await removeTemp(folder)
}, 120_000)

async function restart(wrap: readonly string[] = []): Promise<void> {
  hub = await startHub({ folder: hub.folder, env: ENV, wrap })
  admin = await hub.signIn('admin')
}

async function fillLog(): Promise<void> {
  rounds += 1
  const args = ['x'.repeat(100_000)]
  for (let sent = 0; sent < CHECKPOINT_BYTES; sent += 100_000) {
    await admin.request('POST', '/api/servers', {
      name: `filled-${sent}-${rounds}`,
      command: 'true',
      args,
      enabled: false,
    })
  }
}

/** Waits until the history has at least this number of records. */
const stored = (least: number) =>
  until(
    async () => {
      const { json } = await admin.request('GET', '/api/logs/search?limit=1')
      return (json.total ?? 0) >= least ? (json.total as number) : undefined
    },
    { what: `${least} records in the history`, timeoutMs: 60_000 },
  )

const change = () => {
  rounds += 1
  return admin.request('POST', '/api/groups', { name: `group-${rounds}`, members: [] })
}

/** Changes are acknowledged or refused with a clear error while the calls fail, and work again afterwards. */
async function survives(fault: Fault): Promise<void> {
  const before = await stored(1)
  const made: string[] = []
  await whileFailing(hub.pid, hub.dataDir, fault, async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const { status, json } = await change()
      if (status === 201) made.push(json.name)
      else if (!CLEAR.includes(json.code)) console.error(hub.log().slice(-3000))
      if (status !== 201) expect([fault, CLEAR.includes(json.code), status, json]).toEqual([fault, true, status, json])
    }
    expect([200, 503]).toContain((await admin.request('GET', '/health')).status)
    // Answers from the history's thread: its calls were made, and those that failed.
    await admin.request('GET', '/api/logs/search?limit=1')
  })
  await collectGarbage(hub)
  await until(async () => (await change()).status === 201, { what: 'changes to be taken again', timeoutMs: 15_000 })
  const names = (await admin.ok('GET', '/api/groups')).items.map((group: { name: string }) => group.name)
  expect(names).toEqual(expect.arrayContaining(made))
  await stored(before)
  expect(putAside(readdirSync(join(hub.dataDir, 'history')))).toEqual([])
  expect(alive(hub.pid)).toBe(true)
  expect(hub.unhandled()).toEqual([])
}

test('the list of calls is that of a calm run: it has every file, and writes, syncs and removals', () => {
  const of = (file: string) => calls.filter(each => each.file === file).map(({ call }) => call)
  expect(of('patchbay.db-wal')).toEqual(
    expect.arrayContaining(['openat', 'pwrite64', 'pread64', 'fdatasync', 'close', 'unlink']),
  )
  for (const name of ['tally', 'durations', 'log-DATE']) {
    expect(of(`history/${name}.db`)).toEqual(expect.arrayContaining(['openat', 'pwrite64', 'pread64', 'close']))
    expect(of(`history/${name}.db-wal`)).toEqual(expect.arrayContaining(['openat', 'pwrite64', 'unlink']))
  }
  expect(of('')).toContain('fsync')
})

describe('while the hub runs', () => {
  for (const code of ['EIO', 'ENOSPC'] as const) {
    for (const when of extent(['1', '2+'], ['1', '2', '3', '5', '1+', '2+', '4+'])) {
      test(
        `all kinds of calls fail with ${code} at once, each thread's call ${when}`,
        () => survives({ calls, code, when }),
        120_000,
      )
    }
  }
  beyondCore(() => {
    test('each kind of call fails alone', async () => {
      for (const each of calls) {
        for (const code of ['EIO', 'ENOSPC'] as const) {
          for (const when of ['1', '2', '3', '1+']) await survives({ calls: [each], code, when })
        }
      }
    }, 3_600_000)
    test('the calls of a checkpoint fail', async () => {
      for (const code of ['EIO', 'ENOSPC'] as const) {
        for (const when of ['1', '2', '3', '1+']) {
          await whileFailing(hub.pid, hub.dataDir, { calls, code, when }, fillLog)
          await survives({ calls: calls.filter(({ file }) => file.startsWith('patchbay')), code, when })
        }
      }
    }, 600_000)
  })
})

describe('while the hub starts', () => {
  const ofHistory = () => calls.filter(({ file }) => file.startsWith('history'))

  /** Starts with the fault: the hub runs, and everything that was stored is there once the fault is gone. */
  async function startsWith(fault: Fault): Promise<void> {
    const before = await stored(1)
    await hub.stop({ keep: true })
    await restart(faulty(hub.dataDir, fault))
    await change()
    await admin.request('GET', '/api/logs/search?limit=1')
    expect(putAside(readdirSync(join(hub.dataDir, 'history')))).toEqual([])
    if (!fault.when.endsWith('+')) await stored(before)
    await hub.stop({ keep: true })
    await restart()
    await stored(before)
    expect(putAside(readdirSync(join(hub.dataDir, 'history')))).toEqual([])
  }

  for (const code of ['EIO', 'ENOSPC'] as const) {
    for (const when of extent(code === 'EIO' ? ['1'] : ['1+'], ['1', '2', '3', '1+'])) {
      test(
        `calls of the history fail with ${code}, call ${when}: nothing is put aside`,
        () => startsWith({ calls: ofHistory(), code, when }),
        120_000,
      )
    }
  }

  /** The hub starts, or ends with a reason on standard error, and has all of its data at the next start. */
  async function startsOrSays(fault: Fault): Promise<void> {
    const names = async () => (await admin.ok('GET', '/api/groups')).items.map((group: { name: string }) => group.name)
    const before = await names()
    await hub.stop({ keep: true })
    const outcome = await startHub({ folder: hub.folder, env: ENV, wrap: faulty(hub.dataDir, fault) }).catch(
      (error: unknown) => error,
    )
    if (outcome instanceof HubDidNotStart) {
      expect(outcome.log).toMatch(/^error: (?:store_unavailable|data_dir_unwritable|data_dir_locked): /m)
    } else if (outcome instanceof Error) throw outcome
    else await (outcome as Hub).stop({ keep: true })
    await restart()
    expect(await names()).toEqual(before)
  }

  const ofStore = () => calls.filter(({ file }) => file.startsWith('patchbay'))
  test(
    'calls of the store fail: the start goes on, or ends with its reason',
    () => startsOrSays({ calls: ofStore(), code: 'EIO', when: '1' }),
    120_000,
  )
  beyondCore(() => {
    test('each kind of call fails alone', async () => {
      for (const each of calls) {
        for (const code of ['EIO', 'ENOSPC'] as const) {
          const store = each.file.startsWith('history') ? startsWith : startsOrSays
          for (const when of ['1', '2', '1+']) await store({ calls: [each], code, when })
        }
      }
    }, 3_600_000)
  })
})
