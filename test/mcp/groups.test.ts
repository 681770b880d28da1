import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { callText, failureOf, online, toolNames } from '../support/servers.ts'
import { timed, until } from '../support/wait.ts'

const SHARED = 'test://shared'
const LOGGING = '{"logging":{}}'
const CHINESE = '天气查询'
const LONG = 'n'.repeat(64)

// A test that runs out of time takes the hub with it: waiting must end earlier and say for what.
setDefaultTimeout(20_000)

let hub: Hub
let admin: Client

beforeAll(async () => {
  const varied = (name: string, more: Record<string, string> = {}) => stdioFixture('varied', { NAME: name, ...more })
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: {
        one: varied('one', {
          PROMPTS: '["hello","only_one"]',
          RESOURCES: `["${SHARED}","one://a","one://hidden"]`,
          TEMPLATES: '["one://item/{id}"]',
          CAPABILITIES: '{"logging":{},"completions":{}}',
          NAMES: '["weather.get","secret"]',
        }),
        two: varied('two', { PROMPTS: '["hello"]', RESOURCES: `["${SHARED}"]`, CAPABILITIES: LOGGING }),
        bare: varied('bare'),
        slow: stdioFixture('slow'),
        late: stdioFixture('slow', { INIT_MS: '6000' }),
        [CHINESE]: varied('chinese', { NAMES: `["查询","查讯","${'长'.repeat(30)}${'x'.repeat(60)}"]` }),
        [LONG]: varied('long', { NAMES: `["${'t'.repeat(64)}","${'t'.repeat(65)}"]` }),
      },
      groups: [
        { name: 'pair', servers: ['one', 'two'] },
        { name: 'alone', servers: ['two'] },
      ],
    },
  })
  admin = await hub.setup()
  await online(admin, ['one', 'two', 'bare', 'slow', CHINESE, LONG], 30_000)
}, 60_000)

afterAll(async () => {
  await hub?.stop()
}, 40_000)

type Kind = 'tools' | 'prompts' | 'resources'

/** A client that counts the list changes it hears of. */
async function listening(path: string, who = admin): Promise<{ client: McpClient; heard: Record<Kind, number> }> {
  const heard = { tools: 0, prompts: 0, resources: 0 }
  const client = await who.mcp(path, {
    prepare: one => {
      const hear = (kind: Kind) => () => {
        heard[kind] += 1
      }
      one.setNotificationHandler(ToolListChangedNotificationSchema, hear('tools'))
      one.setNotificationHandler(PromptListChangedNotificationSchema, hear('prompts'))
      one.setNotificationHandler(ResourceListChangedNotificationSchema, hear('resources'))
    },
  })
  return { client, heard }
}

/** What a server has heard so far, asked without a session. */
async function seenBy(server: string): Promise<{ readonly method: string; readonly params?: { level?: string } }[]> {
  const { result } = await admin.ok('POST', `/api/servers/${server}/tools/seen/call`, {})
  return JSON.parse(result.content[0].text)
}

const methodsOf = async (server: string): Promise<string[]> => (await seenBy(server)).map(({ method }) => method)

