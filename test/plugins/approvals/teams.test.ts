/** A team decides: its present members, by their page and by messages with a link, and nobody else. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { openStream } from '../../support/live-stream.ts'
import { startMailServer } from '../../support/mail-server.ts'
import { startReceiver } from '../../support/receiver.ts'
import { online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { type Payments, startPayments } from './payments.ts'

setDefaultTimeout(120_000)

const THEN = 'then'
const SERVER = '/api/servers/bob~bank'
const ASK = { when: { tools: ['pay_owner'] }, [THEN]: 'ask', who: 'team:ops', timeout: '10m', remember: '1h' }
let hub: Hub
let admin: Client
let payments: Payments
const people = {} as Record<'bob' | 'una' | 'tom' | 'tina' | 'carl', Client>
let mails: Awaited<ReturnType<typeof startMailServer>>
/** Takes what is at /taken, and fails otherwise. */
const receiver = startReceiver(({ path }) => new Response('', { status: path === '/taken' ? 200 : 500 }))

beforeAll(async () => {
  payments = startPayments()
  mails = await startMailServer()
  const smtp = { host: '127.0.0.1', port: mails.port }
  const plugins = [
    { use: 'approvals', config: { holdSeconds: 1 } },
    { use: 'alert-email', config: { smtp, from: 'hub@example.com', allowUsers: true } },
  ]
  hub = await startHub({
    env: LOOPBACK,
    settings: { plugins, mcpServers: { stated: { url: payments.url, approvals: [ASK] } } },
  })
  admin = await hub.setup()
  for (const name of ['bob', 'una', 'tom', 'tina', 'carl'] as const) people[name] = await hub.user(name)
  const { bob } = people
  await bob.ok('POST', '/api/servers', { name: 'bank', url: payments.url })
  await online(bob, ['bank'])
  const shares = ['user:una', 'user:carl', 'user:tom'].map(subject => ({ subject, role: 'use' }))
  await bob.ok('PUT', '/api/servers/bank/shares', { shares })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await payments?.stop()
  await mails?.stop()
  await receiver.stop()
}, 120_000)

let amount = 0
const team = (members: readonly string[]) => admin.ok('PATCH', '/api/admin/teams/Ops', { members })
const rules = (...given: readonly object[]) => people.bob.ok('PUT', '/api/servers/bank/approvals', { rules: given })
const call = (sum: number, who = people.una) =>
  who.request('POST', `${SERVER}/tools/pay_owner/call`, { arguments: { amount: sum, token: 'canary-of-a-card' } })
const decide = (who: Client, id: string, decision = 'approve') =>
  who.request('POST', `/api/approvals/${id}`, { decision })
const pending = async (who: Client) => (await who.ok('GET', '/api/approvals?state=pending')).items
const codes = (answers: readonly { status: number; json: { code?: string } }[]) =>
  answers.map(({ status, json }) => json.code ?? status)

const amountOf = ({ arguments: given }: { arguments?: { amount?: number } }) => given?.amount

/** A call of una that waits, and the id of its request. */
async function asked(sum = ++amount): Promise<string> {
  const { json } = await call(sum)
  expect(json.code).toBe('approval_pending')
  const [, id = ''] = /\/approvals\/([\w-]+)$/.exec(json.approvalUrl ?? json.data?.approvalUrl ?? '') ?? []
  return id
}

test('a rule names a team that exists, and only its owner sets it', async () => {
  const refused = await people.bob.request('PUT', '/api/servers/bank/approvals', { rules: [ASK] })
  expect([refused.status, refused.json.errors[0].pointer, refused.json.errors[0].code]).toEqual([
    400,
    '#/rules/0/who',
    'enum',
  ])
  await admin.ok('POST', '/api/admin/teams', { name: 'Ops', members: ['tom', 'tina', 'una'] })
  await rules(ASK)
  const rival = await people.tom.request('PUT', `${SERVER}/approvals`, { rules: [] })
  expect(rival.json.code).toBe('not_owner')
})

test('its members but the caller decide; owner, administrator, others and forged ids do not', async () => {
  const { bob, una, tom, tina, carl } = people
  const id = await asked()
  const [seen] = await pending(tina)
  expect(seen).toMatchObject({ id, server: 'bob~bank', tool: 'pay_owner', caller: 'una', team: 'Ops', mayDecide: true })
  expect([seen.arguments.amount, JSON.stringify(seen).includes('canary')]).toEqual([amount, false])
  const forged = id.replace(/^.{8}/, 'ffffffff')
  expect(
    codes([
      await decide(una, id),
      await decide(bob, id),
      await decide(admin, id),
      await decide(carl, id),
      await decide(tom, forged),
      await tom.request('GET', `/api/approvals/${forged}`),
      await bob.request('GET', `/api/approvals/${id}`),
    ]),
  ).toEqual(['approval_foreign', ...Array(6).fill('approval_not_found')])
  expect([await pending(bob), await pending(carl), await pending(admin)]).toEqual([[], [], []])
  expect((await una.ok('GET', `/api/approvals/${id}`)).mayDecide).toBe(false)
  const { secret } = await tom.ok('POST', '/api/keys', { label: 'agent', scopes: ['api'] })
  const byKey = { authorization: `Bearer ${secret}` }
  const answer = await tom.request('POST', `/api/approvals/${id}`, { decision: 'approve' }, byKey)
  expect(answer.json.code).toBe('approval_foreign')
  expect(payments.paid(amount)).toBe(0)
})

