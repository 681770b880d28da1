/** An import that puts its servers into a group: a new one, or one that is there. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

let hub: Hub
let ada: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub()
  await hub.setup()
  ;[ada, bob] = await Promise.all([hub.user('ada', 'admin'), hub.user('bob')])
  for (const [who, name] of [
    [ada, 'old'],
    [bob, 'of-bob'],
  ] as const) {
    await who.ok('POST', '/api/servers', { name, url: 'https://never.example/mcp', enabled: false })
  }
  await bob.ok('POST', '/api/groups', { name: 'his', members: ['of-bob'] })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

interface Item {
  kind: string
  verdict: string
  ref?: string
  body?: { members?: string[] }
  warnings: string[]
  error?: { code: string; errors?: { pointer: string }[] }
}

const far = (...names: string[]) => ({
  mcpServers: Object.fromEntries(
    names.map(name => [name, { url: `https://${name}.never.example/mcp`, enabled: false }]),
  ),
})
const plan = (who: Client, wanted: object) => who.ok('POST', '/api/import?dryRun=true', wanted)
const take = async (who: Client, wanted: object) => {
  const { planHash } = await plan(who, wanted)
  return who.ok('POST', '/api/import', { ...wanted, planHash })
}
const group = ({ items }: { items: Item[] }) => items.find(({ kind }) => kind === 'group')
const members = async (who: Client, ref: string): Promise<string[]> =>
  (await who.ok('GET', `/api/groups/${ref}`)).members
    .map(({ server }: { server: string }) => server.replace(/^.*~/, ''))
    .toSorted()

test('a new group of what was imported, shown before, and gone with the import', async () => {
  const wanted = { document: far('a', 'b'), group: 'work' }
  expect(group(await plan(ada, wanted))).toMatchObject({
    ...{ kind: 'group', name: 'work', verdict: 'new', ref: 'ada~work', pointer: '#/group' },
    body: { members: ['a', 'b'] },
  })
  expect((await ada.request('GET', '/api/groups/work')).status).toBe(404)
  const made = await take(ada, wanted)
  expect(await members(ada, 'work')).toEqual(['a', 'b'])
  const taken = await ada.ok('POST', `/api/import/${made.id}/rollback`)
  expect(taken.removed.map(({ kind, name }: Item & { name: string }) => `${kind} ${name}`)).toEqual([
    'group work',
    'server b',
    'server a',
  ])
})

test('a group that is there gets what it lacks, keeps the rest, and is as before after a rollback', async () => {
  await ada.ok('POST', '/api/groups', {
    ...{ name: 'mixed', description: 'mine', members: [{ server: 'old', tools: ['x'] }] },
  })
  const before = await ada.ok('GET', '/api/groups/mixed')
  const wanted = { document: far('c', 'old', 'd'), group: 'MIXED' }
  // The server "old" is a different one here, so the import does not count it as its own.
  const planned = group(await plan(ada, wanted))
  expect(planned).toMatchObject({ verdict: 'extended', name: 'mixed', body: { members: ['c', 'd'] } })
  const made = await take(ada, wanted)
  expect(await members(ada, 'mixed')).toEqual(['c', 'd', 'old'])
  expect(group(await plan(ada, wanted))).toMatchObject({ verdict: 'same' })
  const taken = await ada.ok('POST', `/api/import/${made.id}/rollback`)
  expect(taken.restored).toEqual([{ kind: 'group', name: 'mixed' }])
  const after = await ada.ok('GET', '/api/groups/mixed')
  expect([after.members, after.description]).toEqual([before.members, before.description])
})

test('a group that the same document makes is extended, and both go with the import', async () => {
  const document = {
    ...far('e', 'f'),
    groups: [{ id: '5f0c7c0e-0000-4000-8000-000000000001', name: 'both', servers: ['e'] }],
    users: [],
  }
  const made = await take(ada, { document, group: 'both' })
  expect(await members(ada, 'both')).toEqual(['e', 'f'])
  const taken = await ada.ok('POST', `/api/import/${made.id}/rollback`)
  expect(taken.kept).toEqual([])
  expect((await ada.request('GET', '/api/groups/both')).status).toBe(404)
})

test('nothing imported makes no group; a wrong name and a foreign group are said in the plan', async () => {
  const leading = { mcpServers: { hub: { url: `${hub.url}/mcp/work` } } }
  expect(group(await plan(ada, { document: leading, group: 'none' }))).toMatchObject({ verdict: 'skipped' })
  const wrong = group(await plan(ada, { document: far('g'), group: 'a/b' }))
  expect(wrong).toMatchObject({ verdict: 'invalid', error: { code: 'validation_failed' } })
  expect(wrong?.error?.errors?.[0]?.pointer).toBe('#/group')
  const foreign = group(await plan(bob, { document: far('g'), group: 'ada~mixed' }))
  expect(foreign?.verdict).toBe('invalid')
  await take(bob, { document: far('own'), group: 'his' })
  await take(bob, { document: far('own'), group: 'hers' })
  expect([await members(bob, 'his'), await members(bob, 'hers')]).toEqual([['of-bob', 'own'], ['own']])
})

test('the plan binds the group: another one, or other members meanwhile, is another plan', async () => {
  const { planHash } = await plan(ada, { document: far('h'), group: 'work' })
  const other = await ada.request('POST', '/api/import', { document: far('h'), group: 'works', planHash })
  expect([other.status, JSON.parse(other.text).code]).toEqual([409, 'plan_changed'])
  await ada.ok('POST', '/api/groups', { name: 'work', members: ['old'] })
  const changed = await ada.request('POST', '/api/import', { document: far('h'), group: 'work', planHash })
  expect(changed.status).toBe(409)
})
