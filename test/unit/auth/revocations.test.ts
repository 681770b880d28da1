import { expect, test } from 'bun:test'
import { createRevocations } from '../../../core/auth/revocations.ts'
import { openStore } from '../../../core/store/open.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

test('sign-outs that no token needs any more go when the hub starts, and the others stay', async () => {
  const dataDir = await makeTemp('revocations')
  const store = await openStore({ dataDir })
  const row = (token_id: string, ms: number) => ({ token_id, expires_at: new Date(Date.now() + ms).toISOString() })
  await store.db
    .insertInto('revoked_token')
    .values([row('old', -1_000), row('young', 60_000)])
    .execute()
  const revocations = createRevocations(store.db, { emit() {} })
  const kept = async () => (await store.db.selectFrom('revoked_token').selectAll().execute()).map(each => each.token_id)
  await until(async () => (await kept()).length === 1, { what: 'the old one to go' })
  expect([await kept(), await revocations.isRevoked('young')]).toEqual([['young'], true])
  revocations.dispose()
  await store.close()
  await removeTemp(dataDir)
})
