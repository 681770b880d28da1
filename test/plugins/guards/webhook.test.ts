/** Webhooks that look at content: those that fail, change too much, answer too late, or are asked too often. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { atMost } from '../../support/pace.ts'
import { type Received, startReceiver } from '../../support/receiver.ts'
import { callText, failureOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

setDefaultTimeout(60_000)

const mirror = { command: process.execPath, args: [join(import.meta.dir, 'fixtures/mirror.ts')], session: 'shared' }
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const FAILED = 'could not be looked at by its webhook'
const MOST_AT_ONCE = 32

let hub: Hub
let admin: Client
let answer: (received: Received) => Response | Promise<Response> = () => Response.json({ action: 'pass' })
const receiver = startReceiver(received => answer(received) as Response)

beforeAll(async () => {
  ;({ hub, admin } = await startOnline({ env: LOOPBACK, settings: { mcpServers: { hooked: mirror } } }))
}, 120_000)
afterAll(async () => {
  await receiver.stop()
  await hub?.stop()
}, 120_000)

const rule = (webhook: object = {}, more: object = {}) => ({
  ...{
    id: 'hook',
    on: 'arguments',
    then: 'refuse',
    webhook: { url: receiver.url, secret, timeoutMs: 5_000, ...webhook },
  },
  ...more,
})
const put = (...rules: object[]) => admin.ok('PUT', '/api/servers/hooked/guards', { rules })
const mirrored = async (args: object, client = admin, path = '/mcp/hooked') =>
  callText(await client.mcp(path), 'mirror', { ...args }).catch(String)
const change = (value: object) => Response.json({ action: 'change', value })
/** Changes the arguments of a call. */
const rewrite =
  (text: (before: string) => string, more: object = {}) =>
  ({ json: { value } }: Received) =>
    change({ ...value, arguments: { ...value.arguments, text: text(value.arguments.text) }, ...more })

describe('a webhook has failed when it', () => {
  const drip = () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await Bun.sleep(100)
          controller.enqueue(new TextEncoder().encode(' '))
        },
      }),
    )
  const late = async (received: Received) => {
    await Bun.sleep(800)
    return rewrite(() => 'too late')(received)
  }
  const deep = `{"action":"change","value":{"arguments":{"text":${'['.repeat(400_000)}${']'.repeat(400_000)}}}}`
  test.each<[string, typeof answer, object?]>([
    ['sends its answer slowly', drip, { timeoutMs: 300 }],
    ['answers after its time', late, { timeoutMs: 300 }],
    ['answers more than 1 MiB', () => Response.json({ action: 'pass', filler: 'x'.repeat(1_100_000) })],
    ['answers no JSON', () => new Response('{"action": "pass"')],
    ['answers a list', () => Response.json([{ action: 'pass' }])],
    ['answers an unknown action', () => Response.json({ action: 'allow' })],
    ['changes to nothing', () => Response.json({ action: 'change' })],
    ['changes to a text', () => Response.json({ action: 'change', value: 'x' })],
    ['leaves the arguments out', () => change({})],
    ['makes another thing of the arguments', () => change({ arguments: ['x'] })],
    ['nests its change too deep', () => new Response(deep)],
    ['answers 503', () => new Response('{"action":"pass"}', { status: 503 })],
  ])('%s', async (_, given, webhook = {}) => {
    answer = given
    await put(rule(webhook))
    const startedMs = performance.now()
    expect(await mirrored({ text: 'x' })).toContain(FAILED)
    expect(performance.now() - startedMs).toBeLessThan(atMost(5_000))
    await put(rule({ ...webhook, onFailure: 'open' }))
    expect(await mirrored({ text: 'x' })).toBe('x')
    expect((await admin.ok('GET', '/api/servers/hooked/guards')).counts.hook.failed).toBeGreaterThan(0)
  })

  test('leads elsewhere: no redirect is followed', async () => {
    const other = startReceiver(() => Response.json({ action: 'pass' }))
    answer = () => new Response(null, { status: 307, headers: { location: other.url } })
    await put(rule())
    expect(await mirrored({ text: 'x' })).toContain(FAILED)
    expect(other.received).toEqual([])
    await other.stop()
  })

  test.each([
    ['has no content any more', {}],
    ['has content of another form', { content: 'text' }],
    ['has lost its structured content', { content: [] }],
    ['has a list as structured content', { content: [], structuredContent: [] }],
  ])('changes a result that %s', async (_, value) => {
    answer = () => change(value)
    await put(rule({}, { on: 'result' }))
    const result = JSON.stringify({ content: [{ type: 'text', text: 'x' }], structuredContent: { a: 1 } })
    expect(await mirrored({ result })).toContain(FAILED)
  })
})

