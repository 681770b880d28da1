/** A server that lists other things to each person: every caller sees what its own sign-in shows, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, statusOf, toolNames } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

let issuer: Issuer
let server: GuardedServer
let hub: Hub
let ada: Client
let bob: Client
let eve: Client

async function signIn(client: Client, person: string): Promise<void> {
  const { authorizeUrl } = await client.ok('POST', '/api/servers/ada~notes/connect', {})
  await client.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, person) })
}

async function modern(client: Client, path: string): Promise<ModernClient> {
  const opened = new ModernClient(
    { name: 'newer', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const headers = { authorization: `Bearer ${await client.mcpKey()}` }
  await opened.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}${path}`), { requestInit: { headers } }))
  return opened
}

async function restNames(client: Client, kind = 'tools', ref = 'ada~notes'): Promise<string[]> {
  const { items } = await client.ok('GET', `/api/servers/${ref}/${kind}`)
  return items.map(({ name }: { name: string }) => name)
}

beforeAll(async () => {
  issuer = await Issuer.start()
  server = await GuardedServer.start(issuer)
  server.tools.set('ada-there', ['whoami', 'ada_only'])
  server.tools.set('bob-there', ['whoami', 'bob_only'])
  server.tools.set('eve-there', [])
  server.prompts.set('bob-there', ['bob_prompt'])
  server.prompts.set('eve-there', [])
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  ;[ada, bob, eve] = await Promise.all([hub.user('ada'), hub.user('bob'), hub.user('eve')])
  await ada.ok('POST', '/api/servers', { name: 'notes', url: server.url, visibility: 'public' })
  await until(async () => (await statusOf(ada, 'notes')).reason?.code === 'sign_in_needed', { what: 'the refusal' })
  await signIn(ada, 'ada-there')
  await online(ada, ['notes'])
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await server?.stop()
  await issuer?.stop()
}, 120_000)

test('a caller who has not signed in sees nothing of the owner’s lists', async () => {
  expect(await restNames(bob)).toEqual([])
  const { tools, status } = await bob.ok('GET', '/api/servers/ada~notes')
  expect({ tools, counts: status.counts }).toEqual({ tools: [], counts: { tools: 0, prompts: 0, resources: 0 } })
  expect(await toolNames(await bob.mcp('/mcp/@ada/notes'))).toEqual(['notes_sign_in'])
})

test('each caller lists and calls its own, by clients of both protocols, in groups and by REST', async () => {
  await signIn(bob, 'bob-there')
  const old = await bob.mcp('/mcp/@ada/notes')
  await until(async () => (await toolNames(old)).includes('bob_only'), { what: 'the tools of bob' })
  expect(await toolNames(old)).toEqual(['whoami', 'bob_only'])
  expect((await old.listPrompts()).prompts.map(({ name }) => name)).toEqual(['bob_prompt'])
  expect(await callText(old, 'bob_only')).toBe('bob-there')
  const missing = await old.callTool({ name: 'ada_only' }).catch((thrown: unknown) => thrown)
  expect(missing).toMatchObject({ code: -32602 })

  const newer = await modern(bob, '/mcp/@ada/notes')
  expect((await newer.listTools()).tools.map(({ name }) => name)).toEqual(['whoami', 'bob_only'])
  expect(JSON.stringify(await newer.callTool({ name: 'bob_only' }))).toContain('bob-there')
  await newer.close()

  await bob.ok('POST', '/api/groups', {
    name: 'work',
    members: [{ server: 'ada~notes', tools: ['bob_only', 'ada_only'] }],
  })
  const inGroup = await bob.mcp('/mcp/work')
  expect(await toolNames(inGroup)).toEqual(['bob_only'])
  expect(await callText(inGroup, 'bob_only')).toBe('bob-there')
  expect((await bob.ok('GET', '/api/groups/work/tools')).items).toMatchObject([{ name: 'bob_only' }])
  const smart = await bob.mcp('/mcp/$smart/work')
  expect(await callText(smart, 'search_tools', { query: 'only' })).not.toContain('ada_only')

  expect(await restNames(bob)).toEqual(['whoami', 'bob_only'])
  const called = await bob.ok('POST', '/api/servers/ada~notes/tools/bob_only/call', { arguments: {} })
  expect(called.result.content[0].text).toBe('bob-there')
  expect((await bob.ok('GET', '/api/servers/ada~notes')).status.counts).toMatchObject({ tools: 2, prompts: 1 })
})

test('the owner’s page and clients show the owner’s, also while others have theirs', async () => {
  expect(await restNames(ada, 'tools', 'notes')).toEqual(['whoami', 'ada_only'])
  expect(await restNames(ada, 'prompts', 'notes')).toEqual(['greet'])
  const client = await ada.mcp('/mcp/notes')
  expect(await toolNames(client)).toEqual(['whoami', 'ada_only'])
  expect(await client.callTool({ name: 'bob_only' }).catch((thrown: unknown) => thrown)).toMatchObject({ code: -32602 })
  const refused = await ada.request('POST', '/api/servers/notes/tools/bob_only/call', { arguments: {} })
  expect(refused.status).toBe(404)
})

test('a colleague with the role `see` has its own lists too, and one who edits those of the owner', async () => {
  const rose = await hub.user('rose')
  for (const role of ['use', 'see', 'change']) {
    await ada.ok('PUT', '/api/servers/notes/shares/user:rose', { role })
    const [tools, prompts] = role === 'change' ? [['whoami', 'ada_only'], ['greet']] : [[], []]
    expect([role, await restNames(rose), await restNames(rose, 'prompts')]).toEqual([role, tools, prompts])
  }
  await ada.ok('PUT', '/api/servers/notes/shares/user:bob', { role: 'see' })
  expect(await restNames(bob)).toEqual(['whoami', 'bob_only'])
  await ada.ok('PUT', '/api/servers/notes/shares', { shares: [] })
})

test('a caller to whom the server shows nothing has empty lists', async () => {
  await signIn(eve, 'eve-there')
  const client = await eve.mcp('/mcp/@ada/notes')
  await until(async () => (await toolNames(client)).length === 0, { what: 'an empty list' })
  expect((await client.listPrompts()).prompts).toEqual([])
  expect(await restNames(eve)).toEqual([])
})

test('a change for one person reaches that person’s clients alone', async () => {
  const [bobs, adas] = [await bob.mcp('/mcp/@ada/notes'), await ada.mcp('/mcp/notes')]
  await until(async () => (await toolNames(bobs)).includes('bob_only'), { what: 'the tools of bob' })
  let told = 0
  adas.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    told += 1
  })
  const changed = new Promise<void>(resolve =>
    bobs.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
  )
  server.tools.set('bob-there', ['whoami', 'bob_new'])
  await until(() => server.toolsChanged('bob-there'), { what: 'the stream of bob' })
  await changed
  await until(async () => (await toolNames(bobs)).includes('bob_new'), { what: 'the new tool of bob' })
  expect(await toolNames(adas)).toEqual(['whoami', 'ada_only'])
  expect(told).toBe(0)
  server.tools.set('bob-there', ['whoami', 'bob_only'])
  server.toolsChanged('bob-there')
  await until(async () => (await toolNames(bobs)).includes('bob_only'), { what: 'the former tool of bob' })
})

test('what the owner switches off, renames or pins holds for the tools of callers too', async () => {
  await ada.ok('PATCH', '/api/servers/notes', { tools: { bob_only: { name: 'renamed' }, whoami: { enabled: false } } })
  const client = await bob.mcp('/mcp/@ada/notes')
  await until(async () => (await toolNames(client)).join() === 'renamed', { what: 'the names of the owner' })
  expect(await callText(client, 'renamed')).toBe('bob-there')
  await ada.ok('PATCH', '/api/servers/notes', { tools: { bob_only: null, whoami: null } })
})

test('the lists end with the sign-in, and another account brings its own', async () => {
  const { items } = await bob.ok('GET', '/api/connections')
  for (const { id } of items) await bob.ok('DELETE', `/api/connections/${id}`)
  expect(await restNames(bob)).toEqual([])
  const client = await bob.mcp('/mcp/@ada/notes')
  expect(await toolNames(client)).toEqual(['notes_sign_in'])
  server.tools.set('bob-elsewhere', ['elsewhere'])
  await signIn(bob, 'bob-elsewhere')
  await until(async () => (await toolNames(client)).join() === 'elsewhere', { what: 'the tools of the other account' })
  // A sign-in on top of it, while the connection of the former one is open.
  server.tools.set('bob-third', ['third'])
  await signIn(bob, 'bob-third')
  await until(async () => (await toolNames(client)).join() === 'third', { what: 'the tools of the third account' })
})

test('a changed definition waits for approval where the owner wants that, also of a tool that only a caller has', async () => {
  await ada.ok('PATCH', '/api/servers/notes', { definitionPolicy: 'pin' })
  const dan = await hub.user('dan')
  server.tools.set('dan-there', ['own', 'ada_only'])
  await signIn(dan, 'dan-there')
  const client = await dan.mcp('/mcp/@ada/notes')
  await until(async () => (await toolNames(client)).join() === 'own,ada_only', { what: 'both tools' })
  server.definitions.set('dan-there', { description: 'Another text' })
  await until(() => server.toolsChanged('dan-there'), { what: 'the stream of dan' })
  await until(async () => (await toolNames(client)).length === 0, { what: 'both tools to wait' })
  expect(await restNames(dan)).toEqual([])
  const { status, json } = await ada.request('POST', '/api/servers/notes/tools/own/approve', { hash: '0' })
  expect({ status, code: json.code }).toEqual({ status: 412, code: 'version_conflict' })
  await ada.ok('POST', '/api/servers/notes/tools/own/approve', { hash: json.hash })
  await until(async () => (await toolNames(client)).join() === 'own', { what: 'the approved tool' })
})

test('the owner who signs in with another account sees the lists of that one', async () => {
  await ada.ok('PATCH', '/api/servers/notes', { definitionPolicy: null })
  server.tools.set('ada-elsewhere', ['whoami', 'other_only'])
  const client = await ada.mcp('/mcp/notes')
  await signIn(ada, 'ada-elsewhere')
  await until(async () => (await toolNames(client)).includes('other_only'), { what: 'the tools of the other account' })
  expect(await toolNames(client)).toEqual(['whoami', 'other_only'])
  expect(await callText(client, 'other_only')).toBe('ada-elsewhere')
})
