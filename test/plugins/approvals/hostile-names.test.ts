/** A server chooses the names of its tools: in questions and messages about its calls these are text on one line. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { startReceiver } from '../../support/receiver.ts'
import { online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { type Payments, startPayments } from './payments.ts'

setDefaultTimeout(60_000)

const THEN = 'then'
const TOOL = 'read"?\n{"path":"a"}\n[ok](https://evil.example)<b>\u202etxt.'
let hub: Hub
let admin: Client
let payments: Payments
const receiver = startReceiver(() => new Response(''))

beforeAll(async () => {
  payments = startPayments([TOOL])
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: {} } })
  admin = await hub.setup()
  await admin.ok('POST', '/api/servers', { name: 'bank', url: payments.url })
  await online(admin, ['bank'])
})
afterAll(async () => {
  await hub?.stop()
  await payments?.stop()
  await receiver.stop()
})

test('the question to a client', async () => {
  const rule = { when: { tools: ['*'] }, [THEN]: 'ask', who: 'caller', by: ['elicitation'] }
  await admin.ok('PUT', '/api/servers/bank/approvals', { rules: [rule] })
  const questions: string[] = []
  const client = await admin.mcp('/mcp/bank', {
    capabilities: { elicitation: {} },
    prepare: one =>
      one.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        questions.push(params.message)
        return { action: 'decline' }
      }),
  })
  const { tools } = await client.listTools()
  await client.callTool({ name: tools[0]?.name ?? '', arguments: { amount: 1 } })
  const [question = ''] = questions
  const lines = question.split('\n')
  expect([lines.length, lines[0]?.endsWith('" of "bank"?'), question.includes('\u202e')]).toEqual([4, true, false])
})

test('the message to the one who decides, and the answer to the caller', async () => {
  const rule = { when: { tools: ['*'] }, [THEN]: 'ask', who: 'owner', by: ['console', 'chat'] }
  await admin.ok('PUT', '/api/servers/bank/approvals', { rules: [rule] })
  for (const [name, type, config] of [
    ['plain', 'webhook', { url: `${receiver.url}/plain` }],
    ['chat', 'chat', { webhook: `${receiver.url}/chat`, template: 'slack' }],
  ])
    await admin.ok('POST', '/api/monitoring/channels', { name, type, config })
  const client = await admin.mcp('/mcp/bank')
  const waiting = client.callTool({ name: (await client.listTools()).tools[0]?.name ?? '', arguments: { amount: 2 } })
  await until(() => receiver.received.length === 2, { what: 'both messages' })
  const [first] = (await admin.ok('GET', '/api/approvals?state=pending')).items
  await admin.ok('POST', `/api/approvals/${first.id}`, { decision: 'deny' })
  expect(JSON.stringify(await waiting)).not.toMatch(/\u202e|\\\\n/)
  for (const { text } of receiver.received) {
    expect(text).toContain('wants to call read')
    expect(['](https://', 'https://evil', '\u202e', '\\u202e', '"?\\n'].filter(part => text.includes(part))).toEqual([])
  }
  const chat = receiver.received.find(({ path }) => path === '/chat')
  expect(chat?.text).not.toContain('<b')
})
