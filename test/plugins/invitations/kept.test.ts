/** Time for which invitations and their acceptances are kept. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { PluginContext, PluginTables } from 'patchbay/contract'
import { migrateOwn } from '../../../core/plugin-host/tables/migrations.ts'
import { ownTables } from '../../../core/plugin-host/tables/own-tables.ts'
import { Invitations } from '../../../plugins/invitations/invitations.ts'
import { first, type InvitationTables } from '../../../plugins/invitations/tables.ts'
import { openWorld, type World } from '../../unit/registry/world.ts'

let world: World
let tables: PluginTables<InvitationTables>

beforeAll(async () => {
  world = await openWorld()
  await migrateOwn('invitations', { '0001-invitations': first }, world.store)
  tables = ownTables<InvitationTables>('invitations', world.store)
})
afterAll(() => world.end())

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()

test('an invitation stays until 30 days after its end, however old it is, and its acceptances as long', async () => {
  const rows = [
    { id: 'valid', created_at: daysAgo(80), expires_at: daysAgo(-10) },
    { id: 'ended', created_at: daysAgo(36), expires_at: daysAgo(29) },
    { id: 'over', created_at: daysAgo(38), expires_at: daysAgo(31) },
  ]
  await tables.write(async db => {
    for (const row of rows) {
      const rest = { user_id: world.bob.userId, hash: row.id, things: '[]', role: 'use', uses: 2, used: 1 } as const
      await db
        .insertInto('invitation')
        .values({ ...row, ...rest })
        .execute()
      const taken = { invitation_id: row.id, user_id: world.cleo.userId, done: 1, created_at: row.created_at }
      await db.insertInto('acceptance').values(taken).execute()
    }
  })
  const context = { tables: () => tables } as unknown as PluginContext<unknown>
  await new Invitations(context).sweep()
  const left = await tables.read(async db => [
    (await db.selectFrom('invitation').select('id').orderBy('id').execute()).map(({ id }) => id),
    (await db.selectFrom('acceptance').selectAll().orderBy('invitation_id').execute()).map(row => row.invitation_id),
  ])
  expect(left).toEqual([
    ['ended', 'valid'],
    ['ended', 'valid'],
  ])
})
