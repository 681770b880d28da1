import { expect } from 'bun:test'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'
import { type Payments, startPayments } from './payments.ts'

export const FORM = { elicitation: { form: {} } }
export const URL_ONLY = { elicitation: { url: {} } }
export const YES = { action: 'accept', content: { approve: true } }
export const OPENED = { action: 'accept' }
const THEN = 'then'
/** From this amount on, there is a second for a decision. */
export const HASTY = 5_000
const RULES = [
  {
    when: { tools: ['pay_owner'], arguments: { '/amount': { gte: HASTY } } },
    [THEN]: 'ask',
    who: 'owner',
    timeout: '1s',
  },
  {
    when: { tools: ['pay_caller'], arguments: { '/amount': { gte: HASTY } } },
    ...{ [THEN]: 'ask', who: 'caller', by: ['elicitation', 'console'], timeout: '1s' },
  },
  { when: { tools: ['pay_owner'] }, [THEN]: 'ask', who: 'owner', timeout: '10m', remember: '1h' },
  { when: { tools: ['pay_caller'] }, [THEN]: 'ask', who: 'caller', by: ['elicitation', 'console'], remember: '1h' },
]

/** A hub that is killed, and the people of the test. */
export class Killed {
  readonly payments: Payments
  readonly #env: Readonly<Record<string, string>>
  hub: Hub
  admin: Client
  bob: Client
  una: Client

  private constructor(
    payments: Payments,
    env: Readonly<Record<string, string>>,
    hub: Hub,
    people: Readonly<Record<'admin' | 'bob' | 'una', Client>>,
  ) {
    this.payments = payments
    this.#env = env
    this.hub = hub
    this.admin = people.admin
    this.bob = people.bob
    this.una = people.una
  }

  /** Bob owns the server, which is shared with una for use. */
  static async start(env: Readonly<Record<string, string>> = {}): Promise<Killed> {
    const payments = startPayments()
    const settings = { plugins: [{ use: 'approvals', config: { holdSeconds: 1 } }], mcpServers: {} }
    const hub = await startHub({ env: { ...LOOPBACK, ...env }, settings, ownProcess: true })
    const admin = await hub.setup()
    const [bob, una] = [await hub.user('bob'), await hub.user('una')]
    await bob.ok('POST', '/api/servers', { name: 'bank', url: payments.url })
    await bob.ok('PUT', '/api/servers/bank/shares', { shares: [{ subject: 'user:una', role: 'use' }] })
    await bob.ok('PUT', '/api/servers/bank/approvals', { rules: RULES })
    await online(bob, ['bank'])
    return new Killed(payments, env, hub, { admin, bob, una })
  }

