/** Four kinds of callers ask for a decision: yes, no, silence, a restart, other arguments, another definition. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import { type Client, type Hub, startHub } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { callText, online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'

setDefaultTimeout(120_000)

const FORM = { elicitation: { form: {} } }
const URL_ONLY = { elicitation: { url: {} } }
const config = { holdSeconds: 2 }
const settings = {
  plugins: [{ use: 'approvals', config }],
  mcpServers: { bank: sharedFixture('counting') },
  groups: [{ name: 'work', servers: ['bank'] }],
}
let hub: Hub
let admin: Client
let amount = 0

beforeAll(async () => {
  ;({ hub, admin } = await startOnline({ settings }))
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

interface Rule {
  readonly who?: 'caller' | 'owner'
  readonly by?: readonly string[]
  readonly timeout?: string
  readonly remember?: string
}

// biome-ignore lint/suspicious/noThenProperty: the word of rules
const ASK = { when: { tools: ['pay'] }, then: 'ask' }
const rules = (rule: Rule, path = '/api/servers/bank') =>
  admin.ok('PUT', `${path}/approvals`, { rules: [{ ...ASK, ...rule }] })
const payment = (sum = ++amount) => ({ name: 'pay', arguments: { amount: sum } })
const paid = async () =>
  Number((await admin.ok('POST', '/api/servers/bank/tools/paid/call', {})).result.content[0].text)
const modern = async (path = '/mcp/bank') => new RawModern(hub, path, await admin.mcpKey())
const overRest = (given: object) => admin.request('POST', '/api/servers/bank/tools/pay/call', { arguments: given })
const pending = async () => (await admin.ok('GET', '/api/approvals?state=pending')).items
/** The request about the call with this amount, with a question to the console. */
const waiting = (sum = amount, count = 1) =>
  until(
    async () =>
      (await pending()).find(
        (one: { count: number; arguments?: { amount: number } }) =>
          one.arguments?.amount === sum && one.count === count,
      ),
    { what: `the request about ${sum}`, timeoutMs: 5_000, intervalMs: 50 },
  )
const decide = async (decision: 'approve' | 'deny', more: object = {}, sum = amount, count = 1) =>
  admin.ok('POST', `/api/approvals/${(await waiting(sum, count)).id}`, { decision, ...more })

interface Asked {
  readonly params: ReturnType<typeof payment>
  readonly requestState: string
  readonly key: string
  // biome-ignore lint/suspicious/noExplicitAny: a question of any form
  readonly question: any
}

/** A question that came as the answer to a call. */
async function asked(client: RawModern, params: ReturnType<typeof payment>, capabilities: object): Promise<Asked> {
  const { result, error } = await client.call('tools/call', params, { capabilities: capabilities as never })
  expect([result?.resultType, error]).toEqual(['input_required', undefined])
  const [[key, question] = ['', undefined]] = Object.entries(result.inputRequests)
  return { params, requestState: result.requestState, key, question }
}

const again = (client: RawModern, { params, requestState, key }: Asked, response: object, capabilities: object) =>
  client.call('tools/call', { ...params, requestState, inputResponses: { [key]: response } } as never, {
    capabilities: capabilities as never,
  })

const denied = (result: { isError?: boolean; content: { text: string }[] }) =>
  [result.isError, result.content[0]?.text.split(':')[0]] as const
const DENIED = [true, 'approval_denied'] as const

describe('a client of 2026-07-28 that shows forms, asked for its own calls', () => {
  beforeAll(() => rules({ who: 'caller', by: ['elicitation', 'console'] }))
  const accept = { action: 'accept', content: { approve: true } }

  test('yes: one call, and a second use of the same state is refused', async () => {
    const client = await modern()
    const before = await paid()
    const one = await asked(client, payment(), FORM)
    expect(one.question.params.requestedSchema.properties.approve.type).toBe('boolean')
    expect(one.question.params.message).toContain(`"amount": ${amount}`)
    const { result } = await again(client, one, accept, FORM)
    expect(result.content[0].text).toBe(String(before + 1))
    const second = await again(client, one, accept, FORM)
    expect(second.error?.data?.code).toBe('request_state_invalid')
    expect(await paid()).toBe(before + 1)
    // A yes is for one call: the next equal one asks.
    await asked(client, one.params, FORM)
  })

  test.each([
    ['no', { action: 'accept', content: { approve: false } }],
    ['decline', { action: 'decline' }],
    ['cancel', { action: 'cancel' }],
    ['a yes without the word', { action: 'accept', content: {} }],
  ])('%s: the model reads that it was denied', async (_, response) => {
    const client = await modern()
    const before = await paid()
    const { result } = await again(client, await asked(client, payment(), FORM), response, FORM)
    expect([denied(result), await paid()]).toEqual([DENIED, before])
  })

  test('the state of one call opens no call with other arguments, at another path, of another user', async () => {
    const client = await modern()
    const before = await paid()
    const one = await asked(client, payment(), FORM)
    const ann = await hub.user('ann')
    await admin.ok('PATCH', '/api/servers/bank', { visibility: 'public' })
    const others = [
      again(client, { ...one, params: payment() }, accept, FORM),
      again(await modern('/mcp/work'), one, accept, FORM),
      again(new RawModern(hub, '/mcp/@admin/bank', await ann.mcpKey()), one, accept, FORM),
    ]
    const codes = (await Promise.all(others)).map(({ error }) => error?.data?.code)
    expect(codes).toEqual(['request_state_invalid', 'request_state_invalid', 'request_state_invalid'])
    expect(await paid()).toBe(before)
    expect((await again(client, one, accept, FORM)).result.content[0].text).toBe(String(before + 1))
  })

  test('another definition in the meantime: asked again, for the new one', async () => {
    const client = await modern()
    const before = await paid()
    const one = await asked(client, payment(), FORM)
    await changed()
    const { result } = await again(client, one, accept, FORM)
    expect([result.resultType, await paid()]).toEqual(['input_required', before])
  })
})

