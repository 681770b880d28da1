/** Traces of tool calls at a collector, as children of their callers' spans and parents of their servers'. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { beyondCore, extent } from '../../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../../support/hub.ts'
import { type Collected, startCollector } from '../../support/otlp.ts'
import { atLeast } from '../../support/pace.ts'
import { callText, failureOf, online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const SERVER = 2
const CLIENT = 3
/** Number of calls whose spans the collector does not take: more than wait at a time. */
const UNSENT = 3_000
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

let isDown = false
const collector = startCollector(() => (isDown ? new Response('', { status: 400 }) : Response.json({})))
let hub: Hub
let admin: Client

beforeAll(async () => {
  const env = {
    ...{ ...LOOPBACK, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '1' },
    ...{ OTEL_EXPORTER_OTLP_HEADERS: 'x-token=a%20secret', OTEL_SERVICE_NAME: 'hub-1' },
  }
  const hasty = { ...stdioFixture('slow'), timeout: atLeast(400) }
  const mcpServers = { varied: stdioFixture('varied'), ...extent({}, { slow: stdioFixture('slow'), hasty }) }
  hub = await startHub({ env, settings: { mcpServers } })
  admin = await hub.setup()
  await online(admin, Object.keys(mcpServers))
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await collector.stop()
}, 120_000)

/** One call with this `_meta`; what its server saw of it. */
async function seen(meta: object): Promise<Record<string, string>> {
  const client = await admin.mcp('/mcp/varied')
  await client.callTool({ name: 'name', arguments: {}, _meta: { ...meta } })
  const all = JSON.parse(await callText(client, 'seen')) as {
    method: string
    params: { name?: string; _meta?: object }
  }[]
  const call = all.findLast(({ params }) => params?.name === 'name')
  return { ...call?.params._meta }
}
const ofTool = (name: string, from = 0): Collected[] =>
  collector.spans.slice(from).filter(span => span.name === `tools/call ${name}`)

describe('by the caller’s wish', () => {
  test('two spans of a call, in the trace of its caller, and the server receives its place', async () => {
    const meta = await seen({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=b' })
    await until(() => ofTool('name').length === 2, { timeoutMs: 60_000 })
    const [server, client] = [SERVER, CLIENT].map(kind => ofTool('name').find(span => span.kind === kind))
    expect(server).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, service: 'hub-1' })
    expect(client).toMatchObject({ traceId: TRACE, parentSpanId: server?.spanId as string })
    expect(server?.attributes).toMatchObject({
      ...{ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'name', 'patchbay.server': 'varied' },
      'patchbay.group': 'varied',
    })
    expect(meta).toMatchObject({ traceparent: `00-${TRACE}-${client?.spanId}-01`, tracestate: 'a=b' })
    expect(collector.headers.at(-1)?.get('x-token')).toBe('a secret')
    const { items } = await until(async () => {
      const page = await admin.ok('GET', `/api/logs/search?q=traceId:${TRACE}`)
      return page.total === 1 && page
    })
    expect(items[0]).toMatchObject({ tool: 'name', traceId: TRACE })
    expect(JSON.stringify(await admin.ok('GET', '/api/admin/settings'))).not.toContain('a%20secret')
  }, 120_000)
})

beyondCore(() => {
  describe('of every call', () => {
    test('a caller that wants none has none, and chance decides where it does not say', async () => {
      await until(() => ofTool('seen').length === 2, { timeoutMs: 60_000 })
      const from = collector.spans.length
      const unwanted = `00-${TRACE}-${SPAN}-00`
      expect((await seen({ traceparent: unwanted })).traceparent).toBe(unwanted)
      for (const broken of ['', '00-0-0-01', `00-${'0'.repeat(32)}-${SPAN}-01`, 7]) {
        const { traceparent } = await seen({ traceparent: broken })
        expect([broken, traceparent]).toEqual([broken, expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)])
        expect(traceparent).not.toContain(TRACE)
      }
      await until(() => ofTool('name', from).length === 8 && ofTool('seen', from).length === 10, { timeoutMs: 60_000 })
      expect(ofTool('name', from).filter(span => span.kind === SERVER && span.parentSpanId)).toEqual([])
      expect(ofTool('name', from).some(span => span.traceId === TRACE)).toBe(false)
    }, 120_000)

    test('a call that fails says why, one that cannot be sent is no error of the call, and the rest is counted', async () => {
      const hasty = await admin.mcp('/mcp/hasty')
      expect((await failureOf(callText(hasty, 'wait', { ms: 5_000 }))).data?.code).toBe('upstream_timeout')
      await until(() => ofTool('wait').length === 2, { timeoutMs: 60_000 })
      for (const span of ofTool('wait')) {
        expect([span.status.code, span.attributes['error.type']]).toEqual([2, 'upstream_timeout'])
      }
      const spans = async (result: string): Promise<number> => {
        const text = await (await fetch(`${hub.url}/metrics`)).text()
        return Number(new RegExp(`^patchbay_spans_total\\{result="${result}"\\} (.+)$`, 'm').exec(text)?.[1])
      }
      const before = await until(async () => {
        const sent = await spans('sent')
        return sent === collector.spans.length && sent
      })
      isDown = true
      const client = await admin.mcp('/mcp/slow')
      for (let call = 0; call < UNSENT; call += 1) expect(await callText(client, 'quick')).toBe('quick')
      await until(async () => (await spans('failed')) + (await spans('dropped')) === 2 * UNSENT, { timeoutMs: 60_000 })
      expect(await spans('sent')).toBe(before)
      await hub.logged('Traces cannot be sent')
      isDown = false
      await callText(client, 'quick')
      await until(async () => (await spans('sent')) === before + 2, { timeoutMs: 60_000 })
      await hub.logged('Traces are sent again')
    }, 600_000)
  })
})

test('the plugin that sends them takes another collector, and none, while the hub runs', async () => {
  const other = startCollector()
  try {
    const path = '/api/admin/plugins/otlp'
    const { config } = await admin.ok('PATCH', path, { config: { traces: { endpoint: other.url, ratio: 1 } } })
    expect(config).toEqual({ traces: { endpoint: other.url, ratio: 1 } })
    const before = collector.spans.length
    await seen({})
    await until(() => other.spans.length === 4, { timeoutMs: 60_000 })
    expect(new Set(other.spans.map(({ service }) => service))).toEqual(new Set(['patchbay']))
    expect(collector.spans).toHaveLength(before)
    await admin.ok('PATCH', path, { enabled: false })
    expect((await seen({})).traceparent).toBeUndefined()
    await admin.ok('PATCH', path, { enabled: true, config: { traces: { endpoint: collector.url, ratio: 1 } } })
    expect((await seen({})).traceparent).toBeString()
  } finally {
    await other.stop()
  }
}, 120_000)
