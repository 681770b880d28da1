/** Callers that know no tasks and reach a tool by other ways than its own name: the hub runs the task for them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Progress } from '@modelcontextprotocol/sdk/types.js'
import { type Client, type Hub, LOOPBACK, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { callText, failureOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const LONG = { seconds: 3_600, label: 'long' }

let hub: Hub
let ann: Client

beforeAll(async () => {
  const twin = { ...stdioFixture('extension-tasks', { WIRE: 'stdio' }), era: 'modern' }
  const core = stdioFixture('tasks')
  const settings = { mcpServers: { twin, core }, groups: [{ name: 'jobs', members: ['twin', 'core'] }] }
  const env = { ...LOOPBACK, ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: 'the-key-of-every-endpoint' }
  ;({ hub, admin: ann } = await startOnline({ settings, env, timeoutMs: 60_000 }))
}, 300_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** The requests about tasks that the server got. */
async function seen(): Promise<string[]> {
  const answer = await ann.ok('POST', '/api/servers/twin/tools/seen/call', {})
  return JSON.parse(answer.result.content[0].text) as string[]
}

const cancelledSince = (before: number) =>
  until(async () => (await seen()).slice(before).some(each => each.startsWith('cancel ')), {
    what: 'the cancelled task',
  })

test('$smart runs a task to its end, with its progress, and cancels it with its call', async () => {
  const smart = await ann.mcp('/mcp/$smart/jobs')
  const said: (string | undefined)[] = []
  const onprogress = ({ message }: Progress) => void said.push(message)
  const call = (tool: string, given: object) => ({ name: 'call_tool', arguments: { tool, arguments: given } })
  const sums = call('slow_compute', { seconds: 0.5, label: 'sums' })
  const result = await smart.callTool(sums, undefined, { onprogress })
  expect(JSON.stringify(result.content)).toContain('slow_compute sums done')
  expect(said[0]).toBe('works on sums')
  expect(await callText(smart, 'call_tool', call('failing_job', {}).arguments).catch(String)).toContain(
    'the job failed',
  )
  const required = call('required', { polls: 2 }).arguments
  expect(await callText(smart, 'call_tool', required)).toContain('result of t-1')
  const before = (await seen()).length
  const abort = new AbortController()
  const begun = { onprogress: () => abort.abort(), signal: abort.signal }
  await failureOf(smart.callTool(call('slow_compute', LONG), undefined, begun))
  await cancelledSince(before)
})

test('assistants run a task to its end, and the task is cancelled when they leave', async () => {
  const { token } = await ann.ok('POST', '/api/assistant/endpoints', {
    ...{ name: 'speaker', direction: 'inbound', group: 'jobs' },
  })
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/assistant/ws`, {
    headers: { authorization: `Bearer ${token}` },
  } as never)
  const heard: { id?: unknown; result?: unknown; error?: unknown }[] = []
  socket.onmessage = ({ data }) => void heard.push(JSON.parse(String(data)))
  await until(() => socket.readyState === WebSocket.OPEN, { what: 'the socket' })
  const send = (id: number, method: string, params: object) =>
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  const answer = (id: number) => until(() => heard.find(message => message.id === id), { what: `answer ${id}` })
  send(1, 'initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'a', version: '1' } })
  await answer(1)
  send(2, 'tools/call', { name: 'slow_compute', arguments: { seconds: 0.3, label: 'spoken' } })
  expect(JSON.stringify((await answer(2)).result)).toContain('slow_compute spoken done')
  send(3, 'tools/call', { name: 'confirm_delete', arguments: { filename: 'x' } })
  expect(JSON.stringify(await answer(3))).toContain('which the client does not offer')
  const before = (await seen()).length
  send(4, 'tools/call', { name: 'slow_compute', arguments: LONG })
  await until(async () => (await seen()).length > before, { what: 'the task' })
  socket.close()
  await cancelledSince(before)
})
