/** Alert rules about quotas that are nearly used up, with messages to a channel of their owner. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import { type Client, type Hub, LOOPBACK } from '../../support/hub.ts'
import { type LiveStream, openStream } from '../../support/live-stream.ts'
import { startOnline } from '../../support/online-hub.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/wait.ts'

setDefaultTimeout(120_000)

interface Message {
  readonly kind: string
  readonly instances: readonly { readonly subject: string; readonly value: unknown }[]
}

const receiver = startReceiver()
let hub: Hub
let admin: Client
let bo: Client

beforeAll(async () => {
  const settings = { mcpServers: { echo: sharedFixture('echo') } }
  ;({ hub, admin } = await startOnline({ settings, env: LOOPBACK }))
  await admin.ok('PATCH', '/api/servers/echo', { visibility: 'public' })
  bo = await hub.user('bo')
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  receiver.stop()
}, 120_000)

const RULE = { condition: 'quotas.used >= 80%', duration: '0s', repeatInterval: '0s', severity: 'warning' }

async function ruleOf(user: Client, name: string, change: object = {}): Promise<void> {
  const url = `${receiver.url}/${name}`
  await user.ok('POST', '/api/monitoring/channels', { name, type: 'webhook', config: { url } })
  await user.ok('POST', '/api/monitoring/rules', { ...RULE, name, channels: [name], ...change })
}

const subjectsAt = (name: string) =>
  receiver.received
    .filter(({ path }) => path === `/${name}`)
    .flatMap(({ json }) => {
      const { kind, instances } = json as Message
      return instances.map(({ subject, value }) => `${kind}: ${subject}: ${value}`)
    })
/** A rule that is written has all rules evaluated, which happens every 10 s otherwise. */
const evaluated = () => admin.ok('PATCH', '/api/monitoring/rules/other', { duration: '0s' })
const call = (user: Client) => user.ok('POST', '/api/servers/admin~echo/tools/echo/call', { arguments: { text: 'x' } })

test('the 8th call of 10 a day causes one message to each user whose quota it is, and says when it resets', async () => {
  const [toBo, toAdmin] = [await openStream(bo), await openStream(admin)]
  await ruleOf(bo, 'mine')
  await ruleOf(admin, 'tools', { condition: 'quotas.used{kind="tool"} >= 80%' })
  await ruleOf(admin, 'all')
  await ruleOf(admin, 'other', { condition: 'servers_offline > 100' })
  await admin.ok('PUT', '/api/admin/users/bo/quota', { quota: { perDay: 10 } })
  await admin.ok('PUT', '/api/servers/echo/quota', { tools: { echo: { perDay: 10 } } })
  for (let time = 0; time < 7; time += 1) await call(bo)
  const before = await bo.ok('POST', '/api/monitoring/test-alert', { rule: 'mine', send: false })
  expect([before.holds, before.subjects.map(({ subject }: { subject: string }) => subject)]).toEqual([
    false,
    ['user bo: calls'],
  ])
  await call(bo)
  await evaluated()
  await until(() => subjectsAt('mine').length > 0 && subjectsAt('tools').length > 0 && subjectsAt('all').length > 1, {
    what: 'the messages',
    timeoutMs: 60_000,
  })
  const resets = `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)} 00:00 UTC`
  const used = `8 of 10 calls of the day are used; they reset at ${resets}`
  expect(subjectsAt('mine')).toEqual([`fired: user bo: calls: ${used}`])
  expect(subjectsAt('tools')).toEqual([`fired: tool echo of admin~echo: calls: ${used}`])
  expect(subjectsAt('all').toSorted()).toEqual([
    `fired: tool echo of admin~echo: calls: ${used}`,
    `fired: user bo: calls: ${used}`,
  ])
  // The ninth changes nothing: it goes on firing.
  await call(bo)
  const { subjects } = await bo.ok('POST', '/api/monitoring/test-alert', { rule: 'mine', send: false })
  expect([subjects[0].phase, subjects[0].holds]).toEqual(['firing', true])
  expect([subjectsAt('mine').length, subjectsAt('all').length]).toEqual([1, 2])
  // From 90 % on, each owner gets an event, which comes once a day; an administrator has the events of all.
  await call(bo)
  const numbers = { quota: 'perDay', limit: 10, used: 9 }
  const ofUser = { of: 'user', name: 'user bo', ...numbers }
  const ofTool = { of: 'tool', name: 'tool echo of admin~echo', ...numbers }
  const nearIn = ({ events }: LiveStream) =>
    events.filter(({ event }) => event === 'quotas.near').map(({ data }) => data.data)
  await until(() => nearIn(toBo).length > 0 && nearIn(toAdmin).length > 1, { what: 'the events' })
  expect([nearIn(toBo), nearIn(toAdmin)]).toEqual([[ofUser], [ofUser, ofTool]])
  for (const stream of [toBo, toAdmin]) await stream.close()
})

test('a rule sees quotas of its owner alone, by fields that the metric has', async () => {
  const cleo = await hub.user('cleo')
  const preview = async (user: Client, condition: string) => {
    const { status, json } = await user.request('POST', '/api/monitoring/rule-preview', { condition, duration: '0s' })
    return status === 200 ? json.now.map(({ subject }: { subject: string }) => subject) : json.errors[0].code
  }
  expect(await preview(cleo, 'quotas.used >= 10%')).toEqual([])
  expect(await preview(bo, 'quotas.used{owner="admin"} > 0')).toEqual([])
  expect(await preview(admin, 'quotas.used{kind="user"} > 0')).toEqual(['user bo: calls'])
  expect(await preview(bo, 'quotas.used{level="ERROR"} > 0')).toBe('metric_unavailable')
  expect(await preview(bo, 'error_rate{kind="user"} > 0')).toBe('metric_unavailable')
  expect(await preview(bo, 'quotas.other > 0')).toBe('metric_unavailable')
})

test('while the plugin does not run, the rule says so and keeps its state', async () => {
  await admin.ok('PATCH', '/api/admin/plugins/quotas', { enabled: false })
  const healthOf = async () => {
    await evaluated()
    const { items } = await bo.ok('GET', '/api/monitoring/rules')
    return items[0].health
  }
  await until(async () => (await healthOf()).state === 'error', { what: 'the health of the rule', timeoutMs: 60_000 })
  expect((await healthOf()).message).toContain('quotas.used')
  await admin.ok('PATCH', '/api/admin/plugins/quotas', { enabled: true })
  await until(async () => (await healthOf()).state === 'ok', { what: 'the healthy rule', timeoutMs: 60_000 })
  expect(subjectsAt('mine').length).toBe(1)
})
