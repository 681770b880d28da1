import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as NewerClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { type Client, type Hub, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { failureOf } from '../support/servers.ts'
import { RawModern, VERSION } from '../unit/mcp/modern-support.ts'

let hub: Hub
let ann: Client
const opened: NewerClient[] = []

beforeAll(async () => {
  const skills = (name: string, era: string) => ({ ...stdioFixture('skills', { NAMED: name }), era })
  const settings = {
    mcpServers: { one: skills('one', 'modern'), two: skills('two', 'legacy'), plain: stdioFixture('echo') },
    groups: [
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

test('a group without skills declares none, and answers as to an unknown method', async () => {
  const plain = await client('/mcp/none', { pin: VERSION })
  expect(new SkillsClient(plain).supported).toBe(false)
  const modern = new RawModern(hub, '/mcp/none', await ann.mcpKey())
  for (const method of ['skills/list', 'skills/get', 'resources/directory/read'])
    expect((await modern.call(method, { uri: 'skill://one/refunds' })).error?.code).toBe(-32601)
})
