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
/** The state before anything failed. */
let groups: readonly string[] = []
let records = 0

beforeAll(async () => {
  folder = await makeTemp('each-call')
  const output = join(folder, 'calls.txt')
  hub = await startHub({ env: ENV, wrap: traced(output) })
  admin = await hub.setup()
  await fillLog()
  await change()
  groups = await groupNames()
  records = await stored(1)
  await hub.stop({ keep: true })
  calls = callsIn(output, hub.dataDir)
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
  const body = { command: 'true', enabled: false }
  await admin.request('POST', '/api/servers', { name: 'filled', ...body })
  for (let sent = 0; sent < CHECKPOINT_BYTES; sent += 100_000)
    await admin.request('PATCH', '/api/servers/filled', { args: [String(sent).repeat(100_000 / String(sent).length)] })
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

const groupNames = async (): Promise<readonly string[]> =>
  (await admin.ok('GET', '/api/groups')).items.map((group: { name: string }) => group.name)

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
  made.push(
    await until(
      async () => {
        const { status, json } = await change()
        return status === 201 ? (json.name as string) : undefined
      },
      { what: 'changes to be taken again', timeoutMs: 15_000 },
    ),
  )
  // Removed again: a user may own 100.
  for (const name of made) expect((await admin.request('DELETE', `/api/groups/${name}`)).status).toBe(204)
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

/**
 * Tries each of these kinds of calls with each code and time, to the end of the list, and reports what fails at once; `afterwards`
 * runs after one that the hub did not survive, `afterCall` after all codes and times of one kind.
 */
async function eachAlone(
  kinds: readonly (typeof calls)[number][],
  times: readonly string[],
  work: (fault: Fault) => Promise<void>,
  { afterwards = async () => {}, afterCall = async () => {} } = {},
): Promise<void> {
  const lost: string[] = []
  const tried = async (name: string, attempt: () => Promise<void>): Promise<void> => {
    try {
      await attempt()
    } catch (error) {
      const reason = `${name}: ${error instanceof Error ? error.message : error}`
      console.error(reason)
      lost.push(reason)
      await afterwards()
    }
  }
  for (const each of kinds) {
    const name = `${each.call} ${each.file}`
    for (const code of ['EIO', 'ENOSPC'] as const)
      for (const when of times) await tried(`${name} ${code} ${when}`, () => work({ calls: [each], code, when }))
    await tried(`after ${name}`, afterCall)
  }
  expect(lost).toEqual([])
}

describe('while the hub starts', () => {
  const below = (start: string) => calls.filter(({ file }) => file.startsWith(start))

  /**
   * Starts with the fault: the hub runs and puts nothing aside, or, where the store fails, it may also end with a reason on standard
   * error.
   */
  async function startsOrSays(fault: Fault): Promise<void> {
    const ofHistory = fault.calls.every(({ file }) => file.startsWith('history'))
    try {
      await restart(faulty(hub.dataDir, fault))
    } catch (error) {
      if (ofHistory || !(error instanceof HubDidNotStart)) throw error
      expect(error.log).toMatch(/^error: (?:store_unavailable|data_dir_unwritable|data_dir_locked): /m)
      return
    }
    await admin.request('PATCH', '/api/settings', { theme: 'dark' })
    await admin.request('GET', '/api/logs/search?limit=1')
    expect(putAside(readdirSync(join(hub.dataDir, 'history')))).toEqual([])
    if (ofHistory && !fault.when.endsWith('+')) await stored(records)
    await hub.stop({ keep: true })
  }

  /** Starts without a fault. */
  async function hasEverything(): Promise<void> {
    await restart()
    await stored(records)
    expect(await groupNames()).toEqual(groups)
    expect(putAside(readdirSync(join(hub.dataDir, 'history')))).toEqual([])
  }

  test.each(
    extent(
      [
        ['history', 'EIO', '1'],
        ['patchbay', 'EIO', '1'],
        ['history', 'ENOSPC', '1+'],
      ] as const,
      ['history', 'patchbay'].flatMap(start =>
        (['EIO', 'ENOSPC'] as const).flatMap(code => ['1', '2', '3', '1+'].map(when => [start, code, when] as const)),
      ),
    ),
  )(
    'calls on %s fail with %s, call %s: nothing is put aside, and an end has its reason',
    (start, code, when) => startsOrSays({ calls: below(start), code, when }),
    120_000,
  )
  test.each(['1', '2', '3'])('the data folder itself cannot be opened, call %s', async when => {
    const folderItself = calls.filter(({ file, call }) => file === '' && call === 'openat')
    expect(folderItself).toHaveLength(1)
    await startsOrSays({ calls: folderItself, code: 'EIO', when })
  })
  beyondCore(() => {
    test.each([
      ['the history', true],
      ['the store', false],
    ])(
      'each kind of call of %s fails alone',
      async (_, ofHistory) => {
        const kinds = calls.filter(({ file }) => file.startsWith('history') === ofHistory)
        const afterCall = async (): Promise<void> => {
          await hasEverything()
          await hub.stop({ keep: true })
        }
        await eachAlone(kinds, ['1', '2', '1+'], startsOrSays, { afterCall })
      },
      7_200_000,
    )
  })
  test('everything that was stored is there once the calls succeed', hasEverything, 120_000)
})

describe('while the hub runs', () => {
  const every = (['EIO', 'ENOSPC'] as const).flatMap(code =>
    ['1', '2', '3', '5', '1+', '2+', '4+'].map(when => [code, when] as const),
  )
  test.each(
    extent(
      [
        ['EIO', '1'],
        ['ENOSPC', '2+'],
      ],
      every,
    ),
  )(
    "all kinds of calls fail with %s at once, each thread's call %s",
    async (code, when) => survives({ calls, code, when }),
    120_000,
  )
  beyondCore(() => {
    test('each kind of call fails alone', async () => {
      const afterwards = async (): Promise<void> => {
        await hub.stop({ keep: true }).catch(() => undefined)
        await restart()
      }
      await eachAlone(calls, ['1', '2', '3', '1+'], survives, { afterwards })
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
