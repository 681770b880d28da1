import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Client } from '../support/client.ts'
import type { Hub } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { callText, failureOf, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'
import { sharedFixture } from './shared-fixture.ts'

setDefaultTimeout(30_000)
const REGIONS = Array.from({ length: 20 }, (_, at) => `r${String(at + 1).padStart(2, '0')}`)
const equal = (name: string, more: Record<string, string> = {}) =>
  sharedFixture('varied', {
    NAME: name,
    PROMPTS: '["greet"]',
    RESOURCES: '["crm://all"]',
    CAPABILITIES: '{"completions":{}}',
    ...more,
  })
/** A middleware that answers with its context where a call asks for it. */
const CONTEXT = { use: join(import.meta.dir, 'fixtures/context-answers.ts'), isolate: false }
const SELECTOR = {
  argument: 'region',
  members: Object.fromEntries(REGIONS.map(region => [region, `crm-${region}`])),
}
const FILED = {
  ...{ name: 'filed', servers: ['crm-r01', 'crm-r02'] },
  selector: { argument: 'region', members: { a: 'crm-r01', b: 'crm-r02' } },
}
let hub: Hub
let admin: Client

beforeAll(async () => {
  const servers = REGIONS.map(region => [`crm-${region}`, equal(`crm-${region}`)] as const)
  const mcpServers = {
    ...Object.fromEntries(servers),
    other: sharedFixture('varied', { NAME: 'other', TOOLS: '1' }),
    unlike: equal('unlike', { SCHEMA: '{"type":"integer"}' }),
    taking: equal('taking', { SCHEMA: '{"type":"string"}' }),
  }
  const settings = { mcpServers, groups: [FILED], plugins: [CONTEXT] }
  ;({ hub, admin } = await startOnline({ settings }))
  await admin.ok('POST', '/api/groups', { name: 'crm', members: ['other'], selector: SELECTOR })
}, 120_000)
afterAll(() => hub?.stop())

const whoIs = async (client: McpClient, args: Record<string, unknown>): Promise<string> =>
  JSON.parse(await callText(client, 'name', args)).server

describe('a selector over 20 equal servers', () => {
  test('is one list, and each call reaches its server without the argument', async () => {
    const client = await admin.mcp('/mcp/crm')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).sort()).toEqual(
      ['ask', 'big', 'emit', 'link', 'name', 'raw', 'say', 'seen', 'tool_0001'].sort(),
    )
    expect(tools.find(({ name }) => name === 'raw')?.inputSchema).toEqual({
      type: 'object',
      properties: { region: { type: 'string', enum: REGIONS, description: 'The server that runs it.' } },
      required: ['region'],
    })
    expect(tools.find(({ name }) => name === 'tool_0001')?.inputSchema).toEqual({ type: 'object', properties: {} })
    for (const region of REGIONS) expect(await whoIs(client, { region })).toBe(`crm-${region}`)
    const { structuredContent } = await client.callTool({
      name: 'raw',
      arguments: { region: 'r07', a: 1.5, b: [null] },
    })
    expect(structuredContent).toEqual({ a: 1.5, b: [null] })
    const found = await until(async () => (await admin.ok('GET', '/api/logs/search?tool=raw')).items[0])
    expect(found).toMatchObject({ server: 'crm-r07', group: 'crm', tool: 'raw' })
  })

  test('gives middlewares the server that is chosen, with its tags and those of the group', async () => {
    await admin.ok('PATCH', '/api/servers/crm-r06', { tags: ['Six'] })
    await admin.ok('PATCH', '/api/groups/crm', { tags: ['crm'] })
    const client = await admin.mcp('/mcp/crm')
    const context = JSON.parse(await callText(client, 'name', { region: 'r06', guard: 'context' }))
    expect(context).toMatchObject({
      ...{ group: { name: 'crm' }, server: { name: 'crm-r06' }, tool: { name: 'name' } },
      tags: { group: ['crm'], server: ['Six'] },
    })
  })

  test('refuses a call without the argument, and with another value, and names the values', async () => {
    const client = await admin.mcp('/mcp/crm')
    const missing = await failureOf(client.callTool({ name: 'name', arguments: {} }))
    expect(missing).toMatchObject({
      code: -32602,
      data: { code: 'selector_missing', argument: 'region', values: REGIONS },
    })
    expect(missing.message).toContain('needs the argument "region": one of r01, r02')
    for (const region of ['r21', '', 7, ['r01'], '__proto__', 'constructor']) {
      const unknown = await failureOf(client.callTool({ name: 'name', arguments: { region } }))
      expect(unknown).toMatchObject({ code: -32602, data: { code: 'selector_unknown', values: REGIONS } })
    }
  })

  test('works for modern clients, over REST, by the smart group, and with a default', async () => {
    const modern = new RawModern(hub, '/mcp/crm', await admin.mcpKey())
    const called = await modern.call('tools/call', { name: 'name', arguments: { region: 'r03' } })
    expect(called.result.content[0].text).toContain('crm-r03')
    expect(await admin.ok('POST', '/api/groups/crm/tools/name', { region: 'r04' })).toMatchObject({ server: 'crm-r04' })
    const refused = await admin.request('POST', '/api/groups/crm/tools/name', {})
    expect([refused.status, refused.json.code, refused.json.values]).toEqual([400, 'selector_missing', REGIONS])
    const smart = await admin.mcp('/mcp/$smart/crm')
    const found = await callText(smart, 'call_tool', { tool: 'name', arguments: { region: 'r05' } })
    expect(found).toContain('crm-r05')
    await admin.ok('PATCH', '/api/groups/crm', { selector: { default: 'r02', description: 'The region.' } })
    const client = await admin.mcp('/mcp/crm')
    expect(await whoIs(client, {})).toBe('crm-r02')
    const tool = (await client.listTools()).tools.find(({ name }) => name === 'name')
    expect(tool?.inputSchema.required).toBeUndefined()
    expect(tool?.inputSchema.properties?.region).toEqual({
      ...{ type: 'string', enum: REGIONS, description: 'The region.', default: 'r02' },
    })
    await admin.ok('PATCH', '/api/groups/crm', { selector: { default: null, description: null } })
  })

  test('has one prompt, whose argument is completed, and the resources of each server', async () => {
    const client = await admin.mcp('/mcp/crm')
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['greet'])
    expect(prompts[0]?.arguments).toMatchObject([{ name: 'region', required: true }])
    const got = await client.getPrompt({ name: 'greet', arguments: { region: 'r09' } })
    expect(JSON.stringify(got)).toContain('crm-r09')
    expect(await failureOf(client.getPrompt({ name: 'greet' }))).toMatchObject({ data: { code: 'selector_missing' } })
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'region', value: 'R1' },
    })
    expect(completion.values).toEqual(REGIONS.slice(9, 19))
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toContain('patchbay://crm-r11/crm://all')
    const { contents } = await client.readResource({ uri: 'patchbay://crm-r11/crm://all' })
    expect(JSON.stringify(contents)).toContain('crm-r11')
  })

  test('says that a member is offline, and lists the others', async () => {
    const client = await admin.mcp('/mcp/crm')
    await client.listTools()
    let changes = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1
    })
    await admin.ok('POST', '/api/servers/crm-r13/stop')
    await until(() => changes > 0, { what: 'the list is announced as changed' })
    const others = REGIONS.filter(region => region !== 'r13')
    const raw = (await client.listTools()).tools.find(({ name }) => name === 'raw')
    expect(raw?.inputSchema.properties?.region).toMatchObject({ enum: others })
    const offline = await failureOf(client.callTool({ name: 'name', arguments: { region: 'r13' } }))
    expect(offline.data).toMatchObject({ code: 'server_offline', argument: 'region', values: others })
    expect(offline.message).toContain('"region" was "r13", and for "name" online are r01, r02')
    expect(await whoIs(client, { region: 'r14' })).toBe('crm-r14')
    await admin.ok('POST', '/api/servers/crm-r13/start')
    await online(admin, ['crm-r13'])
    expect(await whoIs(client, { region: 'r13' })).toBe('crm-r13')
  })
})