test('members see no values that the owner has pinned', async () => {
  const pinned = { pay_owner: { arguments: { token: { pin: 'pinned-by-bob', hidden: true } } } }
  await people.bob.ok('PATCH', '/api/servers/bank', { tools: pinned })
  await call(++amount)
  const seen = (await pending(people.tom)).find((one: { arguments?: { amount?: number } }) => amountOf(one) === amount)
  expect([seen.arguments, JSON.stringify(seen).includes('pinned-by-bob')]).toEqual([expect.any(Object), false])
  await people.bob.ok('PATCH', '/api/servers/bank', { tools: { pay_owner: null } })
})

test('of two members at once exactly one decides, for one call', async () => {
  const { tom, tina } = people
  for (const [one, other] of [
    ['approve', 'approve'],
    ['approve', 'deny'],
  ] as const) {
    const id = await asked()
    const answers = await Promise.all([decide(tom, id, one), decide(tina, id, other)])
    expect(codes(answers).toSorted()).toEqual([200, 'approval_decided'])
    const isAllowed = answers.find(({ status }) => status === 200)?.json.state === 'approved'
    const again = await Promise.all([call(amount), call(amount)])
    expect(again.filter(({ status }) => status === 200).length).toBe(isAllowed ? 1 : 0)
    expect(payments.paid(amount)).toBe(isAllowed ? 1 : 0)
  }
})

test('who leaves the team decides no more; with the caller as its only member the call is denied', async () => {
  const { tom, tina } = people
  const id = await asked()
  await team(['tom', 'una'])
  expect(codes([await decide(tina, id), await tina.request('GET', `/api/approvals/${id}`)])).toEqual(
    Array(2).fill('approval_not_found'),
  )
  expect(await pending(tina)).toEqual([])
  expect((await decide(tom, id)).status).toBe(200)
  await team(['una'])
  const alone = await call(++amount)
  expect([alone.json.code, alone.json.detail]).toEqual([
    'approval_denied',
    expect.stringContaining('no member but its caller'),
  ])
  await admin.ok('PATCH', '/api/admin/users/tina', { disabled: true })
  await team(['una', 'tina'])
  expect((await call(++amount)).json.code).toBe('approval_denied')
  await admin.ok('PATCH', '/api/admin/users/tina', { disabled: false })
  people.tina = await hub.signIn('tina')
  await team(['tom', 'tina'])
})

test('rules follow the team to its new name, but for those of the settings file', async () => {
  const { bob, una, tom } = people
  await bob.ok('POST', '/api/groups', { name: 'desk', members: [{ server: 'bank' }] })
  await bob.ok('PUT', '/api/groups/desk/approvals', { rules: [{ [THEN]: 'deny', when: { tools: ['x'] } }, ASK] })
  const ofHub = { ...ASK, when: { tools: ['pay_caller'] } }
  await admin.ok('PATCH', '/api/admin/plugins/approvals', { config: { holdSeconds: 1, rules: [ofHub] } })
  await admin.ok('PATCH', '/api/admin/teams/ops', { name: 'Crew' })
  const whoOf = async (path: string, user = bob) =>
    (await user.ok('GET', `${path}/approvals`)).rules.map(({ who }: { who?: string }) => who)
  await until(async () => (await whoOf('/api/groups/desk')).includes('team:Crew'), { what: 'the new name' })
  expect(await whoOf('/api/servers/bank')).toEqual(['team:Crew'])
  expect(await whoOf('/api/servers/stated', admin)).toEqual(['team:ops'])
  expect((await tom.ok('GET', `/api/approvals/${await asked()}`)).team).toBe('Crew')
  const byRuleOfHub = async () =>
    (await una.request('POST', `${SERVER}/tools/pay_caller/call`, { arguments: { amount: ++amount } })).json.code
  expect(await byRuleOfHub()).toBe('approval_pending')
  // Another team with the former name decides nothing.
  await admin.ok('POST', '/api/admin/teams', { name: 'ops', members: ['una'] })
  await admin.ok('PATCH', '/api/admin/plugins/approvals', { config: { holdSeconds: 2, rules: [ofHub] } })
  expect(await byRuleOfHub()).toBe('approval_pending')
  await admin.ok('PATCH', '/api/admin/plugins/approvals', { config: { holdSeconds: 1, rules: [] } })
  await admin.ok('DELETE', '/api/admin/teams/ops')
  await admin.ok('PATCH', '/api/admin/teams/crew', { name: 'Ops' })
  await until(async () => (await whoOf('/api/servers/bank'))[0] === 'team:Ops', { what: 'the former name' })
  await rules(ASK)
  await bob.ok('DELETE', '/api/groups/desk')
})

