import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import { Steps, UriTemplate } from '../../../core/mcp/scope/uri-template.ts'
import { mapResultUris, UriTable } from '../../../core/mcp/scope/uris.ts'
import { atMost } from '../../support/pace.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { RawModern } from './modern-support.ts'
import { catalog, groupRecord, member, serverRecord, startHub } from './support.ts'

const entry = (alias: string, uris: string[], templates: string[] = [], readsUnlisted = true) => ({
  serverId: `id-${alias}`,
  alias,
  uris,
  templates,
  readsUnlisted,
})

test('UriTemplate matches what it could expand to, operators included', () => {
  const cases: [string, string, boolean][] = [
    ['file:///{path}', 'file:///a', true],
    ['file:///{path}', 'file:///a/b', false],
    ['file:///{+path}', 'file:///a/b', true],
    ['x://{a}/y/{b}', 'x://1/y/2', true],
    ['x://{a}/y/{b}', 'x://1/z/2', false],
    ['x://s{?q,r}', 'x://s?q=1&r=2', true],
    ['x://s{/p*}', 'x://s/a/b', true],
    ['x://plain', 'x://plain', true],
    ['x://plain', 'x://plains', false],
    ['x://{a}b{c}', 'x://1b2b3', true],
  ]
  for (const [template, uri, matches] of cases)
    expect([template, uri, new UriTemplate(template).matches(uri, new Steps(1_000))]).toEqual([template, uri, matches])
})

test('UriTemplate is not slow on a template made to be [CVE-2026-0621]', () => {
  const template = new UriTemplate(`x:${'{+a}a'.repeat(30)}b`)
  const started = performance.now()
  expect(template.matches(`x:${'a'.repeat(4_000)}b`, new Steps(1_000_000))).toBe(true)
  expect(template.matches(`x:${'a'.repeat(4_000)}b`, new Steps(10_000))).toBeUndefined()
  expect(performance.now() - started).toBeLessThan(atMost(200))
})

test('templates made to be slow make a URI contested, and what it leads to stays the same', () => {
  const count = 400
  const nasty = Array.from({ length: count }, (_, index) => `${'{+a}a'.repeat(31)}{+${index}}x`)
  const uris = Array.from({ length: count }, (_, index) => `${index}:${'a'.repeat(3_900)}x`)
  const table = new UriTable([entry('a', uris, [], false), entry('b', [], nasty, false), entry('c', [], ['q://{x}'])])
  const started = performance.now()
  const shown = table.publicUris()
  for (const uri of uris) expect(table.resolve(shown('id-a', uri))).toEqual({ serverId: 'id-a', original: uri })
  expect(table.resolve(`${'b'.repeat(3_900)}x`)).toBe('ambiguous')
  expect(table.allows('id-b', `${'b'.repeat(3_900)}x`)).toBe(false)
  expect(table.resolve('q://1')).toEqual({ serverId: 'id-c', original: 'q://1' })
  // Each with each would take minutes.
  expect(performance.now() - started).toBeLessThan(atMost(5_000))
})

test('a URI keeps its form unless another member lists or matches it', () => {
  const table = new UriTable([entry('a', ['n://1', 'n://2']), entry('b', ['n://2'], ['m://{id}'])])
  expect(table.publicUri('id-a', 'n://1')).toBe('n://1')
  expect(table.publicUri('id-a', 'n://2')).toBe('patchbay://a/n://2')
  expect(table.publicUri('id-b', 'n://2')).toBe('patchbay://b/n://2')
  expect(table.publicUri('id-a', 'm://5')).toBe('patchbay://a/m://5')
  expect(table.publicUri('id-b', 'm://5')).toBe('m://5')
})

test('every public form leads back to its member', () => {
  const members = [
    entry('a', ['n://1', 'n://2'], ['t://{x}', 'u://{x}']),
    entry('b', ['n://2', 'n://3'], ['t://{y}']),
    entry('c', []),
  ]
  const table = new UriTable(members)
  for (const { serverId, uris, templates } of members) {
    for (const uri of uris) expect(table.resolve(table.publicUri(serverId, uri))).toEqual({ serverId, original: uri })
    for (const template of templates) {
      const shown = table.publicTemplate(serverId, template)
      expect(table.resolveTemplate(shown)).toEqual({ serverId, original: template })
      const uri = template.replace('{x}', '7').replace('{y}', '7')
      expect(table.resolve(shown.replace(/\{.\}/, '7'))).toEqual({ serverId, original: uri })
    }
  }
  expect(table.publicTemplate('id-a', 't://{x}')).toBe('patchbay://a/t://{x}')
  expect(table.publicTemplate('id-a', 'u://{x}')).toBe('u://{x}')
})

test('an unlisted URI goes to the only member that could have it, else it is ambiguous or unknown', () => {
  expect(new UriTable([entry('a', []), entry('b', [], [], false)]).resolve('z://1')).toEqual({
    serverId: 'id-a',
    original: 'z://1',
  })
  expect(new UriTable([entry('a', []), entry('b', [])]).resolve('z://1')).toBe('ambiguous')
  expect(new UriTable([entry('a', [], [], false)]).resolve('z://1')).toBeUndefined()
  expect(new UriTable([entry('a', ['n://1'], [], false)]).resolve('patchbay://a/z://1')).toBeUndefined()
})