test('a member that was never online says so, and the OpenAPI document of the group has the argument', async () => {
  await admin.ok('POST', '/api/servers', { name: 'ghost', command: 'no-such-program-of-a-test' })
  const selector = { argument: 'region', members: { here: 'crm-r08', ghost: 'ghost' } }
  const { warnings } = await admin.ok('POST', '/api/groups', { name: 'haunted', selector })
  expect(warnings).toMatchObject([{ code: 'server_unseen', server: 'ghost' }])
  const client = await admin.mcp('/mcp/haunted')
  const { data, message } = await failureOf(client.callTool({ name: 'name', arguments: { region: 'ghost' } }))
  expect(data).toMatchObject({ code: 'server_offline', argument: 'region', values: ['here'] })
  expect(message).toContain('was never seen online')
  const document = await admin.ok('GET', '/api/groups/haunted/openapi.json')
  expect(document.components.schemas.name_input).toMatchObject({
    ...{ properties: { region: { enum: ['here'] } }, required: ['region'] },
  })
})

describe('members that are not alike', () => {
  const make = (name: string, members: Record<string, string>, more: object = {}) =>
    admin.request('POST', '/api/groups', { name, selector: { argument: 'region', members }, ...more })

  test('are refused with the places that differ, and saved once the tool is left out or its argument pinned', async () => {
    const refused = await make('mixed', { eu: 'crm-r01', us: 'unlike' })
    expect([refused.status, refused.json.code]).toEqual([409, 'group_schema_differs'])
    expect(refused.json.detail).toBe('The group cannot be saved: the tool "name" of us is unlike that of eu')
    expect(refused.json.differences).toEqual([
      {
        ...{ kind: 'tools', name: 'name', values: ['us'], as: 'eu' },
        places: [{ at: '/properties/it/type', other: '"integer"' }],
      },
    ])
    const members = { eu: 'crm-r01', us: 'unlike' }
    const pinned = [{ server: 'unlike', tools: [{ name: 'name', arguments: { it: { pin: 5 } } }, 'raw'] }]
    const shaped = [{ server: 'crm-r01', tools: [{ name: 'name', arguments: { it: { pin: 'x' } } }, 'raw', 'big'] }]
    expect((await make('mixed', members, { members: [...shaped, ...pinned] })).status).toBe(201)
    const client = await admin.mcp('/mcp/mixed')
    const { tools } = await client.listTools()
    const valuesOf = (tool: string) => tools.find(({ name }) => name === tool)?.inputSchema.properties?.region
    expect(valuesOf('name')).toMatchObject({ enum: ['eu', 'us'] })
    expect(valuesOf('big')).toMatchObject({ enum: ['eu'] })
    const lacking = await failureOf(client.callTool({ name: 'big', arguments: { region: 'us', bytes: 2 } }))
    expect(lacking).toMatchObject({ data: { code: 'selector_unknown', values: ['eu'] } })
    const { warnings } = await admin.ok('GET', '/api/groups/mixed')
    expect(warnings).toMatchObject([{ code: 'selector_partial', params: { item: 'big', values: 'us' } }])
  })

  test('with the selector’s argument as their own are refused, as the preview warns', async () => {
    const selector = { argument: 'it', members: { a: 'taking' } }
    const refused = await admin.request('POST', '/api/groups', { name: 'taken', selector })
    expect([refused.status, refused.json.code]).toEqual([409, 'selector_argument_taken'])
    const { warnings } = await admin.ok('POST', '/api/groups/preview', { name: 'taken', selector })
    expect(warnings).toMatchObject([{ code: 'selector_argument_taken', params: { item: 'name' } }])
    expect((await admin.request('GET', '/api/groups/taken')).status).toBe(404)
  })

  test('because one changed later are left out with a warning, and the group can still be changed elsewhere', async () => {
    const changed = { name: 'name', inputSchema: { type: 'object', properties: { it: {}, more: {} } } }
    expect((await make('later', { a: 'crm-r16', b: 'crm-r17', c: 'crm-r18' })).status).toBe(201)
    const client = await admin.mcp('/mcp/later')
    const say = { region: 'c', method: 'notifications/tools/list_changed', replace: { tools: [changed] } }
    await client.callTool({ name: 'say', arguments: say })
    const found = await until(async () => {
      const { warnings } = await admin.ok('GET', '/api/groups/later')
      return warnings.find(({ code }: { code: string }) => code === 'selector_differs')
    })
    expect(found.message).toBe('The tool "name" of c is left out: it is unlike that of a at /properties/more')
    const tool = (await client.listTools()).tools.find(({ name }) => name === 'name')
    expect(tool?.inputSchema.properties?.region).toMatchObject({ enum: ['a', 'b'] })
    expect(await failureOf(client.callTool({ name: 'name', arguments: { region: 'c' } }))).toMatchObject({
      data: { code: 'selector_unknown', values: ['a', 'b'] },
    })
    await admin.ok('PATCH', '/api/groups/later', { description: 'Still editable' })
    await admin.ok('PUT', '/api/groups/later/members/other', {})
    const again = await admin.request('PATCH', '/api/groups/later', { selector: { argument: 'zone' } })
    expect(again.json.code).toBe('group_schema_differs')
  })
})

