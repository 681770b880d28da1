import { expect, test } from 'bun:test'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openStore } from '../../../core/store/open.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const VALUE = 'v'.repeat(60_000)

test('a long log is checkpointed by a worker, starts again, and is removed when the store is closed', async () => {
  const dataDir = await makeTemp('checkpoint')
  const store = await openStore({ dataDir })
  const put = (key: string) =>
    store.db
      .insertInto('setting')
      .values({ scope: 'test', key, value: VALUE, secret: 0, updated_at: '' })
      .onConflict(conflict => conflict.columns(['scope', 'key']).doUpdateSet({ updated_at: key }))
      .execute()
  const log = async () => {
    const { rows } = await sql<{ log: number; checkpointed: number }>`pragma wal_checkpoint(noop)`.execute(store.db)
    return rows[0] ?? { log: 0, checkpointed: 0 }
  }
  try {
    for (let count = 0; (await log()).log < 1_000; count += 1) await put(`k${count}`)
    await until(async () => (await log()).checkpointed >= 1_000, { what: 'the worker to checkpoint the log' })
    // Complete, so the next change is written at the start of the log.
    await put('last')
    expect((await log()).log).toBeLessThan(100)
    await store.close()
    expect(await readdir(dataDir)).toEqual(['patchbay.db'])
    expect((await stat(join(dataDir, 'patchbay.db'))).size).toBeGreaterThan(3_000_000)
    const again = await openStore({ dataDir })
    const { value } = await again.db
      .selectFrom('setting')
      .select('value')
      .where('key', '=', 'last')
      .executeTakeFirstOrThrow()
    expect(value).toBe(VALUE)
    await again.close()
  } finally {
    await store.close()
    await removeTemp(dataDir)
  }
})
