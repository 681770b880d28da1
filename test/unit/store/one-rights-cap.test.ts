/** Servers that were stored as configured outside ADMIN_ADDRESSES keep fewer rights after the change of the tables. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { oneRightsCap } from '../../../core/store/migrations/0021-one-rights-cap.ts'
import { openStore } from '../../../core/store/open.ts'

test('a stored mark becomes the cap of the owner’s network grant, and never raises one', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'patchbay-cap-'))
  const store = await openStore({ dataDir })
  try {
    const at = '2030-01-01T00:00:00.000Z'
    const times = { revision: 1, created_at: at, updated_at: at }
    for (const [number, network] of [
      [11, 'none'],
      [12, 'proxy'],
    ] as const) {
      const user = { id: `u${number}`, number, name: `u${number}`, name_key: `u${number}`, role: 'admin' as const }
      const rest = {
        password_hash: null,
        token_epoch: 1,
        disabled: 0,
        must_change_password: 0,
        origin: 'store' as const,
      }
      await store.db
        .insertInto('user')
        .values({ ...user, ...rest, network_grant: network, ...times })
        .execute()
    }
    const marked = { timeoutMs: 5, confined: true }
    const inText = { description: '{"confined":true}', nested: { confined: true } }
    const rows = [
      ['none', 'u11', marked, null],
      ['proxy', 'u12', marked, null],
      ['lower', 'u12', marked, 'none'],
      ['lowered', 'u11', marked, 'proxy'],
      ['other', 'u11', inText, null],
    ] as const
    for (const [id, owner_id, config, rights_cap] of rows) {
      const name = { id, owner_id, name: id, name_key: id, transport: 'stdio', visibility: 'private' as const }
      const rest = { enabled: 1, origin: 'store' as const, problem: null, awaits_review: 0, ...times }
      await store.db
        .insertInto('server')
        .values({ ...name, ...rest, config: JSON.stringify(config), rights_cap })
        .execute()
    }
    await oneRightsCap.up(store.db as never)
    const found = await store.db.selectFrom('server').select(['id', 'rights_cap', 'config']).orderBy('id').execute()
    expect(found.map(({ id, rights_cap, config }) => [id, rights_cap, JSON.parse(config)])).toEqual([
      ['lower', 'none', { timeoutMs: 5 }],
      ['lowered', 'none', { timeoutMs: 5 }],
      ['none', 'none', { timeoutMs: 5 }],
      ['other', null, inText],
      ['proxy', 'proxy', { timeoutMs: 5 }],
    ])
  } finally {
    await store.close()
    await rm(dataDir, { recursive: true, force: true })
  }
})
