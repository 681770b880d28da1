/** The cost of rules is their owner's: hostile patterns, long results and webhooks that hang leave the others as they are. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type HeavyUpstream, heavyUpstream } from '../../support/heavy-upstream.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { callText, online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { mainThreadMs } from '../../support/work.ts'

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
})
afterAll(async () => {
  await hub?.stop()
  heavy?.stop()
}, 60_000)

const SECRET = `sk_live_${'aB3dE5fG7hJ9kL1mN2pQ'}9`

/** Most of the hub's processor time that its main thread may have while threads check: other requests wait for this one alone. */
const MOST_ON_MAIN = 0.5

/** Processor time of all threads of a process, in milliseconds. */
function allThreadsMs(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`)
  return tasks.reduce((sum, task) => {
    const [onProcessorNs = '0'] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')
    return sum + Number(onProcessorNs) / 1e6
  }, 0)
}

/** The main thread's part of the processor time that the hub has for some work, which other work on the machine does not change. */
async function partOnMain(work: () => Promise<unknown>): Promise<number> {
  const before = { main: mainThreadMs(hub.pid), all: allThreadsMs(hub.pid) }
  await work()
  const main = mainThreadMs(hub.pid) - before.main
  const all = allThreadsMs(hub.pid) - before.all
  console.log(`main thread ${main.toFixed(0)} of ${all.toFixed(0)} ms`)
  return main / all
}

test('results of 10 MB are checked beside the main thread', async () => {
  const client = await admin.mcp('/mcp/plain')
  const part = await partOnMain(async () => {
    const texts = await Promise.all([0, 1, 2].map(() => callText(client, 'long', { bytes: 10 * MB, text: SECRET })))
    for (const text of texts) expect(text.slice(-22)).toBe(' [masked:stripe_key]'.padStart(22, ' word '.slice(-2)))
  })
  expect(part).toBeLessThan(MOST_ON_MAIN)
})

test('hostile patterns leave the main thread, and the calls of another owner, alone', async () => {
  const client = await admin.mcp('/mcp/hostile')
  const bobs = await bob.mcp('/mcp/bobs')
  let answered = 0
  const part = await partOnMain(async () => {
    let isOver = false
    const hostile = Promise.all(
      [60_000, 60_000, MB].map(bytes => callText(client, 'long', { bytes, fill: 'ooooo', text: SECRET }).catch(String)),
    ).finally(() => {
      isOver = true
    })
    while (!isOver) {
      expect((await callText(bobs, 'bytes', { size: 200_000 })).length).toBe(200_000)
      answered += 1
    }
    // The long one may take longer than a check has: then its call alone is refused.
    for (const text of await hostile) expect(text).toMatch(/\[masked:stripe_key\]$|overloaded/)
  })
  // Behind the three checks of the other owner there would be a turn for three or four.
  expect(answered).toBeGreaterThan(5)
  expect(part).toBeLessThan(MOST_ON_MAIN)
})

test('a webhook that hangs holds the calls of its server alone', async () => {
  let asked = 0
  const release = Promise.withResolvers<void>()
  const silent = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0 },
    async fetch() {
      asked += 1
      await release.promise
      return Response.json({ action: 'pass' })
    },
  })
  try {
    const webhook = { url: `http://127.0.0.1:${silent.port}`, secret: `whsec_${'A'.repeat(43)}=`, timeoutMs: 5_000 }
    await admin.ok('PUT', '/api/servers/hanging/guards', {
      rules: [{ id: 'h', on: 'arguments', webhook, then: 'refuse' }],
    })
    const client = await admin.mcp('/mcp/hanging')
    const other = await admin.mcp('/mcp/plain')
    const held = Array.from({ length: 32 }, () => callText(client, 'mirror', { text: 'x' }).catch(String))
    await until(() => asked === 32, { what: 'requests to the webhook' })
    const first = await Promise.race([callText(other, 'mirror', { text: 'other' }), ...held])
    expect(first).toBe('other')
    release.resolve()
    await Promise.all(held)
  } finally {
    await silent.stop(true)
  }
})
