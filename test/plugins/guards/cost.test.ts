/** The cost of rules is their owner's: hostile patterns, long results and webhooks that hang leave the others as they are. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { calmHealth, type HealthFigures, healthDuring, slowerThanCalm } from '../../support/health-watch.ts'
import { type HeavyUpstream, heavyUpstream } from '../../support/heavy-upstream.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { callText, online } from '../../support/servers.ts'

setDefaultTimeout(180_000)

const MB = 1_000_000
const mirror = { command: process.execPath, args: [join(import.meta.dir, 'fixtures/mirror.ts')], session: 'shared' }
/** Nearly whole at each place of a text of this letter, and forms that make other engines go back again and again. */
const HOSTILE = [
  ...Array.from({ length: 8 }, (_, at) => `ooooo${'?o'.repeat(90)}x${at}`),
  ...[`${'o*'.repeat(90)}x`, `${'*o?'.repeat(60)}x`, `${'?*'.repeat(90)}x`, `${'o*'.repeat(50)}o\\n${'o*'.repeat(40)}`],
  ...[`${'?'.repeat(190)}x`, `${'?#'.repeat(90)}x`, '#'.repeat(199), `${'o'.repeat(199)}x`],
  ...['(o+)+$', '([a-zA-Z]+)*', '(o*)*(o*)*(o*)*x', '.*.*.*.*=.*'],
]

let hub: Hub
let admin: Client
let bob: Client
let calm: HealthFigures
let heavy: HeavyUpstream

beforeAll(async () => {
  const big = { ...mirror, maxResultBytes: 32 * MB }
  heavy = await heavyUpstream()
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { hostile: big, plain: big, hanging: mirror } } })
  admin = await hub.setup()
  await online(admin, ['hostile', 'plain', 'hanging'])
  bob = await hub.user('bob')
  await bob.ok('POST', '/api/servers', { name: 'bobs', url: heavy.url, session: 'shared' })
  await online(bob, ['bobs'])
  const honest = { rules: [{ id: 'keys', match: { secrets: true, personal: true }, then: 'mask' }] }
  await admin.ok('PUT', '/api/servers/plain/guards', honest)
  await bob.ok('PUT', '/api/servers/bobs/guards', honest)
  const rules = [{ id: 'hostile', match: { pattern: HOSTILE, secrets: true, personal: true }, then: 'mask' }]
  await admin.ok('PUT', '/api/servers/hostile/guards', { rules })
  calm = await calmHealth(hub)
})
afterAll(async () => {
  await hub?.stop()
  heavy?.stop()
}, 60_000)

const SECRET = `sk_live_${'aB3dE5fG7hJ9kL1mN2pQ'}9`

test('results of 10 MB', async () => {
  const client = await admin.mcp('/mcp/plain')
  const during = await healthDuring(hub, async () => {
    const texts = await Promise.all([0, 1, 2].map(() => callText(client, 'long', { bytes: 10 * MB, text: SECRET })))
    for (const text of texts) expect(text.slice(-22)).toBe(' [masked:stripe_key]'.padStart(22, ' word '.slice(-2)))
  })
  console.log(
    `/health p99 ${during.p99Ms.toFixed(1)} ms, worst ${during.worstMs.toFixed(1)}, calm ${calm.worstMs.toFixed(1)}`,
  )
  expect(await slowerThanCalm(hub, during, calm)).toEqual([])
})

test('hostile patterns, beside the rules of another owner', async () => {
  const client = await admin.mcp('/mcp/hostile')
  const bobs = await bob.mcp('/mcp/bobs')
  const waits: number[] = []
  const during = await healthDuring(hub, async () => {
    let isOver = false
    const hostile = Promise.all(
      [60_000, 60_000, MB].map(bytes => callText(client, 'long', { bytes, fill: 'ooooo', text: SECRET }).catch(String)),
    ).finally(() => {
      isOver = true
    })
    while (!isOver) {
      const startedMs = performance.now()
      expect((await callText(bobs, 'bytes', { size: 200_000 })).length).toBe(200_000)
      waits.push(performance.now() - startedMs)
    }
    // The long one may take longer than a check has: then its call alone is refused.
    for (const text of await hostile) expect(text).toMatch(/\[masked:stripe_key\]$|overloaded/)
  })
  waits.sort((a, b) => a - b)
  const p99 = waits[Math.floor(waits.length * 0.99)] ?? 0
  console.log(
    `/health p99 ${during.p99Ms.toFixed(1)} ms, worst ${during.worstMs.toFixed(1)}; ${waits.length} calls of the other owner, p99 ${p99.toFixed(0)} ms`,
  )
  // Behind the other owner's check each would wait for seconds.
  expect([waits.length > 5, p99 < 2_000]).toEqual([true, true])
  expect(await slowerThanCalm(hub, during, calm)).toEqual([])
})

test('a webhook that hangs holds the calls of its server alone, for its time', async () => {
  const silent = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Promise<Response>(() => undefined) })
  try {
    const webhook = { url: `http://127.0.0.1:${silent.port}`, secret: `whsec_${'A'.repeat(43)}=`, timeoutMs: 1_000 }
    await admin.ok('PUT', '/api/servers/hanging/guards', {
      rules: [{ id: 'h', on: 'arguments', webhook, then: 'refuse' }],
    })
    const client = await admin.mcp('/mcp/hanging')
    const other = await admin.mcp('/mcp/plain')
    const during = await healthDuring(hub, async () => {
      const held = Promise.all(
        Array.from({ length: 40 }, () => callText(client, 'mirror', { text: 'x' }).catch(String)),
      )
      const startedMs = performance.now()
      expect(await callText(other, 'mirror', { text: 'x' })).toBe('x')
      expect(performance.now() - startedMs).toBeLessThan(1_000)
      for (const text of await held) expect(text).toContain('could not be looked at by its webhook')
    })
    expect(await slowerThanCalm(hub, during, calm)).toEqual([])
  } finally {
    await silent.stop(true)
  }
})
