import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  type Progress,
  type ServerCapabilities,
  type Task,
  TaskStatusNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { beyondCore, extent } from '../support/extent.ts'
import type { Client, Hub } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { atLeast } from '../support/pace.ts'
import { EVERYTHING } from '../support/peers.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { callText, failureOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern, read } from '../unit/mcp/modern-support.ts'
import { sharedFixture } from './shared-fixture.ts'

const everything = { command: process.execPath, args: [EVERYTHING] }
const TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } }

let hub: Hub
let ann: Client
let bob: Client

beforeAll(async () => {
  const settings = {
    mcpServers: {
      work: { ...sharedFixture('tasks'), visibility: 'public' },
      hasty: { ...sharedFixture('tasks'), timeout: atLeast(1_000), maxTimeout: atLeast(1_000) },
      ...extent({}, { everything: { ...everything, session: 'per-session' } }),
    },
    groups: [{ name: 'both', members: ['work', ...extent([], ['everything'])] }],
  }
  ;({ hub, admin: ann } = await startOnline({ settings, timeoutMs: 60_000 }))
  bob = await hub.user('bob')
}, 300_000)

afterAll(() => hub?.stop(), 120_000)

/** Requests about its tasks that the fixture received. */
async function seen(server = 'work'): Promise<string[]> {
  const answer = await ann.ok('POST', `/api/servers/${server}/tools/seen/call`, {})
  return JSON.parse(answer.result.content[0].text) as string[]
}

async function taskTool(client: McpClient, name: string): Promise<unknown> {
  const { tools } = await client.listTools()
  return tools.find(tool => tool.name === name)?.execution?.taskSupport
}

describe('a tool that must be a task, for callers who make none', () => {
  test('runs in a group and at the global address, with its status as progress', async () => {
    for (const [path, name] of [
      ['/mcp/both', 'required'],
      ['/mcp', 'work_required'],
    ] as const) {
      const client = await ann.mcp(path)
      expect(client.getServerCapabilities()?.tasks).toBeUndefined()
      expect(await taskTool(client, name)).toBe('forbidden')
      const told: [number, string | undefined][] = []
      const onprogress = ({ progress, message }: Progress) => void told.push([progress, message])
      const call = { name, arguments: { polls: 3 } }
      const result = await client.callTool(call, undefined, { onprogress })
      expect(JSON.stringify(result.content)).toMatch(/result of t-\d+/)
      expect(told).toEqual([
        [1, 'begun'],
        [2, 'look 1'],
        [3, 'look 2'],
        [4, 'look 3'],
      ])
    }
  }, 120_000)

  test('runs at the address of its server, for clients of every version', async () => {
    const sdk = await ann.mcp('/mcp/work')
    expect(await taskTool(sdk, 'required')).toBe('optional')
    expect(await callText(sdk, 'required')).toStartWith('result of')
    const modern = new RawModern(hub, '/mcp/work', await ann.mcpKey())
    const answer = await read(await modern.send('tools/call', { name: 'required', arguments: {}, task: { ttl: 1 } }))
    expect(answer.result.content[0].text).toStartWith('result of')
    const failed = await sdk.callTool({ name: 'required', arguments: { fail: true } })
    expect(failed.isError).toBe(true)
  }, 120_000)

  test('runs over REST, where progress is streamed', async () => {
    const path = '/api/servers/work/tools/required/call'
    const { result } = await ann.ok('POST', path, { arguments: {} })
    expect(result.content[0].text).toStartWith('result of')
    const stream = await ann.request('POST', path, { arguments: { polls: 2 } }, { accept: 'text/event-stream' })
    expect(stream.text).toContain('"message":"look 1"')
    expect(stream.text).toContain('event: result')
  }, 120_000)

  test('is cancelled with its call, and after the longest time of its server', async () => {
    const client = await ann.mcp('/mcp/both')
    const before = (await seen()).length
    const abort = new AbortController()
    const onprogress = () => abort.abort()
    const call = { name: 'required', arguments: { polls: 1_000_000 } }
    await failureOf(client.callTool(call, undefined, { onprogress, signal: abort.signal }))
    await until(async () => (await seen()).slice(before).some(each => each.startsWith('tasks/cancel t-')), {
      what: 'the task to be cancelled',
    })
    const hasty = await ann.mcp('/mcp/hasty')
    const [failure, late] = await Promise.all([
      failureOf(callText(hasty, 'required', { polls: 1_000_000 })),
      ann.request('POST', '/api/servers/hasty/tools/required/call', { arguments: { polls: 1_000_000 } }),
    ])
    expect(failure.data?.code).toBe('upstream_timeout')
    expect(late.json.code).toBe('upstream_timeout')
    const cancelled = async () => (await seen('hasty')).filter(each => each.startsWith('tasks/cancel t-'))
    await until(async () => (await cancelled()).length === 2, { what: 'those two to be cancelled' })
  }, 120_000)
})

