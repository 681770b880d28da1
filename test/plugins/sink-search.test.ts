/** Log records at a search engine: each is stored once, whatever is refused on the way. */

import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../core/contract/json.ts'
import type { LogSink } from '../../core/features/log-sinks.ts'
import { createGuardedFetch } from '../../core/outbound/create.ts'
import { SearchSink } from '../../plugins/sink-search/sink.ts'
import { startHub, stdioFixture } from '../support/hub.ts'
import { SearchEngineDouble } from '../support/search-engine.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const never = new AbortController().signal
const fetch = createGuardedFetch({ rights: { networks: [], admin: true }, instanceId: 'test' })
const line = (message: string, more: object = {}): string =>
  JSON.stringify({ level: 'INFO', timestamp: '2026-11-22T09:30:00.000Z', component: 'mcp', message, ...more })
const lines = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => line(`m${n}`))

function sinkFor(engine: SearchEngineDouble, index = 'logs') {
  const { write } = new SearchSink({ url: `http://127.0.0.1:${engine.port}/`, index, fetch }).contribution as Extract<
    LogSink,
    { readonly takes: 'lines' }
  >
  return (batch: readonly string[]) => write(batch, never)
}

describe('a stored record', () => {
  test('has a time, known names by themselves and all others in fields; the template knows them', async () => {
    await using engine = new SearchEngineDouble()
    await sinkFor(engine)([line('tools/call', { server: 'time', duration: 12, odd: { a: 1 } })])
    const [only] = engine.stored
    expect(only?.index).toBe('logs')
    expect(only?.doc).toEqual({
      ...{ '@timestamp': '2026-11-22T09:30:00.000Z', timestamp: '2026-11-22T09:30:00.000Z' },
      ...{
        level: 'INFO',
        component: 'mcp',
        message: 'tools/call',
        server: 'time',
        duration: 12,
        fields: { odd: { a: 1 } },
      },
    })
    const { data_stream, index_patterns, template } = engine.templates.logs ?? {}
    expect([data_stream, index_patterns]).toEqual([{}, ['logs']])
    const { properties } = (template as { mappings: { properties: Record<string, JsonObject> } }).mappings
    expect(properties).toMatchObject({
      fields: { type: 'flattened' },
      server: { type: 'keyword' },
      message: { type: 'text' },
    })
  })

  test('goes into an index a day where there are no data streams, and OpenSearch gets its own type', async () => {
    await using engine = new SearchEngineDouble()
    Object.assign(engine.behaviour, { noDataStreams: true, distribution: 'opensearch' })
    await sinkFor(engine)([line('x')])
    expect(engine.stored[0]?.index).toBe('logs-2026.11.22')
    expect(engine.templates.logs).toMatchObject({
      index_patterns: ['logs-*'],
      template: { mappings: { properties: { fields: { type: 'flat_object' } } } },
    })
  })
})

describe('refused records', () => {
  test('a record refused for good counts as rejected, the others are stored', async () => {
    await using engine = new SearchEngineDouble()
    engine.behaviour.refuse = ({ message }) => (message === 'm3' || message === 'm7' ? 400 : undefined)
    expect(await sinkFor(engine)(lines(10))).toEqual({ rejected: 2 })
    expect(engine.stored).toHaveLength(8)
  })

  test('a record refused for now is sent again alone, and nothing is stored twice', async () => {
    await using engine = new SearchEngineDouble()
    const write = sinkFor(engine)
    let refusals = 0
    engine.behaviour.refuse = ({ message }) => {
      if (message === 'm1') return 400
      if (!['m4', 'm5'].includes(String(message)) || refusals >= 2) return undefined
      refusals += 1
      return 429
    }
    await expect(write(lines(10))).rejects.toThrow('429')
    expect(engine.stored).toHaveLength(7)
    expect(await write(lines(10))).toEqual({ rejected: 1 })
    expect(engine.stored.map(({ doc }) => doc.message).sort()).toEqual([
      'm0',
      'm2',
      'm3',
      'm4',
      'm5',
      'm6',
      'm7',
      'm8',
      'm9',
    ])
    expect(new Set(engine.stored.map(({ id }) => id)).size).toBe(9)
    // The next batch has the same texts, and is another.
    engine.behaviour.refuse = () => undefined
    await write(lines(10))
    expect(engine.stored).toHaveLength(19)
  })

  test('a request that is too large is halved; one record that is too large is rejected', async () => {
    await using engine = new SearchEngineDouble()
    engine.behaviour.mostBytes = 2_000
    const batch = [...lines(20), line('x'.repeat(3_000)), ...lines(3)]
    expect(await sinkFor(engine)(batch)).toEqual({ rejected: 1 })
    expect(engine.stored).toHaveLength(23)
  })

  test('an engine that is not there, or fails as a whole, is a failure, and the template is made again', async () => {
    await using engine = new SearchEngineDouble()
    const write = sinkFor(engine)
    engine.behaviour.status = 503
    await expect(write(lines(2))).rejects.toMatchObject({
      code: 'delivery_failed',
      message: expect.stringContaining('not now'),
    })
    delete engine.behaviour.status
    await write(lines(2))
    engine.behaviour.status = 401
    await expect(write(lines(3))).rejects.toThrow('401')
    delete engine.behaviour.status
    delete engine.templates.logs
    await write(lines(3))
    expect(engine.templates.logs).toBeDefined()
    expect(engine.stored).toHaveLength(5)
    const gone = new SearchSink({ url: 'http://127.0.0.1:1/', index: 'logs', fetch }).contribution
    await expect(
      (gone.write as (batch: readonly string[], signal: AbortSignal) => Promise<unknown>)(lines(1), never),
    ).rejects.toMatchObject({ code: 'delivery_failed' })
  })
})

test('a hub sends its calls there, with the credential of the address, which no answer and no log shows', async () => {
  await using engine = new SearchEngineDouble()
  const hub = await startHub({
    settings: { mcpServers: { echo: { ...stdioFixture('echo'), session: 'shared' } } },
    env: { SEARCH_ENGINE_URL: `http://hub:pass%2Bword@127.0.0.1:${engine.port}`, SEARCH_ENGINE_INDEX: 'own-index' },
  })
  try {
    const admin = await hub.setup()
    await online(admin, ['echo'])
    const client = await admin.mcp('/mcp/echo')
    for (let n = 0; n < 5; n += 1) await callText(client, 'echo', { text: `${n}` })
    const found = await until(() => {
      const seen = engine.stored.filter(({ doc }) => doc.message === 'tools/call')
      return seen.length >= 5 ? seen : undefined
    })
    expect(found).toHaveLength(5)
    expect(found[0]).toMatchObject({ index: 'own-index', doc: { server: 'echo', tool: 'echo', status: 'success' } })
    expect([...engine.authorizations]).toEqual([`Basic ${Buffer.from('hub:pass+word').toString('base64')}`])
    engine.behaviour.status = 500
    await callText(client, 'echo', { text: 'down' })
    await until(async () => (await admin.request('GET', '/api/admin/logging')).text.includes('"failing"'))
    const shown =
      (await admin.request('GET', '/api/admin/plugins')).text + (await admin.request('GET', '/api/admin/settings')).text
    for (const text of [shown, hub.log()]) expect(text).not.toMatch(/pass(%2B|\+)word/)
  } finally {
    await hub.stop()
  }
}, 120_000)
