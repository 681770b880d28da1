import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { UserActor } from '../../../core/contract/records.ts'
import type { LogCondition, RecordQuery } from '../../../core/features/log-store.ts'
import type { History } from '../../../plugins/log-database/client.ts'
import type { Row } from '../../../plugins/log-database/files/segment.ts'
import { Segments } from '../../../plugins/log-database/files/segments.ts'
import { toRow } from '../../../plugins/log-database/row.ts'
import { search } from '../../../plugins/log-database/search.ts'
import { openHistory } from '../../support/log-database.ts'
import { atMost } from '../../support/pace.ts'
import { batchOf } from '../../support/record-batch.ts'
import { timed } from '../../support/wait.ts'

const log = { debug() {}, info() {}, warn: (text: string) => void warned.push(text), error() {} }
const warned: string[] = []
const ALL: LogCondition = { and: [] }
const DAY = 86_400_000
const START = Date.parse('2026-11-22T09:00:00.000Z')

let folder: string
const open: { close(): unknown }[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-history-'))
  warned.length = 0
})
afterEach(async () => {
  await Promise.all(open.splice(0).map(each => each.close()))
  await rm(folder, { recursive: true })
})

const options = (change = {}) => ({
  folder,
  retentionMs: 30 * DAY,
  maxBytes: 1e9,
  table: 'log_record',
  indexes: [],
  ...change,
})
const line = (message: string, at = START, more = {}) =>
  `${JSON.stringify({ level: 'INFO', timestamp: new Date(at).toISOString(), ...more, message })}\n`
const row = (message: string, at = START, readers = '') => toRow(line(message, at), readers) as Row
const person = (userId: string, role: 'user' | 'admin' = 'user'): UserActor => ({
  kind: 'user',
  userId,
  name: userId,
  role,
  credential: { kind: 'local' },
})
const query = (change: Partial<RecordQuery> = {}): RecordQuery => ({ where: ALL, order: 'desc', limit: 100, ...change })
const messages = (items: readonly string[]) => items.map(item => JSON.parse(item).message)

function history(): History {
  const made = openHistory(options(), log)
  open.push(made)
  return made
}
function segments(change = {}): Segments {
  const made = new Segments(options(change), text => void warned.push(text))
  open.push(made)
  return made
}

test('each finds what it may read, the newest first; an administrator finds all, or only its own', async () => {
  const made = history()
  const lines = ['one', 'two', 'three', 'four'].map(message => line(message))
  expect(await made.write(batchOf(lines, ['u1', 'u2,u1', '', 'u12']))).toEqual({ rejected: 0 })
  const find = async (actor: UserActor, mine = false) =>
    messages((await made.for(actor).search(query(mine ? { mine } : {}))).items)
  expect(await find(person('u1'))).toEqual(['two', 'one'])
  expect(await find(person('u2'))).toEqual(['two'])
  expect(await find(person('u'))).toEqual([])
  expect(await find(person('u1', 'admin'))).toEqual(['four', 'three', 'two', 'one'])
  expect(await find(person('u1', 'admin'), true)).toEqual(['two', 'one'])
})

test('lines that are no records are rejected and counted; files are for their owner alone', async () => {
  const made = history()
  expect(await made.write(batchOf(['no json\n', line('good'), '{}\n']))).toEqual({
    rejected: 2,
  })
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  for (const name of await readdir(folder)) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
})

test('a record whose fields have other types than usual is stored as well', () => {
  const odd = toRow(line('odd', START, { tool: 5, status: 404, requestId: null, component: {} }), '')
  expect(odd?.level).toBe(30)
})

