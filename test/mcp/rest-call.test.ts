import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, send, startHub } from '../support/hub.ts'
import { atLeast } from '../support/pace.ts'
import { type Program, startProgram } from '../support/program.ts'
import { RawClient, SseReader } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { patchbay } from '../unit/cli/running-hub.ts'
import { sharedFixture } from './shared-fixture.ts'

setDefaultTimeout(120_000)

const ECHO_HTTP = join(import.meta.dir, '../support/mcp-servers/echo-http.ts')
const MIB = 1024 * 1024
const NUMBER = '9007199254740993'

// The tests of middlewares cover the main thread; this is about the bytes that pass through a thread.
for (const isolate of extent([true], [true, false])) {
  describe(`a tool called over REST, with a middleware ${isolate ? 'in a thread of its own' : 'in the main thread'}`, () => {
    let web: Program
    let hub: Hub
    let admin: Client

    beforeAll(async () => {
      web = await startProgram(ECHO_HTTP)
      hub = await startHub({
        env: LOOPBACK,
        settings: {
          plugins: [{ use: join(import.meta.dir, 'fixtures/tagging.ts'), isolate }],
          mcpServers: {
            varied: sharedFixture('varied'),
            slow: sharedFixture('slow'),
            web: { type: 'streamable-http', url: web.url, session: 'shared', passthroughHeaders: ['X-Tenant'] },
          },
        },
      })
      admin = await hub.setup()
      await online(admin, ['varied', 'slow', 'web'])
    }, 120_000)

    afterAll(async () => {
      await hub?.stop()
      await web?.stop()
    }, 120_000)

    const call = (server: string, tool: string, args: object, headers: Record<string, string> = {}) =>
      admin.request('POST', `/api/servers/${server}/tools/${tool}/call`, { arguments: args }, headers)

    test('passes the middlewares that a client’s call passes, and is refused by them', async () => {
      const answer = await call('varied', 'raw', { a: 1 })
      expect(answer.json.result.structuredContent).toEqual({ a: 1, by: 'admin' })
      const refused = await call('varied', 'raw', { forbidden: true })
      expect([refused.status, refused.json.code]).toEqual([400, 'params_invalid'])
      expect(refused.json.status).toBe(400)
      const client = await new RawClient(hub, '/mcp/varied', await admin.mcpKey()).open()
      const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw","arguments":{"n":${NUMBER}}}}`
      expect(await (await client.post(text)).text()).toContain(`"structuredContent":{"n":${NUMBER},"by":"admin"}`)
    })

    test.each([
      [{ send: 5 * MIB }, 413, 'body_too_large'],
      [{ deep: 70 }, 400, 'json_too_deep'],
      [{ answer: 11 * MIB }, 502, 'result_too_large'],
    ])('holds what a middleware made of a call to the limits of others: %j', async (args, status, code) => {
      const answer = await call('varied', 'raw', args)
      expect([answer.status, answer.json.code]).toEqual([status, code])
      const client = await admin.mcp('/mcp/varied')
      const refused = await client.callTool({ name: 'raw', arguments: args }).catch(error => error)
      expect(refused.data?.code ?? refused).toBe(code)
      expect((await call('varied', 'raw', { a: 1 })).json.result.structuredContent).toEqual({ a: 1, by: 'admin' })
    })

    test.each([0, 200_000])('writes numbers on as they were written, beside a text of %d characters', async length => {
      const numbers = `"n":${NUMBER},"in":[{"f":0.12345678901234567890,"e":1e400}]`
      const text = `{"arguments":{${numbers},"pad":"${'x'.repeat(length)}"}}`
      const answer = await admin.request('POST', '/api/servers/varied/tools/raw/call', text)
      expect(answer.text).toContain(`"structuredContent":{${numbers},`)
      for (const wrong of [NUMBER, `{"arguments":${NUMBER}}`]) {
        const refused = await admin.request('POST', '/api/servers/varied/tools/raw/call', wrong)
        expect([refused.status, refused.json.code]).toEqual([
          400,
          wrong === NUMBER ? 'json_not_object' : 'validation_failed',
        ])
      }
    })

    // These do not depend on where the middleware runs, so they run once.
    if (isolate) {
      test('by the command line, with numbers as they were written', async () => {
        const env = { PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: admin.token }
        const line = ['call', 'varied', 'raw', `{"n":${NUMBER}}`, '--json']
        const { code, stdout } = await patchbay(line, { cwd: hub.folder, env })
        expect([code, stdout.includes(`"n": ${NUMBER}`)]).toEqual([0, true])
      })

      test('takes along the headers that the server asks for, and never the caller’s credential', async () => {
        const answer = await call('web', 'whoami', {}, { 'x-tenant': 'acme', 'x-other': 'no', cookie: 'a=b' })
        const { headers } = JSON.parse(answer.json.result.content[0].text)
        expect(headers['x-tenant']).toBe('acme')
        expect([headers['x-other'], headers.cookie, headers.authorization]).toEqual([undefined, undefined, undefined])
        expect(JSON.stringify(headers)).not.toContain(admin.token)
      })

      beyondCore(() => {
        test('counts as one of the 256 calls that a user may have in flight', async () => {
          const client = await new RawClient(hub, '/mcp/slow', await admin.mcpKey()).open('2025-03-26')
          const params = { name: 'wait', arguments: { ms: atLeast(2_000) } }
          // In arrays, since the fetch of the test opens no more than 256 connections itself.
          const waiting = [100, 100, 56].map((count, post) =>
            client.post(
              Array.from({ length: count }, (_, index) => ({
                jsonrpc: '2.0',
                id: `${post} ${index}`,
                method: 'tools/call',
                params,
              })),
            ),
          )
          await until(async () => (await client.send('ping')).status === 429, { what: 'the quota to be used up' })
          const refused = await call('varied', 'raw', {})
          expect([refused.status, refused.json.code]).toEqual([429, 'quota_calls'])
          expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
          for (const work of waiting) expect(await (await work).text()).not.toContain('quota_calls')
          expect((await call('varied', 'raw', {})).status).toBe(200)
        })
      })

      test('tells of progress in a stream, and is cancelled upstream when its reader goes', async () => {
        const leaving = new AbortController()
        const post = (body: object) =>
          fetch(`${hub.url}/api/servers/slow/tools/wait/call`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${admin.token}`,
              'content-type': 'application/json',
              accept: 'text/event-stream',
            },
            body: JSON.stringify(body),
            signal: leaving.signal,
          })
        const cancelled = async () => (await call('slow', 'cancelled', {})).json.result.content[0].text
        const before = Number(await cancelled())
        const text = await (await post({ arguments: { ms: 150 } })).text()
        expect(text.split('event: progress').length).toBeGreaterThan(3)
        expect(text).toContain('waited 150')
        const reader = new SseReader(await post({ arguments: { ms: 20_000 } }))
        await reader.event()
        leaving.abort()
        await until(async () => Number(await cancelled()) === before + 1, { what: 'the upstream to be told' })
      })

      test('of a server that was never seen says why it cannot be reached', async () => {
        await admin.ok('POST', '/api/servers', { name: 'missing', command: '/no/such/program' })
        const answer = await call('missing', 'anything', {})
        expect([answer.status, answer.json.code]).toEqual([503, 'server_offline'])
        const client = await new RawClient(hub, '/mcp/missing', await admin.mcpKey()).open()
        const { error } = await client.call('tools/call', { name: 'anything' })
        expect(error?.data?.code).toBe('server_offline')
        await admin.ok('DELETE', '/api/servers/missing')
      })

      test('of another’s private server finds none', async () => {
        const bert = await hub.user('bert')
        const answer = await send(
          hub.url,
          'POST',
          '/api/servers/admin~varied/tools/raw/call',
          {},
          {
            authorization: `Bearer ${bert.token}`,
          },
        )
        expect([answer.status, answer.json.code]).toEqual([404, 'server_not_found'])
      })
    }
  })
}