  /** Ends the hub by SIGKILL, and starts another one on the same data. */
  async kill(): Promise<void> {
    await this.hub.kill9()
    this.hub = await startHub({ env: { ...LOOPBACK, ...this.#env }, folder: this.hub.folder, ownProcess: true })
    this.admin = await this.hub.signIn('admin')
    this.bob = await this.hub.signIn('bob')
    this.una = await this.hub.signIn('una')
    await online(this.bob, ['bank'])
  }

  async stop(): Promise<void> {
    await this.hub.stop()
    await this.payments.stop()
  }

  /** A call over REST: the code of its refusal, or `passed`. */
  async rest(amount: number): Promise<string> {
    const path = '/api/servers/bob~bank/tools/pay_owner/call'
    const { status, json } = await this.una.request('POST', path, { arguments: { amount } })
    return status === 200 ? 'passed' : json.code
  }

  async decide(decision: 'approve' | 'deny', amount: number, more: object = {}, who = this.bob): Promise<string> {
    const { id } = await this.waiting(amount, who)
    await who.ok('POST', `/api/approvals/${id}`, { decision, ...more })
    return id
  }

  waiting(amount: number, who = this.bob): Promise<{ readonly id: string }> {
    const isAsked = (one: { arguments?: { amount: number } }) => one.arguments?.amount === amount
    return until(async () => (await who.ok('GET', '/api/approvals?state=pending')).items.find(isAsked), {
      what: `the request about ${amount}`,
      intervalMs: 30,
    })
  }

  async modern(tool: 'pay_owner' | 'pay_caller', capabilities: object) {
    const client = new RawModern(this.hub, '/mcp/@bob/bank', await this.una.mcpKey())
    const call = (amount: number, more: object = {}) =>
      client.call('tools/call', { name: tool, arguments: { amount }, ...more } as never, {
        capabilities: capabilities as never,
      })
    return {
      call,
      /** The question, and the state that the client sends back. */
      async asked(amount: number) {
        const { result } = await call(amount)
        expect([amount, result?.resultType]).toEqual([amount, 'input_required'])
        const [key = ''] = Object.keys(result.inputRequests)
        return { key, requestState: result.requestState }
      },
      again: (amount: number, { key, requestState }: { key: string; requestState: string }, response: object) =>
        call(amount, { requestState, inputResponses: { [key]: response } }),
    }
  }

  async legacy(answer: object | Promise<never>, tool = 'pay_caller') {
    const client = await this.una.mcp('/mcp/@bob/bank', {
      capabilities: { elicitation: {} },
      prepare: one => one.setRequestHandler(ElicitRequestSchema, async () => (await answer) as never),
    })
    return (amount: number) => client.callTool({ name: tool, arguments: { amount } }).catch(error => error)
  }

  /** Waits until the request about this amount has ended without a decision, and returns its id. */
  async expired(amount: number, who = this.bob): Promise<string> {
    const { id } = await this.waiting(amount, who)
    const isOver = async () => (await who.ok('GET', `/api/approvals/${id}`)).state === 'expired'
    await until(isOver, { what: 'the end of the request', intervalMs: 50 })
    return id
  }

  /** Actions of the audit log about one request. */
  trail(id: string, count: number): Promise<readonly string[]> {
    const isOfIt = (one: { detail?: { approval?: string } }) => one.detail?.approval === id
    const read = async () => {
      const { items } = await this.admin.ok('GET', '/api/admin/audit?limit=200')
      return items
        .filter(isOfIt)
        .map(({ action }: { action: string }) => action)
        .reverse()
    }
    return until(async () => (await read()).length >= count && read(), { what: `${count} records about ${id}` })
  }
}

/** Four kinds of callers meet a kill of the hub before the decision, after it, and after the call. */
export async function meetAKill(killed: Killed): Promise<void> {
  const { payments } = killed
  const form = await killed.modern('pay_caller', FORM)
  const link = await killed.modern('pay_owner', URL_ONLY)
  const silent = await killed.legacy(new Promise<never>(() => {}))
  const yes = await killed.legacy(YES)

  // Used before the kill: each yes is one call.
  await form.again(10, await form.asked(10), YES)
  const linked = await link.asked(11)
  const idOfLinked = await killed.decide('approve', 11)
  await link.again(11, linked, OPENED)
  await yes(12)
  expect(await killed.rest(13)).toBe('approval_pending')
  await killed.decide('approve', 13)
  expect(await killed.rest(13)).toBe('passed')
  expect([10, 11, 12, 13].map(payments.paid)).toEqual([1, 1, 1, 1])
  expect(await killed.trail(idOfLinked, 3)).toEqual(['approvals.ask', 'approvals.approve', 'approvals.use'])

  // A yes that no call has used, and one that is remembered.
  const unused = await link.asked(21)
  await killed.decide('approve', 21)
  expect(await killed.rest(23)).toBe('approval_pending')
  const idOfUnused = await killed.decide('approve', 23)
  expect(await killed.rest(24)).toBe('approval_pending')
  await killed.decide('approve', 24, { remember: true })
  await form.again(25, await form.asked(25), { action: 'accept', content: { approve: true, remember: true } })
  expect(payments.paid(25)).toBe(1)

  // Waiting at the kill.
  const ofForm = await form.asked(30)
  const ofLink = await link.asked(31)
  const { id: idOfLink } = await killed.waiting(31)
  // Its client waits for a minute after the kill, and the test does not.
  void silent(32)
  await killed.waiting(32, killed.una)
  const held = killed.rest(33).catch(() => 'lost')
  const { id: idOfHeld } = await killed.waiting(33)

  // The records of the audit log are written within half a second.
  for (const id of [idOfLink, idOfHeld]) expect(await killed.trail(id, 1)).toEqual(['approvals.ask'])
  await killed.kill()
  await held
  const after = { form: await killed.modern('pay_caller', FORM), link: await killed.modern('pay_owner', URL_ONLY) }

  // Requests that waited are over, and say why.
  for (const id of [idOfLink, idOfHeld]) {
    const ended = await killed.bob.ok('GET', `/api/approvals/${id}`)
    expect([ended.state, ended.reason, ended.arguments, ended.mayDecide]).toEqual([
      'expired',
      'restart',
      undefined,
      false,
    ])
    const late = await killed.bob.request('POST', `/api/approvals/${id}`, { decision: 'approve' })
    expect([late.status, late.json.code]).toEqual([409, 'approval_decided'])
    expect(await killed.trail(id, 2)).toEqual(['approvals.ask', 'approvals.restart'])
  }
  // A state of the former process opens nothing; the call is asked about again.
  expect((await after.form.again(30, ofForm, YES)).error?.data?.code).toBe('request_state_invalid')
  expect((await after.link.again(31, ofLink, OPENED)).error?.data?.code).toBe('request_state_invalid')
  await after.form.asked(30)
  await after.link.asked(31)
  expect((await killed.waiting(31)).id).not.toBe(idOfLink)
  expect(await killed.rest(33)).toBe('approval_pending')
  expect([30, 31, 32, 33].map(payments.paid)).toEqual([0, 0, 0, 0])

  // Each yes that was left is one call, with its own arguments alone.
  expect((await after.link.again(21, unused, OPENED)).error?.data?.code).toBe('request_state_invalid')
  expect((await after.link.call(21)).result?.content[0].text).toBe('paid 21')
  await after.link.asked(21)
  const answers = await Promise.all([killed.rest(23), killed.rest(23), killed.rest(23)])
  expect(answers.toSorted()).toEqual(['approval_pending', 'approval_pending', 'passed'])
  expect(await killed.trail(idOfUnused, 3)).toEqual(['approvals.ask', 'approvals.approve', 'approvals.use'])
  expect([await killed.rest(24), await killed.rest(24)]).toEqual(['passed', 'passed'])
  expect((await after.form.call(25)).result?.content[0].text).toBe('paid 25')
  expect(await killed.rest(26)).toBe('approval_pending')
  await after.form.asked(26)
  for (const used of [11, 13]) expect([used, await killed.rest(used)]).toEqual([used, 'approval_pending'])
  await after.form.asked(10)
  expect([10, 11, 12, 13, 21, 23, 24, 25, 26].map(payments.paid)).toEqual([1, 1, 1, 1, 1, 1, 2, 2, 0])
}
