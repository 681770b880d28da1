// The tools of a group for programs that speak no MCP: the OpenAPI document, and a route for each tool.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLink } from '../plugins/transport-openapi/harness.ts'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, send, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { atMost } from '../support/pace.ts'
import { callText, failureOf, inFlight } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'

const MCP_RESULT = 'application/vnd.patchbay.result+json'
const SCHEMA = JSON.stringify({
  $id: 'https://example.com/it',
  $defs: { leaf: { type: 'integer', minimum: 1 } },
  properties: { one: { $ref: '#/$defs/leaf' } },
})

let hub: Hub
let admin: Client
let bob: Client
let folder = ''

beforeAll(async () => {
  folder = await makeTemp('group-tools')
  const settings = {
    mcpServers: {
      varied: stdioFixture('varied', { SCHEMA, NAMES: '["sagen 说","hidden"]' }),
      large: stdioFixture('varied', { TOOLS: '9', DESCRIPTION: '9000' }),
      everything: {
        command: process.execPath,
        args: [Bun.resolveSync('@modelcontextprotocol/server-everything/dist/index.js', import.meta.dir)],
      },
    },
    groups: [
      {
        name: 'g',
        members: [{ server: 'varied', tools: ['raw', 'name', 'seen', 'big', 'emit', 'sagen 说'] }, 'everything'],
      },
      { name: 'other', servers: ['varied'] },
      {
        name: 'costly',
        members: [
          { server: 'large', tools: 'all' },
          { server: 'varied', tools: [{ name: 'name', as: 'renamed', description: '说明 x' }, 'raw', 'sagen 说'] },
        ],
      },
    ],
  }
  ;({ hub, admin } = await startOnline({ env: LOOPBACK, settings }))
  bob = await hub.user('bob')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await removeTemp(folder)
}, 120_000)

const path = (tool: string, group = 'g') => `/api/groups/${group}/tools/${encodeURIComponent(tool)}`
const withKey = async (scopes: readonly unknown[]) =>
  (await admin.ok('POST', '/api/keys', { label: 'k', scopes })).secret as string
const asKey = (secret: string, method: string, to: string, body?: unknown) =>
  send(hub.url, method, to, body, { authorization: `Bearer ${secret}` })

describe('the document', () => {
  test('has each tool of the group as a client sees it, and no other', async () => {
    const client = await admin.mcp('/mcp/g')
    const { tools } = await client.listTools()
    const document = await admin.ok('GET', '/api/groups/g/openapi.json')
    expect(document.openapi).toBe('3.1.0')
    expect(document.servers).toEqual([{ url: `${hub.url}/api/groups/admin~g/tools` }])
    const operations = Object.entries(
      document.paths as Record<string, { readonly post: { readonly operationId: string } }>,
    )
    expect(operations.map(([, { post }]) => post.operationId)).toEqual(tools.map(({ name }) => name))
    expect(operations.map(([at]) => decodeURIComponent(at.slice(1)))).toEqual(tools.map(({ name }) => name))
    expect(JSON.stringify(document)).not.toContain('hidden')
    const said = document.paths['/echo'].post
    expect(said).toMatchObject({
      tags: ['everything'],
      description: tools.find(({ name }) => name === 'echo')?.description,
    })
    // References in a schema lead to its new place.
    const moved = document.components.schemas.name_input
    expect(JSON.stringify(moved)).toContain('"#/components/schemas/name_input/')
    expect(JSON.stringify(moved)).not.toContain('"$id"')
  })

  beyondCore(() =>
    test('is one that an independent program serves and checks requests by', async () => {
      const file = join(folder, 'openapi.json')
      await writeFile(file, JSON.stringify(await admin.ok('GET', '/api/groups/g/openapi.json')))
      const probe = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
      const { port } = probe
      await probe.stop(true)
      const prism = Bun.resolveSync('@stoplight/prism-cli/dist/index.js', import.meta.dir)
      const child = Bun.spawn([process.execPath, prism, 'mock', '-h', '127.0.0.1', '-p', String(port), file], {
        stdout: Bun.file(join(folder, 'prism.log')),
        stderr: 'ignore',
      })
      try {
        const post = (body: object) =>
          fetch(`http://127.0.0.1:${port}/get-sum`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
            body: JSON.stringify(body),
          })
        await until(async () => (await post({ a: 1, b: 2 })).status === 200, { timeoutMs: 60_000, what: 'Prism' })
        expect((await post({ a: 'text' })).status).toBe(422)
      } finally {
        child.kill('SIGKILL')
        await child.exited
      }
    }, 120_000),
  )

  beyondCore(() => {
    test('is one of which a client of HTTP APIs makes tools that work', async () => {
      const token = await withKey([{ group: 'g' }])
      const schema = (await asKey(token, 'GET', '/api/groups/g/openapi.json')).json
      await using open = await openLink({ openapi: { schema, auth: { bearer: { token } } } })
      expect(open.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['raw', 'name', 'echo', 'get-sum']))
      const { structuredContent } = await open.call('get-sum', { body: { a: 2, b: 3 } })
      expect(structuredContent).toEqual({ content: [{ type: 'text', text: 'The sum of 2 and 3 is 5.' }] })
      expect((await failureOf(open.call('get-sum', { body: { a: 'text', b: 3 } }))).message).toContain('body.a')
    })
  })
})

