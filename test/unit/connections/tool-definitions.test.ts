import { afterEach, beforeEach, expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import { ToolDefinitions } from '../../../core/connections/store/tool-definitions.ts'
import { HubError } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { catalogItem } from '../../../core/domain/tools/catalog-item.ts'
import { definitionHash } from '../../../core/domain/tools/tool-definition.ts'
import { openWorld, type World } from '../registry/world.ts'

let world: World
let serverId: string
beforeEach(async () => {
  world = await openWorld()
  serverId = (await world.registry.servers.create(world.ada, { name: 's', command: 'cat' })).id
})
afterEach(() => world.end())

const log = { error() {}, warn() {}, info() {}, debug() {} }
const opened = async () => {
  const definitions = new ToolDefinitions(world.store.db, log)
  await definitions.load()
  return definitions
}
const tool = (name: string, description = 'first') => catalogItem('tools', { name, description, inputSchema: {} })

const refusal = (work: () => void) => {
  try {
    work()
  } catch (error) {
    if (error instanceof HubError) return error.code
    throw error
  }
  return 'taken'
}

test('a hash is of the meaning alone: the order of members, icons and `_meta` change nothing, all else does', () => {
  const one = {
    name: 'a',
    inputSchema: { type: 'object', properties: { x: {}, y: {} } },
    annotations: { readOnlyHint: true },
  }
  const turned = {
    annotations: { readOnlyHint: true },
    inputSchema: { properties: { y: {}, x: {} }, type: 'object' },
    name: 'a',
  }
  expect(definitionHash({ ...turned, _meta: { a: 1 }, icons: [] })).toBe(definitionHash(one))
  const others: JsonObject[] = [
    { ...one, annotations: { readOnlyHint: false } },
    { ...one, outputSchema: { type: 'object' } },
    { ...one, title: 'A' },
    { ...one, description: '' },
    { ...one, inputSchema: { type: 'object', properties: { x: {} } } },
    { name: 'a', inputSchema: one.inputSchema },
  ]
  expect(new Set([one, ...others].map(definitionHash)).size).toBe(7)
})

test('a tool that is dropped and comes back with another definition is a change, over a restart too', async () => {
  const definitions = await opened()
  expect(definitions.read(serverId, [tool('a'), tool('b')])).toEqual([])
  expect(definitions.read(serverId, [tool('b')])).toEqual([])
  expect(definitions.read(serverId, [tool('a', 'other')])).toMatchObject([{ tool: 'a' }])
  await definitions.flush()
  const again = await opened()
  expect(again.of(serverId).get('a')?.changed).toBe(true)
  expect(again.read(serverId, [tool('a')])).toEqual([])
  expect(again.of(serverId).get('a')?.changed).toBe(false)
})

test('a tool that is listed twice counts as what stands first, which is what is offered', async () => {
  const definitions = await opened()
  definitions.read(serverId, [tool('a')])
  expect(definitions.read(serverId, [tool('a'), tool('a', 'other')])).toEqual([])
  expect(definitions.of(serverId).get('a')?.changed).toBe(false)
  expect(definitions.read(serverId, [tool('a', 'other'), tool('a')])).toMatchObject([{ tool: 'a' }])
})

test('with two approvals of different definitions, only that of the present one counts', async () => {
  const definitions = await opened()
  definitions.read(serverId, [tool('a')])
  const [second] = definitions.read(serverId, [tool('a', 'second')])
  const [third] = definitions.read(serverId, [tool('a', 'third')])
  expect(refusal(() => definitions.approve(serverId, 'a', second?.hash ?? ''))).toBe('version_conflict')
  expect(definitions.of(serverId).get('a')?.changed).toBe(true)
  expect(refusal(() => definitions.approve(serverId, 'a', third?.hash ?? ''))).toBe('taken')
  expect(definitions.of(serverId).get('a')?.changed).toBe(false)
  expect(definitions.read(serverId, [tool('a', 'second')])).toHaveLength(1)
})

test('tools of a server that renames them each time are remembered up to a limit, the present ones always', async () => {
  const definitions = await opened()
  const kept = [tool('kept'), tool('pinned')]
  definitions.read(serverId, kept)
  definitions.read(serverId, [tool('kept', 'other')])
  const rounds = Math.ceil(LIMITS.toolDefinitions / LIMITS.catalogItems) + 1
  for (let round = 0; round < rounds; round++) {
    const many = Array.from({ length: LIMITS.catalogItems - 2 }, (_, n) => tool(`t${round}-${n}`))
    definitions.read(serverId, [tool('kept', 'other'), ...many])
  }
  expect(definitions.of(serverId).size).toBeLessThanOrEqual(LIMITS.toolDefinitions)
  expect(definitions.of(serverId).get('kept')?.changed).toBe(true)
  await definitions.flush()
  const again = await opened()
  expect(again.of(serverId).size).toBe(definitions.of(serverId).size)
  // Only the flood is forgotten; earlier definitions stay.
  expect(again.read(serverId, [tool('kept'), tool('pinned', 'other')])).toMatchObject([{ tool: 'pinned' }])
}, 120_000)

test('each face of a server that speaks both eras has its own definitions, and is approved for itself', async () => {
  const definitions = await opened()
  definitions.read(serverId, [tool('a', 'newer')])
  expect(definitions.read(serverId, [tool('a', 'older')], true)).toEqual([])
  const changed = (face?: 'older' | 'modern') => definitions.of(serverId, face).get('a')?.changed
  expect([changed(), changed('modern'), changed('older')]).toEqual([false, false, false])

  const [news] = definitions.read(serverId, [tool('a', 'older still')], true)
  expect([news?.tool, changed(), changed('modern'), changed('older')]).toEqual(['a', true, false, true])
  const { hash = '' } = definitions.of(serverId).get('a') ?? {}
  expect(hash).toBe(news?.hash ?? '')

  await definitions.flush()
  const again = await opened()
  expect(again.of(serverId, 'older').get('a')?.changed).toBe(true)
  again.approve(serverId, 'a', hash)
  expect([again.of(serverId).get('a')?.changed, again.of(serverId, 'older').get('a')?.changed]).toEqual([false, false])
})

test('names as long as a server likes fill no more than 1 MiB of what is remembered, and make nothing older forgotten', async () => {
  const definitions = await opened()
  definitions.read(serverId, [tool('a'), tool('b')])
  for (let n = 1; n <= 20; n += 1) definitions.read(serverId, [tool(`${n}${'x'.repeat(200_000)}`), tool('b')])
  const names = [...definitions.of(serverId).keys()]
  expect(names.slice(0, 2)).toEqual(['a', 'b'])
  const listed = 200_002
  expect(names.join('').length).toBeLessThan(LIMITS.toolDefinitionNameBytes + listed)
  expect(names.at(-1)).toStartWith('20x')
  await definitions.flush()
  expect((await opened()).of(serverId).size).toBe(names.length)
})
