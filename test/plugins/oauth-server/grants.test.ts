/** Grants that a user has too many of, whose code nobody used, and that are over. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setSystemTime, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import type { PluginTables } from 'patchbay/contract'
import { migrateOwn } from '../../../core/plugin-host/tables/migrations.ts'
import { ownTables } from '../../../core/plugin-host/tables/own-tables.ts'
import { Grants } from '../../../plugins/oauth-server/grants.ts'
import { first, type OAuthTables } from '../../../plugins/oauth-server/tables.ts'
import { openWorld, type World } from '../../unit/registry/world.ts'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const START_MS = Date.UTC(2026, 10, 29)
const VERIFIER = 'v'.repeat(43)
const CLIENT = { id: 'c', name: 'Desk', kind: 'listed', host: undefined, redirectUris: [], method: 'none' } as const
const REDIRECT = 'https://desk.example/callback'
const BASE = 'https://hub.example'
const RESOURCE = `${BASE}/mcp`

let world: World
let tables: PluginTables<OAuthTables>
let ended: string[]
let epoch: number
let grants: Grants

beforeAll(async () => {
  world = await openWorld()
  await migrateOwn('oauth-server', { '0001-first': first }, world.store)
  tables = ownTables<OAuthTables>('oauth-server', world.store)
})
afterAll(() => world.end())
beforeEach(() => {
  ended = []
  epoch = 1
  setSystemTime(START_MS)
  grants = new Grants({
    ...{ tables, sealing: { keys: () => [{ kid: 'k', key: randomBytes(32) }] }, mostOfUser: 2 },
    epochOf: async () => epoch,
    isBlocked: async () => false,
    ended: ({ id }, why) => void ended.push(`${id} ${why}`),
  })
})
afterEach(async () => {
  setSystemTime()
  await tables.write(db => db.deleteFrom('grants').execute())
})

/** The code of a new grant of bob. */
async function agreed(request: string): Promise<string> {
  const challenge = createHash('sha256').update(VERIFIER).digest('base64url')
  const made = await grants.decide(request, {
    ...{ userId: world.bob.userId, epoch: 1, client: CLIENT, redirectUri: REDIRECT, redirectHost: 'desk.example' },
    ...{ base: BASE, resource: RESOURCE, target: { kind: 'all' }, scopes: ['mcp:tools'], challenge, request },
  })
  return made?.code ?? ''
}
/** The id of a new grant whose code was used. */
async function redeemed(request: string): Promise<string> {
  const code = await agreed(request)
  const proof = { code, clientId: CLIENT.id, redirectUri: REDIRECT, verifier: VERIFIER, resource: undefined }
  return (await grants.redeem(proof)).grant.id
}
const idsOf = async () => (await grants.list(world.bob.userId)).map(({ id }) => id).toSorted()

test('of too many grants, the one ends that was not used for longest', async () => {
  const oldest = await redeemed('1')
  setSystemTime(START_MS + MINUTE_MS)
  const second = await redeemed('2')
  setSystemTime(START_MS + 5 * MINUTE_MS)
  expect((await grants.used(oldest))?.id).toBe(oldest)
  const third = await redeemed('3')
  expect([await idsOf(), ended]).toEqual([[oldest, third].toSorted(), [`${second} grant_ended`]])
})

test('a grant whose code nobody has used ends after ten minutes, and no sooner', async () => {
  await agreed('unused')
  const used = await redeemed('used')
  setSystemTime(START_MS + 9 * MINUTE_MS)
  await grants.sweep()
  expect(ended).toEqual([])
  setSystemTime(START_MS + 11 * MINUTE_MS)
  await grants.sweep()
  expect([ended.length, await idsOf()]).toEqual([1, [used]])
})

test('a grant is over 180 days after the sign-in, though it was used each week, and opens nothing then', async () => {
  const id = await redeemed('long')
  for (let day = 7; day < 180; day += 7) {
    setSystemTime(START_MS + day * DAY_MS)
    expect((await grants.used(id))?.id).toBe(id)
  }
  setSystemTime(START_MS + 180 * DAY_MS)
  expect([await grants.used(id), await idsOf()]).toEqual([undefined, []])
})

test('a grant of before the user’s sign-ins were ended is not among those in force', async () => {
  const id = await redeemed('former')
  expect(await idsOf()).toEqual([id])
  epoch = 2
  expect(await idsOf()).toEqual([])
})
