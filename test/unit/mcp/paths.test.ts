import { expect, test } from 'bun:test'
import type { UserActor } from '../../../core/contract/records.ts'
import type { ResolvedGroup } from '../../../core/features/group-names.ts'
import { OfflineGracePeriod } from '../../../core/mcp/scope/offline-grace.ts'
import { Principals, parseScopePath, ScopeTable } from '../../../core/mcp/scope/paths.ts'
import { ItemForms } from '../../../core/mcp/scope/selector.ts'
import { FakeUpstreams, groupRecord, noToolSets, World } from './support.ts'

const PATH = parseScopePath('/mcp/g')
if (!PATH) throw new Error('no path')

/** A table whose resolver counts how often each caller was looked up. */
function tableOf(inUse = false) {
  const asked = new Map<string, number>()
  const resolve = async (actor: UserActor): Promise<ResolvedGroup> => {
    asked.set(actor.userId, (asked.get(actor.userId) ?? 0) + 1)
    return { group: groupRecord('g', []), servers: [] }
  }
  const upstreams = new FakeUpstreams()
  const offlineGrace = new OfflineGracePeriod(upstreams, Date.now)
  const parts = { upstreams, offlineGrace, itemForms: new ItemForms(), toolSets: noToolSets, now: Date.now }
  const table = new ScopeTable(
    () => ({ resolve }) as never,
    async () => () => [],
    parts,
    () => inUse,
  )
  const principals = new Principals()
  const find = async (actor: UserActor) =>
    await table.find(actor, principals.key(actor), PATH as NonNullable<typeof PATH>, 'legacy')
  return { table, asked, find }
}

test('a returning caller is not looked up again, until something changed for that path', async () => {
  const alice = new World().person('alice')
  const { table, asked, find } = tableOf()
  const first = await find(alice)
  expect(await find(alice)).toBe(first)
  expect(await find(alice)).toBe(first)
  expect(asked.get(alice.userId)).toBe(1)
  table.invalidate(scope => scope === first)
  await find(alice)
  expect(asked.get(alice.userId)).toBe(2)
})

test('a caller that was forgotten among many others sees changes all the same', async () => {
  const world = new World()
  const alice = world.person('alice')
  const { table, asked, find } = tableOf()
  await find(alice)
  await find(alice)
  for (let number = 0; number < 2_001; number += 1) await find(world.person(`other-${number}`))
  expect([...table].length).toBeLessThanOrEqual(2_000)
  table.invalidate(() => true)
  await find(alice)
  expect(asked.get(alice.userId)).toBe(2)
})