test('members get the event and a message with a link, which has no arguments; a channel that fails harms none', async () => {
  const { bob, una, tom, tina } = people
  await team(['una', 'tom', 'tina'])
  await rules({ ...ASK, by: ['chat'] })
  const webhook = (name: string, path: string) => ({ name, type: 'webhook', config: { url: `${receiver.url}${path}` } })
  await tom.ok('POST', '/api/monitoring/channels', webhook('failing', '/failing'))
  await tom.ok('POST', '/api/monitoring/channels', webhook('taken', '/taken'))
  await tina.ok('POST', '/api/monitoring/channels', {
    ...{ name: 'mail', type: 'email', config: { recipients: ['tina@example.com'] } },
  })
  for (const other of [bob, una]) await other.ok('POST', '/api/monitoring/channels', webhook('other', '/other'))
  const stream = await openStream(tom, '?topics=plugins')
  const id = await asked()
  const message = await until(() => receiver.received.find(({ path }) => path === '/taken'), { what: 'the message' })
  const link = `${hub.url}/approvals/${id}`
  expect(message.json).toMatchObject({
    ...{ version: '1', kind: 'notice', title: 'una wants to call pay_owner of bob~bank', url: link },
    lines: [expect.stringMatching(/^The call waits for your decision. It is denied at \d{4}-[\d-]+ [\d:]+ UTC.$/)],
  })
  const mail = await until(() => mails.received[0], { what: 'the mail' })
  expect([mail.to, mail.text.includes(link), mail.text]).toEqual([
    ['tina@example.com'],
    true,
    expect.stringContaining('una wants to call pay_owner of bob~bank'),
  ])
  const event = await stream.next(({ event: name }) => name === 'approvals.requested', 'the event')
  expect(event.data.data).toEqual({ approvalId: id, server: 'bob~bank', tool: 'pay_owner', caller: 'una' })
  await stream.close()
  // A flood of further calls is at most one more message, a minute later.
  await Promise.all(Array.from({ length: 10 }, () => call(++amount)))
  await until(() => receiver.received.filter(({ path }) => path === '/failing').length === 2, {
    what: 'the second attempt',
  })
  const texts = [...receiver.received.map(({ text }) => text), ...mails.received.map(({ text }) => text)]
  expect(texts.filter(text => text.includes('canary') || /approve|"decision"/.test(text))).toEqual([])
  expect(receiver.received.filter(({ path }) => path !== '/failing').map(({ path }) => path)).toEqual(['/taken'])
  expect(mails.received).toHaveLength(1)
  // The calls of others wait as before.
  expect((await call(++amount, people.carl)).json.code).toBe('approval_pending')
  await team(['tom', 'tina'])
})

test('without the team the call is denied, nobody decides what waits, and other rules can be changed', async () => {
  const { tom, bob } = people
  await rules(ASK)
  const id = await asked()
  await admin.ok('DELETE', '/api/admin/teams/Ops')
  expect(codes([await decide(tom, id), await decide(bob, id), await decide(admin, id)])).toEqual(
    Array(3).fill('approval_not_found'),
  )
  const denied = await call(++amount)
  expect([denied.json.code, denied.json.detail]).toEqual([
    'approval_denied',
    expect.stringContaining('the team "ops", which decides, does not exist'),
  ])
  await rules({ when: { tools: ['other'] }, [THEN]: 'deny' }, ASK)
  const renamed = await bob.request('PUT', '/api/servers/bank/approvals', { rules: [{ ...ASK, who: 'team:others' }] })
  expect(renamed.status).toBe(400)
  expect(payments.paid(amount)).toBe(0)
})

test('a rule of the hub with a team that does not exist denies what it fits, and the log says so', async () => {
  await rules()
  const config = { holdSeconds: 1, rules: [{ ...ASK, who: 'team:nobody' }] }
  await admin.ok('PATCH', '/api/admin/plugins/approvals', { config })
  for (const who of [people.una, people.bob]) expect((await call(++amount, who)).json.code).toBe('approval_denied')
  await hub.logged('A rule of the hub names a team that does not exist')
  await admin.ok('PATCH', '/api/admin/plugins/approvals', { config: { holdSeconds: 1, rules: [] } })
})