describe('names of a selector', () => {
  const members = { a: 'crm-r11', b: 'crm-r12' }
  const make = (name: string, more: object) =>
    admin.ok('POST', '/api/groups', { name, selector: { argument: 'region', members }, ...more })
  const namesOf = async (group: string) =>
    (await (await admin.mcp(`/mcp/${group}`)).listTools()).tools.map(({ name }) => name)

  test('begin with the argument where an ordinary member has the same one, or all have prefixes', async () => {
    await make('clashing', { members: ['taking'] })
    expect(await namesOf('clashing')).toContain('region_name')
    expect(await namesOf('clashing')).toContain('taking_name')
    const client = await admin.mcp('/mcp/clashing')
    expect(JSON.parse(await callText(client, 'region_name', { region: 'b' })).server).toBe('crm-r12')
    expect(JSON.parse(await callText(client, 'taking_name')).server).toBe('taking')
    await make('prefixed', { naming: 'prefixed' })
    expect(await namesOf('prefixed')).toContain('region_raw')
  })

  test('are those that members give them, by which their tools belong together', async () => {
    const chosen = (name: string) => [{ name, as: 'identity' }]
    await make('given', {
      members: [
        { server: 'crm-r11', tools: chosen('name') },
        { server: 'crm-r12', tools: chosen('seen') },
      ],
    }).catch(() => undefined)
    expect((await admin.request('GET', '/api/groups/given')).status).toBe(404)
    const alike = { members: ['crm-r11', 'crm-r12'].map(server => ({ server, tools: chosen('name') })) }
    await make('given', alike)
    expect(await namesOf('given')).toEqual(['identity'])
    const client = await admin.mcp('/mcp/given')
    expect(JSON.parse(await callText(client, 'identity', { region: 'a' }))).toEqual({ server: 'crm-r11', tool: 'name' })
  })

  test('of the former list lead nowhere in the place of several servers', async () => {
    await admin.ok('POST', '/api/groups', { name: 'turning', selector: { argument: 'region', members } })
    const client = await admin.mcp('/mcp/turning')
    await client.listTools()
    await admin.ok('PATCH', '/api/groups/turning', { selector: null })
    await until(async () => (await client.listTools()).tools.some(({ name }) => name === 'crm-r11_name'))
    const gone = await failureOf(client.callTool({ name: 'name', arguments: { region: 'a' } }))
    expect(gone.data).toMatchObject({ code: 'tool_not_found' })
    await admin.ok('PATCH', '/api/groups/turning', { selector: { argument: 'region', members } })
    await until(async () => (await client.listTools()).tools.some(({ name }) => name === 'name'))
    // A client that has not read the new list still reaches the server whose tool it knows.
    expect(JSON.parse(await callText(client, 'crm-r12_name')).server).toBe('crm-r12')
  })
})

