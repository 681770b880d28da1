/** The search of $smart by meaning too: a local double of the protocol of embeddings, on time, late, down and wrong. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import type { ScopeTool } from '../../core/features/tools.ts'
import { fuse } from '../../plugins/smart-group/fusion.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const PLUGIN = '/api/plugins/rank-embeddings'
const KEY = 'sk-a-key-of-the-endpoint-1f3c'
/** Words of one meaning set the same number of the vector; other words set none. */
const MEANINGS = [
  ['echo', 'parrot', 'repeat'],
  ['slow', 'tortoise', 'wait'],
]

/** An endpoint of embeddings that behaves as `manner` says. */
function startEndpoint() {
  const asked: { readonly authorization: string | null; readonly model: string; readonly input: string[] }[] = []
  const manner = { status: 200, delayMs: 0, body: undefined as string | undefined }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/v1/embeddings') return new Response('no', { status: 404 })
      const body = (await request.json()) as { model: string; input: string[] }
      asked.push({ ...body, authorization: request.headers.get('authorization') })
      await Bun.sleep(manner.delayMs)
      if (manner.status !== 200) return new Response(body.input.join(), { status: manner.status })
      if (manner.body !== undefined) return new Response(manner.body)
      const data = body.input.map((text, index) => ({ index, object: 'embedding', embedding: vectorOf(text) }))
      return Response.json({ object: 'list', data: data.toReversed(), model: body.model })
    },
  })
  return { asked, manner, url: `http://127.0.0.1:${server.port}/v1/`, stop: () => server.stop(true) }
}

function vectorOf(text: string): number[] {
  const low = text.toLowerCase()
  return [0.1, ...MEANINGS.map(words => words.filter(word => low.includes(word)).length)]
}

describe('reciprocal ranks', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(name => ({ name, server: 's', definition: () => ({}) }) as ScopeTool)
  test('an entry of both lists comes before the first of one list', () => {
    expect(fuse([a, b, c] as ScopeTool[], [d, b] as ScopeTool[]).map(({ name }) => name)).toEqual(['b', 'a', 'd', 'c'])
  })
})

describe('the search of a hub with an endpoint of embeddings', () => {
  const endpoint = startEndpoint()
  let hub: Hub
  let admin: Client

  const opened = new Map<Client, Promise<McpClient>>()
  /** The answer of search_tools at the path of all servers. */
  async function search(query: string, client = admin) {
    if (!opened.has(client)) opened.set(client, client.mcp('/mcp/$smart'))
    return JSON.parse(await callText((await opened.get(client)) as McpClient, 'search_tools', { query }))
  }
  const configure = (config: object) => admin.ok('PATCH', '/api/admin/plugins/rank-embeddings', { config })

  beforeAll(async () => {
    hub = await startHub({
      env: LOOPBACK,
      settings: {
        mcpServers: {
          echo: { ...stdioFixture('echo'), session: 'shared' },
          slow: { ...stdioFixture('slow'), session: 'shared' },
        },
      },
    })
    admin = await hub.setup()
    await online(admin, ['echo', 'slow'])
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await endpoint.stop()
  }, 120_000)

  test('is off until it has an address: nothing is sent, and nothing is marked', async () => {
    expect(await search('echo')).not.toHaveProperty('ranking')
    expect(await admin.ok('GET', `${PLUGIN}/status`)).toMatchObject({ enabled: false, key: { set: false } })
  })

  test('its key is sealed and shown to nobody; administrators alone set it', async () => {
    const bob = await hub.user('bob')
    expect((await bob.request('PUT', `${PLUGIN}/key`, { key: KEY })).status).toBe(403)
    expect((await admin.request('PUT', `${PLUGIN}/key`, { key: 'a b' })).json.errors[0].pointer).toBe('#/key')
    expect((await admin.request('PUT', `${PLUGIN}/key`, { key: KEY })).status).toBe(204)
    const { text } = await admin.request('GET', `${PLUGIN}/status`)
    expect(JSON.parse(text).key).toMatchObject({ set: true, last4: '1f3c' })
    expect((await admin.request('GET', '/api/admin/settings')).text).not.toContain('embeddingsKey')
    for (const name of await readdir(hub.dataDir)) {
      const stored = await readFile(join(hub.dataDir, name)).catch(() => Buffer.alloc(0))
      expect([name, stored.includes(KEY)]).toEqual([name, false])
    }
  })

  test('finds by meaning what no word finds, and sends no text again that was answered', async () => {
    expect((await search('parrot')).hits).toEqual([])
    await configure({ url: endpoint.url, model: 'm1' })
    const found = await until(
      async () => {
        const answer = await search('parrot')
        return answer.ranking === 'words and meaning' && answer
      },
      { what: 'an order by meaning' },
    )
    expect(found.hits[0].tool).toBe('echo')
    expect(new Set(endpoint.asked.map(({ authorization, model }) => `${authorization} ${model}`))).toEqual(
      new Set([`Bearer ${KEY} m1`]),
    )
    // A request that was late is made again; what has been answered is not.
    const asked = endpoint.asked.length
    expect((await search('parrot')).ranking).toBe('words and meaning')
    expect(endpoint.asked.slice(asked)).toEqual([])
  })

  test('it neither finds nor sends anything of others’ tools', async () => {
    const bob = await hub.user('carol')
    const before = endpoint.asked.length
    expect((await search('parrot', bob)).hits).toEqual([])
    expect(endpoint.asked.slice(before).flatMap(({ input }) => input.filter(text => text.includes('(')))).toEqual([])
  })

  test('late: by words alone, and marked', async () => {
    endpoint.manner.delayMs = 700
    const answer = await search('slow tortoise')
    endpoint.manner.delayMs = 0
    expect([answer.ranking, answer.hits[0].server]).toEqual(['words', 'slow'])
    // The answer came in the end, so the vector is known by now.
    await until(async () => (await search('slow tortoise')).ranking === 'words and meaning', {
      what: 'the late vector',
    })
  })

  test.each([
    ['an error', 500, undefined, 'upstream_protocol'],
    ['no vectors', 200, '{"data":[]}', 'upstream_protocol'],
    ['a refused key', 401, undefined, 'authorization_required'],
  ])('%s: by words alone, with its reason, and not asked again at once', async (what, status, body, code) => {
    // Another configuration is another instance, which has not failed yet.
    await configure({ url: endpoint.url, model: `model for ${what}` })
    Object.assign(endpoint.manner, { status, body })
    const byWords = async (query: string): Promise<void> => {
      const { ranking, hits } = await search(query)
      const tools = hits.map(({ tool }: { tool: string }) => tool)
      expect([ranking, tools]).toEqual(['words', expect.arrayContaining(['echo'])])
    }
    await byWords('echo one')
    const report = () => admin.ok('GET', `${PLUGIN}/status`)
    await until(async () => (await report()).lastError && (await report()).waiting === 0, { what: 'the failure' })
    const before = endpoint.asked.length
    for (const query of ['echo two', 'echo three']) await byWords(query)
    Object.assign(endpoint.manner, { status: 200, body: undefined })
    await byWords('echo four')
    expect(endpoint.asked.length).toBe(before)
    const { lastError, key } = await report()
    expect([lastError.code, key.set]).toEqual([code, true])
    expect(lastError.message).not.toContain('echo')
  })

  test('without an address again it is off', async () => {
    await configure({})
    expect(await search('echo')).not.toHaveProperty('ranking')
    expect((await admin.request('DELETE', `${PLUGIN}/key`)).status).toBe(204)
    expect((await admin.ok('GET', `${PLUGIN}/status`)).key).toEqual({ set: false })
  })
})