test('a URI that nobody lists says whose it is where several could have it, unless a client can fetch it itself', () => {
  const table = new UriTable([entry('a', []), entry('b', ['n://1'], ['m://{id}']), entry('c', [], [], false)])
  expect(table.mayMap('id-a')).toBe(true)
  for (const uri of ['z://1', 'file:///x']) {
    expect(table.publicUri('id-a', uri)).toBe(`patchbay://a/${uri}`)
    expect(table.resolve(`patchbay://a/${uri}`)).toEqual({ serverId: 'id-a', original: uri })
    // A URI that cannot be read from a member stays as it is: the client may handle it.
    expect(table.publicUri('id-c', uri)).toBe(uri)
  }
  expect(table.publicUri('id-b', 'm://7')).toBe('m://7')
  expect(table.publicUri('id-a', 'https://example.com/')).toBe('https://example.com/')
  const alone = new UriTable([entry('a', []), entry('c', [], [], false)])
  expect([alone.mayMap('id-a'), alone.publicUri('id-a', 'z://1')]).toEqual([false, 'z://1'])
})

test('the URIs of a hub behind this one are not taken for those of this one', () => {
  const inner = 'patchbay://b/n://1'
  const table = new UriTable([
    entry('a', [inner], ['patchbay://b/t://{x}', '{+anything}']),
    entry('b', ['n://1'], ['t://{x}']),
  ])
  expect(table.resolve(table.publicUri('id-a', inner))).toEqual({ serverId: 'id-a', original: inner })
  const expanded = 'patchbay://b/t://5'
  expect(table.resolve(table.publicUri('id-a', expanded))).toEqual({ serverId: 'id-a', original: expanded })
  const unlisted = 'patchbay://b/u://1'
  expect(table.resolve(table.publicUri('id-a', unlisted))).toEqual({ serverId: 'id-a', original: unlisted })
  for (const uri of ['n://1', 't://5'])
    expect(table.resolve(table.publicUri('id-b', uri))).toEqual({ serverId: 'id-b', original: uri })
  const template = 'patchbay://b/t://{x}'
  expect(table.resolveTemplate(table.publicTemplate('id-a', template))).toEqual({
    serverId: 'id-a',
    original: template,
  })
})

describe('UI resources', () => {
  const members = [
    entry('a', ['ui://page', 'ui://a/own', 'ui://b/page'], ['ui://{id}/part']),
    entry('b', ['ui://page', 'n://1']),
    entry('c', ['ui://d'], [], false),
  ]
  const table = new UriTable(members, { keepsSchemes: true })

  test('keep their scheme, name their member, and lead back, listed or not', () => {
    expect(table.publicUri('id-a', 'ui://page')).toBe('ui://a/page')
    expect(table.publicTemplate('id-a', 'ui://{id}/part')).toBe('ui://a/{id}/part')
    expect(table.resolveTemplate('ui://a/{id}/part')).toEqual({ serverId: 'id-a', original: 'ui://{id}/part' })
    expect(table.publicUri('id-b', 'n://1')).toBe('n://1')
    const unlisted = ['ui://', 'ui:///x', 'ui://b/other', 'ui://a/a/own', 'ui://7/part', 'ui://x?y#z']
    for (const { serverId, uris, readsUnlisted } of members)
      for (const uri of [...uris, ...(readsUnlisted ? unlisted : [])]) {
        const shown = table.publicUri(serverId, uri)
        if (uri.startsWith('ui://')) expect(shown).toStartWith(`ui://${serverId.slice(3)}/`)
        expect(table.resolve(shown)).toEqual({ serverId, original: uri })
      }
  })

  test('are found by their own URI where that names no other member, and never in place of another member’s', () => {
    expect(table.resolve('ui://a/own')).toEqual({ serverId: 'id-a', original: 'ui://a/own' })
    expect(table.resolve('ui://d')).toEqual({ serverId: 'id-c', original: 'ui://d' })
    // Both list it; member a lists one that looks like that of member b.
    expect(table.resolve('ui://page')).toBe('ambiguous')
    expect(table.resolve('ui://b/page')).toEqual({ serverId: 'id-b', original: 'ui://page' })
    expect(table.resolve('ui://c/e')).toBe('ambiguous')
    expect(table.resolve('patchbay://a/ui://page')).toEqual({ serverId: 'id-a', original: 'ui://page' })
  })

  test('of one server alone stay as they are', () => {
    const alone = new UriTable([entry('a', ['ui://page', 'ui://a/page'])])
    for (const uri of ['ui://page', 'ui://a/page', 'ui://a/x']) {
      expect(alone.publicUri('id-a', uri)).toBe(uri)
      expect(alone.resolve(uri)).toEqual({ serverId: 'id-a', original: uri })
    }
  })
})

