/** An id that occurs in many records has one term in a segment; a search finds the same records. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import type { LogCondition } from '../../../core/features/log-store.ts'
import type { Row } from '../../../plugins/log-database/files/segment.ts'
import { Segments } from '../../../plugins/log-database/files/segments.ts'
import { textTerms } from '../../../plugins/log-database/log-terms.ts'
import { termsFor } from '../../../plugins/log-database/record-terms.ts'
import { toRow } from '../../../plugins/log-database/row.ts'
import { search } from '../../../plugins/log-database/search.ts'

const START = Date.parse('2026-11-22T09:00:00.000Z')
const KEY = '0198f0aa-1111-7222-8333-44445555abcd'

let folder: string
let open: Segments[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-ids-'))
})
afterEach(async () => {
  for (const each of open) each.close()
  open = []
  await rm(folder, { recursive: true })
})

function segments(indexes: readonly string[] = []): Segments {
  for (const each of open) each.close()
  const made = new Segments({ folder, retentionMs: 1e12, maxBytes: 1e9, table: 'log_record', indexes }, () => {})
  open = [made]
  return made
}
const row = (message: string, more: object = {}): Row =>
  toRow(JSON.stringify({ level: 'INFO', timestamp: new Date(START).toISOString(), ...more, message }), '') as Row
function found(made: Segments, where: LogCondition, limit = 1_000): string[] {
  const page = search(made.all, { readers: 'all', where, order: 'asc', limit }, 60_000)
  return page.items.map(item => JSON.parse(item).message)
}
function byHand<T>(name: string, sql: string): T[] {
  const db = new Database(join(folder, name), { readonly: true })
  try {
    return db.prepare(sql).all() as T[]
  } finally {
    db.close()
  }
}
function ids(): string[] {
  const name = readdirSync(folder).find(each => each.endsWith('.db')) as string
  return byHand<{ folded: string }>(name, 'select folded from log_record_ids').map(({ folded }) => folded)
}

test('an id has a term of its own, and all records with it are found, after a restart too', () => {
  const made = segments()
  made.append([0, 1, 2, 3].map(n => row(`m${n}`, { keyId: KEY, tool: 'Über' })))
  expect(ids()).toEqual([KEY])
  const again = segments()
  again.append([row('m4', { keyId: KEY }), row('m5', { keyId: 'another' })])
  expect(ids()).toEqual([KEY, 'another'])
  for (const text of [KEY, '44445555ABC', '2-83', 'aa-']) {
    expect([text, found(again, { text })]).toEqual([text, ['m0', 'm1', 'm2', 'm3', 'm4']])
  }
  expect(found(again, { field: 'keyId', op: 'eq', values: [KEY] })).toHaveLength(5)
  expect(found(again, { text: 'BER' })).toEqual(['m0', 'm1', 'm2', 'm3'])
  expect(found(again, { and: [{ text: KEY }, { not: { text: 'ber' } }] })).toEqual(['m4'])
})

test('a record that was not stored leaves no id behind', () => {
  const made = segments()
  const broken = { ...row('m2', { keyId: KEY }), record: null } as unknown as Row
  expect(() => made.append([row('m1', { keyId: KEY }), broken])).toThrow()
  expect(ids()).toEqual([])
  made.append([row('m1', { keyId: KEY }), row('m2', { keyId: KEY })])
  expect(ids()).toEqual([KEY])
  expect(found(made, { text: KEY })).toEqual(['m1', 'm2'])
})

test('texts that people choose have none: however many one sends, the searches of others go by the index', () => {
  const made = segments()
  const junk = Array.from({ length: 3_000 }, (_, n) =>
    row(`timeout ${n}`, { tool: `timeout-${n}`, group: `timeout-${n}` }),
  )
  for (const _ of [1, 2]) made.append(junk)
  expect(ids()).toEqual([])
  const [segment] = made.all
  const terms = termsFor({ and: [{ text: 'timeout' }, { text: 'needle' }] })
  expect([...(segment?.find(terms, 'desc', 0, Number.MAX_SAFE_INTEGER) ?? [])]).toEqual([])
})

test('a search finds what each record says, whichever ids came how often', () => {
  const word = fc.constantFrom('alpha', 'Alphabet', 'beta-1', 'beta-12', '连接超时', 'of it', 'x')
  const records = fc.array(fc.record({ message: word, userId: word, note: word }), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(records, fc.array(word, { minLength: 1, maxLength: 3 }), (all, wanted) => {
      const made = segments()
      const mark = crypto.randomUUID()
      made.append(all.map(({ message, ...more }, n) => row(message, { ...more, path: `${mark}/${n}` })))
      const where = { and: [{ text: mark }, ...wanted.map(text => ({ text }))] }
      const paths = search(made.all, { readers: 'all', where, order: 'asc', limit: 100 }, 60_000).items.map(
        item => JSON.parse(item).path,
      )
      const expected = all.flatMap((record, n) => {
        const said = Object.values(record).map(text => text.toLowerCase())
        return wanted.every(text => said.some(each => each.includes(text.toLowerCase()))) ? [`${mark}/${n}`] : []
      })
      expect(paths).toEqual(expected)
    }),
    { numRuns: 60 },
  )
})

test('a text that is in hundreds of ids, and in more than have terms, is found in each record', () => {
  const made = segments()
  const all = Array.from({ length: 2_500 }, (_, n) => `server-${n}`)
  for (const _ of [1, 2]) made.append(all.map(serverId => row('up', { serverId })))
  expect(ids()).toHaveLength(2_048)
  expect(found(made, { text: 'server-' }, 6_000)).toHaveLength(5_000)
  for (const text of ['server-1001', 'server-2499']) {
    expect(found(made, { and: [{ text: 'server-' }, { text }] })).toHaveLength(2)
  }
})

test('a file of an earlier hub is searched and added to; queries by hand work on both', () => {
  const old = new Database(join(folder, 'log-2026-11-22.db'))
  old.exec(`create table log_record(id integer primary key, at integer not null, level integer not null,
      readers text not null, record text not null, server text generated always as (json_extract(record, '$.server')) virtual);
    create virtual table log_record_terms using fts5(terms, content='', detail=none, tokenize='ascii')`)
  const { at, level, readers, record, terms, ids: said } = row('early', { server: 'time', keyId: KEY })
  old
    .prepare('insert into log_record(id, at, level, readers, record) values (1, ?, ?, ?, ?)')
    .run([at, level, readers, record])
  old
    .prepare('insert into log_record_terms(rowid, terms) values (1, ?)')
    .run([[terms, ...said.map(textTerms)].join(' ')])
  old.close()
  const made = segments(['server'])
  made.append([1, 2, 3].map(n => row(`late ${n}`, { server: 'time', keyId: KEY })))
  expect(found(made, { text: KEY })).toEqual(['early', 'late 1', 'late 2', 'late 3'])
  const later = { ...row('next day', { server: 'mail', duration: 7 }), at: START + 86_400_000 }
  made.append([later])
  const count = 'select server, count(*) n from log_record group by server'
  expect(byHand('log-2026-11-22.db', count)).toEqual([{ server: 'time', n: 4 }])
  expect(byHand('log-2026-11-23.db', count)).toEqual([{ server: 'mail', n: 1 }])
  const plan = byHand<{ detail: string }>(
    'log-2026-11-23.db',
    "explain query plan select * from log_record where server = 'mail'",
  )
  expect(plan.map(({ detail }) => detail).join()).toContain('log_record_server')
})
