import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as NewerClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { LIMITS } from '../../core/config/limits.ts'
import { type Client, type Hub, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { failureOf } from '../support/servers.ts'
import { RawModern, VERSION } from '../unit/mcp/modern-support.ts'

let hub: Hub
let ann: Client
const opened: NewerClient[] = []

beforeAll(async () => {
  const skills = (name: string, era: string) => ({ ...stdioFixture('skills', { NAMED: name }), era })
  const paged = (name: string, count: number, way = '') =>
    stdioFixture('paged-skills', { NAMED: name, COUNT: String(count), WAY: way })
  const onTheWeb = (OWNER: string) =>
    stdioFixture('paged-skills', { NAMED: 'refunds', COUNT: '1', BASE: 'https://example.com/skills/', OWNER })
  const settings = {
    mcpServers: {
      ...{ one: skills('one', 'modern'), two: skills('two', 'legacy'), plain: stdioFixture('echo') },
      ...{ many: paged('many', 1_255), more: paged('more', 123), none: paged('none', 0) },
      ...{ repeats: paged('r', 40, 'repeats'), fails: paged('f', 40, 'fails'), endless: paged('e', 0, 'endless') },
      ...{ left: onTheWeb('left'), right: onTheWeb('right') },
    },
    groups: [
      { name: 'web', members: ['left', 'right'] },
      { name: 'paged', members: ['many', 'none', 'more'] },
      { name: 'idle', members: ['endless', 'more'] },
      { name: 'odd', members: ['repeats', 'fails', 'more'] },
      { name: 'both', members: ['one', 'two', 'plain'] },
      { name: 'none', members: ['plain'] },
    ],
  }
  ;({ hub, admin: ann } = await startOnline({ settings, timeoutMs: 60_000 }))
}, 300_000)

afterAll(async () => {
  await Promise.allSettled(opened.map(client => client.close()))
  await hub?.stop()
}, 120_000)

async function client(path: string, mode: { pin: string } | 'legacy'): Promise<NewerClient> {
  const made = new NewerClient({ name: 'skilled', version: '1.0.0' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { authorization: `Bearer ${await ann.mcpKey()}` } }
  await made.connect(new StreamableHTTPClientTransport(new URL(path, hub.url), { requestInit }))
  opened.push(made)
  return made
}

const BOTH = [
  'skill://one/acme/billing/SKILL.md',
  'skill://one/refunds/SKILL.md',
  'skill://two/acme/billing/SKILL.md',
  'skill://two/refunds/SKILL.md',
]

for (const mode of [{ pin: VERSION }, 'legacy'] as const) {
  const era = mode === 'legacy' ? 'older' : 'newer'
  test(`skills pass at one server to a client of the ${era} era, and are verified`, async () => {
    const skills = new SkillsClient(await client('/mcp/one', mode))
    expect([skills.supported, skills.directoryRead]).toEqual([true, true])
    const listed = (await skills.list()).skills
    expect(listed.map(({ uri }) => uri).sort()).toEqual(['skill://acme/billing/SKILL.md', 'skill://refunds/SKILL.md'])
  }, 60_000)

  test(`skills of a group's members are one list for a client of the ${era} era, each under its member's name`, async () => {
    const skills = new SkillsClient(await client('/mcp/both', mode))
    expect([skills.supported, skills.directoryRead]).toEqual([true, true])
    expect((await skills.list()).skills.map(({ uri }) => uri).sort()).toEqual(BOTH)
    for (const name of ['one', 'two']) {
      const { skill } = await skills.get(`skill://${name}/refunds/SKILL.md`)
      expect(skill.frontmatter.description).toBe(`Refunds by ${name}`)
      const file = await skills.read(skill, 'references/RULES.md')
      expect(JSON.stringify(file)).toContain(`Rules of ${name}`)
    }
    const unknown = await failureOf(skills.get('skill://two/nothing/SKILL.md'))
    expect(unknown.code).toBe(-32602)
  }, 60_000)
}

test('skills of two members at one web address are two, and each is that of its member', async () => {
  const raw = new RawModern(hub, '/mcp/web', await ann.mcpKey())
  const uris = (await raw.call('skills/list')).result.skills.map(({ uri }: { uri: string }) => uri)
  expect(new Set(uris).size).toBe(2)
  const of = async (uri: string) => (await raw.call('skills/get', { uri })).result?.skill.frontmatter.description
  const described = await Promise.all(uris.map(of))
  expect(described.sort()).toEqual(['Of left', 'Of right'])
}, 60_000)

test('a group without skills declares none, and answers as to an unknown method', async () => {
  const plain = await client('/mcp/none', { pin: VERSION })
  expect(new SkillsClient(plain).supported).toBe(false)
  const modern = new RawModern(hub, '/mcp/none', await ann.mcpKey())
  for (const method of ['skills/list', 'skills/get', 'resources/directory/read'])
    expect((await modern.call(method, { uri: 'skill://one/refunds' })).error?.code).toBe(-32601)
})

/** All pages of a list, with the number of skills on each. */
async function pagesOf(path: string): Promise<{ readonly uris: string[]; readonly sizes: number[]; cursor: string }> {
  const modern = new RawModern(hub, path, await ann.mcpKey())
  const uris: string[] = []
  const sizes: number[] = []
  let cursor: string | undefined
  let last = ''
  do {
    const { result, error } = await modern.call('skills/list', cursor === undefined ? {} : { cursor })
    if (error) throw new Error(JSON.stringify(error))
    const page = (result.skills as { uri: string }[]).map(({ uri }) => uri)
    uris.push(...page)
    sizes.push(page.length)
    cursor = result.nextCursor
    last = cursor ?? last
  } while (cursor !== undefined && sizes.length < 100)
  return { uris, sizes, cursor: last }
}

test('the pages of the members of a group follow one another, each skill once', async () => {
  const { uris, sizes, cursor } = await pagesOf('/mcp/paged')
  expect(uris).toHaveLength(1_255 + 123)
  expect(new Set(uris).size).toBe(uris.length)
  expect([uris[0], uris.at(-1)]).toEqual(['skill://many/many-0/SKILL.md', 'skill://more/more-122/SKILL.md'])
  // A page of the hub ends with the page of a member that fills it.
  expect(sizes.length).toBeGreaterThan(1)
  expect(Math.max(...sizes)).toBeLessThan(LIMITS.pageItems + 10)
  const single = await pagesOf('/mcp/many')
  expect(single.uris).toHaveLength(1_255)
  expect(single.uris[0]).toBe('skill://many-0/SKILL.md')
  const other = new RawModern(hub, '/mcp/odd', await ann.mcpKey())
  for (const foreign of [cursor, 'nothing'])
    expect((await other.call('skills/list', { cursor: foreign })).error).toMatchObject({
      code: -32602,
      data: { code: 'cursor_invalid' },
    })
}, 60_000)

test('a member with empty pages without end costs a page at most 100 requests', async () => {
  const modern = new RawModern(hub, '/mcp/idle', await ann.mcpKey())
  const first = (await modern.call('skills/list')).result
  const second = (await modern.call('skills/list', { cursor: first.nextCursor })).result
  expect([first.skills, second.skills]).toEqual([[], []])
  // Each page of that server is named by the number of pages before it.
  const answer = await ann.ok('POST', '/api/servers/endless/tools/pages/call', {})
  expect(answer.result.content[0].text).toBe('200')
}, 60_000)

test('a member that names one cursor again, or fails, ends its part of the list alone', async () => {
  const { uris } = await pagesOf('/mcp/odd')
  const of = (name: string) => uris.filter(uri => uri.startsWith(`skill://${name}/`)).length
  expect({ repeats: of('repeats'), fails: of('fails'), more: of('more') }).toEqual({
    repeats: 20,
    fails: 10,
    more: 123,
  })
}, 60_000)
