/** Queries by hand on the view of a history file use the indexes that are configured. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { INDEXED_FIELDS } from '../../../core/domain/log/indexed-fields.ts'
import { type Row, Segment } from '../../../plugins/log-database/files/segment.ts'
import { toRow } from '../../../plugins/log-database/row.ts'

let folder: string
let db: Database
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-view-'))
  const path = join(folder, 'log.db')
  const segment = new Segment(path, { table: 'log_record', indexes: INDEXED_FIELDS })
  const rows = ['INFO', 'WARN', 'ERROR', 'INFO'].map((level, at) => {
    const record = { level, timestamp: new Date(1_700_000_000_000 + at).toISOString(), server: 's', message: `m${at}` }
    return toRow(JSON.stringify(record), '') as Row
  })
  segment.append(rows, 1)
  segment.close()
  db = new Database(path, { readonly: true })
})
afterAll(async () => {
  db.close()
  await rm(folder, { recursive: true })
})

const planOf = (condition: string): string => {
  const plan = db.prepare(`explain query plan select message from log_record where ${condition}`).all()
  return (plan as { detail: string }[]).map(({ detail }) => detail).join()
}

test.each([...INDEXED_FIELDS])('a condition on %s searches its index', field => {
  const column = field === 'timestamp' ? 'at' : field
  const value = field === 'timestamp' || field === 'level' ? '40' : `'s'`
  for (const operator of ['=', '>='])
    expect(planOf(`${column} ${operator} ${value}`)).toMatch(
      new RegExp(`SEARCH .* USING INDEX log_record_${field.toLowerCase()} `),
    )
})

test('a condition on level finds the records of that level', () => {
  const of = (condition: string) => db.prepare(`select message from log_record where ${condition}`).all()
  expect(of('level >= 40 order by at')).toEqual([{ message: 'm1' }, { message: 'm2' }])
  expect(of('level = 50')).toEqual([{ message: 'm2' }])
})