describe('P-20 list_changed', () => {
  test('P-20 of an upstream is one notice of that kind to each session that has it, and none to others', async () => {
    const paths = ['/mcp/pair', '/mcp/pair', '/mcp/one', '/mcp']
    const affected = await Promise.all(paths.map(path => listening(path)))
    const others = await Promise.all(['/mcp/alone', '/mcp/bare'].map(path => listening(path)))
    const quiet = await listening('/mcp/bare')
    for (const { client } of [...affected, ...others, quiet]) await client.listTools()
    const say = (kind: Kind, replace: object) =>
      callText(affected[2]?.client as McpClient, 'say', { method: `notifications/${kind}/list_changed`, replace })
    await say('prompts', { prompts: [{ name: 'hello' }, { name: 'only_one' }, { name: 'fresh' }] })
    await until(() => affected.every(({ heard }) => heard.prompts === 1), { what: 'each to hear' })
    for (const { client } of affected)
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('fresh')
    // Five within the window are one, and nothing is told twice.
    for (let round = 0; round < 5; round += 1) await say('resources', {})
    await until(() => affected.every(({ heard }) => heard.resources >= 1), { what: 'each to hear' })
    await Bun.sleep(1_500)
    for (const { heard } of affected) {
      expect([heard.tools, heard.prompts]).toEqual([0, 1])
      expect(heard.resources).toBeLessThanOrEqual(2)
    }
    for (const { heard } of [...others, quiet]) expect(heard).toEqual({ tools: 0, prompts: 0, resources: 0 })
  }, 20_000)

  test('P-20 follows edits of the group, its members and their overrides, and the next list shows it', async () => {
    await admin.ok('POST', '/api/groups', { name: 'edited', members: ['bare'] })
    const { client, heard } = await listening('/mcp/edited')
    const other = await listening('/mcp/alone')
    const once = async (what: string, kinds: Partial<Record<Kind, number>>, deed: () => Promise<unknown>) => {
      const before = { ...heard }
      await deed()
      for (const [kind, count] of Object.entries(kinds))
        await until(() => heard[kind as Kind] === before[kind as Kind] + count, { what: `${what}: ${kind}` })
      await Bun.sleep(1_100)
      const told = Object.fromEntries((Object.keys(heard) as Kind[]).map(kind => [kind, heard[kind] - before[kind]]))
      expect([what, told]).toEqual([what, { tools: 0, prompts: 0, resources: 0, ...kinds }])
    }
    await once('a member comes', { tools: 1, prompts: 1, resources: 1 }, () =>
      admin.ok('PUT', '/api/groups/edited/members/two', {}),
    )
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['hello'])
    await once('a tool is hidden in the group', { tools: 1 }, () =>
      admin.ok('PUT', '/api/groups/edited/members/two', { tools: ['raw', { name: 'big', as: 'large' }] }),
    )
    expect(await toolNames(client)).toContain('large')
    await once('a description of the group is no change of a list', {}, () =>
      admin.ok('PATCH', '/api/groups/edited', { description: 'Edited' }),
    )
    await once('a tool is renamed at its server', { tools: 1 }, () =>
      admin.ok('PATCH', '/api/servers/bare/tools/link', { name: 'connect' }),
    )
    expect(await toolNames(client)).toContain('connect')
    // The old name works on for a while, since a client may be about to use it.
    expect(await callText(client, 'name')).toContain('bare')
    await once('a member is stopped', { tools: 1, prompts: 1, resources: 1 }, () =>
      admin.ok('POST', '/api/servers/two/stop?wait=5s'),
    )
    expect((await client.listPrompts()).prompts).toEqual([])
    await admin.ok('POST', '/api/servers/two/start?wait=10s')
    await until(async () => (await client.listPrompts()).prompts.length === 1, { what: 'the member to be back' })
    await admin.ok('PATCH', '/api/servers/bare/tools/link', { name: null })
    const tools = other.heard.tools
    await until(() => other.heard.tools > 0, { what: 'the group of the stopped server to hear too' })
    expect(tools).toBeLessThanOrEqual(2)
  }, 40_000)
})

