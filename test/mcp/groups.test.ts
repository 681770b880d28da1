import { beforeAll, describe, expect, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { beyondCore } from '../support/extent.ts'
import type { Client } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { callText, failureOf, online, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { LOGGING, listening, methodsOf, SHARED, seenBy, useGroups } from './group-members.ts'
import { sharedFixture } from './shared-fixture.ts'

const CHINESE = '天气查询'
const LONG = 'n'.repeat(64)

const groups = useGroups({
  [CHINESE]: sharedFixture('varied', {
    NAME: 'chinese',
    NAMES: `["查询","查讯","${'长'.repeat(30)}${'x'.repeat(60)}"]`,
  }),
  [LONG]: sharedFixture('varied', { NAME: 'long', NAMES: `["${'t'.repeat(64)}","${'t'.repeat(65)}"]` }),
})

describe('P-18 and names', () => {
  test('P-18 the capabilities of a group are the union of its members’', async () => {
    const pair = (await groups.admin.mcp('/mcp/pair')).getServerCapabilities()
    const listChanged = { listChanged: true }
    expect(pair).toMatchObject({
      tools: listChanged,
      prompts: listChanged,
      resources: { ...listChanged, subscribe: true },
      logging: {},
      completions: {},
    })
    const bare = (await groups.admin.mcp('/mcp/bare')).getServerCapabilities()
    expect(bare).toEqual({ tools: listChanged })
  })

  test('P-18 a call into a member that lacks the capability is -32601, and the member sees nothing', async () => {
    const before = await methodsOf(groups.admin, 'two')
    const client = await groups.admin.mcp('/mcp/pair')
    const prompt = (await client.listPrompts()).prompts.find(({ name }) => name === 'two_hello')
    expect(prompt?.name).toBe('two_hello')
    const failure = await failureOf(
      client.complete({ ref: { type: 'ref/prompt', name: 'two_hello' }, argument: { name: 'x', value: '' } }),
    )
    expect(failure.code).toBe(-32601)
    const bare = await new RawClient(groups.hub, '/mcp/bare', await groups.admin.mcpKey()).open()
    expect((await bare.call('logging/setLevel', { level: 'error' })).error?.code).toBe(-32601)
    const after = await methodsOf(groups.admin, 'two')
    expect(after.filter(method => method === 'completion/complete')).toEqual([])
    expect(after.length - before.length).toBeLessThanOrEqual(2)
  })

  test('of members that collide get the alias in front, all parties, and lead to their own member', async () => {
    const client = await groups.admin.mcp('/mcp/pair')
    const names = await toolNames(client)
    expect(names).toContain('one_raw')
    expect(names).toContain('two_raw')
    expect(names).not.toContain('raw')
    expect(names).toContain('secret')
    expect(JSON.parse(await callText(client, 'one_name'))).toEqual({ server: 'one', tool: 'name' })
    expect(JSON.parse(await callText(client, 'two_name'))).toEqual({ server: 'two', tool: 'name' })
    expect(JSON.parse(await callText(client, 'weather_get'))).toEqual({ server: 'one', tool: 'weather.get' })
    const { messages } = await client.getPrompt({ name: 'two_hello' })
    expect(JSON.stringify(messages)).toContain('two hello')
  })

  test('in Chinese, of 64 characters and longer are legal, unique, stable, and lead back', async () => {
    await groups.admin.ok('POST', '/api/groups', { name: '群组 一', members: [CHINESE, LONG] })
    const path = `/mcp/${encodeURIComponent('群组 一')}`
    const client = await groups.admin.mcp(path)
    const names = await toolNames(client)
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(new Set(names).size).toBe(names.length)
    const originals = new Set<string>()
    for (const name of names) {
      const text = await callText(client, name)
      if (text.startsWith('{')) originals.add(`${JSON.parse(text).server} ${JSON.parse(text).tool}`)
    }
    for (const tool of ['chinese 查询', 'chinese 查讯', `long ${'t'.repeat(64)}`, `long ${'t'.repeat(65)}`])
      expect(originals).toContain(tool)
    expect(await toolNames(await groups.admin.mcp(path.toLowerCase()))).toEqual(names)
    expect(await toolNames(await groups.admin.mcp(`/mcp/${encodeURIComponent(CHINESE.normalize('NFD'))}`))).toContain(
      'raw',
    )
    expect(await toolNames(await groups.admin.mcp(`/mcp/${LONG.toUpperCase()}`))).toContain('raw')
  })

  test('of resources in two members carry the alias, and are read, linked and subscribed under it', async () => {
    const updated: string[] = []
    const client = await groups.admin.mcp('/mcp/pair', {
      prepare: one =>
        one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri)),
    })
    const uris = (await client.listResources()).resources.map(({ uri }) => uri)
    expect(uris).toContain(`patchbay://one/${SHARED}`)
    expect(uris).toContain(`patchbay://two/${SHARED}`)
    expect(uris).toContain('one://a')
    for (const who of ['one', 'two']) {
      const uri = `patchbay://${who}/${SHARED}`
      const { contents } = await client.readResource({ uri })
      expect(contents).toMatchObject([{ uri, text: `${who} ${SHARED}` }])
      const link = await client.callTool({ name: `${who}_link`, arguments: { uri: SHARED } })
      expect(link.content).toMatchObject([{ type: 'resource_link', uri }])
    }
    expect((await failureOf(client.readResource({ uri: SHARED }))).data?.code).toBe('uri_ambiguous')
    expect((await client.readResource({ uri: 'one://item/5' })).contents).toMatchObject([{ text: 'one one://item/5' }])
    await client.subscribeResource({ uri: `patchbay://two/${SHARED}` })
    const params = { uri: SHARED }
    for (const who of ['one', 'two'])
      await callText(client, `${who}_say`, { method: 'notifications/resources/updated', params })
    await until(() => updated.length > 0, { what: 'the update' })
    expect(updated).toEqual([`patchbay://two/${SHARED}`])
    await client.unsubscribeResource({ uri: `patchbay://two/${SHARED}` })
  })
})