test('pages continue where the last one ended, also while records arrive, in both orders', async () => {
  const made = history()
  const write = (from: number, to: number) => {
    const lines = Array.from({ length: to - from }, (_, index) => line(`m${from + index}`))
    return made.write(batchOf(lines))
  }
  await write(0, 25)
  const admin = made.for(person('a', 'admin'))
  for (const order of ['desc', 'asc'] as const) {
    const seen: string[] = []
    let after: number | undefined
    do {
      const page = await admin.search(query({ order, limit: 10, ...(after === undefined ? {} : { after }) }))
      seen.push(...messages(page.items))
      after = page.next
      if (order === 'desc') await write(100, 101)
    } while (after !== undefined)
    const wanted = Array.from({ length: 25 }, (_, index) => `m${index}`)
    expect(seen.filter(message => message !== 'm100')).toEqual(order === 'desc' ? wanted.reverse() : wanted)
  }
})

test('a thread that is lost is started again, and stored records are there', async () => {
  const made = history()
  await made.write(batchOf([line('before')]))
  const lost = made.for(person('a', 'admin')).search(query())
  // The request is sent after some microtasks, and its answer comes with a later event.
  for (let turn = 0; turn < 20; turn += 1) await null
  made.end()
  await expect(lost).rejects.toMatchObject({ code: 'history_unavailable' })
  await made.write(batchOf([line('after')]))
  expect(messages((await made.for(person('a', 'admin')).search(query())).items)).toEqual(['after', 'before'])
})

test('one user has two searches at a time', async () => {
  const made = history()
  const asked = [1, 2, 3].map(() => made.for(person('u1')).search(query()))
  const outcomes = await Promise.allSettled(asked)
  expect(outcomes.map(each => each.status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
  expect(outcomes[2]).toMatchObject({ reason: { code: 'rate_limited' } })
})

test('each UTC day has its file, whichever way the clock goes; ids and order are those of arrival', () => {
  const made = segments()
  const times = [START, START + DAY, START, START + DAY + 1]
  made.append(times.map((at, index) => row(`r${index}`, at)))
  expect(made.all.map(each => each.path.slice(folder.length + 1))).toEqual([
    'log-2026-11-22.db',
    'log-2026-11-23.db',
    'log-2026-11-22.1.db',
    'log-2026-11-23.1.db',
  ])
  made.close()
  open.length = 0
  const again = segments()
  again.append([row('r4', START + DAY)])
  const found = search(again.all, { readers: 'all', ...query() })
  expect(messages(found.items)).toEqual(['r4', 'r3', 'r2', 'r1', 'r0'])
  const from: LogCondition = { field: 'timestamp', op: 'gte', values: [START + DAY] }
  expect(messages(search(again.all, { readers: 'all', ...query({ where: from }) }).items)).toEqual(['r4', 'r3', 'r1'])
})

test('old files go by age and by size, the newest never', () => {
  const made = segments({ retentionMs: 3 * DAY })
  made.append([0, 1, 2, 3, 4].map(day => row(`r${day}`, START + day * DAY)))
  made.retain(START + 5 * DAY)
  const left = () => messages(search(made.all, { readers: 'all', ...query() }).items)
  expect(left()).toEqual(['r4', 'r3', 'r2'])
  made.retain(START + 90 * DAY)
  expect(left()).toEqual(['r4'])
  const small = segments({ maxBytes: 1 })
  small.append([row('r5', START + 5 * DAY)])
  small.retain(START)
  expect(small.all.length).toBe(1)
})

test('a damaged file is put aside and told; the others are read', async () => {
  segments().append([row('good')])
  open.splice(0).forEach(each => void each.close())
  await writeFile(join(folder, 'log-2026-11-21.db'), 'this is no database at all'.repeat(200))
  expect(messages(search(segments().all, { readers: 'all', ...query() }).items)).toEqual(['good'])
  expect(warned.join()).toContain('log-2026-11-21.db.damaged-')
  expect((await readdir(folder)).some(name => name.includes('.damaged-'))).toBe(true)
})

test('without time the answer is partial, says so, and the next page continues from there', () => {
  const made = segments()
  made.append(Array.from({ length: 400 }, (_, index) => row(`r${index}`)))
  const first = search(made.all, { readers: 'all', ...query({ limit: 1_000 }) }, 0)
  expect(first).toMatchObject({ totalIsExact: false })
  expect(first.items.length).toBe(64)
  const rest = search(made.all, { readers: 'all', ...query({ limit: 1_000, after: first.next as number }) })
  expect(rest.items.length).toBe(336)
})

test('the newest of 20,000 records with a word are found without reading all of them', () => {
  const made = segments()
  for (let part = 0; part < 20; part += 1) {
    made.append(
      Array.from({ length: 1_000 }, (_, index) => row(`call ${part * 1_000 + index} of 连接超时`, START, 'u1')),
    )
  }
  const where: LogCondition = { text: 'call 12345' }
  const found = search(made.all, { readers: ['u1'], ...query({ where }) })
  expect([messages(found.items), found.total, found.totalIsExact]).toEqual([['call 12345 of 连接超时'], 1, true])
  const many = search(made.all, { readers: ['u1'], ...query({ where: { text: '超时' } }) }, 5_000)
  expect([many.items.length, many.total, many.totalIsExact]).toEqual([100, 10_000, false])
})

test('a folder that is missing when the first record comes is not made again; once it is back, records are stored', async () => {
  const history = openHistory(options(), log)
  open.push(history)
  await rename(folder, `${folder}-away`)
  const batch = batchOf([line('kept')])
  await expect(history.write(batch)).rejects.toThrow('ENOENT')
  expect(existsSync(folder)).toBe(false)
  await rename(`${folder}-away`, folder)
  expect(await history.write(batch)).toEqual({ rejected: 0 })
})

test('after a batch the thread rests for a multiple of its duration, until somebody waits for stored records', async () => {
  const made = history()
  const batch = batchOf(Array.from({ length: 50 }, (_, n) => line(`record ${n}`)))
  await made.write(batch)
  const took = async (rest: number) => (await timed(() => made.write(batch, rest))).ms
  // Fifty records take some tenths of a millisecond.
  expect(await took(3_000)).toBeGreaterThan(100)
  const resting = took(1_000_000)
  made.hurry()
  expect(await resting).toBeLessThan(atMost(1_500))
})

test('a thread that does not answer is ended, and another begins', async () => {
  const made = openHistory(options(), log, 1)
  open.push(made)
  const batch = batchOf([line('kept')])
  await expect(made.write(batch, 1_000_000)).rejects.toThrow('it did not answer within 1000 ms')
  expect(await made.write(batch)).toEqual({ rejected: 0 })
})

test('a thread that stood still with the whole process is not ended for it', async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'fixtures/slow-write.ts'), folder], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const said = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  expect((await said.read()).value).toBe('writing\n')
  child.kill('SIGSTOP')
  await Bun.sleep(4_500)
  child.kill('SIGCONT')
  expect((await said.read()).value).toBe('{"rejected":0}\n')
  expect(await child.exited).toBe(0)
}, 30_000)

