/** Spans of failed calls that are not traced: made of the finished calls that the hub gives its plugins. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../../support/hub.ts'
import { startCollector } from '../../support/otlp.ts'
import { atLeast } from '../../support/pace.ts'
import { online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const collector = startCollector()
let hub: Hub
let admin: Client

beforeAll(async () => {
  const config = { traces: { endpoint: collector.url, ratio: 0, failures: true } }
  const hasty = { ...stdioFixture('slow'), timeout: atLeast(400), session: 'shared' }
  const settings = { mcpServers: { hasty }, plugins: [{ use: 'otlp', config }] }
  hub = await startHub({ env: LOOPBACK, settings })
  admin = await hub.setup()
  await online(admin, ['hasty'])
}, 60_000)
afterAll(async () => {
  await hub?.stop()
  await collector.stop()
})

test('a failed call has one span with its reason; one that succeeds, or is traced already, has none more', async () => {
  const client = await admin.mcp('/mcp/hasty')
  const call = (name: string, args: object, meta: object = {}) =>
    client.callTool({ name, arguments: { ...args }, _meta: { ...meta } }).catch(() => undefined)
  await call('quick', {})
  await call('no-such-tool-canary', {})
  await call('wait', { ms: 5_000 })
  await until(() => collector.spans.length >= 2, { what: 'the spans' })
  const [unsent, late] = collector.spans
  expect(unsent).toMatchObject({ name: 'tools/call', kind: 2, attributes: { 'mcp.method.name': 'tools/call' } })
  expect(unsent?.attributes['error.type']).toBe('tool_not_found')
  expect(late).toMatchObject({ name: 'tools/call wait', status: { code: 2 } })
  expect(late?.attributes).toMatchObject({ 'error.type': 'upstream_timeout', 'patchbay.server': 'hasty' })
  // Names of tools that do not exist are texts of the caller.
  expect(JSON.stringify(collector.spans)).not.toContain('canary')
  const traced = '0af7651916cd43dd8448eb211c80319c'
  await call('wait', { ms: 5_000 }, { traceparent: `00-${traced}-b7ad6b7169203331-01` })
  await until(() => collector.spans.length >= 4, { what: 'the traced call' })
  expect(collector.spans.slice(2).map(({ traceId }) => traceId)).toEqual([traced, traced])
}, 60_000)
