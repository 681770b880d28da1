import { afterEach, expect, test } from 'bun:test'
import type { SessionBinding } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { atLeast, atMost } from '../../support/pace.ts'
import { fixture, type Rig, serverRecord, startRig, textOf, until } from './support.ts'

let rig: Rig | undefined
afterEach(async () => {
  await rig?.dispose()
  rig = undefined
})

async function online(...args: Parameters<typeof startRig>): Promise<Rig> {
  rig = await onlineRig(...args)
  return rig
}

/** As {@link online}, for a test that ends it by itself. */
async function onlineRig(...args: Parameters<typeof startRig>): Promise<Rig> {
  const started = await startRig(...args)
  for (const { id } of args[0]) expect((await started.connections.settled(id, 60_000)).state).toBe('online')
  return started
}

test('a stdio server comes online with handshake, catalogue and process', async () => {
  const { connections, events } = await online([serverRecord('a')])
  const status = connections.status('a')
  expect(status).toMatchObject({
    state: 'online',
    protocolVersion: '2025-11-25',
    attempts: 0,
    serverInfo: { name: 'fixture' },
  })
  expect(status.counts).toEqual({ tools: 5, prompts: 0, resources: 1 })
  expect(connections.catalog('a')?.tools.map(tool => tool.key)).toEqual(['echo', 'slow', 'never', 'die', 'report'])
  expect(connections.catalog('a')?.instructions).toBe('be kind')
  expect(connections.processes()).toMatchObject([{ pid: status.pid, serverId: 'a', sandbox: 'off' }])
  expect(events.map(event => event.name)).toContain('upstream.connected')
  expect(connections.counts()).toEqual({ total: 1, online: 1, connecting: 0, offline: 0, tools: 5 })
})

test('a server that answers with an older version of the era is taken', async () => {
  const { connections } = await online([fixture('a', 'old')])
  expect(connections.status('a').protocolVersion).toBe('2024-11-05')
})

for (const relay of [false, true]) {
  test(`1,000 concurrent calls each get their own answer ${relay ? 'through the relay' : 'over descriptors'}`, async () => {
    const { call } = await online([serverRecord('a'), serverRecord('b')], { relay })
    const replies = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => call(n % 2 ? 'a' : 'b', 'echo', { n, pad: '€'.repeat(n) })),
    )
    replies.forEach((reply, n) => {
      expect(JSON.parse(textOf(reply))).toEqual({ n, pad: '€'.repeat(n) })
    })
  })
}

test('results pass as written, and errors keep code, message and data', async () => {
  const { call } = await online([serverRecord('a')])
  expect(await call('a', 'number')).toEqual({
    kind: 'result',
    isError: false,
    text: '{"content": [], "n": 12345678901234567890, "x": 1.10}',
  })
  expect(await call('a', 'refused')).toEqual({
    kind: 'error',
    error: { code: -32099, message: 'refused', data: { a: 1 } },
  })
  expect(await call('a', 'failing')).toMatchObject({ kind: 'result', isError: true })
})

test('a child gets its own variables and PATH, HOME, LANG, nothing else', async () => {
  const { call, dataDir } = await online([
    serverRecord('a', {
      config: { command: process.execPath, args: [...(serverRecord('x').config.args as string[])], env: { MY: 'own' } },
    }),
  ])
  const { env } = JSON.parse(textOf(await call('a', 'report'))) as { env: Record<string, string> }
  expect(Object.keys(env).sort()).toEqual(['HOME', 'LANG', 'MY', 'PATH'])
  expect(env.HOME).toBe(dataDir)
})

test('cancel() tells the upstream and drops the late answer', async () => {
  const { connections, call, logs } = await online([fixture('a', 'late')])
  const slow = connections.request('a', { method: 'tools/call', params: { name: 'slow', arguments: { ms: 60_000 } } })
  await call('a', 'echo')
  slow.cancel('enough')
  expect(await slow.reply).toEqual({ kind: 'cancelled' })
  const { cancelled } = JSON.parse(textOf(await call('a', 'report'))) as { cancelled: unknown[] }
  expect(cancelled).toEqual([{ requestId: expect.any(Number), reason: 'enough' }])
  await until('the late answer is counted', () => logs.some(({ message }) => message.includes('late answer')))
  slow.cancel()
  expect(await slow.reply).toEqual({ kind: 'cancelled' })
})

test('a log message goes to the only call in flight, else to the log', async () => {
  const { connections, logs } = await online([serverRecord('a')])
  const heard: string[] = []
  const log = (): Promise<unknown> =>
    connections.request('a', {
      method: 'tools/call',
      params: { name: 'log' },
      notification: method => heard.push(method),
    }).reply
  await log()
  expect(heard).toEqual(['notifications/message'])
  await Promise.all([log(), log()])
  expect(heard.length).toBeLessThan(3)
  expect(logs.some(({ message }) => message === 'hello')).toBe(true)
})

const SESSION: SessionBinding = {
  id: 's1',
  userId: 'user-1',
  kind: 'session',
  capabilities: { elicitation: {}, roots: {} },
  protocolVersion: '2025-11-25',
}

test('a per-session connection gets the client’s capabilities, and its requests reach the causing call', async () => {
  const { connections } = await online([fixture('a', 'plain', { session: 'per-session' })])
  const ask = (name: string, args: JsonObject): Promise<unknown> =>
    connections.request('a', {
      method: 'tools/call',
      params: { name, arguments: args },
      session: SESSION,
      ask: async (method, params) => ({ result: { method, params: params ?? null } }),
    }).reply
  const reply = (await ask('ask', { method: 'elicitation/create' })) as Parameters<typeof textOf>[0]
  expect(JSON.parse(textOf(reply))).toEqual({ method: 'elicitation/create', params: { q: 1 } })
  const report = (await ask('report', {})) as Parameters<typeof textOf>[0]
  expect(JSON.parse(textOf(report)).clientCapabilities).toEqual(SESSION.capabilities)
  expect(connections.processes()).toHaveLength(2)
  connections.endSession('s1')
  await until('the process of the session ends', () => connections.processes().length === 1)
})