describe('a client of 2026-07-28 that opens pages, for a decision of the owner', () => {
  beforeAll(() => rules({ who: 'owner', timeout: '60s' }))
  const opened = { action: 'accept' }

  test('yes: the link leads to the request, and the retry waits for the decision', async () => {
    const client = await modern()
    const before = await paid()
    const one = await asked(client, payment(), URL_ONLY)
    const { id } = await waiting()
    expect(one.question.params).toMatchObject({ mode: 'url', url: expect.stringContaining(`/approvals/${id}`) })
    const retry = again(client, one, opened, URL_ONLY)
    await decide('approve')
    expect((await retry).result.content[0].text).toBe(String(before + 1))
    expect((await admin.request('POST', `/api/approvals/${id}`, { decision: 'approve' })).json.code).toBe(
      'approval_decided',
    )
    expect(await paid()).toBe(before + 1)
  })

  test('no, and a page that was not opened', async () => {
    const client = await modern()
    const before = await paid()
    const one = await asked(client, payment(), URL_ONLY)
    await decide('deny', { note: 'too much' })
    expect(denied((await again(client, one, opened, URL_ONLY)).result)).toEqual(DENIED)
    const other = await asked(client, payment(), URL_ONLY)
    expect(denied((await again(client, other, { action: 'decline' }, URL_ONLY)).result)).toEqual(DENIED)
    expect(await paid()).toBe(before)
  })

  test('two equal calls are one request that counts them; one yes passes one', async () => {
    const [client, other] = await Promise.all([modern(), modern()])
    const before = await paid()
    const same = payment()
    const [one, two] = [await asked(client, same, URL_ONLY), await asked(other, same, URL_ONLY)]
    await decide('approve', {}, amount, 2)
    const results = await Promise.all([again(client, one, opened, URL_ONLY), again(other, two, opened, URL_ONLY)])
    expect(results.map(({ result }) => result.resultType ?? 'complete').sort()).toEqual(['complete', 'input_required'])
    expect(await paid()).toBe(before + 1)
  })
})

describe('an older client that can be asked', () => {
  beforeAll(() => rules({ who: 'caller', by: ['elicitation', 'console'] }))

  const older = async (answer: object | Promise<object>): Promise<McpClient> =>
    admin.mcp('/mcp/bank', {
      capabilities: { elicitation: {} },
      prepare: client => client.setRequestHandler(ElicitRequestSchema, async () => (await answer) as never),
    })

  test.each([
    ['yes', { action: 'accept', content: { approve: true } }, 1],
    ['no', { action: 'decline' }, 0],
  ])('%s', async (_, answer, calls) => {
    const client = await older(answer)
    const before = await paid()
    const result = await client.callTool(payment())
    expect([result.isError === true, await paid()]).toEqual([calls === 0, before + calls])
  })

  test('a decision at the console ends the question', async () => {
    const client = await older(new Promise(() => {}))
    const before = await paid()
    const calling = callText(client, 'pay', payment().arguments)
    await decide('approve')
    expect([await calling, await paid()]).toEqual([String(before + 1), before + 1])
  })

  test('silence is a no', async () => {
    await rules({ who: 'caller', by: ['elicitation'], timeout: '1s' })
    const client = await older(new Promise(() => {}))
    const before = await paid()
    expect(denied((await client.callTool(payment())) as never)).toEqual(DENIED)
    expect(await paid()).toBe(before)
  })
})