describe('members of a selector', () => {
  test('that a caller may not use are no values, and ordinary members stay as they are', async () => {
    const members = { open: 'crm-r19', closed: 'crm-r20' }
    await admin.ok('PATCH', '/api/servers/crm-r19', { visibility: 'public' })
    const selector = { argument: 'region', members, default: 'closed' }
    await admin.ok('POST', '/api/groups', { name: 'shared', visibility: 'public', members: ['other'], selector })
    const bob = await hub.user('bob')
    const client = await bob.mcp('/mcp/@admin/shared')
    const { tools } = await client.listTools()
    const [first] = tools
    expect(tools.map(({ name }) => name)).not.toContain('tool_0001')
    expect(first?.inputSchema).toMatchObject({ properties: { region: { enum: ['open'] } }, required: ['region'] })
    expect(await whoIs(client, { region: 'open' })).toBe('crm-r19')
    const closed = await failureOf(client.callTool({ name: 'name', arguments: { region: 'closed' } }))
    expect(closed.data).toMatchObject({ code: 'selector_unknown', values: ['open'] })
    expect(closed.message).toContain('there is no such value')
    expect(closed.message).not.toContain('crm-r20')
    expect((await bob.ok('GET', '/api/groups/admin~shared')).selector).toEqual({
      ...{ argument: 'region', members: { open: 'admin~crm-r19' } },
    })
    await admin.ok('PATCH', '/api/servers/crm-r19', { visibility: 'private' })
    await until(async () => (await client.listTools().catch(() => ({ tools: [] }))).tools.length === 0)
  })

  test('that an editor does not see stay with their values, which nobody else gets', async () => {
    const show = (visibility: string, ...servers: string[]) =>
      Promise.all(servers.map(server => admin.ok('PATCH', `/api/servers/${server}`, { visibility })))
    await show('public', 'crm-r16', 'crm-r19')
    const dora = await hub.user('dora')
    const members = { a: 'admin~crm-r16', b: 'admin~crm-r19' }
    await dora.ok('POST', '/api/groups', { name: 'hers', selector: { argument: 'region', members } })
    await show('private', 'crm-r16')
    await dora.ok('PATCH', '/api/groups/hers', { selector: { argument: 'zone' } })
    const taken = await dora.request('PATCH', '/api/groups/hers', {
      selector: { members: { a: 'admin~crm-r19', b: null } },
    })
    expect([taken.status, taken.json.errors]).toMatchObject([
      400,
      [{ pointer: '#/selector/members/a', code: 'duplicate' }],
    ])
    await dora.ok('PATCH', '/api/groups/hers', { selector: { members: { b: null, c: 'admin~crm-r19' } } })
    await show('public', 'crm-r16')
    expect((await dora.ok('GET', '/api/groups/hers')).selector).toEqual({
      ...{ argument: 'zone', members: { a: 'admin~crm-r16', c: 'admin~crm-r19' } },
    })
    await show('private', 'crm-r16', 'crm-r19')
  })

  test('keep their values when they are renamed, and lose them with the member', async () => {
    const members = { a: 'crm-r14', b: 'crm-r15' }
    await admin.ok('POST', '/api/groups', { name: 'kept', selector: { argument: 'region', members } })
    await admin.ok('PUT', '/api/groups/kept/members/crm-r15', { alias: 'fifteen' })
    expect((await admin.ok('GET', '/api/groups/kept')).selector.members).toEqual({
      a: 'admin~crm-r14',
      b: 'admin~crm-r15',
    })
    await admin.ok('DELETE', '/api/groups/kept/members/crm-r14')
    expect((await admin.ok('GET', '/api/groups/kept')).selector.members).toEqual({ b: 'admin~crm-r15' })
    await admin.ok('PATCH', '/api/groups/kept', { members: ['other'] })
    const { selector, members: left } = await admin.ok('GET', '/api/groups/kept')
    expect([selector, left.length]).toEqual([undefined, 1])
  })

  test('go with an export, and an import finds them the same', async () => {
    const document = await admin.ok('POST', '/api/export', {})
    expect(document.groups.crm.selector).toEqual(SELECTOR)
    const { items } = await admin.ok('POST', '/api/import?dryRun=true', { document })
    const groups = items.filter(({ kind }: { kind: string }) => kind === 'group')
    expect(groups.map(({ name, verdict }: { name: string; verdict: string }) => `${name} ${verdict}`)).toContain(
      'crm same',
    )
  })

  test('come from the settings file, which a change and a new name of a server are written to', async () => {
    const client = await admin.mcp('/mcp/filed')
    expect(await whoIs(client, { region: 'b' })).toBe('crm-r02')
    await admin.ok('PATCH', '/api/groups/filed', { selector: { default: 'a' } })
    await admin.ok('PATCH', '/api/servers/crm-r02', { name: 'second' })
    const { groups } = JSON.parse(await readFile(join(hub.folder, 'mcp_settings.json'), 'utf8'))
    expect(groups[0]).toMatchObject({
      servers: ['crm-r01', 'second'],
      selector: { argument: 'region', members: { a: 'crm-r01', b: 'second' }, default: 'a' },
    })
    await until(async () => (await admin.ok('GET', '/api/groups/filed')).selector.members.b === 'admin~second')
    expect(await whoIs(client, { region: 'b' })).toBe('crm-r02')
  })
})