beyondCore(() => {
  describe('server-everything', () => {
    test('research: the hub runs it in a group and passes what it asks on', async () => {
      const asked: string[] = []
      const client = await ann.mcp('/mcp/both', {
        capabilities: { elicitation: { form: {} } },
        prepare: each =>
          each.setRequestHandler(ElicitRequestSchema, ({ params }) => {
            asked.push(params.message)
            expect(params._meta).not.toHaveProperty('io.modelcontextprotocol/related-task')
            return { action: 'accept', content: { interpretation: 'snake' } }
          }),
      })
      const call = { name: 'simulate-research-query', arguments: { topic: 'python', ambiguous: true } }
      const result = await client.callTool(call, undefined, { timeout: 60_000 })
      expect(JSON.stringify(result.content)).toContain('python (snake)')
      expect(asked).toHaveLength(1)
    }, 120_000)

    test('research: a client that knows tasks runs it itself', async () => {
      const client = await ann.mcp('/mcp/everything')
      await client.listTools()
      const call = { name: 'simulate-research-query', arguments: { topic: 'hubs' } }
      const seenStates = new Set<string | undefined>()
      let text = ''
      const stream = client.experimental.tasks.callToolStream(call, undefined, {
        task: { ttl: 60_000 },
        timeout: 60_000,
      })
      for await (const message of stream) {
        if (message.type === 'taskStatus') seenStates.add(message.task.statusMessage)
        if (message.type === 'error') throw message.error
        if (message.type === 'result') text = JSON.stringify(message.result.content)
      }
      expect(text).toContain('Research Report: hubs')
      expect(seenStates.size).toBeGreaterThan(1)
    }, 120_000)
  })
})

describe('tasks at the address of one server', () => {
  test('pass: made, asked for, listed, cancelled, and their status is announced', async () => {
    const client = await ann.mcp('/mcp/work')
    expect(client.getServerCapabilities()?.tasks as ServerCapabilities['tasks']).toEqual(TASKS)
    const told: Task[] = []
    client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void told.push(params as Task))
    const { tasks } = client.experimental
    const ids: string[] = []
    const stream = tasks.callToolStream({ name: 'optional', arguments: { polls: 2 } }, undefined, {
      task: { ttl: 60_000 },
    })
    for await (const message of stream) {
      if (message.type === 'taskCreated') ids.push(message.task.taskId)
      if (message.type === 'error') throw message.error
      if (message.type === 'result') expect(JSON.stringify(message.result.content)).toMatch(/result of t-\d+/)
    }
    const [first = ''] = ids
    expect(first).not.toMatch(/^t-/)
    await until(() => told.some(({ taskId, status }) => taskId === first && status === 'completed'), {
      what: 'the status to be told',
    })
    const result = await tasks.getTaskResult(first, CallToolResultSchema)
    expect(result._meta).toEqual({ 'io.modelcontextprotocol/related-task': { taskId: first } })
    const second = await make(client)
    const listed = await tasks.listTasks()
    expect(listed.tasks.map(({ taskId }) => taskId)).toEqual([first, second])
    expect(await tasks.cancelTask(second)).toMatchObject({ taskId: second, status: 'cancelled' })
    expect(await callText(client, 'optional')).toBe('without a task')
  }, 120_000)

  test('are nobody else’s, by whatever name, and count for their user alone', async () => {
    const client = await ann.mcp('/mcp/work')
    const id = await make(client)
    const own = await ann.mcp('/mcp/work')
    expect((await own.experimental.tasks.getTask(id)).taskId).toBe(id)
    const other = await bob.mcp(`/mcp/@${ann.name}/work`)
    for (const name of [id, 't-1', 't-2', ''])
      for (const work of [
        () => other.experimental.tasks.getTask(name),
        () => other.experimental.tasks.getTaskResult(name, CallToolResultSchema),
        () => other.experimental.tasks.cancelTask(name),
      ])
        expect(await failureOf(work())).toMatchObject({ code: -32602, data: { code: 'params_invalid' } })
    expect(await other.experimental.tasks.listTasks()).toEqual({ tasks: [] })
    let refused: string | undefined
    for (let made = 0; made <= 32 && refused === undefined; made += 1)
      refused = await make(client).then(
        () => undefined,
        (error: { data?: { code?: string } }) => error.data?.code,
      )
    expect(refused).toBe('quota_calls')
    const { items } = await ann.ok('GET', '/api/limits')
    expect(items.find((item: { name: string }) => item.name === 'tasksPerUser').used).toBe(32)
    expect(await make(other)).toBeString()
  }, 120_000)

  test('do not pass in a group, nor to clients of earlier versions', async () => {
    const key = await ann.mcpKey()
    const earlier = await new RawClient(hub, '/mcp/work', key).open('2025-06-18')
    expect((await earlier.call('tasks/get', { taskId: 't-1' })).error).toMatchObject({ code: -32601 })
    const made = await earlier.call('tools/call', { name: 'optional', arguments: {}, task: { ttl: 1_000 } })
    expect(made.result.content[0].text).toBe('without a task')
    const group = await ann.mcp('/mcp/both')
    for (const work of [() => group.experimental.tasks.getTask('t-1'), () => group.experimental.tasks.listTasks()])
      expect(await failureOf(work())).toMatchObject({ code: -32601 })
  }, 120_000)
})

/** Makes a task that is not over, and returns what the hub calls it. */
async function make(client: McpClient): Promise<string> {
  const params = { name: 'optional', arguments: { polls: 1_000_000 } }
  for await (const message of client.experimental.tasks.callToolStream(params, undefined, { task: { ttl: 60_000 } })) {
    if (message.type === 'taskCreated') return message.task.taskId
    if (message.type === 'error') throw message.error
  }
  throw new Error('No task was made')
}
