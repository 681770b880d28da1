import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { historyFault } from '../../../plugins/log-database/fault.ts'
import { openOrPutAside } from '../../../plugins/log-database/files/put-aside.ts'
import { RollupFile } from '../../../plugins/log-database/files/rollup-file.ts'
import type { Row, Segment } from '../../../plugins/log-database/files/segment.ts'
import { Segments } from '../../../plugins/log-database/files/segments.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

let folder = ''
const notes: string[] = []

beforeEach(async () => {
  folder = await makeTemp('put-aside')
  notes.length = 0
})

afterEach(() => removeTemp(folder))

const segments = () =>
  new Segments({ folder, retentionMs: 1e12, maxBytes: 1e12, table: 'log_record', indexes: [] }, text =>
    notes.push(text),
  )

const rows = (text: string): Row[] => [
  { at: Date.UTC(2026, 10, 21), level: 20, readers: '', record: JSON.stringify({ text }), terms: 'abc', ids: [] },
]

function texts(all: readonly Segment[]): string[] {
  return all.flatMap(segment =>
    [...segment.find(undefined, 'asc', 0, 1e9)].map(({ record }) => JSON.parse(record).text),
  )
}

const failing = (code: string) => () => {
  throw Object.assign(new Error(code), { code })
}

// Every result code of SQLite, and the system's errors of files.
const DAMAGE = [
  'SQLITE_CORRUPT',
  'SQLITE_CORRUPT_VTAB',
  'SQLITE_CORRUPT_INDEX',
  'SQLITE_CORRUPT_SEQUENCE',
  'SQLITE_NOTADB',
]
const OTHERS =
  `SQLITE_ERROR SQLITE_INTERNAL SQLITE_PERM SQLITE_ABORT SQLITE_BUSY SQLITE_BUSY_RECOVERY SQLITE_LOCKED SQLITE_NOMEM
  SQLITE_READONLY SQLITE_READONLY_CANTINIT SQLITE_INTERRUPT SQLITE_IOERR SQLITE_IOERR_READ SQLITE_IOERR_SHORT_READ SQLITE_IOERR_CORRUPTFS
  SQLITE_FULL SQLITE_CANTOPEN SQLITE_CANTOPEN_ISDIR SQLITE_PROTOCOL SQLITE_SCHEMA SQLITE_NOLFS SQLITE_AUTH EACCES EPERM EROFS EIO
  ENOSPC EDQUOT EMFILE ENFILE ENOENT`.split(/\s+/)

test.each(DAMAGE)('openOrPutAside() puts a file aside for %s, with its log', code => {
  const path = join(folder, 'x.db')
  for (const end of ['', '-wal', '-shm']) writeFileSync(path + end, end)
  expect(openOrPutAside(path, failing(code), text => notes.push(text))).toBeUndefined()
  expect(
    readdirSync(folder)
      .map(name => name.replace(/\d+/, ''))
      .sort(),
  ).toEqual(['x.db.damaged-', 'x.db.damaged--shm', 'x.db.damaged--wal'])
  expect(notes).toHaveLength(1)
})

test.each(OTHERS)('openOrPutAside() throws %s and leaves the file', code => {
  const path = join(folder, 'x.db')
  writeFileSync(path, 'kept')
  expect(() => openOrPutAside(path, failing(code), text => notes.push(text))).toThrow(code)
  expect([readdirSync(folder), notes]).toEqual([['x.db'], []])
})

test('a segment that another program has locked stays, nothing is stored or found meanwhile, and all is there afterwards', () => {
  const first = segments()
  first.append(rows('old'))
  const path = first.all[0]?.path ?? ''
  first.close()
  const other = new Database(path)
  other.pragma('locking_mode = EXCLUSIVE')
  other.exec('begin immediate; create table other(x)')
  const later = segments()
  expect(() => later.append(rows('new'))).toThrow(/locked/)
  expect(() => later.all).toThrow(/locked/)
  other.exec('rollback')
  other.close()
  later.append(rows('new'))
  expect(texts(later.all)).toEqual(['old', 'new'])
  expect(notes).toEqual([])
  later.close()
})

test('a segment that cannot be opened stays, and its ids are not given to others', () => {
  const first = segments()
  first.append(rows('old'))
  const path = first.all[0]?.path ?? ''
  first.close()
  // Even root cannot open a folder as a file.
  renameSync(path, `${path}-away`)
  mkdirSync(path)
  const later = segments()
  expect(() => later.append(rows('new'))).toThrow()
  rmdirSync(path)
  renameSync(`${path}-away`, path)
  later.append(rows('new'))
  expect(later.all.map(({ firstId, lastId }) => [firstId, lastId])).toEqual([[1, 2]])
  later.close()
})

test('a segment that cannot be made leaves no file', () => {
  const made = segments()
  chmodSync(folder, 0o700)
  const { prototype } = Database
  const real = prototype.exec
  prototype.exec = function (text: string) {
    if (text.includes('create virtual table')) failing('SQLITE_FULL')()
    return real.call(this, text)
  }
  try {
    expect(() => made.append(rows('x'))).toThrow('SQLITE_FULL')
  } finally {
    prototype.exec = real
  }
  expect(readdirSync(folder)).toEqual([])
  made.append(rows('y'))
  expect(texts(made.all)).toEqual(['y'])
  made.close()
})

test('counts of a file that cannot be opened are an error, not zero', () => {
  const path = join(folder, 'tally.db')
  mkdirSync(path)
  const options = {
    path,
    levels: [],
    schema: 'create table if not exists t(at)',
    mostBytes: 1e9,
    note: () => undefined,
  }
  const file = new RollupFile(options)
  expect(() => file.db).toThrow()
  rmdirSync(path)
  expect(file.db).toBeDefined()
  file.close()
  expect(existsSync(path)).toBe(true)
})

test.each([
  ['SQLITE_FULL', 'storage_full'],
  ['ENOSPC', 'storage_full'],
  ['53100', 'storage_full'],
  ['SQLITE_BUSY', 'storage_busy'],
  ['SQLITE_IOERR_FSYNC', 'storage_unavailable'],
  ['SQLITE_CANTOPEN', 'storage_unavailable'],
  ['EMFILE', 'storage_unavailable'],
] as const)('historyFault() of %s is %s, in a sentence without a path', (code, expected) => {
  const fault = historyFault(Object.assign(new Error('/data/history/tally.db'), { code }))
  expect(fault.code).toBe(expected)
  expect(fault.message).not.toContain('/')
})
