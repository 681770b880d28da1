import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runLoad } from '../bench/measure.ts'
import { median } from '../bench/rounds.ts'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { slowness } from '../support/work.ts'

const LEAST_ROUNDS = extent(3, 5)
/** A machine that others use at the same time makes single rounds slow: then more of them are made before the verdict. */
const MOST_ROUNDS = 15
const SECONDS = 1
/** Time until the noise is at its loudest. */
const WARM_UP_MS = extent(700, 1_500)
/** Sessions that are opened at the same time. */
const OPENED_AT_ONCE = 10
/**
 * The ratio is 2 on two quiet processors. The same code gave 1.6 to 2.7 on shared ones, and 10.8 on a virtual machine where
 * new memory costs 5 ms a megabyte, which lines of 9 MB need a lot of: the suite allows for that.
 */
const MOST = Number(process.env.PATCHBAY_NOISE_RATIO ?? extent(16, 4))
/**
 * Most that one turn of the system's scheduler may add, whatever the ratio: two busy processors wait about this long for each
 * other (Linux: base_slice_ns, 2.8 to 3 ms), which is more than a quiet p99.
 */
const TURN_MS = 3
/** Calls of the good server at a time, as in the figures of docs/speed.md. */
const IN_FLIGHT = 16
/**
 * Client sessions that stay open meanwhile, each at all servers and subscribed where there are resources; `STREAMS` of them
 * read their stream.
 */
const SESSIONS = 200
const STREAMS = 50

/** The calls to each bad server, repeated as soon as an answer or an error comes; `at` calls at a time. */
const NOISE: readonly { readonly server: string; readonly tool: string; readonly args: object; readonly at: number }[] =
  [
    { server: 'notices', tool: 'flood', args: { mode: 'notices' }, at: 1 },
    { server: 'answers', tool: 'flood', args: { mode: 'answers' }, at: 1 },
    { server: 'stderr', tool: 'flood', args: { mode: 'stderr' }, at: 1 },
    { server: 'garbage', tool: 'flood', args: { mode: 'garbage' }, at: 1 },
    { server: 'announcing', tool: 'flood', args: { mode: 'all' }, at: 1 },
    { server: 'hanging', tool: 'wait', args: { ms: 600_000 }, at: 16 },
    { server: 'crashing', tool: 'crash', args: {}, at: 2 },
    { server: 'lines', tool: 'line', args: { megabytes: 9 }, at: 1 },
    { server: 'too-long', tool: 'line', args: { megabytes: 11 }, at: 1 },
  ]
const BAD = [...NOISE.map(({ server }) => server), 'deaf', 'leaving']

let hub: Hub
let admin: Client
/** Stops the reading of the streams. */
const reading = new AbortController()

beforeAll(async () => {
  const bad = (name: string, env: Record<string, string> = {}) => ({
    ...stdioFixture(name, env),
    timeout: 1_500,
    enabled: false,
  })
  hub = await startHub({
    settings: {
      mcpServers: {
        good: stdioFixture('echo'),
        notices: bad('flooding'),
        answers: bad('flooding'),
        stderr: bad('flooding'),
        garbage: bad('flooding'),
        announcing: bad('announcing'),
        hanging: bad('slow'),
        crashing: bad('crashing', { MODE: 'call' }),
        lines: bad('unruly'),
        'too-long': bad('unruly'),
        deaf: bad('deaf'),
        leaving: bad('crashing'),
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['good'])
  await leaveSessionsOpen()
}, 120_000)

afterAll(async () => {
  reading.abort()
  await hub?.stop()
}, 120_000)

/** Sessions that see all servers, receive notifications of all of them, and are subscribed where there are resources. */
async function leaveSessionsOpen(): Promise<void> {
  await admin.ok('POST', '/api/servers/announcing/start')
  await online(admin, ['announcing'])
  const credential = await admin.mcpKey()
  let opened = 0
  const open = async (): Promise<void> => {
    while (opened < SESSIONS) {
      opened += 1
      const reads = opened <= STREAMS
      const client = await new RawClient(hub, '/mcp', credential).open()
      expect((await client.call('resources/subscribe', { uri: 'test://resource' })).result).toEqual({})
      if (reads) void readAll(await client.get())
    }
  }
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, open))
}

async function readAll(response: Response): Promise<void> {
  const reader = response.body?.getReader()
  reading.signal.addEventListener('abort', () => void reader?.cancel())
  while (reader && !(await reader.read()).done);
}

async function quietRun(): Promise<number> {
  const target = { url: `${hub.url}/mcp/good`, tool: 'echo', credential: await admin.mcpKey() }
  const result = await runLoad({ kind: 'http', target, sessions: IN_FLIGHT, seconds: SECONDS, warmUpMs: WARM_UP_MS })
  expect(result.firstError).toBeUndefined()
  return result.p99
}

async function noisyRun(): Promise<number> {
  await Promise.all(BAD.map(name => admin.ok('POST', `/api/servers/${name}/start`)))
  await online(
    admin,
    NOISE.map(({ server }) => server),
  )
  const credential = await admin.mcpKey()
  let over = false
  const noise = NOISE.flatMap(({ server, tool, args, at }) =>
    Array.from({ length: at }, async () => {
      const client = await new RawClient(hub, `/mcp/${server}`, credential).open()
      // These servers fail on purpose; one that is away is asked again a little later.
      while (!over) {
        const answer = await client.call('tools/call', { name: tool, arguments: args }).catch(() => undefined)
        if (answer?.error) await Bun.sleep(20)
      }
      await (await client.delete()).text()
    }),
  )
  try {
    return await quietRun()
  } finally {
    over = true
    await Promise.all(BAD.map(name => admin.ok('POST', `/api/servers/${name}/stop`)))
    await Promise.all(noise)
  }
}

test(`a good server's p99 beside floods, hangs, crashes and huge lines is at most ${MOST} times the quiet one, or a turn more`, async () => {
  const quiet: number[] = []
  const noisy: number[] = []
  const slow = slowness()
  const most = () => Math.max(MOST * median(quiet), median(quiet) + TURN_MS * slow)
  for (let round = 1; round <= LEAST_ROUNDS || (round <= MOST_ROUNDS && median(noisy) > most()); round += 1) {
    quiet.push(await quietRun())
    noisy.push(await noisyRun())
  }
  const shown = (values: readonly number[]): string => values.map(ms => ms.toFixed(2)).join(' ')
  const ratio = median(noisy) / median(quiet)
  console.log(`p99 in ms, quiet: ${shown(quiet)}; noisy: ${shown(noisy)}; ratio of the medians ${ratio.toFixed(2)}`)
  expect(median(noisy)).toBeLessThanOrEqual(most())
  expect(hub.unhandled()).toEqual([])
}, 300_000)