test('mapResultUris() reaches links, embedded resources, contents, messages and user interfaces, and no data', () => {
  const link = { type: 'resource_link', uri: 'a', name: 'n' }
  const embedded = { type: 'resource', resource: { uri: 'a', text: 'a' } }
  const result = {
    content: [link, embedded, { type: 'text', text: 'a' }],
    structuredContent: { uri: 'a' },
    contents: [{ uri: 'a', text: 'x' }],
    messages: [{ role: 'user', content: embedded }],
    _meta: { ui: { resourceUri: 'a' }, 'ui/resourceUri': 'a', 'openai/outputTemplate': 'a' },
  }
  const mapped = JSON.stringify(mapResultUris(result, () => 'B'))
  expect(mapped.match(/"B"/g)).toHaveLength(7)
  expect(mapped).toContain('"structuredContent":{"uri":"a"}')
})

test('resources of two members are listed, read and linked under one public form', async () => {
  const a = serverRecord('a')
  const b = serverRecord('b')
  await using hub = startHub((world, upstreams) => {
    world.servers.push(a, b)
    world.groups.push(groupRecord('g', [member(a), member(b)]))
    for (const server of [a, b])
      upstreams.add(
        server.id,
        catalog({ resources: [{ uri: 'n://same', name: server.name }], tools: [{ name: `tool_${server.name}` }] }),
        request =>
          request.method === 'tools/call'
            ? {
                kind: 'result',
                text: '{"content":[{"type":"resource_link","uri":"n://same","name":"x"}]}',
                isError: false,
              }
            : {
                kind: 'result',
                text: JSON.stringify({ contents: [{ uri: request.params?.uri, text: server.name }] }),
                isError: false,
              },
      )
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  const { resources } = (await client.call('resources/list')).result
  expect(resources).toEqual([
    { uri: 'patchbay://a/n://same', name: 'a' },
    { uri: 'patchbay://b/n://same', name: 'b' },
  ])
  for (const { uri, name } of resources)
    expect((await client.call('resources/read', { uri })).result).toEqual({ contents: [{ uri, text: name }] })
  expect((await client.call('resources/read', { uri: 'n://same' })).error).toMatchObject({
    code: -32602,
    data: { code: 'uri_ambiguous', uri: 'n://same' },
  })
  expect((await client.call('tools/call', { name: 'tool_b' })).result.content[0].uri).toBe('patchbay://b/n://same')
  const alone = await new RawClient(hub, '/mcp/a').open()
  expect((await alone.call('resources/list')).result.resources[0].uri).toBe('n://same')
})

const app = (name: string, flat = false): JsonObject => ({
  name,
  inputSchema: { type: 'object' },
  _meta: flat ? { 'ui/resourceUri': 'ui://page' } : { ui: { resourceUri: 'ui://page' } },
})

test('the page that a tool names is read from the tool’s own server, listed or not', async () => {
  const servers = ['a', 'b'].map(name => serverRecord(name))
  await using hub = startHub((world, upstreams) => {
    world.servers.push(...servers)
    world.groups.push(
      groupRecord(
        'g',
        servers.map(server => member(server)),
      ),
    )
    for (const server of servers)
      upstreams.add(
        server.id,
        catalog({
          tools: [app(`tool_${server.name}`, server.name === 'b')],
          capabilities: { tools: {}, resources: {} },
        }),
        ({ params }) => ({
          kind: 'result',
          text: JSON.stringify({ contents: [{ uri: params?.uri, text: server.name }] }),
          isError: false,
        }),
      )
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  const { tools } = (await client.call('tools/list')).result
  const pages = [tools[0]._meta.ui.resourceUri, tools[1]._meta['ui/resourceUri']]
  expect(pages).toEqual(['ui://a/page', 'ui://b/page'])
  for (const [index, uri] of pages.entries())
    expect((await client.call('resources/read', { uri })).result.contents).toEqual([{ uri, text: 'ab'[index] }])
})

test('an error that names a resource names it as its client did, on both wires', async () => {
  const servers = ['a', 'b'].map(name => serverRecord(name))
  await using hub = startHub((world, upstreams) => {
    world.servers.push(...servers)
    world.groups.push(
      groupRecord(
        'g',
        servers.map(server => member(server)),
      ),
    )
    for (const { id } of servers)
      upstreams.add(id, catalog({ resources: [{ uri: 'n://same', name: 'n' }] }), ({ method, params }) => {
        const code = method === 'resources/read' ? -32602 : -32002
        return { kind: 'error', error: { code, message: 'gone', data: { uri: params?.uri ?? 'n://same', more: 1 } } }
      })
  })
  const uri = 'patchbay://b/n://same'
  const legacy = await new RawClient(hub, '/mcp/g').open()
  for (const method of ['resources/read', 'resources/subscribe'])
    expect((await legacy.call(method, { uri })).error?.data).toEqual({ uri, more: 1 })
  const modern = await new RawModern(hub, '/mcp/g').call('resources/read', { uri })
  expect(modern.error).toMatchObject({ code: -32602, data: { uri, more: 1 } })
})