describe('a webhook changes', () => {
  test('the arguments alone, not the tool', async () => {
    answer = rewrite(text => `${text}, changed`, { name: 'seen', _meta: { other: 1 } })
    await put(rule())
    expect(await mirrored({ text: 'x' })).toBe('x, changed')
  })

  test('no URI of a resource', async () => {
    const uri = (text: string) => `mirror://${Buffer.from(text).toString('hex')}`
    answer = ({ json: { value } }) => change({ ...value, uri: uri('another') })
    await put(rule())
    const client = await admin.mcp('/mcp/hooked')
    expect((await client.readResource({ uri: uri('this one') })).contents[0]).toMatchObject({ text: 'this one' })
  })

  test('what another webhook has changed before', async () => {
    answer = received => rewrite(text => `${text} ${received.json.rule}`)(received)
    await put(rule(), rule({}, { id: 'second' }))
    expect(await mirrored({ text: 'x' })).toBe('x hook second')
  })

  test('a result, with its structured content', async () => {
    answer = () => change({ content: [{ type: 'text', text: '{"a":2}' }], structuredContent: { a: 2 }, taskId: 't' })
    await put(rule({}, { on: 'result' }))
    const client = await admin.mcp('/mcp/hooked')
    const result = JSON.stringify({ content: [], structuredContent: { a: 1 }, _meta: { kept: true } })
    expect(await client.callTool({ name: 'mirror', arguments: { result } })).toEqual({
      content: [{ type: 'text', text: '{"a":2}' }],
      structuredContent: { a: 2 },
      _meta: { kept: true },
    })
  })

  test('no arguments for a server of another owner, whose approvals and pinned values have let the call pass', async () => {
    const eve = await hub.user('eve')
    await put()
    await admin.ok('PUT', '/api/servers/hooked/shares/user:eve', { role: 'use' })
    await admin.ok('PUT', '/api/servers/hooked/approvals', {
      rules: [{ when: { arguments: { '/text': { eq: 'all of it' } } }, then: 'deny' }],
    })
    await eve.ok('POST', '/api/groups', { name: 'around', members: ['admin~hooked'] })
    answer = rewrite(() => 'all of it')
    await eve.ok('PUT', '/api/groups/around/guards', { rules: [rule()] })
    expect(await mirrored({ text: 'x' }, eve, '/mcp/around')).toContain(FAILED)
    answer = () => Response.json({ action: 'pass' })
    expect(await mirrored({ text: 'x' }, eve, '/mcp/around')).toBe('x')
    await admin.ok('PUT', '/api/servers/hooked/approvals', { rules: [] })
    await admin.ok('PUT', '/api/servers/hooked/shares', { shares: [] })
  })
})

test('one caller’s calls have 32 requests at a time, and leave those of others alone', async () => {
  const ann = await hub.user('ann')
  await admin.ok('PUT', '/api/servers/hooked/shares/user:ann', { role: 'use' })
  const release = Promise.withResolvers<void>()
  let asked = 0
  answer = async ({ json }) => {
    if (json.user !== 'ann') return Response.json({ action: 'pass' })
    asked += 1
    await release.promise
    return Response.json({ action: 'pass' })
  }
  await put(rule())
  const client = await ann.mcp('/mcp/@admin/hooked')
  const first = Array.from({ length: MOST_AT_ONCE }, () => callText(client, 'mirror', { text: 'x' }))
  await until(() => asked === MOST_AT_ONCE, { what: 'all requests' })
  expect(await callText(client, 'mirror', { text: 'x' }).catch(String)).toContain(FAILED)
  expect(await mirrored({ text: 'mine' })).toBe('mine')
  release.resolve()
  expect(new Set(await Promise.all(first))).toEqual(new Set(['x']))
})

test('a call whose caller loses the server while its webhook is asked is not sent', async () => {
  const kim = await hub.user('kim')
  await admin.ok('PUT', '/api/servers/hooked/shares/user:kim', { role: 'use' })
  const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  answer = async ({ json }) => {
    if (json.user === 'kim') asked.resolve()
    if (json.user === 'kim') await release.promise
    return Response.json({ action: 'pass' })
  }
  await put(rule())
  const late = mirrored({ text: 'too late' }, kim, '/mcp/@admin/hooked')
  await asked.promise
  await admin.ok('DELETE', '/api/servers/hooked/shares/user:kim')
  release.resolve()
  expect(await late).not.toBe('too late')
  const client = await admin.mcp('/mcp/hooked')
  expect(await callText(client, 'seen', {})).not.toContain('too late')
})

test('a webhook is not asked about errors', async () => {
  answer = () => Response.json({ action: 'refuse', reason: 'no' })
  await put(rule({}, { on: 'result' }))
  const client = await admin.mcp('/mcp/hooked')
  const failure = await failureOf(client.callTool({ name: 'mirror', arguments: { error: 'it broke' } }))
  expect(failure.message).toContain('it broke')
})
