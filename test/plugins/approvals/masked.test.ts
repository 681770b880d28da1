/** Approvers see what content rules let pass, and their yes is for that alone. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { atLeast } from '../../support/pace.ts'
import { online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'
import { checked } from '../guards/planted.ts'

setDefaultTimeout(120_000)

/** Time for which a call is held, while the tests make some requests: longer on a busy machine. */
const HOLD_S = Math.min(5, Math.ceil(atLeast(2_000) / 1_000))
const THEN = 'then'
const ASK = { [THEN]: 'ask', timeout: '1h' }
const MASK = { id: 'no-keys', on: 'arguments', match: { secrets: true }, [THEN]: 'mask' }
const MASKED = '[masked:github_token]'
const PINNED = 'what-the-owner-pinned'
const mirror = {
  ...{ command: process.execPath, args: [join(import.meta.dir, '../guards/fixtures/mirror.ts')] },
  ...{ session: 'shared', tools: { mirror: { arguments: { mode: { pin: PINNED } } } } },
}
/** Every secret that a test of this file used. */
const planted: string[] = []
let hub: Hub
let admin: Client
let una: Client

beforeAll(async () => {
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      plugins: [{ use: 'approvals', config: { holdSeconds: HOLD_S } }],
      mcpServers: { masked: mirror, asking: mirror, later: mirror },
    },
  })
  admin = await hub.setup()
  una = await hub.user('una')
  await online(admin, ['masked', 'asking', 'later'])
  for (const name of ['masked', 'asking', 'later']) {
    await admin.ok('PUT', `/api/servers/${name}/shares/user:una`, { role: 'use' })
    const who = name === 'asking' ? { who: 'caller', by: ['elicitation'] } : {}
    await admin.ok('PUT', `/api/servers/${name}/approvals`, { rules: [{ ...ASK, ...who }] })
    if (name !== 'later') await admin.ok('PUT', `/api/servers/${name}/guards`, { rules: [MASK] })
  }
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function secret(): string {
  const made = `ghp_${checked()}`
  planted.push(made)
  return made
}
const call = (server: string, text: string) =>
  una.request('POST', `/api/servers/admin~${server}/tools/mirror/call`, { arguments: { text } })
const idIn = (text: string) => /\/approvals\/([\w-]+)/.exec(text)?.[1] ?? ''
const pending = async (server: string) =>
  (await admin.ok('GET', '/api/approvals?state=pending')).items.filter(
    (one: { server: string }) => one.server === `admin~${server}`,
  )

test('an approver reads the masked arguments, and the call is sent with them', async () => {
  const token = secret()
  const text = `the key ${token}`
  const id = idIn((await call('masked', text)).text)
  const seen = await admin.ok('GET', `/api/approvals/${id}`)
  expect(seen.arguments).toEqual({ text: `the key ${MASKED}`, mode: PINNED })
  await admin.ok('POST', `/api/approvals/${id}`, { decision: 'approve' })
  const { status, text: sent } = await call('masked', text)
  expect([status, sent.includes(MASKED), sent.includes(token)]).toEqual([200, true, false])
  const { counts } = await admin.ok('GET', '/api/servers/masked/guards')
  expect(counts['no-keys'].masked).toBe(2)
})

test('a member of a team reads them without what the owner pinned', async () => {
  const cai = await hub.user('cai')
  await admin.ok('POST', '/api/admin/teams', { name: 'crew', members: ['cai'] })
  await admin.ok('PUT', '/api/servers/masked/approvals', { rules: [{ ...ASK, who: 'team:crew' }] })
  // The pinned value replaces what the caller gives for it, which no rule has looked at.
  const given = { text: `the key ${secret()}`, mode: secret() }
  const path = '/api/servers/admin~masked/tools/mirror/call'
  const id = idIn((await una.request('POST', path, { arguments: given })).text)
  const seen = await cai.ok('GET', `/api/approvals/${id}`)
  expect(seen.arguments).toEqual({ text: `the key ${MASKED}` })
  const waiting = async (who: Client) => who.ok('GET', '/api/approvals?limit=0')
  expect([await waiting(cai), await waiting(una)]).toEqual([
    { items: [], waiting: 1 },
    { items: [], waiting: 0 },
  ])
})

test('the question that a client shows has the masked arguments', async () => {
  const token = secret()
  const client = new RawModern(hub, '/mcp/@admin/asking', await una.mcpKey())
  const capabilities = { elicitation: { form: {} } }
  const params = { name: 'mirror', arguments: { text: `the key ${token}` } }
  const { result } = await client.call('tools/call', params, { capabilities })
  const [[key, question] = ['', undefined]] = Object.entries(result.inputRequests)
  expect(JSON.stringify(question)).toContain(MASKED)
  expect(JSON.stringify(question)).not.toContain(token)
  const inputResponses = { [key]: { action: 'accept', content: { approve: true } } }
  const again = { ...params, requestState: result.requestState, inputResponses }
  const answer = JSON.stringify(await client.call('tools/call', again as never, { capabilities }))
  expect([answer.includes(MASKED), answer.includes(token)]).toEqual([true, false])
})

test.each([
  ['new', []],
  ['changed', [{ ...MASK, [THEN]: 'observe' }]],
])('a yes for what was shown is none for what a %s rule makes of the call', async (_, rules) => {
  const text = `the key ${secret()}`
  await admin.ok('PUT', '/api/servers/later/guards', { rules })
  const held = call('later', text)
  const shown = async () =>
    (await pending('later')).find((one: { arguments: { text: string } }) => one.arguments.text === text)
  const first = await until(shown, { what: 'the request' })
  await admin.ok('PUT', '/api/servers/later/guards', { rules: [MASK] })
  await admin.ok('POST', `/api/approvals/${first.id}`, { decision: 'approve' })
  const { status, text: answer } = await held
  expect([status, answer.includes('approval_pending')]).toEqual([409, true])
  const [second] = await pending('later')
  expect([idIn(answer), second.arguments.text]).toEqual([second.id, `the key ${MASKED}`])
})

test('a refused call asks nobody', async () => {
  await admin.ok('PUT', '/api/servers/later/guards', { rules: [{ ...MASK, [THEN]: 'refuse' }] })
  const before = (await pending('later')).length
  const { text } = await call('later', `the key ${secret()}`)
  expect([text.includes('guard_refused'), (await pending('later')).length]).toEqual([true, before])
})

test('neither the audit log, as it is exported, nor the log of the hub has a secret', async () => {
  // The console exports what this route answers.
  const texts = [(await admin.request('GET', '/api/admin/audit?limit=1000')).text, hub.log()]
  expect(texts[0]).toContain('approvals.ask')
  for (const token of planted) for (const text of texts) expect(text).not.toContain(token)
})