test('a call without progress sends no token', async () => {
  const { connections } = await online([serverRecord('a')])
  const reply = await connections.request('a', {
    method: 'tools/call',
    params: { name: 'progress', arguments: { everyMs: 1, values: [1] } },
  }).reply
  expect(reply.kind).toBe('result')
})

// The next three wait for seconds each.
test.concurrent('a call that runs out of time fails with upstream_timeout, is cancelled upstream, and the session continues', async () => {
  const limitMs = atLeast(500)
  await using rig = await onlineRig([fixture('a', 'plain', { timeoutMs: limitMs, secrets: [] })])
  const { call } = rig
  const began = performance.now()
  expect(await call('a', 'never')).toMatchObject({ kind: 'failed', code: 'upstream_timeout' })
  const tookMs = performance.now() - began
  expect(tookMs).toBeGreaterThanOrEqual(limitMs - 1)
  expect(tookMs).toBeLessThan(limitMs + atMost(100))
  expect(JSON.parse(textOf(await call('a', 'report'))).cancelled).toHaveLength(1)
})

test.concurrent('progress restarts the clock up to maxTimeout, and only rising values count', async () => {
  await using rig = await onlineRig([fixture('a', 'plain', { timeoutMs: 2_000, maxTimeoutMs: 6_000 })])
  const { connections } = rig
  const heard: JsonObject[] = []
  const request = (values: number[]): Promise<unknown> =>
    connections.request('a', {
      method: 'tools/call',
      params: { name: 'progress', arguments: { everyMs: 600, values } },
      progress: params => heard.push(params),
    }).reply
  expect(await request([1, 1, 2, 0, 3])).toMatchObject({ kind: 'result' })
  expect(heard).toEqual([{ progress: 1 }, { progress: 2 }, { progress: 3 }])
  expect(await request([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])).toMatchObject({
    kind: 'failed',
    code: 'upstream_timeout',
  })
}, 120_000)

test.concurrent('waiting for the client stops the clock of the call', async () => {
  await using rig = await onlineRig([fixture('a', 'plain', { session: 'per-session', timeoutMs: 1_500, secrets: [] })])
  const { connections } = rig
  const reply = await connections.request('a', {
    method: 'tools/call',
    params: { name: 'ask', arguments: { method: 'roots/list' } },
    session: SESSION,
    ask: async () => {
      await Bun.sleep(2_000)
      return { error: { code: -1, message: 'declined' } }
    },
  }).reply
  expect(JSON.parse(textOf(reply))).toEqual({ code: -1, message: 'declined' })
})

test('a request that the upstream withdraws aborts the question', async () => {
  const { connections } = await online([fixture('a', 'plain', { session: 'per-session' })])
  const aborted = Promise.withResolvers<void>()
  await connections.request('a', {
    method: 'tools/call',
    params: { name: 'withdraw' },
    session: SESSION,
    ask: (_method, _params, signal) =>
      new Promise(() => signal.addEventListener('abort', () => aborted.resolve(), { once: true })),
  }).reply
  await aborted.promise
})

test('a shared upstream that asks gets -32601 at once', async () => {
  const { connections } = await online([serverRecord('a')])
  const reply = await connections.request('a', {
    method: 'tools/call',
    params: { name: 'ask', arguments: { method: 'sampling/createMessage' } },
    session: SESSION,
    ask: async () => ({ result: {} }),
  }).reply
  expect(JSON.parse(textOf(reply)).code).toBe(-32601)
})

test('a list change is read again and announced', async () => {
  const { connections, call, events } = await online([serverRecord('a')])
  const before = events.length
  await call('a', 'change')
  await connections.catalogsReady(['a'], 60_000)
  await until('the new tool is listed', () => connections.catalog('a')?.tools.length === 6)
  expect(events.slice(before).filter(event => event.name === 'catalog.changed')).toMatchObject([
    { data: { kinds: ['tools'] } },
  ])
})

test('an endless list ends at 64 pages with a warning', async () => {
  const { connections } = await online([fixture('a', 'endless')])
  expect(connections.catalog('a')?.tools).toHaveLength(64)
  expect(connections.catalog('a')?.warnings).toEqual([expect.stringContaining('64 pages')])
})

test('trial() names the steps and leaves nothing behind', async () => {
  const { connections } = await online([])
  const { config } = serverRecord('x')
  const good = await connections.trial(
    { ownerId: 'u', ownerRole: 'admin', transport: 'stdio', config, timeoutMs: 60_000, secrets: [] },
    AbortSignal.timeout(60_000),
  )
  expect(good.ok).toBe(true)
  expect(good.steps.map(step => step.name)).toEqual(['check', 'start the process', 'initialize', 'tools/list'])
  expect(good.tools).toHaveLength(5)
  const bad = await connections.trial(
    {
      ownerId: 'u',
      ownerRole: 'admin',
      transport: 'stdio',
      config: { command: 'no-such-program' },
      timeoutMs: 60_000,
      secrets: [],
    },
    AbortSignal.timeout(60_000),
  )
  expect(bad).toMatchObject({ ok: false, error: { code: 'command_not_found' } })
  expect(connections.processes()).toEqual([])
})