describe('keys and owners', () => {
  test('a key for one group opens that group alone', async () => {
    const { secret } = await groups.admin.ok('POST', '/api/keys', { label: 'narrow', scopes: [{ group: 'alone' }] })
    expect(await toolNames(await groups.admin.mcp('/mcp/alone', { credential: secret }))).toContain('raw')
    for (const path of ['/mcp/pair', '/mcp', '/mcp/two', '/mcp/@admin/pair', '/mcp/nothing']) {
      const answer = await new RawClient(groups.hub, path, secret).post({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
      })
      expect([path, answer.status]).toEqual([path, 404])
    }
    expect(
      (await groups.admin.request('GET', '/api/servers', undefined, { authorization: `Bearer ${secret}` })).status,
    ).toBe(403)
  })

  test('a public group shows others its public members and leaves no trace of the private ones', async () => {
    const bert = await groups.hub.user('bert')
    await groups.admin.ok('POST', '/api/groups', {
      name: 'open',
      visibility: 'public',
      members: ['one', 'two', 'bare'],
    })
    await groups.admin.ok('PATCH', '/api/servers/bare', { visibility: 'public' })
    const own = await groups.admin.mcp('/mcp/open')
    const others = await listening(bert, '/mcp/@admin/open')
    expect(await toolNames(own)).toContain('secret')
    expect((await toolNames(others.client)).every(name => !name.startsWith('bare_'))).toBe(true)
    expect(JSON.parse(await callText(others.client, 'name')).server).toBe('bare')
    const traces = JSON.stringify([
      others.client.getServerCapabilities(),
      others.client.getInstructions() ?? '',
      await others.client.listTools(),
      await failureOf(callText(others.client, 'secret')),
      await failureOf(callText(others.client, 'one_name')),
    ])
    expect(traces).not.toMatch(/two|"one|prompts|completions/)
    // A server that becomes public later joins, and one that becomes private leaves.
    await groups.admin.ok('PATCH', '/api/servers/two', { visibility: 'public' })
    await until(() => others.heard.tools > 0, { what: 'the notice' })
    expect(await toolNames(others.client)).toContain('two_name')
    await groups.admin.ok('PATCH', '/api/servers/two', { visibility: 'private' })
    expect(await toolNames(others.client)).not.toContain('two_name')
    await groups.admin.ok('PATCH', '/api/groups/open', { visibility: 'private' })
    const failure = await failureOf(others.client.listTools())
    expect(String(failure.code)).toBe('404')
    await groups.admin.ok('PATCH', '/api/servers/bare', { visibility: 'private' })
  }, 120_000)
})

describe('P-21 log levels', () => {
  interface Ear {
    readonly client: McpClient
    readonly heard: string[]
  }
  async function ear(path: string): Promise<Ear> {
    const heard: string[] = []
    const client = await groups.admin.mcp(path, {
      prepare: one =>
        one.setNotificationHandler(
          LoggingMessageNotificationSchema,
          ({ params }) => void heard.push(`${params.level} ${(params.data as { text: string }).text}`),
        ),
    })
    return { client, heard }
  }
  const emit = ({ client }: Ear, log: string, text: string) => callText(client, 'emit', { count: 1, log, text })

  test('P-21 are of one session: a message of one’s call never reaches another, whatever the levels', async () => {
    const [a, b] = [await ear('/mcp/two'), await ear('/mcp/alone')]
    await a.client.setLoggingLevel('debug')
    await b.client.setLoggingLevel('error')
    for (const level of ['debug', 'info', 'error']) {
      await emit(a, level, 'of a')
      await emit(b, level, 'of b')
    }
    await until(() => a.heard.length >= 3 && b.heard.length >= 1, { what: 'the messages' })
    expect(a.heard).toEqual(['debug of a', 'info of a', 'error of a'])
    expect(b.heard).toEqual(['error of b'])
    await a.client.close()
    await b.client.close()
  })

  test('P-21 of calls that run at once on one shared pipe reach nobody else, nor do those of a call that was given up', async () => {
    const [a, b] = [await ear('/mcp/two'), await ear('/mcp/two')]
    const talk = (one: Ear, text: string, signal?: AbortSignal) =>
      one.client.callTool(
        { name: 'emit', arguments: { count: 12, gapMs: 40, log: 'error', text } },
        undefined,
        signal ? { signal } : {},
      )
    await Promise.all([talk(a, 'of a'), talk(b, 'of b')])
    expect(a.heard.filter(text => text.includes('of b'))).toEqual([])
    expect(b.heard.filter(text => text.includes('of a'))).toEqual([])
    // The upstream ignores the cancellation and continues to send.
    const leaving = new AbortController()
    const given = talk(a, 'a secret of a', leaving.signal).catch(() => undefined)
    await until(() => a.heard.includes('error a secret of a'), { what: 'the first message' })
    leaving.abort()
    await given
    await b.client.callTool({ name: 'emit', arguments: { count: 15, gapMs: 40 } })
    expect(b.heard.filter(text => text.includes('secret'))).toEqual([])
  })

  // A user whose servers no other session of these tests has.
  let lena: Client
  beforeAll(async () => {
    lena = await groups.hub.user('lena', 'admin')
  }, 120_000)
  const raw = async (path: string) => new RawClient(groups.hub, path, await lena.mcpKey()).open()
  const levels = async (server: string) =>
    (await seenBy(lena, server))
      .filter(({ method }) => method === 'logging/setLevel')
      .map(({ params }) => params?.level)

  test('P-21 the upstream gets the most verbose level of all: also when a session comes, and when one ends', async () => {
    await lena.ok('POST', '/api/servers', { name: 'levelled', ...sharedFixture('varied', { CAPABILITIES: LOGGING }) })
    await online(lena, ['levelled'])
    const told = (level: string) =>
      until(async () => (await levels('levelled')).at(-1) === level, { what: `the upstream to be told ${level}` })
    const strict = await raw('/mcp/levelled')
    await strict.call('logging/setLevel', { level: 'error' })
    await told('error')
    // A session that never set a level gets the usual one, no matter which level another one sets.
    const plain = await raw('/mcp/levelled')
    await told('info')
    const loud = await raw('/mcp/levelled')
    await loud.call('logging/setLevel', { level: 'debug' })
    await told('debug')
    await loud.delete()
    await told('info')
    await plain.delete()
    await strict.call('logging/setLevel', { level: 'warning' })
    await told('warning')
    await strict.delete()
    await told('info')
  })

  beyondCore(() => {
    test('P-21 reach a member that joins the group later, and one that restarts', async () => {
      for (const name of ['early', 'joining'])
        await lena.ok('POST', '/api/servers', { name, ...sharedFixture('varied', { CAPABILITIES: LOGGING }) })
      await online(lena, ['early', 'joining'])
      await lena.ok('POST', '/api/groups', { name: 'growing', members: ['early'] })
      const client = await raw('/mcp/growing')
      await client.call('logging/setLevel', { level: 'debug' })
      expect(await levels('joining')).toEqual([])
      await lena.ok('PUT', '/api/groups/growing/members/joining', {})
      await until(async () => (await levels('joining')).length > 0, { what: 'the new member to be told' })
      await lena.ok('POST', '/api/servers/joining/restart?wait=10s')
      await until(async () => (await levels('joining')).length > 0, { what: 'the restarted member to be told' })
      expect(await levels('joining')).toEqual(['debug'])
      await client.delete()
    })
  })
})
