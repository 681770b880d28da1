import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../core/contract/json.ts'
import type { Client, Hub } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'
import { sharedFixture } from './shared-fixture.ts'

const EXTENSION = 'io.modelcontextprotocol/ui'
const HTML = 'text/html;profile=mcp-app'
/** The capabilities of a client that draws apps. */
const DRAWS: JsonObject = { extensions: { [EXTENSION]: { mimeTypes: [HTML] } } }
const PAGE = 'ui://board/page.html'

let hub: Hub
let admin: Client

beforeAll(async () => {
  const apps = (name: string, env: Record<string, string> = {}) => sharedFixture('apps', { NAME: name, ...env })
  const settings = {
    mcpServers: {
      one: apps('one'),
      two: apps('two'),
      board: { ...apps('board', { MIME: 'text/other' }), session: 'per-session' },
      plain: sharedFixture('varied', { NAME: 'plain' }),
    },
    groups: [
      { name: 'pair', members: ['one', 'two', 'plain'] },
      { name: 'prefixed', members: ['one', 'plain'], naming: 'prefixed' },
      { name: 'unlike', members: ['one', 'board'] },
    ],
  }
  ;({ hub, admin } = await startOnline({ settings, timeoutMs: 60_000 }))
}, 120_000)

afterAll(() => hub?.stop(), 60_000)

async function open(path: string, capabilities: JsonObject = DRAWS): Promise<RawClient> {
  return new RawClient(hub, path, await admin.mcpKey()).open('2025-11-25', capabilities)
}

type Listed = { readonly name: string; readonly _meta?: Record<string, unknown> }

async function tools(client: Pick<RawClient, 'call'>): Promise<Listed[]> {
  return (await client.call('tools/list')).result.tools
}

async function named(client: Pick<RawClient, 'call'>): Promise<string[]> {
  return (await tools(client)).map(({ name }) => name)
}

async function call(client: RawClient, name: string): Promise<string> {
  const { result, error } = await client.call('tools/call', { name, arguments: {} })
  return result?.content[0].text ?? JSON.stringify(error)
}

describe('what is declared', () => {
  test('the hub declares apps to shared servers, and to those with a connection per session as the client does', async () => {
    const apps = JSON.stringify({ mimeTypes: [HTML] })
    expect(await call(await open('/mcp/one', {}), 'declared_one')).toBe(apps)
    expect(await call(await open('/mcp/board', {}), 'declared_board')).toBe('null')
    const own = { mimeTypes: [HTML, 'text/x'], more: true }
    const client = await open('/mcp/board', { extensions: { [EXTENSION]: own, 'com.example/x': {} } })
    expect(await call(client, 'declared_board')).toBe(JSON.stringify(own))
  })

  test('a server’s own settings pass, and a group offers what all of its members with apps have', async () => {
    const offered = async (path: string) => {
      const client = new RawModern(hub, path, await admin.mcpKey())
      return (await client.call('server/discover')).result.capabilities.extensions
    }
    expect(await offered('/mcp/one')).toEqual({ [EXTENSION]: { mimeTypes: [HTML, 'text/x-common'], name: 'one' } })
    expect(await offered('/mcp/prefixed')).toEqual(await offered('/mcp/one'))
    expect(await offered('/mcp/pair')).toEqual({ [EXTENSION]: { mimeTypes: [HTML, 'text/x-common'] } })
    expect(await offered('/mcp/unlike')).toEqual({ [EXTENSION]: { mimeTypes: ['text/x-common'] } })
  })
})

describe('addresses', () => {
  test('of views keep their scheme in groups, wherever they stand, and lead back to their server', async () => {
    const client = await open('/mcp/pair')
    for (const server of ['one', 'two']) {
      const shown = `ui://${server}/board/page.html`
      const meta = (await tools(client)).find(({ name }) => name === `${server}_show`)?._meta
      expect(meta).toEqual({ ui: { resourceUri: shown }, 'ui/resourceUri': shown, 'openai/outputTemplate': shown })
      const { content, structuredContent, _meta } = (await client.call('tools/call', { name: `${server}_show` })).result
      expect([content[1].uri, _meta.ui.resourceUri, structuredContent.uri]).toEqual([shown, shown, PAGE])
      const [page] = (await client.call('resources/read', { uri: shown })).result.contents
      expect(page).toMatchObject({ uri: shown, mimeType: HTML })
      expect(page.text).toContain(`<title>${server}</title>`)
      const part = `ui://${server}/board/7/part.html`
      const { contents } = (await client.call('resources/read', { uri: part })).result
      expect(contents[0]).toMatchObject({ uri: part, text: `${server} ui://board/7/part.html` })
    }
    const { resources } = (await client.call('resources/list')).result
    const uris = resources.map(({ uri }: { uri: string }) => uri)
    expect(uris).toEqual(expect.arrayContaining(['ui://one/board/page.html', 'ui://two/board/page.html']))
    const { resourceTemplates } = (await client.call('resources/templates/list')).result
    const templates = resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate)
    expect(templates).toEqual(
      expect.arrayContaining(['ui://one/board/{id}/part.html', 'ui://two/board/{id}/part.html']),
    )
  })

  test('of views name their server at the address of everything too', async () => {
    const client = await open('/mcp')
    const { resources } = (await client.call('resources/list')).result
    const uris = resources.map(({ uri }: { uri: string }) => uri)
    expect(uris).toEqual(expect.arrayContaining(['ui://one/board/page.html', 'ui://board/board/page.html']))
    const { contents } = (await client.call('resources/read', { uri: 'ui://board/board/page.html' })).result
    expect(contents[0].text).toContain('<title>board</title>')
  })

  test('of views and what a view asks for pass unchanged at the address of one server', async () => {
    const client = await open('/mcp/one')
    const shown = (await tools(client)).find(({ name }) => name === 'show')
    expect(shown?._meta).toMatchObject({ ui: { resourceUri: PAGE } })
    const ui = { csp: { connectDomains: ['https://example.com'] }, permissions: { camera: {} }, prefersBorder: true }
    for (const [path, uri] of [
      ['/mcp/one', PAGE],
      ['/mcp/pair', 'ui://one/board/page.html'],
    ] as const) {
      const host = await open(path)
      const { contents } = (await host.call('resources/read', { uri })).result
      const { resources } = (await host.call('resources/list')).result
      const listed = resources.find((one: { uri: string }) => one.uri === uri)
      expect([contents[0].uri, contents[0]._meta, listed._meta]).toEqual([uri, { ui }, { ui }])
    }
  })
})

