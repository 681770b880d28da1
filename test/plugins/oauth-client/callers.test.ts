/** Callers without a sign-in of their own: what their clients list, and how their requests bring them to sign in. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  ElicitationCompleteNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, toolNames } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

let issuer: Issuer
let server: GuardedServer
let hub: Hub
let root: Client
let ada: Client
let page: string

beforeAll(async () => {
  issuer = await Issuer.start()
  server = await GuardedServer.start(issuer)
  hub = await startHub({ env: LOOPBACK })
  root = await hub.setup()
  ada = await hub.user('ada')
  const { id } = await ada.ok('POST', '/api/servers', { name: 'notes', url: server.url, visibility: 'public' })
  page = `${hub.url}/connect/${id}`
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await server?.stop()
  await issuer?.stop()
}, 120_000)

async function signIn(client: Client, person: string): Promise<void> {
  const { authorizeUrl } = await client.ok('POST', '/api/servers/ada~notes/connect', {})
  await client.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, person) })
}

async function signOut(client: Client): Promise<void> {
  const { items } = await client.ok('GET', '/api/connections')
  for (const { id } of items) await client.ok('DELETE', `/api/connections/${id}`)
}

/** A newer client whose person signs in at each page that it is asked to open, or wants to open none. */
async function modern(client: Client, path: string, asked: string[], willing = true): Promise<ModernClient> {
  const opened = new ModernClient(
    { name: 'newer', version: '1' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  opened.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode !== 'url') throw new Error('a form was not expected')
    asked.push(params.url)
    if (!willing) return { action: 'decline' }
    await signIn(client, `${client.name}-there`)
    return { action: 'accept' }
  })
  const headers = { authorization: `Bearer ${await client.mcpKey()}` }
  await opened.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}${path}`), { requestInit: { headers } }))
  return opened
}

test('the owner lists one tool with the link, until the sign-in', async () => {
  const client = await ada.mcp('/mcp/notes')
  const changed = new Promise<void>(resolve =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
  )
  await until(async () => (await toolNames(client)).includes('notes_sign_in'), { what: 'the tool that signs in' })
  const { tools } = await client.listTools()
  expect(tools).toHaveLength(1)
  expect(tools[0]).toMatchObject({ name: 'notes_sign_in', annotations: { readOnlyHint: true } })
  expect(await callText(client, 'notes_sign_in')).toContain(page)
  expect(await toolNames(await ada.mcp('/mcp'))).toContain('notes_sign_in')
  await signIn(ada, 'ada-there')
  await online(ada, ['notes'])
  await changed
  await until(async () => (await toolNames(client)).join() === 'whoami', { what: 'the tools of the server' })
  expect(await callText(client, 'whoami')).toBe('ada-there')
})

test('each person sees what it holds beside the status, also of the server of another', async () => {
  const eve = await hub.user('eve')
  const needed = { state: 'sign_in_needed', reason: { code: 'sign_in_needed' }, connectUrl: page }
  expect((await eve.ok('GET', '/api/servers/ada~notes')).mine).toMatchObject(needed)
  const { items } = await eve.ok('GET', '/api/servers?scope=visible')
  expect(items.find(({ name }: { name: string }) => name === 'notes').mine).toMatchObject(needed)
  await signIn(eve, 'eve-there')
  const [connection] = (await eve.ok('GET', '/api/connections')).items
  expect((await eve.ok('GET', '/api/servers/ada~notes')).mine).toEqual({ state: 'active', connection: connection.id })
  const adas = (await ada.ok('GET', '/api/servers/notes')).mine
  expect(adas.state).toBe('active')
  expect(adas.connection).not.toBe(connection.id)
})

test('another caller lists it in its group and at the path of the owner; the owner is not affected', async () => {
  const bob = await hub.user('bob')
  await bob.ok('POST', '/api/groups', { name: 'work', members: [{ server: 'ada~notes' }] })
  const [inGroup, atOwner, asAda] = await Promise.all([
    bob.mcp('/mcp/work'),
    bob.mcp('/mcp/@ada/notes'),
    ada.mcp('/mcp/notes'),
  ])
  for (const client of [inGroup, atOwner]) {
    expect(await toolNames(client)).toEqual(['notes_sign_in'])
    expect((await client.listPrompts()).prompts).toEqual([])
  }
  expect(await toolNames(asAda)).toEqual(['whoami'])
  expect(await callText(inGroup, 'notes_sign_in')).toContain(page)
  await signIn(bob, 'bob-there')
  for (const client of [inGroup, atOwner]) {
    await until(async () => (await toolNames(client)).join() === 'whoami', { what: 'the tools of the server' })
    expect(await callText(client, 'whoami')).toBe('bob-there')
  }
  await signOut(bob)
  await until(async () => (await toolNames(inGroup)).join() === 'notes_sign_in', { what: 'the tool that signs in' })
})

test('other tools keep their names, and a selection without tools of the server has no such tool', async () => {
  await root.ok('POST', '/api/servers', {
    ...{ name: 'echo', command: process.execPath, args: [`${import.meta.dir}/../../support/mcp-servers/echo.ts`] },
    tools: { echo: { name: 'notes_sign_in' } },
  })
  await online(root, ['echo'])
  const echo = { server: 'echo', tools: ['echo'] }
  await root.ok('POST', '/api/groups', { name: 'both', members: [echo, { server: 'ada~notes', tools: ['whoami'] }] })
  await root.ok('POST', '/api/groups', { name: 'none', members: [echo, { server: 'ada~notes', tools: [] }] })
  const names = await toolNames(await root.mcp('/mcp/both'))
  expect(names).toContain('notes_sign_in')
  expect(names.filter(name => /^notes_sign_in_[0-9a-f]{6}$/.test(name))).toHaveLength(1)
  const both = await root.mcp('/mcp/both')
  expect(await callText(both, 'notes_sign_in', { text: 'as before' })).toContain('as before')
  expect(await toolNames(await root.mcp('/mcp/none'))).toEqual(['notes_sign_in'])
})

test('a smart group finds it only where it has nothing else', async () => {
  await root.ok('POST', '/api/groups', { name: 'alone', members: [{ server: 'ada~notes' }] })
  await root.ok('POST', '/api/groups', { name: 'full', members: [{ server: 'ada~notes' }, { server: 'echo' }] })
  const found = async (path: string) => callText(await root.mcp(path), 'search_tools', { query: 'notes sign in' })
  expect(await found('/mcp/$smart/alone')).toContain('"server":"notes"')
  expect(await found('/mcp/$smart/full')).not.toContain('"server":"notes"')
  const alone = await root.mcp('/mcp/$smart/alone')
  expect(await callText(alone, 'call_tool', { tool: 'notes_sign_in', arguments: {} })).toContain(page)
})

describe('a request that needs a sign-in', () => {
  test('newer clients are asked to open the page, and the retry is answered', async () => {
    const person = await hub.user('newer')
    const asked: string[] = []
    const client = await modern(person, '/mcp/@ada/notes', asked)
    for (const request of [
      () => client.callTool({ name: 'whoami' }),
      () => client.getPrompt({ name: 'greet' }),
      () => client.readResource({ uri: 'guarded://who' }),
    ]) {
      expect(JSON.stringify(await request())).toContain('newer-there')
      expect(asked.splice(0)).toEqual([page])
      await signOut(person)
    }
    await client.close()
  })

  test('newer clients whose person declines get the error with the link, and are not asked again', async () => {
    const person = await hub.user('unwilling')
    const asked: string[] = []
    const client = await modern(person, '/mcp/@ada/notes', asked, false)
    const error = (await client.callTool({ name: 'whoami' }).catch((thrown: unknown) => thrown)) as Error
    expect(error).toMatchObject({ code: -32603, data: { code: 'authorization_required' } })
    expect(error.message).toContain(page)
    expect(asked).toEqual([page])
    await client.close()
  })

  test('clients of 2025-11-25 get the elicitation as an error, and are told when it is done', async () => {
    const person = await hub.user('older')
    const client = await person.mcp('/mcp/@ada/notes', { capabilities: { elicitation: { url: {} } } })
    const completed: string[] = []
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
      completed.push(params.elicitationId)
    })
    const ids = new Set<string>()
    for (const ask of [
      () => client.callTool({ name: 'whoami' }),
      () => client.getPrompt({ name: 'greet' }),
      () => client.readResource({ uri: 'guarded://who' }),
    ]) {
      const error = await ask().catch((thrown: unknown) => thrown as { code: number; elicitations: unknown[] })
      expect(error).toMatchObject({ code: -32042, elicitations: [{ mode: 'url', url: page }] })
      const [visit] = (error as { elicitations: { elicitationId: string }[] }).elicitations
      ids.add(visit?.elicitationId ?? '')
    }
    await signIn(person, 'older-there')
    await until(() => completed.length > 0, { what: 'the notice that the sign-in is done' })
    expect(completed).toEqual([...ids])
    expect(await callText(client, 'whoami')).toBe('older-there')
  })

  test('others get the link in the text of the error', async () => {
    const person = await hub.user('plain')
    const client = await person.mcp('/mcp/@ada/notes')
    for (const ask of [
      () => client.callTool({ name: 'whoami' }),
      () => client.getPrompt({ name: 'greet' }),
      () => client.readResource({ uri: 'guarded://who' }),
    ]) {
      const error = (await ask().catch((thrown: unknown) => thrown)) as Error
      expect(error).toMatchObject({ code: -32603, data: { code: 'authorization_required', connectUrl: page } })
      expect(error.message).toContain(page)
    }
  })
})
