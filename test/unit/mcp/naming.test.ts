import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { suggestNames } from '../../../core/domain/nearest.ts'
import { aliases, exposeNames, legalName, type Nameable } from '../../../core/mcp/scope/naming.ts'

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/

const name = fc.oneof(
  fc.constantFrom('search', 'a', 'a_search', 'Search', 'a.b', 'a_b', '検索', '', 'x'.repeat(70), `${'x'.repeat(64)}y`),
  fc.string({ maxLength: 80 }),
)

/** Members with distinct aliases, each item once per member. */
const items = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), name, fc.option(name)), { maxLength: 25 }).map(list => {
  const seen = new Set<string>()
  return list.flatMap(([server, original, wanted]): Nameable[] => {
    const key = JSON.stringify([server, original])
    if (seen.has(key)) return []
    seen.add(key)
    return [{ serverId: `s${server}`, alias: `alias${server}`, original, wanted: wanted ?? original }]
  })
})

const mode = fc.constantFrom('plain' as const, 'auto' as const, 'prefixed' as const)

test('exposeNames() gives legal and unique names for whatever upstreams call their items', () => {
  fc.assert(
    fc.property(mode, items, (naming, list) => {
      const names = exposeNames('tools', naming, list)
      expect(names).toHaveLength(list.length)
      for (const each of names) expect(each).toMatch(LEGAL)
      expect(new Set(names).size).toBe(names.length)
    }),
    { numRuns: 400 },
  )
})

test('exposeNames() gives an item the same name whatever the order of the items', () => {
  fc.assert(
    fc.property(mode, items, fc.integer(), (naming, list, seed) => {
      const key = (item: Nameable) => JSON.stringify([item.serverId, item.original])
      const shuffled = list.toSorted((a, b) => hash(key(a), seed) - hash(key(b), seed))
      const first = new Map(exposeNames('tools', naming, list).map((each, i) => [key(list[i] as Nameable), each]))
      exposeNames('tools', naming, shuffled).forEach((each, i) => {
        expect(each).toBe(first.get(key(shuffled[i] as Nameable)) ?? '')
      })
    }),
    { numRuns: 200 },
  )
})

function hash(text: string, seed: number): number {
  let value = seed
  for (const character of text) value = (value * 31 + character.charCodeAt(0)) | 0
  return value
}

test('exposeNames() prefixes every party of a collision and nobody else', () => {
  const item = (server: string, original: string): Nameable => ({
    serverId: server,
    alias: server,
    original,
    wanted: original,
  })
  const list = [item('a', 'x'), item('a', 'y'), item('b', 'x')]
  expect(exposeNames('tools', 'auto', list)).toEqual(['a_x', 'y', 'b_x'])
  expect(exposeNames('tools', 'prefixed', list)).toEqual(['a_x', 'a_y', 'b_x'])
  const [first, second] = exposeNames('tools', 'plain', [item('a', 'p.q'), item('a', 'p q')])
  expect(first).toMatch(/^p_q_[0-9a-f]{6}$/)
  expect(second).toMatch(/^p_q_[0-9a-f]{6}$/)
})

test('legalName() ends with a hash where something was lost, and only there', () => {
  expect(legalName('get.user info', 's', 'tools')).toBe('get_user_info')
  expect(legalName('x'.repeat(64), 's', 'tools')).toBe('x'.repeat(64))
  expect(legalName('x'.repeat(65), 's', 'tools')).toMatch(/^x{57}_[0-9a-f]{6}$/)
  expect(legalName('\ue000', 's', 'tools')).toMatch(/^_[0-9a-f]{6}$/)
})

test.each([
  ['天气查询', 'TianQiChaXun'],
  ['Пользователь', 'Polzovatel'],
  ['café', 'cafe'],
  ['cafe\u0301', 'cafe'],
  ['get用户/列表', 'getYongHu_LieBiao'],
  ['사용자', 'SaYongJa'],
  ['größe', 'grosse'],
])('legalName() writes %s in Latin letters, without a hash', (name, latin) => {
  expect(legalName(name, 's', 'tools')).toBe(latin)
})

test('exposeNames() prefixes names of other scripts and names too long where two members share them', () => {
  const item = (server: string, original: string): Nameable => ({
    serverId: server,
    alias: server,
    original,
    wanted: original,
  })
  const long = 'x'.repeat(80)
  const list = [item('a', '天气'), item('b', '天气'), item('b', '城市'), item('a', long), item('b', long)]
  const names = exposeNames('tools', 'auto', list)
  expect(names.slice(0, 3)).toEqual(['a_TianQi', 'b_TianQi', 'ChengShi'])
  expect(names[3]).toMatch(/^a_x{55}_[0-9a-f]{6}$/)
  expect(names[4]).toMatch(/^b_x{55}_[0-9a-f]{6}$/)
  // One server has two names of the same spelling: only then the hash distinguishes them.
  const [first, second] = exposeNames('tools', 'auto', [item('a', 'café'), item('a', 'cafè')])
  expect(first).toMatch(/^a_cafe_[0-9a-f]{6}$/)
  expect(second).toMatch(/^a_cafe_[0-9a-f]{6}$/)
  expect(first).not.toBe(second)
})

test('aliases() differ for servers of one name', () => {
  const list = aliases([
    { serverId: '1', serverName: 'fake' },
    { serverId: '2', serverName: 'fake' },
    { serverId: '3', serverName: 'fake', alias: 'mine' },
  ])
  expect(new Set(list).size).toBe(3)
  expect(list[2]).toBe('mine')
})

test('suggestNames() finds slips and parts, best first, and nothing for what is far', () => {
  const known = ['search_files', 'read_file', 'write_file', 'now']
  expect(suggestNames('raed_file', known)).toEqual(['read_file'])
  expect(suggestNames('file', known)).toEqual(['read_file', 'search_files', 'write_file'])
  expect(suggestNames('delete_everything', known)).toEqual([])
})