test('new files merge sixteen parts of the index at once', async () => {
  await history().write(batchOf([line('kept')]))
  const [file = ''] = (await readdir(folder)).filter(name => /^log-.*\.db$/.test(name))
  const db = new Database(join(folder, file), { readonly: true })
  expect(db.prepare("select v from log_record_terms_config where k = 'automerge'").all()).toEqual([{ v: 16 }])
  db.close()
})

/** Empty for a thread that has ended meanwhile. */
function statOfThread(id: string): string {
  try {
    return readFileSync(`/proc/self/task/${id}/stat`, 'latin1')
  } catch {
    return ''
  }
}

test('the thread gives way to those of calls, and main does not', async () => {
  const before = getPriority()
  expect(await history().write(batchOf([line('kept')]))).toEqual({ rejected: 0 })
  const threads = (await readdir('/proc/self/task')).map(id => {
    const text = statOfThread(id)
    const end = text.lastIndexOf(')')
    // The 17th field behind the name is the niceness.
    return { name: text.slice(text.indexOf('(') + 1, end), niceness: Number(text.slice(end + 2).split(' ')[16]) }
  })
  const own = threads.filter(({ name }) => name.startsWith('patchbay-log-da'))
  expect(own.map(({ niceness }) => niceness)).toEqual([Math.max(5, before)])
  expect(getPriority()).toBe(before)
})
