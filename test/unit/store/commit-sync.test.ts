import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readdirSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { CommitSync } from '../../../core/store/commit-sync.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-sync-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Descriptors of this process that are open at the write-ahead log. */
function openLogs(path: string): number {
  return readdirSync('/proc/self/fd').filter(fd => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === `${path}-wal`
    } catch {
      return false
    }
  }).length
}

test('close() leaves no handle of the log open, whether a sync runs, waits or comes later', async () => {
  const path = join(folder, 'a.db')
  const database = new Database(path)
  database.pragma('journal_mode = wal')
  database.exec('create table t (a)')
  const own = openLogs(path)
  const sync = new CommitSync(database, path, { markUnwritable: () => undefined })
  await sync.confirm()
  expect(openLogs(path)).toBe(own + 1)
  const running = sync.confirm()
  const waiting = sync.confirm()
  const closed = sync.close()
  const late = sync.confirm()
  await Promise.all([running, waiting, closed, late])
  await sync.confirm()
  expect(openLogs(path)).toBe(own)
  database.close()
})