describe('a call', () => {
  test('answers with the structured content, the JSON of an only text, or all content', async () => {
    expect(await admin.ok('POST', path('raw'), { a: [1, null] })).toEqual({ a: [1, null] })
    expect(await admin.ok('POST', path('name'), {})).toEqual({ server: 'varied', tool: 'name' })
    const { paths } = await admin.ok('GET', '/api/groups/g/openapi.json')
    const odd = Object.keys(paths).find(at => at.includes('sagen')) ?? ''
    expect(await admin.ok('POST', `/api/groups/g/tools${odd}`, {})).toEqual({ server: 'varied', tool: 'sagen 说' })
    const sum = await admin.ok('POST', path('get-sum'), { a: 2, b: 3 })
    expect(sum).toEqual({ content: [{ type: 'text', text: 'The sum of 2 and 3 is 5.' }] })
    const image = await admin.ok('POST', path('get-tiny-image'), {})
    expect(image.content.map(({ type }: { type: string }) => type)).toContain('image')
  })

  test('answers with the MCP result to those who ask for it', async () => {
    const answer = await admin.request('POST', path('name'), {}, { accept: `${MCP_RESULT}, application/json;q=0.5` })
    expect(answer.headers.get('content-type')).toBe(MCP_RESULT)
    expect(answer.json).toEqual({ content: [{ type: 'text', text: '{"server":"varied","tool":"name"}' }] })
  })

  test('passes arguments on, and results back, as they were written', async () => {
    const numbers = '{"big":12345678901234567890,"huge":1e400,"deep":{"__proto__":{"x":1}},"text":"\\u00e9"}'
    const answer = await admin.request('POST', path('raw'), numbers)
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('12345678901234567890')
    expect(answer.text).toContain('1e400')
    expect(answer.text).toContain('"__proto__"')
  })

  test('that fails says so with a code', async () => {
    const failed = await admin.request('POST', path('get-sum'), { a: 'x' })
    expect([failed.status, failed.json.code].join()).toMatch(/^(?:400,validation_failed|422,tool_failed)$/)
    const asked = await admin.request('POST', path('raw'), { how: 'error' })
    expect([asked.status, asked.json.code]).toEqual([422, 'tool_failed'])
    expect(asked.json.detail).toContain('as wanted')
    for (const tool of ['hidden', 'absent', 'varied_hidden']) {
      const answer = await admin.request('POST', path(tool), {})
      expect([tool, answer.status, answer.json.code]).toEqual([tool, 404, 'tool_not_found'])
    }
    for (const body of ['[]', '7', 'null', '{', '{"a":1,"a":2}'])
      expect((await admin.request('POST', path('raw'), body)).status).toBe(400)
  })

  beyondCore(() => {
    test('whose result is long is answered as the MCP result alone', async () => {
      expect((await admin.request('POST', path('big'), { bytes: 400_000 })).status).toBe(200)
      const long = await admin.request('POST', path('big'), { bytes: 2_000_000 })
      expect([long.status, long.json.code]).toEqual([502, 'result_too_large'])
      expect(long.json.hint).toContain(MCP_RESULT)
      const whole = await admin.request('POST', path('big'), { bytes: 2_000_000 }, { accept: MCP_RESULT })
      expect(whole.json.content[0].text).toBe('é'.repeat(1_000_000))
    })
  })

  test('is in the caller’s records, and in those of the group', async () => {
    await admin.ok('POST', path('big'), { bytes: 10 })
    const items = await until(async () => {
      const found = (await admin.ok('GET', '/api/monitoring/activity?server=varied&tool=big')).items
      return found.length > 0 && found
    })
    expect(items[0]).toMatchObject({ tool: 'big', group: 'g', status: 'success', user: { name: 'admin' } })
  })

  test('ends upstream when the caller goes away', async () => {
    const leaving = new AbortController()
    const going = fetch(`${hub.url}${path('emit')}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ count: 2_000, gapMs: 20 }),
      signal: leaving.signal,
    }).catch(String)
    await inFlight(admin)
    leaving.abort()
    await going
    const status = await until(async () => {
      const found = (await admin.ok('GET', '/api/monitoring/activity?server=varied&tool=emit')).items
      return found[0]?.status
    })
    expect(status).toBe('cancelled')
  })
})

test('the place in a trace that a caller names reaches the server where no collector is set', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const client = await admin.mcp('/mcp/varied')
  await client.callTool({ name: 'name', arguments: {}, _meta: { traceparent } })
  expect(await callText(client, 'seen')).toContain(traceparent)
})

describe('rights', () => {
  test('are those of the credential: of its group alone, of all groups, of the API, of nothing', async () => {
    const cases: readonly [string, readonly unknown[], Readonly<Record<string, number>>][] = [
      ['g', [{ group: 'g' }], { g: 200, other: 404, document: 200 }],
      ['other', [{ group: 'other' }], { g: 404, other: 200, document: 404 }],
      ['mcp', ['mcp'], { g: 200, other: 200, document: 200 }],
      ['api', ['api'], { g: 200, other: 200, document: 200 }],
      ['read', ['api:read'], { g: 403, other: 403, document: 200 }],
      ['server', [{ server: 'varied' }], { g: 404, other: 404, document: 404 }],
    ]
    for (const [name, scopes, wanted] of cases) {
      const key = await withKey(scopes)
      const got = {
        g: (await asKey(key, 'POST', path('name'), {})).status,
        other: (await asKey(key, 'POST', path('name', 'other'), {})).status,
        document: (await asKey(key, 'GET', '/api/groups/g/openapi.json')).status,
      }
      expect([name, got]).toEqual([name, wanted as typeof got])
      // Such a key opens nothing else of the API.
      if (!['api', 'read'].includes(name)) expect((await asKey(key, 'GET', '/api/groups/g')).status).toBe(403)
    }
  })

  test('a group that is another’s is not there, a public one has the tools that are everybody’s alone', async () => {
    for (const [method, to] of [
      ['POST', path('name', 'admin~g')],
      ['GET', '/api/groups/admin~g/openapi.json'],
    ] as const)
      expect((await bob.request(method, to, method === 'POST' ? {} : undefined)).json.code).toBe('group_not_found')
    await admin.ok('PATCH', '/api/groups/g', { visibility: 'public' })
    await admin.ok('PATCH', '/api/servers/everything', { visibility: 'public' })
    const document = await bob.ok('GET', '/api/groups/admin~g/openapi.json')
    expect(JSON.stringify(document)).not.toContain('varied')
    expect(document.tags).toEqual([{ name: 'everything' }])
    expect((await bob.request('POST', path('echo', 'admin~g'), { message: 'x' })).status).toBe(200)
    expect((await bob.request('POST', path('name', 'admin~g'), {})).json.code).toBe('tool_not_found')
    await admin.ok('PATCH', '/api/groups/g', { visibility: 'private' })
    expect((await bob.request('POST', path('echo', 'admin~g'), { message: 'x' })).status).toBe(404)
    await admin.ok('PATCH', '/api/servers/everything', { visibility: 'private' })
  })

  beyondCore(() => {
    test('a key that is revoked ends the call that it began', async () => {
      const made = await admin.ok('POST', '/api/keys', { label: 'short', scopes: [{ group: 'g' }] })
      const call = asKey(made.secret, 'POST', path('emit'), { count: 500, gapMs: 20 })
      await inFlight(admin)
      await admin.ok('DELETE', `/api/keys/${made.id}`)
      const started = performance.now()
      expect((await call).status).toBe(401)
      expect(performance.now() - started).toBeLessThan(atMost(3_000))
    })
  })

  beyondCore(() => {
    test('modern clients under /mcp see the same tools', async () => {
      const modern = new RawModern(hub, '/mcp/g', await admin.mcpKey())
      const { result } = await modern.call('tools/list')
      const document = await admin.ok('GET', '/api/groups/g/openapi.json')
      expect(Object.keys(document.paths)).toHaveLength(result.tools.length)
    })
  })
})

describe('the tokens that a model needs to read a group’s tools', () => {
  test('is counted from what a client sees, and much of it is warned of', async () => {
    const { tools } = await (await admin.mcp('/mcp/costly')).listTools()
    const seen = tools
      .map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema }))
      .reduce((sum, text) => sum + text.length + 3 * (text.match(/[\u4e00-\u9fff]/g)?.length ?? 0), 0)
    const { tokens, warnings } = await admin.ok('GET', '/api/groups/costly/tools')
    expect(tools.map(({ name }) => name)).toContain('renamed')
    expect(tokens).toBe(Math.ceil(seen / 4))
    const costly = warnings.filter(({ code }: { code: string }) => /costly/.test(code))
    expect(costly.map(({ code }: { code: string }) => code)).toEqual([
      'tools_costly',
      ...Array.from({ length: 9 }, () => 'tool_costly'),
    ])
    expect(costly[0].message).toContain('/mcp/$smart/costly')
    expect(costly[0].message).toContain('tool_0001 (2,')
    expect(costly[0].params).toMatchObject({ path: '/mcp/$smart/costly', tokens: expect.any(Number) })
    expect(costly[1]).toMatchObject({ server: 'large', tools: ['tool_0001'], params: { tool: 'tool_0001' } })
    expect(costly[1].params.tokens).toBeGreaterThan(2_000)
    // Other groups of the same owner get no warning.
    const calm = await admin.ok('GET', '/api/groups/g/tools')
    expect(calm.warnings.filter(({ code }: { code: string }) => /costly/.test(code))).toEqual([])
  })
})
