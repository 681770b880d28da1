/** Middlewares that refuse, answer or fail: callers get the reason, the call has a record, and the plugin shows it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

setDefaultTimeout(60_000)

describe.each(extent([true], [true, false]))('a plugin with middlewares, isolated: %p', isolate => {
  let hub: Hub
  let admin: Client
  let client: McpClient

  beforeAll(async () => {
    hub = await startHub({
      settings: {
        plugins: [{ use: join(import.meta.dir, 'fixtures/guarding.ts'), isolate }],
        mcpServers: {
          odd: { ...sharedFixture('odd-forms', { TOKEN: 'canary-of-a-key' }), tools: { say: { name: 'speak' } } },
        },
      },
    })
    admin = await hub.setup()
    await online(admin, ['odd'])
    await admin.ok('POST', '/api/groups', { name: 'work', members: ['odd'] })
    client = await admin.mcp('/mcp/work')
  }, 120_000)
  afterAll(() => hub?.stop(), 120_000)

  const RESULT = { content: [{ type: 'text', text: 'from the server' }] }
  const call = (wishes: object) => client.callTool({ name: 'speak', arguments: { ...wishes, result: RESULT } })
  const plugin = async () => {
    const { items } = await admin.ok('GET', '/api/admin/plugins')
    return items.find(({ name }: { name: string }) => name === 'guarding').middleware
  }
  /** The newest record of a call, once there is one more. */
  async function recorded(work: () => Promise<unknown>) {
    const records = async () => (await admin.ok('GET', '/api/monitoring/activity?limit=100')).items
    const before = (await records()).length
    await work()
    return until(async () => {
      const now = await records()
      return now.length > before ? now[0] : undefined
    })
  }

  test.each(['guard', 'soft'])('a refusal of "%s" has its own words, code and hint, and is a record', async which => {
    const refused = (await plugin())?.refused ?? 0
    const record = await recorded(async () => {
      // biome-ignore lint/suspicious/noExplicitAny: an error of the SDK
      const error: any = await call({ [which]: 'refuse' }).catch(one => one)
      expect(error.message).toContain('No deletions on Fridays')
      expect(error.data).toMatchObject({ code: 'blocked_by_plugin', hint: 'Ask again on Monday.' })
    })
    expect(record).toMatchObject({
      ...{ outcome: 'blocked', status: 'blocked_by_plugin', plugin: 'guarding', tool: 'speak', group: 'work' },
      ...{ server: 'odd', error: 'No deletions on Fridays' },
    })
    expect((await plugin()).refused).toBe(refused + 1)
    const byApi = await admin.request('POST', '/api/servers/odd/tools/say/call', { arguments: { [which]: 'refuse' } })
    expect([byApi.status, byApi.json.code, byApi.json.hint]).toEqual([403, 'blocked_by_plugin', 'Ask again on Monday.'])
  })

  test.each([
    ['long', 'x'.repeat(2_000), 'y'.repeat(2_000)],
    ['wordless', 'The plugin "guarding" refused this', 'Do as the message says'],
  ])('a refusal that is %s has words of a length that a client can show', async (wish, message, hint) => {
    // biome-ignore lint/suspicious/noExplicitAny: an error of the SDK
    const error: any = await call({ guard: wish }).catch(one => one)
    expect([error.message.length < 5_000, error.message]).toEqual([true, expect.stringContaining(message)])
    expect([error.data.hint.length < 2_100, error.data.hint]).toEqual([true, expect.stringContaining(hint)])
  })

  test('the record of a refusal has no secret of the server that was called', async () => {
    const record = await recorded(async () => call({ guard: 'secret' }).catch(() => undefined))
    expect(record).toMatchObject({ outcome: 'blocked', server: 'odd', error: expect.stringMatching(/is not welcome$/) })
    await hub.logged('is not welcome')
    expect(hub.log()).not.toContain('canary-of-a-key')
  })

  const NONSENSE = ['text', 'list', 'null', 'listless', 'bigint', 'unreturned', 'other method', 'no request']
  test.each(NONSENSE)('one that answers with nonsense (%s) has failed', async wish => {
    const { failed = 0, skipped = 0 } = (await plugin()) ?? {}
    const record = await recorded(async () => {
      // biome-ignore lint/suspicious/noExplicitAny: an error of the SDK
      const error: any = await call({ guard: wish }).catch(one => one)
      expect([error.data?.code, error.message]).toEqual(['internal', expect.stringContaining('A middleware for tools')])
    })
    expect(record).toMatchObject({ outcome: 'blocked', status: 'internal', plugin: 'guarding', server: 'odd' })
    const open = await recorded(async () => {
      expect(await callText(client, 'speak', { soft: wish, result: RESULT })).toBe('from the server')
    })
    expect(open).toMatchObject({ outcome: 'ok', note: 'The plugin "guarding" failed and was skipped' })
    expect(await plugin()).toMatchObject({ failed: failed + 1, skipped: skipped + 1 })
  })

  test.each([
    ['answer', 'from the plugin', 'success'],
    ['answer-error', 'not today', 'error'],
    ['replace', 'cleaned', 'error'],
  ])('what it answers itself (%s) is a blocked record too', async (wish, said, status) => {
    const record = await recorded(async () => {
      expect((await call({ guard: wish })).content).toMatchObject([{ text: said }])
    })
    expect(record).toMatchObject({ outcome: 'blocked', status, plugin: 'guarding', server: 'odd' })
  })

  test.each(['crash', 'hang'])('one that fails (%s) with onError closed refuses, and is counted', async wish => {
    const failed = (await plugin())?.failed ?? 0
    const record = await recorded(async () => {
      // biome-ignore lint/suspicious/noExplicitAny: an error of the SDK
      const error: any = await call({ guard: wish }).catch(one => one)
      expect(error.data.code).toBe('internal')
      expect(error.message).not.toContain('fell over')
    })
    expect(record).toMatchObject({ outcome: 'blocked', plugin: 'guarding', server: 'odd' })
    const now = await plugin()
    expect(now.failed).toBe(failed + 1)
    expect(now.lastFailure).toMatchObject({ contribution: 'guard', at: expect.stringMatching(/^\d{4}-/) })
    expect(now.lastFailure.message).toContain(wish === 'crash' ? 'the guard fell over' : 'took longer')
  })

  test.each(['crash', 'hang'])(
    'one that fails (%s) with onError open is skipped, and the record says so',
    async wish => {
      const { skipped = 0 } = (await plugin()) ?? {}
      const record = await recorded(async () => {
        expect(await callText(client, 'speak', { soft: wish, result: RESULT })).toBe('from the server')
      })
      expect(record).toMatchObject({ outcome: 'ok', note: 'The plugin "guarding" failed and was skipped' })
      expect((await plugin()).skipped).toBe(skipped + 1)
    },
  )

  test('failures are warned of once a minute', async () => {
    for (let count = 0; count < 5; count += 1) await call({ soft: 'crash' })
    const found = async () => (await admin.ok('GET', '/api/logs/search?q=level:WARN component:"plugin:guarding"')).items
    const warnings = await until(async () => {
      const items = await found()
      return items.length > 0 ? items : undefined
    })
    expect(warnings).toHaveLength(1)
    expect(warnings[0].message).toMatch(/^A middleware failed/)
  })

  test('it knows where a call goes and whence it comes', async () => {
    const context = JSON.parse(await callText(client, 'speak', { guard: 'context' }))
    const groups = (await admin.ok('GET', '/api/groups')).items
    expect(context).toEqual({
      path: '/mcp/work',
      group: { id: groups[0].id, name: 'work' },
      session: expect.stringMatching(/./),
      client: { name: expect.stringMatching(/./), version: expect.stringMatching(/./), address: '127.0.0.1' },
      server: {
        ...{ id: expect.stringMatching(/./), name: 'odd' },
        ...{ ownerId: expect.stringMatching(/./), ownerName: 'admin' },
      },
      tags: { group: [], server: [] },
      tool: { name: 'say', annotations: expect.any(Object) },
    })
    const direct = await admin.mcp('/mcp/odd')
    expect(JSON.parse(await callText(direct, 'speak', { soft: 'context' }))).toMatchObject({
      ...{ path: '/mcp/odd', server: { name: 'odd' }, tool: { name: 'say' } },
    })
  })

  test('it knows the server of a resource as well', async () => {
    const { resources } = await client.listResources()
    expect(client.readResource({ uri: resources[0]?.uri ?? '' })).rejects.toThrow('Nothing of odd is read')
    expect((await plugin()).refused).toBeGreaterThan(0)
    const { failed = 0 } = await plugin()
    expect(client.readResource({ uri: 'nonsense:' })).rejects.toThrow('A middleware for resources/read failed')
    await until(async () => (await plugin()).failed === failed + 1, { what: 'the failure to be counted' })
  })

  test('blocked calls are counted', async () => {
    const { text } = await admin.request('GET', '/metrics')
    expect(text).toMatch(/blocked/)
  })
})