describe('a client that cannot be asked', () => {
  beforeAll(() => rules({ who: 'owner', timeout: '60s' }))

  test('yes in time: the call goes on, with progress while it waits', async () => {
    const client = await admin.mcp('/mcp/bank')
    const before = await paid()
    const said: string[] = []
    const calling = client.callTool(payment(), undefined, { onprogress: ({ message }) => void said.push(`${message}`) })
    await decide('approve')
    expect([(await calling).content, said[0]]).toEqual([
      [{ type: 'text', text: String(before + 1) }],
      expect.stringContaining('/approvals/'),
    ])
  })

  test('yes after the answer: the same call passes once, and no other', async () => {
    const client = await admin.mcp('/mcp/bank')
    const before = await paid()
    const same = payment()
    // biome-ignore lint/suspicious/noExplicitAny: an error of the SDK
    const error: any = await client.callTool(same).catch(one => one)
    const { id } = await waiting()
    expect([error.code, error.data.code, error.data.approvalUrl]).toEqual([
      -32603,
      'approval_pending',
      expect.stringContaining(`/approvals/${id}`),
    ])
    await decide('approve')
    const others = await Promise.all([
      overRest(same.arguments),
      client.callTool({ ...same, arguments: { amount: 9_999 } }).catch(one => one.data.code),
      callText(await admin.mcp('/mcp/work'), 'pay', same.arguments).catch(one => one.data.code),
    ])
    expect([others[0].json.code, others[1], others[2]]).toEqual(Array(3).fill('approval_pending'))
    expect(await callText(client, 'pay', same.arguments)).toBe(String(before + 1))
    expect(await client.callTool(same).catch(one => one.data.code)).toBe('approval_pending')
    expect(await paid()).toBe(before + 1)
  })

  test('no, over REST as an error, and silence', async () => {
    const before = await paid()
    const calling = overRest({ amount: ++amount })
    await decide('deny')
    const answer = await calling
    expect([answer.status, answer.json.code]).toEqual([403, 'approval_denied'])
    await rules({ who: 'owner', timeout: '1s' })
    expect((await overRest({ amount: ++amount })).json.code).toBe('approval_denied')
    expect(await paid()).toBe(before)
  })

  test('remembered: the same call passes again without a question, one with other arguments asks', async () => {
    await rules({ who: 'owner', remember: '1h' })
    const before = await paid()
    const same = { amount: ++amount }
    const calling = overRest(same)
    await decide('approve', { remember: true })
    await calling
    expect((await overRest(same)).status).toBe(200)
    expect((await overRest({ amount: ++amount })).json.code).toBe('approval_pending')
    expect(await paid()).toBe(before + 2)
    await changed()
    expect((await overRest(same)).json.code).toBe('approval_pending')
  })

  test('of many equal calls at once, one yes passes one', async () => {
    await rules({ who: 'owner', timeout: '60s' })
    const before = await paid()
    const same = { amount: ++amount }
    const calls = Array.from({ length: 10 }, () => overRest(same))
    await decide('approve', {}, amount, 10)
    const answers = await Promise.all(calls)
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
    expect(await paid()).toBe(before + 1)
  })
})

test('a stop of the hub is a no for all that waits, which the record says', async () => {
  await rules({ who: 'owner', timeout: '60s' })
  const other = { amount: ++amount }
  expect((await overRest(other)).json.code).toBe('approval_pending')
  const { id } = await waiting()
  const client = await modern()
  const one = await asked(client, payment(), URL_ONLY)
  await hub.stop({ keep: true })
  hub = await startHub({ folder: hub.folder })
  admin = await hub.signIn('admin')
  await online(admin, ['bank'])
  expect(await pending()).toEqual([])
  const late = await admin.request('POST', `/api/approvals/${id}`, { decision: 'approve' })
  expect([late.status, late.json.code]).toEqual([409, 'approval_decided'])
  const ended = await admin.ok('GET', `/api/approvals/${id}`)
  expect([ended.state, ended.reason, ended.arguments]).toEqual(['expired', 'restart', undefined])
  const retried = await again(await modern(), one, { action: 'accept' }, URL_ONLY)
  expect(retried.error?.data?.code).toBe('request_state_invalid')
  expect((await overRest(other)).json.code).toBe('approval_pending')
  expect(await paid()).toBe(0)
})

/** Gives the tool another definition. */
async function changed(): Promise<void> {
  const to = `Pays ${crypto.randomUUID()}`
  await admin.ok('POST', '/api/servers/bank/tools/change/call', { arguments: { to } })
  const described = async () => JSON.stringify(await admin.ok('GET', '/api/servers/bank/tools')).includes(to)
  await until(described, { what: 'the new definition' })
}
