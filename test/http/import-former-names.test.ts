/** Tools of imported groups by the names that the other hub gave them: `{server}-{tool}`. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'

const who = (name: string, tools: string) => ({
  type: 'stdio',
  ...stdioFixture('who-and-what', { WHO: name, TOOLS: tools }),
})
const DOCUMENT = {
  users: [],
  mcpServers: {
    a: who('a', 'b-c,own'),
    'a-b': who('a-b', 'c,own'),
    taken: who('taken', 'own'),
    out: who('out', 'own'),
  },
  groups: [
    { id: 'g-1', name: 'work', servers: ['a', 'a-b', { name: 'taken', tools: ['own'] }] },
    { name: 'other', servers: ['a-b', 'a'] },
    { name: 'narrow', servers: [{ name: 'a', tools: ['own'] }, 'a-b'] },
  ],
}

let hub: Hub
let admin: Client

async function imported(document: object, choices: object = {}) {
  const { planHash } = await admin.ok('POST', '/api/import?dryRun=true', { document, choices })
  return admin.ok('POST', '/api/import', { document, choices, planHash })
}

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  // The import finds a server of this name, and its choice is to rename its own.
  await admin.ok('POST', '/api/servers', { name: 'taken', url: 'https://never.example/', enabled: false })
  await imported(DOCUMENT, { '#/mcpServers/taken': { rename: 'renamed' } })
  await online(admin, ['a', 'a-b', 'renamed', 'out'])
}, 120_000)

afterAll(() => hub.stop(), 120_000)

const called = async (path: string, tool: string): Promise<string> => {
  const client = await admin.mcp(path)
  return callText(client, tool).catch((error: unknown) => `refused: ${error instanceof Error ? error.message : error}`)
}

test('a tool answers to its former name in the groups that the import made, whatever its server is called now', async () => {
  expect(await called('/mcp/work', 'a-own')).toBe('a own')
  expect(await called('/mcp/g-1', 'a-b-own')).toBe('a-b own')
  expect(await called('/mcp/work', 'taken-own')).toBe('taken own')
  const { tools } = await (await admin.mcp('/mcp/work')).listTools()
  expect(tools.map(({ name }) => name).toSorted()).toEqual(['a-b_c', 'a-b_own', 'a_b-c', 'a_own', 'renamed_own'])
  const prompt = await (await admin.mcp('/mcp/work')).getPrompt({ name: 'a-b-greet' })
  expect(prompt.messages[0]?.content).toMatchObject({ text: 'a-b greets' })
  // Not in a group that was not imported, nor for a server that the import did not make a member.
  await admin.ok('POST', '/api/groups', { name: 'mine', members: ['a'] })
  expect(await called('/mcp/mine', 'a-own')).toContain('refused')
  expect(await called('/mcp/work', 'out-own')).toContain('refused')
})

test('of two tools with one former name the first member’s is called, and never one that the group leaves out', async () => {
  expect(await called('/mcp/work', 'a-b-c')).toBe('a b-c')
  expect(await called('/mcp/other', 'a-b-c')).toBe('a-b c')
  expect(await called('/mcp/narrow', 'a-b-c')).toBe('a-b c')
  expect(await called('/mcp/narrow', 'a-own')).toBe('a own')
  await admin.ok('PATCH', '/api/servers/a-b/tools/c', { enabled: false })
  expect(await called('/mcp/narrow', 'a-b-c')).toContain('refused')
  await admin.ok('PATCH', '/api/servers/a-b/tools/c', { enabled: true })
})

test('former names stay when the group or the server is changed, and go with the member', async () => {
  await admin.ok('PATCH', '/api/servers/a', { name: 'alpha' })
  await admin.ok('PATCH', '/api/groups/other', { description: 'Changed', members: ['alpha', 'a-b', 'out'] })
  expect(await called('/mcp/other', 'a-own')).toBe('a own')
  expect(await called('/mcp/other', 'out-own')).toContain('refused')
  await admin.ok('DELETE', '/api/groups/other/members/alpha')
  expect(await called('/mcp/other', 'a-own')).toContain('refused')
})

test('a hub with another separator is followed, and a group that takes the place of one has the names', async () => {
  const document = {
    users: [],
    mcpServers: {},
    systemConfig: { nameSeparator: '::' },
    groups: [{ name: 'mine', servers: ['a-b'] }],
  }
  await imported(document, { '#/groups/0': 'replace' })
  expect(await called('/mcp/mine', 'a-b::own')).toBe('a-b own')
  expect(await called('/mcp/mine', 'a-b-own')).toContain('refused')
})