describe('P-18 and names', () => {
  test('P-18 the capabilities of a group are the union of its members’', async () => {
    const pair = (await admin.mcp('/mcp/pair')).getServerCapabilities()
    const listChanged = { listChanged: true }
    expect(pair).toMatchObject({
      tools: listChanged,
      prompts: listChanged,
      resources: { ...listChanged, subscribe: true },
      logging: {},
      completions: {},
    })
    const bare = (await admin.mcp('/mcp/bare')).getServerCapabilities()
    expect(bare).toEqual({ tools: listChanged })
  })

  test('P-18 a call into a member that lacks the capability is -32601, and the member sees nothing', async () => {
    const before = await methodsOf('two')
    const client = await admin.mcp('/mcp/pair')
    const prompt = (await client.listPrompts()).prompts.find(({ name }) => name === 'two_hello')
    expect(prompt?.name).toBe('two_hello')
    const failure = await failureOf(
      client.complete({ ref: { type: 'ref/prompt', name: 'two_hello' }, argument: { name: 'x', value: '' } }),
    )
    expect(failure.code).toBe(-32601)
    const bare = await new RawClient(hub, '/mcp/bare', await admin.mcpKey()).open()
    expect((await bare.call('logging/setLevel', { level: 'error' })).error?.code).toBe(-32601)
    const after = await methodsOf('two')
    expect(after.filter(method => method === 'completion/complete')).toEqual([])
    expect(after.length - before.length).toBeLessThanOrEqual(2)
  })

  test('of members that collide get the alias in front, all parties, and lead to their own member', async () => {
    const client = await admin.mcp('/mcp/pair')
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
    await admin.ok('POST', '/api/groups', { name: '群组 一', members: [CHINESE, LONG] })
    const path = `/mcp/${encodeURIComponent('群组 一')}`
    const client = await admin.mcp(path)
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
    expect(await toolNames(await admin.mcp(path.toLowerCase()))).toEqual(names)
    expect(await toolNames(await admin.mcp(`/mcp/${encodeURIComponent(CHINESE.normalize('NFD'))}`))).toContain('raw')
    expect(await toolNames(await admin.mcp(`/mcp/${LONG.toUpperCase()}`))).toContain('raw')
  })

  test('of resources in two members carry the alias, and are read, linked and subscribed under it', async () => {
    const updated: string[] = []
    const client = await admin.mcp('/mcp/pair', {
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

describe('P-24 what is hidden', () => {
  const member = { tools: ['name', 'raw', 'say'], prompts: ['hello'], resources: ['one://a'] }

  test('P-24 is not callable, readable, completable or subscribable by name, and nothing of it goes upstream', async () => {
    await admin.ok('POST', '/api/groups', { name: 'part', members: [{ server: 'one', ...member }] })
    const client = await admin.mcp('/mcp/part')
    expect(await toolNames(client)).toEqual(['raw', 'say', 'name'])
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['hello'])
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(['one://a'])
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([])
    const before = (await seenBy('one')).length
    const argument = { name: 'x', value: '' }
    const refused = [
      client.callTool({ name: 'secret', arguments: {} }),
      client.callTool({ name: 'one_secret', arguments: {} }),
      client.getPrompt({ name: 'only_one' }),
      client.readResource({ uri: 'one://hidden' }),
      client.readResource({ uri: 'patchbay://one/one://hidden' }),
      client.readResource({ uri: 'one://item/1' }),
      client.subscribeResource({ uri: 'one://hidden' }),
      client.complete({ ref: { type: 'ref/prompt', name: 'only_one' }, argument }),
      client.complete({ ref: { type: 'ref/resource', uri: 'one://item/{id}' }, argument }),
    ]
    for (const work of refused) expect([-32602, -32002]).toContain((await failureOf(work)).code)
    expect((await client.readResource({ uri: 'one://a' })).contents).toMatchObject([{ text: 'one one://a' }])
    expect((await seenBy('one')).length - before).toBeLessThanOrEqual(3)
  })

  test('P-24 while a session is open is out of reach at once: tools, prompts, resources and subscriptions', async () => {
    await admin.ok('POST', '/api/groups', { name: 'narrowed', members: ['one'] })
    const updated: string[] = []
    const client = await admin.mcp('/mcp/narrowed', {
      prepare: one =>
        one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri)),
    })
    await client.subscribeResource({ uri: 'one://hidden' })
    await client.subscribeResource({ uri: 'one://a' })
    expect(await callText(client, 'secret')).toContain('secret')
    await admin.ok('PATCH', '/api/groups/narrowed', { members: [{ server: 'one', ...member }] })
    expect((await failureOf(callText(client, 'secret'))).code).toBe(-32602)
    expect((await failureOf(client.getPrompt({ name: 'only_one' }))).code).toBe(-32602)
    expect((await failureOf(client.readResource({ uri: 'one://hidden' }))).code).toBe(-32002)
    const say = (uri: string) => callText(client, 'say', { method: 'notifications/resources/updated', params: { uri } })
    await until(async () => (await methodsOf('one')).filter(method => method === 'resources/unsubscribe').length > 0, {
      what: 'the upstream to hear that nobody is subscribed to what is hidden',
    })
    await say('one://hidden')
    await say('one://a')
    await until(() => updated.length > 0, { what: 'the update' })
    expect(updated).toEqual(['one://a'])
  })

  test('P-24 a tool that is switched off at its server is gone everywhere, over REST too', async () => {
    const client = await admin.mcp('/mcp/pair')
    const own = await admin.mcp('/mcp/one')
    await admin.ok('PATCH', '/api/servers/one/tools/secret', { enabled: false })
    for (const each of [client, own]) {
      expect(await toolNames(each)).not.toContain('secret')
      expect((await failureOf(callText(each, 'secret'))).code).toBe(-32602)
    }
    const answer = await admin.request('POST', '/api/servers/one/tools/secret/call', {})
    expect([answer.status, answer.json.code]).toEqual([404, 'tool_not_found'])
    await admin.ok('PATCH', '/api/servers/one/tools/secret', { enabled: true })
    expect(await callText(own, 'secret')).toContain('secret')
  })
})

describe('a member that is removed', () => {
  test('in mid-call lets the call finish, and the next one finds no tool', async () => {
    await admin.ok('POST', '/api/groups', { name: 'shrinking', members: ['slow', 'bare'] })
    const client = await admin.mcp('/mcp/shrinking')
    const running = callText(client, 'wait', { ms: 800 })
    await Bun.sleep(100)
    await admin.ok('DELETE', '/api/groups/shrinking/members/slow')
    expect((await failureOf(callText(client, 'quick'))).data?.code).toBe('tool_not_found')
    expect(await running).toBe('waited 800')
  })

  test('with its server answers the call in flight with an error, and the session goes on', async () => {
    await admin.ok('POST', '/api/servers', { name: 'doomed', ...stdioFixture('slow') })
    await online(admin, ['doomed'])
    await admin.ok('POST', '/api/groups', { name: 'mixed', members: ['doomed', 'bare'] })
    const client = await admin.mcp('/mcp/mixed')
    const running = failureOf(callText(client, 'wait', { ms: 20_000 }))
    await Bun.sleep(100)
    const { ms } = await timed(() => admin.ok('DELETE', '/api/servers/doomed'))
    expect((await running).code).toBe(-32603)
    expect(ms).toBeLessThan(5_000)
    expect(await toolNames(client)).not.toContain('wait')
    expect(await callText(client, 'name')).toContain('bare')
  }, 20_000)

  test('with the whole group ends its sessions: 404, and their calls are cancelled', async () => {
    await admin.ok('POST', '/api/groups', { name: 'gone', members: ['slow'] })
    const client = await new RawClient(hub, '/mcp/gone', await admin.mcpKey()).open()
    const running = client.send('tools/call', { name: 'wait', arguments: { ms: 20_000 } })
    await Bun.sleep(100)
    await admin.ok('DELETE', '/api/groups/gone')
    const { value, ms } = await timed(async () => (await running).text())
    expect(value).not.toContain('waited')
    expect(ms).toBeLessThan(5_000)
    expect((await client.send('ping')).status).toBe(404)
  })
})

describe('keys and owners', () => {
  test('a key for one group opens that group alone', async () => {
    const { secret } = await admin.ok('POST', '/api/keys', { label: 'narrow', scopes: [{ group: 'alone' }] })
    expect(await toolNames(await admin.mcp('/mcp/alone', { credential: secret }))).toContain('raw')
    for (const path of ['/mcp/pair', '/mcp', '/mcp/two', '/mcp/@admin/pair', '/mcp/nothing']) {
      const answer = await new RawClient(hub, path, secret).post({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
      })
      expect([path, answer.status]).toEqual([path, 404])
    }
    expect((await admin.request('GET', '/api/servers', undefined, { authorization: `Bearer ${secret}` })).status).toBe(
      403,
    )
  })

  test('a public group shows others its public members and leaves no trace of the private ones', async () => {
    const bert = await hub.user('bert')
    await admin.ok('POST', '/api/groups', { name: 'open', visibility: 'public', members: ['one', 'two', 'bare'] })
    await admin.ok('PATCH', '/api/servers/bare', { visibility: 'public' })
    const own = await admin.mcp('/mcp/open')
    const others = await listening('/mcp/@admin/open', bert)
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
    // What becomes public later joins, and what becomes private leaves.
    await admin.ok('PATCH', '/api/servers/two', { visibility: 'public' })
    await until(() => others.heard.tools > 0, { what: 'the notice' })
    expect(await toolNames(others.client)).toContain('two_name')
    await admin.ok('PATCH', '/api/servers/two', { visibility: 'private' })
    expect(await toolNames(others.client)).not.toContain('two_name')
    await admin.ok('PATCH', '/api/groups/open', { visibility: 'private' })
    const failure = await failureOf(others.client.listTools())
    expect(String(failure.code)).toBe('404')
    await admin.ok('PATCH', '/api/servers/bare', { visibility: 'private' })
  }, 20_000)
})

describe('P-23 a member that is dead or slow', () => {
  test('P-23 delays tools/list by 2 s at most, and list_changed follows when it is there', async () => {
    await admin.ok('POST', '/api/servers', { name: 'sleepy', ...stdioFixture('slow', { INIT_MS: '4000' }) })
    await admin.ok('POST', '/api/servers', { name: 'missing', command: '/no/such/program' })
    await admin.ok('POST', '/api/groups', { name: 'waiting', members: ['sleepy', 'missing', 'bare'] })
    const { client, heard } = await listening('/mcp/waiting')
    const { value, ms } = await timed(() => toolNames(client))
    expect(ms).toBeLessThan(2_200)
    expect(value).toContain('raw')
    expect(value).not.toContain('wait')
    expect((await timed(() => toolNames(client))).ms).toBeLessThan(2_200)
    await until(() => heard.tools > 0, { timeoutMs: 8_000, what: 'the notice' })
    expect(await toolNames(client)).toContain('wait')
  }, 20_000)
})

describe('P-21 log levels', () => {
  interface Ear {
    readonly client: McpClient
    readonly heard: string[]
  }
  async function ear(path: string): Promise<Ear> {
    const heard: string[] = []
    const client = await admin.mcp(path, {
      prepare: one =>
        one.setNotificationHandler(
          LoggingMessageNotificationSchema,
          ({ params }) => void heard.push(`${params.level} ${(params.data as { text: string }).text}`),
        ),
    })
    return { client, heard }
  }
  const emit = ({ client }: Ear, log: string, text: string) => callText(client, 'emit', { count: 1, log, text })
  const levels = async (server: string) =>
    (await seenBy(server)).filter(({ method }) => method === 'logging/setLevel').map(({ params }) => params?.level)

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
    // The upstream pays no attention to the cancellation and goes on talking.
    const leaving = new AbortController()
    const given = talk(a, 'a secret of a', leaving.signal).catch(() => undefined)
    await until(() => a.heard.includes('error a secret of a'), { what: 'the first message' })
    leaving.abort()
    await given
    await b.client.callTool({ name: 'emit', arguments: { count: 15, gapMs: 40 } })
    expect(b.heard.filter(text => text.includes('secret'))).toEqual([])
  })

  const raw = async (path: string) => new RawClient(hub, path, await admin.mcpKey()).open()

  test('P-21 the upstream hears the most verbose of all: also when a session comes, and when one ends', async () => {
    await admin.ok('POST', '/api/servers', { name: 'levelled', ...stdioFixture('varied', { CAPABILITIES: LOGGING }) })
    await online(admin, ['levelled'])
    const told = (level: string) =>
      until(async () => (await levels('levelled')).at(-1) === level, { what: `the upstream to be told ${level}` })
    const strict = await raw('/mcp/levelled')
    await strict.call('logging/setLevel', { level: 'error' })
    await told('error')
    // A session that never set a level gets what is usual, whatever another one wants.
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

  test('P-21 reach a member that joins the group later, and one that restarts', async () => {
    for (const name of ['early', 'joining'])
      await admin.ok('POST', '/api/servers', { name, ...stdioFixture('varied', { CAPABILITIES: LOGGING }) })
    await online(admin, ['early', 'joining'])
    await admin.ok('POST', '/api/groups', { name: 'growing', members: ['early'] })
    const client = await raw('/mcp/growing')
    await client.call('logging/setLevel', { level: 'debug' })
    expect(await levels('joining')).toEqual([])
    await admin.ok('PUT', '/api/groups/growing/members/joining', {})
    await until(async () => (await levels('joining')).length > 0, { what: 'the new member to be told' })
    await admin.ok('POST', '/api/servers/joining/restart?wait=10s')
    await until(async () => (await levels('joining')).length > 0, { what: 'the restarted member to be told' })
    expect(await levels('joining')).toEqual(['debug'])
    await client.delete()
  })
})
