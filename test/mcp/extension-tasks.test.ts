import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Client as NewerClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client'
import { ElicitRequestSchema, type Progress } from '@modelcontextprotocol/sdk/types.js'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, LOOPBACK, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { atLeast } from '../support/pace.ts'
import { type Program, startProgram } from '../support/program.ts'
import { SseReader } from '../support/raw-mcp.ts'
import { callText, failureOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { META, RawModern, VERSION } from '../unit/mcp/modern-support.ts'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const capabilities = { extensions: { [EXTENSION]: {} } }
const LONG = { seconds: 3_600, label: 'long' }

let hub: Hub
let ann: Client
let bob: Client
let work: Program
let folder: string

beforeAll(async () => {
  folder = await makeTemp('tasks')
  work = await startProgram(fixture('extension-tasks'), {})
  const stdio = (env: Record<string, string> = {}) => ({
    ...stdioFixture('extension-tasks', { WIRE: 'stdio', ...env }),
    era: 'modern',
  })
  const settings = {
    mcpServers: {
      work: { type: 'streamable-http', url: work.url, visibility: 'public' },
      twin: stdio(),
      durable: stdio({ TASKS_FILE: join(folder, 'tasks.json') }),
      hasty: { ...stdio(), timeout: atLeast(1_000), maxTimeout: atLeast(1_000) },
    },
    groups: [{ name: 'pair', members: ['work', 'twin'] }],
  }
  ;({ hub, admin: ann } = await startOnline({ settings, env: LOOPBACK, timeoutMs: 60_000 }))
  bob = await hub.user('bob')
}, 300_000)

afterAll(async () => {
  await hub?.stop()
  await work?.stop()
  await removeTemp(folder)
}, 120_000)

/** Returns the requests that the fixture received about its tasks. */
async function seen(server = 'work'): Promise<string[]> {
  const answer = await ann.ok('POST', `/api/servers/${server}/tools/seen/call`, {})
  return JSON.parse(answer.result.content[0].text) as string[]
}

const isCancelled = (server = 'work', before = 0) =>
  until(async () => (await seen(server)).slice(before).some(each => each.startsWith('cancel ')), {
    what: 'the task to be cancelled',
    timeoutMs: 10_000,
  })

/** A client of 2026-07-28 without tasks, which is asked by results. */
async function newer(path: string, more: object = {}, prepare?: (client: NewerClient) => void): Promise<NewerClient> {
  const client = new NewerClient(
    { name: 'newer', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: VERSION } }, ...more },
  )
  prepare?.(client)
  const requestInit = { headers: { authorization: `Bearer ${await ann.mcpKey()}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(path, hub.url), { requestInit }))
  return client
}

async function raw(path: string, user = ann): Promise<RawModern> {
  return new RawModern(hub, path, await user.mcpKey())
}

async function create(client: RawModern, name: string, given: object = {}): Promise<Record<string, unknown>> {
  const { result } = await client.call('tools/call', { name, arguments: given } as never, { capabilities })
  expect(result.resultType).toBe('task')
  expect(result.taskId).toBeString()
  return result
}

/** The task once it is over or asks. */
async function settled(client: RawModern, taskId: unknown) {
  return until(
    async () => {
      const { result, error } = await client.call('tasks/get', { taskId } as never, { capabilities })
      if (error) throw new Error(JSON.stringify(error))
      return result.status !== 'working' && result
    },
    { what: 'the task to be over', timeoutMs: 10_000 },
  )
}

describe('a server with the tasks extension, for callers without tasks', () => {
  test('its tools run to their end for clients of both SDKs, at its address, in a group and over REST', async () => {
    const older = await ann.mcp('/mcp/work')
    expect(older.getServerCapabilities()).not.toHaveProperty('tasks')
    const failed = await older.callTool({ name: 'failing_job', arguments: {} })
    expect([failed.isError, JSON.stringify(failed.content)]).toEqual([true, expect.stringContaining('the job failed')])
    const group = await ann.mcp('/mcp/pair')
    const said: (string | undefined)[] = []
    const onprogress = ({ message }: Progress) => void said.push(message)
    const call = { name: 'twin_slow_compute', arguments: { seconds: 0.5, label: 'sums' } }
    const result = await group.callTool(call, undefined, { onprogress })
    expect(JSON.stringify(result.content)).toContain('slow_compute sums done')
    expect(said[0]).toBe('works on sums')
    const modern = await newer('/mcp/pair')
    const ended = await modern.callTool({ name: 'work_slow_compute', arguments: { seconds: 0.1, label: 'm' } })
    expect(JSON.stringify(ended.content)).toContain('slow_compute m done')
    await modern.close()
    const rest = await ann.ok('POST', '/api/servers/work/tools/failing_job/call', {})
    expect(rest.result).toMatchObject({ isError: true, content: [{ text: 'the job failed' }] })
    expect(rest.result).not.toHaveProperty('resultType')
  }, 120_000)

  test('a task that breaks is the error of its call, and each call has one record', async () => {
    const client = await ann.mcp('/mcp/work')
    const failure = await failureOf(client.callTool({ name: 'protocol_error_job', arguments: {} }))
    expect(failure).toMatchObject({ code: -32603, message: expect.stringContaining('the job broke') })
    await until(
      async () => {
        const { items } = await ann.ok('GET', '/api/logs/search?tool=protocol_error_job')
        return items.length === 1 && items[0].outcome === 'upstream_error'
      },
      { what: 'one record' },
    )
  }, 120_000)

  const DONE = { content: [{ type: 'text', text: 'done' }] }
  test.each<[string, object, string | undefined]>([
    ['in capital letters', { status: 'COMPLETED', result: DONE }, undefined],
    ['by another word', { status: 'succeeded', result: DONE }, undefined],
    ['without a result', { status: 'completed' }, 'as completed: it gave no result and no error'],
    ['with a message alone', { status: 'failed', statusMessage: 'no space left' }, 'as failed: no space left'],
    ['with a text as its error', { status: 'failed', error: 'no space left' }, 'as failed: no space left'],
    ['with the result of a failed tool', { status: 'failed', result: DONE }, 'done'],
    ['by an operator', { status: 'cancelled', statusMessage: 'by an operator' }, 'as cancelled: by an operator'],
  ])('a task that ends %s ends its call, which says what is known', async (_, end, failure) => {
    const client = await ann.mcp('/mcp/work')
    const call = callText(client, 'odd_job', { end })
    if (failure === undefined) expect(await call).toBe('done')
    else expect((await failureOf(call)).message).toContain(failure)
  })

  test('the results of tasks are normalized, and their addresses are those of the group', async () => {
    const client = await ann.mcp('/mcp/pair')
    const { content, structuredContent } = await client.callTool({ name: 'work_linked', arguments: {} })
    expect(structuredContent).toBeUndefined()
    expect(content).toEqual([{ type: 'resource_link', uri: 'patchbay://work/notes://one', name: 'one' }])
    const modern = await raw('/mcp/pair')
    const { taskId } = await create(modern, 'work_linked')
    const { result } = await settled(modern, taskId)
    expect(result.content).toEqual(content)
  }, 120_000)

  test('what a task asks reaches a client that can be asked, of both eras', async () => {
    const asked: string[] = []
    const older = await ann.mcp('/mcp/pair', {
      capabilities: { elicitation: { form: {} } },
      prepare: each =>
        each.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          asked.push(params.message)
          return { action: 'accept', content: { confirm: true } }
        }),
    })
    expect(await callText(older, 'work_confirm_delete', { filename: 'a.txt' })).toBe('answered {"confirm":true}')
    const both = await callText(older, 'twin_multi_input')
    expect(both).toStartWith('answered ')
    expect(asked.sort()).toEqual(['Delete a.txt?', 'First?', 'Second?'])
    const modern = await newer('/mcp/work', { capabilities: { elicitation: { form: {} } } }, client =>
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirm: false } })),
    )
    const ended = await modern.callTool({ name: 'confirm_delete', arguments: { filename: 'b.txt' } })
    expect(JSON.stringify(ended.content)).toContain('answered {\\"confirm\\":false}')
    await modern.close()
  }, 120_000)

  test('a caller who cannot be asked is told so, and the task is cancelled', async () => {
    const before = (await seen()).length
    const plain = await ann.mcp('/mcp/work')
    const failure = await failureOf(callText(plain, 'confirm_delete', { filename: 'c.txt' }))
    expect(failure.data?.code).toBe('client_capability_missing')
    await isCancelled('work', before)
    const rest = await ann.request('POST', '/api/servers/work/tools/confirm_delete/call', { arguments: {} })
    expect(rest.json.code).toBe('client_capability_missing')
  }, 120_000)

  test('is cancelled with its call, and after the longest time of its server', async () => {
    const before = (await seen()).length
    const client = await ann.mcp('/mcp/pair')
    const abort = new AbortController()
    const onprogress = () => abort.abort()
    const call = { name: 'work_slow_compute', arguments: LONG }
    await failureOf(client.callTool(call, undefined, { onprogress, signal: abort.signal }))
    await isCancelled('work', before)
    const hasty = await ann.mcp('/mcp/hasty')
    expect((await failureOf(callText(hasty, 'slow_compute', LONG))).data?.code).toBe('upstream_timeout')
    await isCancelled('hasty')
  }, 120_000)

  test('a task outlives its connection where its server keeps it; else the call says that it is lost', async () => {
    const outcomes = await Promise.allSettled(
      ['durable', 'twin'].map(async name => {
        const client = await ann.mcp(`/mcp/${name}`)
        const began = Promise.withResolvers<void>()
        const call = { name: 'slow_compute', arguments: { seconds: 1.5, label: 'kept' } }
        const result = client.callTool(call, undefined, { onprogress: () => began.resolve(), timeout: 60_000 })
        await Promise.race([began.promise, result])
        await ann.ok('POST', `/api/servers/${name}/restart`)
        return JSON.stringify((await result).content)
      }),
    )
    expect(outcomes[0]).toEqual({ status: 'fulfilled', value: expect.stringContaining('slow_compute kept done') })
    expect(outcomes[1]).toMatchObject({ status: 'rejected', reason: { data: { code: 'connection_lost' } } })
  }, 120_000)
})

describe('a server with the tasks extension, for clients that declare it', () => {
  test('tasks pass: made, described, answered and cancelled, at one server and in a group', async () => {
    for (const [path, prefix] of [
      ['/mcp/work', ''],
      ['/mcp/pair', 'work_'],
      ['/mcp/pair', 'twin_'],
    ] as const) {
      const client = await raw(path)
      const { result: discovered } = await client.call('server/discover')
      expect(discovered.capabilities.extensions[EXTENSION]).toEqual({})
      const made = await create(client, `${prefix}confirm_delete`, { filename: 'd.txt' })
      expect(made).toMatchObject({ pollIntervalMs: 100, ttlMs: 60_000 })
      const asks = await settled(client, made.taskId)
      expect(asks.inputRequests.confirm.params.message).toBe('Delete d.txt?')
      const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } }
      const params = { taskId: asks.taskId, inputResponses }
      const updated = await client.call('tasks/update', params as never, { capabilities })
      expect(updated.result.resultType).toBe('complete')
      const done = await settled(client, made.taskId)
      expect(done).toMatchObject({ status: 'completed', taskId: made.taskId })
      expect(done.result.content[0].text).toBe('answered {"confirm":true}')
      const { taskId } = await create(client, `${prefix}slow_compute`, LONG)
      expect((await client.call('tasks/cancel', { taskId } as never, { capabilities })).result.resultType).toBe(
        'complete',
      )
      expect((await settled(client, taskId)).status).toBe('cancelled')
    }
    const client = await raw('/mcp/work')
    const { result } = await client.call('tools/call', { name: 'greet', arguments: { name: 'Ann' } }, { capabilities })
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'Hello, Ann!' }] })
  }, 120_000)

  test('a listen stream says how tasks go on, at one server and in a group, until they are over', async () => {
    for (const [path, names] of [
      ['/mcp/work', ['slow_compute', 'confirm_delete']],
      ['/mcp/pair', ['work_slow_compute', 'twin_confirm_delete']],
    ] as const) {
      const client = await raw(path)
      const [slow, asks] = await Promise.all([
        create(client, names[0], { seconds: 0.6, label: 'heard' }),
        create(client, names[1], { filename: 'h.txt' }),
      ])
      const wanted = { notifications: { taskIds: [slow.taskId, 'task-1', asks.taskId] } }
      const abort = new AbortController()
      const sent = { capabilities, id: 'follows', signal: abort.signal }
      const stream = new SseReader(await client.send('subscriptions/listen', wanted as never, sent))
      const first = await stream.message()
      expect(first).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
      expect(first?.params?.notifications).toEqual({ taskIds: [slow.taskId, asks.taskId] } as never)
      const heard: Record<string, never>[] = []
      const ended = (id: unknown) => heard.some(task => task.taskId === id && task.status === 'completed')
      while (!ended(slow.taskId) || !ended(asks.taskId)) {
        const { method, params } = (await stream.message()) as never as {
          method: string
          params: Record<string, never>
        }
        expect(method).toBe('notifications/tasks')
        expect(params._meta).toMatchObject({ 'io.modelcontextprotocol/subscriptionId': 'follows' })
        expect(params).not.toHaveProperty('resultType')
        heard.push(params)
        if (params.status !== 'input_required') continue
        const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } }
        await client.call('tasks/update', { taskId: asks.taskId, inputResponses } as never, { capabilities })
      }
      const of = (id: unknown) => heard.filter(({ taskId }) => taskId === id)
      expect(of(slow.taskId)[0]).toMatchObject({ status: 'working', statusMessage: 'works on heard' })
      expect(of(slow.taskId).length).toBe(2)
      expect(JSON.stringify(of(slow.taskId).at(-1)?.result)).toContain('slow_compute heard done')
      expect(of(asks.taskId)[0]).toMatchObject({ inputRequests: { confirm: { method: 'elicitation/create' } } })
      abort.abort()
    }
  }, 120_000)

  test('tasks of others are not followed, and a client that did not declare tasks is refused', async () => {
    const own = await raw('/mcp/work')
    const { taskId } = await create(own, 'slow_compute', LONG)
    const listen = { notifications: { taskIds: [taskId] } } as never
    expect(await own.call('subscriptions/listen', listen)).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: capabilities } },
    })
    const odd = { notifications: { taskIds: 'all' } } as never
    expect(await own.call('subscriptions/listen', odd, { capabilities })).toMatchObject({ error: { code: -32602 } })
    for (const client of [await raw(`/mcp/@${ann.name}/work`, bob), await raw('/mcp/pair')]) {
      const abort = new AbortController()
      const sent = { capabilities, signal: abort.signal }
      const stream = new SseReader(await client.send('subscriptions/listen', listen, sent))
      expect((await stream.message())?.params?.notifications).toEqual({ taskIds: [] })
      abort.abort()
    }
    await own.call('tasks/cancel', { taskId } as never, { capabilities })
  }, 120_000)

  test('the client of the ext-tasks package runs a tool through the hub', async () => {
    const client = await newer('/mcp/pair', { capabilities })
    const wire = await raw('/mcp/pair')
    const session = createTaskSessionFromClient(client, {
      endpointId: 'hub',
      rawDispatch: async request => {
        const { error, result } = await read(wire, request)
        return error ? { kind: 'error', error } : { kind: 'result', result }
      },
      v2RequestFraming: {
        protocolVersion: VERSION,
        clientInfo: { name: 'newer', version: '1.0.0' },
        clientCapabilities: capabilities,
      },
    })
    const execution = await session.callTool('twin_slow_compute', { seconds: 0.3, label: 'ext' })
    const { outcome } = await execution.settle()
    expect(JSON.stringify(resultFromTaskOutcome(outcome))).toContain('slow_compute ext done')
    await session.close()
    await client.close()
  }, 120_000)

  test('a task is its user’s and its address’s alone, and other names are unknown', async () => {
    const own = await raw('/mcp/work')
    const { taskId } = await create(own, 'slow_compute', LONG)
    expect(await own.call('tasks/get', { taskId } as never, { capabilities })).toMatchObject({
      result: { status: 'working' },
    })
    const others = [await raw(`/mcp/@${ann.name}/work`, bob), await raw('/mcp/pair')]
    for (const client of [own, ...others])
      for (const id of client === own ? ['task-1', '', 'x'.repeat(2_000)] : [taskId, 'task-1'])
        for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
          expect(
            await client.call(method, { taskId: id, inputResponses: {} } as never, { capabilities }),
          ).toMatchObject({ error: { code: -32602, data: { code: 'params_invalid' } } })
    expect((await own.call('tasks/get', { taskId } as never, { capabilities })).result.status).toBe('working')
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      expect(await own.call(method, { taskId, inputResponses: {} } as never)).toMatchObject({
        error: { code: -32021, data: { requiredCapabilities: capabilities } },
      })
    for (const method of ['tasks/list', 'tasks/result'])
      expect((await own.call(method, { taskId } as never, { capabilities })).error).toMatchObject({ code: -32601 })
    await own.call('tasks/cancel', { taskId } as never, { capabilities })
  }, 120_000)

  test('tasks count for their user, and beyond the limit the hub runs them', async () => {
    const path = await raw(`/mcp/@${ann.name}/work`, bob)
    for (let made = 0; made < 32; made += 1) await create(path, 'slow_compute', LONG)
    const { items } = await bob.ok('GET', '/api/limits')
    expect(items.find((item: { name: string }) => item.name === 'tasksPerUser').used).toBe(32)
    const given = { name: 'slow_compute', arguments: { seconds: 0, label: 'full' } }
    const { result } = await path.call('tools/call', given, { capabilities })
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'slow_compute full done' }] })
  }, 120_000)
})

/** Sends a request as it is, with its own envelope. */
async function read(client: RawModern, request: unknown) {
  const { method, params } = request as { method: string; params: Record<string, never> }
  const { [`${META}clientCapabilities`]: declared } = (params._meta ?? {}) as Record<string, never>
  return client.call(method, params, { capabilities: declared ?? {} })
}