describe('app-only tools', () => {
  test('are listed to clients that draw apps, of both eras, and to no others', async () => {
    expect(await named(await open('/mcp/one'))).toEqual(['show', 'refresh', 'advise', 'declared_one', 'private'])
    expect(await named(await open('/mcp/one', {}))).toEqual(['show', 'advise', 'declared_one', 'private'])
    const modern = new RawModern(hub, '/mcp/one', await admin.mcpKey())
    const listed = async (capabilities: JsonObject) =>
      (await modern.call('tools/list', {}, { capabilities })).result.tools.map(({ name }: Listed) => name)
    expect(await listed(DRAWS)).toContain('refresh')
    expect(await listed({})).not.toContain('refresh')
    expect(await named(await open('/mcp/pair', { sampling: {} }))).not.toContain('one_refresh')
  })

  test('are neither found nor called through the smart view', async () => {
    const client = await open('/mcp/$smart/pair')
    const smart = async (tool: string, given: object) =>
      JSON.stringify(await client.call('tools/call', { name: tool, arguments: given }))
    const found = await smart('search_tools', { query: 'refresh show private', limit: 20 })
    expect(found).toContain('one_show')
    expect(found).not.toMatch(/refresh|private/)
    for (const tool of ['one_refresh', 'refresh', 'one_private']) {
      expect(await smart('call_tool', { tool, arguments: {} })).toMatch(/tool_not_found|no tool/)
      expect(await smart('describe_tool', { tool })).toMatch(/tool_not_found|no tool/)
    }
    expect(await smart('call_tool', { tool: 'one_advise', arguments: {} })).toContain('one advise')
  })

  test('are marked in the lists over REST, and not in a group’s API document', async () => {
    const marked = (items: (Listed & { appOnly?: boolean })[]) =>
      items.filter(({ appOnly }) => appOnly).map(({ name }) => name)
    expect(marked((await admin.ok('GET', '/api/servers/one/tools')).items)).toEqual(['refresh', 'private'])
    const group = await admin.ok('GET', '/api/groups/pair/tools?limit=100')
    expect(marked(group.items)).toEqual(['one_refresh', 'one_private', 'two_refresh', 'two_private'])
    const { paths } = await admin.ok('GET', '/api/groups/pair/openapi.json')
    expect(Object.keys(paths)).toContain('/one_show')
    expect(Object.keys(paths).filter(path => /refresh|private/.test(path))).toEqual([])
    const answer = await admin.ok('POST', '/api/servers/one/tools/refresh/call', { arguments: {} })
    expect(answer.result.content[0].text).toBe('one refresh')
  })
})

describe('a view in a group', () => {
  test('calls its tool by the server’s own name where that has another name', async () => {
    const client = await open('/mcp/prefixed')
    expect(await named(client)).toContain('one_refresh')
    expect(await call(client, 'refresh')).toBe('one refresh')
    await client.call('resources/read', { uri: 'ui://one/board/page.html' })
    expect(await call(client, 'refresh')).toBe('one refresh')
    // The tool of a server without views, and one that is not for apps.
    for (const name of ['raw', 'advise']) expect(await call(client, name)).toContain('tool_not_found')
  })

  test('is the one whose page the client has read or whose tool it called; the call of two is refused in words', async () => {
    for (const opens of [
      (client: RawClient) => client.call('resources/read', { uri: 'ui://two/board/page.html' }),
      (client: RawClient) => client.call('tools/call', { name: 'two_show' }),
    ]) {
      const client = await open('/mcp/pair')
      await opens(client)
      expect(await call(client, 'refresh')).toBe('two refresh')
      // A read by the server's own URI is found in the same way.
      expect((await client.call('resources/read', { uri: PAGE })).result.contents[0].text).toContain('two</title>')
      await client.call('tools/call', { name: 'one_show' })
      const refused = await client.call('tools/call', { name: 'refresh' })
      expect(JSON.stringify(refused)).toMatch(/Several servers here have a tool \\*"refresh.*one_refresh, two_refresh/)
      expect((await client.call('resources/read', { uri: PAGE })).error?.data?.code).toBe('uri_ambiguous')
    }
  })

  test('of a modern client is known by the client’s name, and of another client or without apps is not', async () => {
    const modern = new RawModern(hub, '/mcp/pair', await admin.mcpKey())
    const sent = { capabilities: DRAWS }
    expect(JSON.stringify(await modern.call('tools/call', { name: 'refresh' }, sent))).toContain('Several servers')
    await modern.call('resources/read', { uri: 'ui://one/board/page.html' }, sent)
    const { result } = await modern.call('tools/call', { name: 'refresh' }, sent)
    expect(result.content[0].text).toBe('one refresh')
    const without = await modern.call('tools/call', { name: 'refresh' })
    expect(JSON.stringify(without)).toContain('tool_not_found')
    expect(await call(await open('/mcp/pair'), 'refresh')).toContain('Several servers')
  })
})
