/** Colleagues of a shared server get around neither its approvals, nor its content rules, nor its quotas. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, ROOT, startHub } from '../../support/hub.ts'
import { type Program, startProgram } from '../../support/program.ts'
import { online } from '../../support/servers.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'

setDefaultTimeout(120_000)

const TOKEN = `glpat-${'x7Kq9LmZ2Rt4Vb8Nc1Wd'}`
/** A member of rules that a promise has too. */
const THEN = 'then'
let upstream: Program
let hub: Hub
let bob: Client
let una: Client
let carl: Client

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  const settings = { plugins: [{ use: 'approvals', config: { holdSeconds: 1 } }] }
  hub = await startHub({ env: LOOPBACK, settings })
  await hub.setup()
  bob = await hub.user('bob')
  una = await hub.user('una')
  carl = await hub.user('carl')
  await bob.ok('POST', '/api/servers', { name: 'notes', url: upstream.url })
  await una.ok('POST', '/api/servers', { name: 'own', url: upstream.url })
  await online(bob, ['notes'])
  await online(una, ['own'])
  const shares = Object.entries({ 'user:una': 'use', 'user:carl': 'change' }).map(([subject, role]) => ({
    subject,
    role,
  }))
  await bob.ok('PUT', '/api/servers/notes/shares', { shares })
  // Each group gives the shared server another name, or chooses it by a value.
  const member = { server: 'bob~notes', alias: 'mine', tools: [{ name: 'echo', as: 'shout' }] }
  await una.ok('POST', '/api/groups', { name: 'mine', members: [member] })
  const selector = { argument: 'at', members: { here: 'bob~notes', there: 'own' } }
  await una.ok('POST', '/api/groups', { name: 'chosen', selector })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

type Way = (text: string) => Promise<string>

/** The ways of una to the tool, each with its own name of it. The first one gets the yes. */
async function ways(): Promise<Readonly<Record<string, Way>>> {
  const { secret } = await una.ok('POST', '/api/keys', { label: 'one', scopes: [{ server: 'bob~notes' }] })
  const under =
    (path: string, name: string, more: object = {}, credential?: string, wrap = false): Way =>
    async text => {
      const client = new RawModern(hub, path, credential ?? (await una.mcpKey()))
      const args = { text, ...more }
      const params = wrap
        ? { name: 'call_tool', arguments: { tool: name, arguments: args } }
        : { name, arguments: args }
      return JSON.stringify(await client.call('tools/call', params as never))
    }
  const tools = (await una.ok('GET', '/api/groups/mine/tools')).items
  const renamed = tools[0].name
  const rest = async (path: string, body: object) => (await una.request('POST', path, body)).text
  return {
    'its own path': under('/mcp/@bob/notes', 'echo'),
    'a key of the server': under('/mcp/@bob/notes', 'echo', {}, secret),
    'a group of one’s own': under('/mcp/mine', renamed),
    'the value of a selector': under('/mcp/chosen', 'echo', { at: 'here' }),
    $smart: under('/mcp/$smart/@bob/notes', 'echo', {}, undefined, true),
    REST: text => rest('/api/servers/bob~notes/tools/echo/call', { arguments: { text } }),
    'the route of a group': text => rest('/api/groups/chosen/tools/echo', { text, at: 'here' }),
  }
}

const all = async (text: string) =>
  Promise.all(Object.entries(await ways()).map(async ([name, way]) => [name, await way(text)] as const))

test('a rule about content holds by every way of a colleague, and after every change of one', async () => {
  await bob.ok('PUT', '/api/servers/notes/guards', {
    rules: [{ id: 'keys', match: { secrets: true }, [THEN]: 'mask', tools: ['echo'] }],
  })
  const check = async () => {
    for (const [name, answer] of await all(`key ${TOKEN}`)) {
      expect([name, answer]).toEqual([name, expect.stringContaining('[masked:gitlab_token]')])
      expect([name, answer.includes(TOKEN)]).toEqual([name, false])
    }
  }
  await check()
  await carl.ok('PATCH', '/api/servers/bob~notes', { description: 'by carl' })
  await carl.ok('PATCH', '/api/servers/bob~notes/tools/echo', { description: 'Says it' })
  await check()
  await bob.ok('PUT', '/api/servers/notes/guards', { rules: [] })
})

test('a yes for one call opens no other way, no other arguments, no other user, and no other definition', async () => {
  const ask = { when: { tools: ['echo'] }, [THEN]: 'ask', who: 'owner', remember: '1h', timeout: '1h' }
  await bob.ok('PUT', '/api/servers/notes/approvals', { rules: [ask] })
  const [[first, way] = ['', async () => '']] = Object.entries(await ways())
  const pending = /approval_pending/
  expect(await way('yes')).toMatch(pending)
  const [{ id }] = (await bob.ok('GET', '/api/approvals?state=pending')).items
  const decided = await Promise.all(
    [una, carl].map(who => who.request('POST', `/api/approvals/${id}`, { decision: 'approve' })),
  )
  expect(decided.map(({ json }) => json.code)).toEqual(['approval_foreign', 'approval_not_found'])
  await bob.ok('POST', `/api/approvals/${id}`, { decision: 'approve', remember: true })
  const answers = await all('yes')
  for (const [name, answer] of answers) expect([name, pending.test(answer)]).toEqual([name, name !== first])
  expect(await way('yes, and more')).toMatch(pending)
  const ofCarl = new RawModern(hub, '/mcp/@bob/notes', await carl.mcpKey())
  const other = await ofCarl.call('tools/call', { name: 'echo', arguments: { text: 'yes' } })
  expect(JSON.stringify(other)).toMatch(pending)
  await carl.ok('PATCH', '/api/servers/bob~notes/tools/echo', { name: 'say' })
  const renamed = new RawModern(hub, '/mcp/@bob/notes', await carl.mcpKey())
  const again = await renamed.call('tools/call', { name: 'say', arguments: { text: 'yes' } })
  expect(JSON.stringify(again)).toMatch(pending)
  await carl.ok('PATCH', '/api/servers/bob~notes/tools/echo', { name: null })
  await bob.ok('PUT', '/api/servers/notes/approvals', { rules: [] })
})

test('a quota of a tool holds by every way of a colleague', async () => {
  await bob.ok('PUT', '/api/servers/notes/quota', { tools: { echo: { perDay: 0 } } })
  for (const [name, answer] of await all('x'))
    expect([name, answer]).toEqual([name, expect.stringContaining('quota_day')])
  await bob.ok('PUT', '/api/servers/notes/quota', { tools: {} })
})
