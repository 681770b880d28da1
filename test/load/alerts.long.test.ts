import { afterAll, beforeAll, expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { until } from '../support/wait.ts'
import { MOST_MS, slowness } from '../support/work.ts'

const TOOLS = 1_000
/** The most subjects that one rule evaluates. */
const FIRING = 500
const CHANNELS = 20
const RULE = { name: 'any', per: 'tool', severity: 'warning', duration: 0, keepFiringFor: 0 }
/** The most tests that a condition has room for. */
const HEAVY = Array.from({ length: 34 }, () => 'p99_response_time[10s]>=0').join(' or ')

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ watchTurns: true })
  admin = await hub.setup()
  admin.patient = true
  await admin.ok('POST', '/api/servers', { name: 'many', ...stdioFixture('varied', { TOOLS: String(TOOLS) }) })
  for (let index = 0; index < CHANNELS; index += 1) {
    const config = { url: 'http://127.0.0.1:9/' }
    await admin.ok('POST', '/api/monitoring/channels', { name: `c${index}`, type: 'webhook', config })
  }
}, 60_000)

afterAll(async () => {
  await hub?.stop()
}, 60_000)

const alerts = async (state: 'firing' | 'resolved'): Promise<number> =>
  (await admin.ok('GET', `/api/monitoring/alerts?state=${state}&limit=1`)).total as number

test(
  'a rule about many tools that goes off for all of them at once, in 20 channels, holds nobody else up',
  async () => {
    await admin.ok('POST', '/api/monitoring/rules', { ...RULE, condition: `(${HEAVY}) and request_count > 1000000` })
    const client = await new RawClient(hub, '/mcp', await admin.mcpKey()).open()
    const { result } = await client.call('tools/list')
    const names = (result.tools as { name: string }[]).map(({ name }) => name)
    expect(names).toHaveLength(TOOLS)
    for (let at = 0; at < TOOLS; at += 20) {
      const some = names.slice(at, at + 20).map(name => client.send('tools/call', { name, arguments: {} }))
      await Promise.all((await Promise.all(some)).map(answer => answer.text()))
    }
    await hub.longestTurnMs()
    // Until the window of the percentiles is full there is no data.
    const rule = () => ({ ...RULE, condition: 'request_count[10s] >= 0' })
    await admin.ok('PUT', '/api/monitoring/rules/any', rule())
    await until(async () => (await alerts('firing')) === FIRING, { what: `${FIRING} alerts`, timeoutMs: 60_000 })
    await check('alerts that begin')
    await admin.ok('PUT', '/api/monitoring/rules/any', { ...RULE, condition: HEAVY })
    await until(async () => (await alerts('resolved')) === FIRING, { what: 'the end of the alerts', timeoutMs: 60_000 })
    await check('alerts that end, and a rule of many tests')
    await admin.ok('PUT', '/api/monitoring/rules/any', rule())
    await until(async () => (await alerts('firing')) === FIRING, { what: 'alerts again', timeoutMs: 60_000 })
    // Its messages go out after a minute.
    for (const name of extent([], ['gone'])) await removeWhileItFires(name, rule())
    await admin.ok('PUT', '/api/monitoring/rules/any', { ...rule(), enabled: false })
    await until(async () => (await alerts('firing')) === 0, { what: 'no alerts', timeoutMs: 60_000 })
    await check('a rule that is switched off')
  },
  extent(180_000, 400_000),
)

/** Removes a rule while it fires: all of its alerts end in one transaction. */
async function removeWhileItFires(name: string, rule: object): Promise<void> {
  await admin.ok('POST', '/api/monitoring/rules', { ...rule, name })
  const firing = '/api/monitoring/alerts?state=firing&limit=1000'
  const own = await until(
    async () => {
      const { items } = await admin.ok('GET', firing)
      const ids = items.filter((item: { rule: string }) => item.rule === name).map(({ id }: { id: string }) => id)
      return ids.length === FIRING ? new Set<string>(ids) : undefined
    },
    { what: 'alerts of another rule', timeoutMs: 60_000 },
  )
  const isTold = async (): Promise<boolean> => {
    const { items } = await admin.ok('GET', '/api/monitoring/channels/c0/deliveries?limit=1000')
    return items.some((item: { incident: string; messageId?: string }) => own.has(item.incident) && item.messageId)
  }
  await until(isTold, { what: 'a message about it', timeoutMs: 150_000, intervalMs: 500 })
  await hub.longestTurnMs()
  await admin.ok('DELETE', `/api/monitoring/rules/${name}`)
  expect(await alerts('firing')).toBe(FIRING)
  await check('a rule that is removed')
}

async function check(what: string): Promise<void> {
  const ms = await hub.longestTurnMs()
  console.log(`${what}: ${ms.toFixed(1)} ms in one turn`)
  expect(ms).toBeLessThan(MOST_MS * slowness())
}
