// Processes of public servers that a stranger's sessions start: few, not many at once, and without delays for others.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { LIMITS } from '../../core/config/limits.ts'
import { calmHealth, type HealthFigures, healthDuring, slowerThanCalm } from '../support/health-watch.ts'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { commandOf, descendants } from '../support/processes.ts'
import { type Answer, RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const SESSIONS = 60
const ABLE = { sampling: {}, elicitation: {}, roots: {} }
const SCRIPTS = join(ROOT, 'test/support/mcp-servers')
/** More servers than one user may have processes of. */
const MANY = Array.from({ length: 6 }, (_, index) => `many${index}`)
/** Checks times by the clock too, which other programs slow down: for `bun run soak` on a machine without other work. */
const STRICT = process.env.PATCHBAY_STRICT_LATENCY === '1'
/** Time for which sessions are opened and dropped. */
const LOOP_MS = 3_000

let hub: Hub
let admin: Client
let credential: string
let calm: HealthFigures
const opened: RawClient[] = []

const program = (name: string, more: object = {}): object => ({
  ...{ command: '/bin/sh', args: [join(SCRIPTS, `${name}.sh`)], visibility: 'public' },
  ...more,
})

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  const servers = {
    failing: program('tiny-failing'),
    asking: program('tiny-asking'),
    single: program('tiny-failing', { session: 'per-session' }),
    ...Object.fromEntries(MANY.map(name => [name, program('tiny-failing', { session: 'per-session' })])),
  }
  for (const [name, server] of Object.entries(servers)) await admin.ok('POST', '/api/servers', { name, ...server })
  await online(admin, Object.keys(servers))
  credential = await (await hub.user('mallory')).mcpKey()
  calm = await calmHealth(hub)
  console.log(`calm: ${JSON.stringify(calm)}`)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

function running(): number {
  return descendants(hub.pid).filter(({ pid }) => commandOf(pid).includes(SCRIPTS)).length
}

/** Does the work, and returns the largest number of processes above the number before. */
async function mostProcesses(work: () => Promise<unknown>): Promise<number> {
  const before = running()
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, running())
  }, 50)
  const seen = await healthDuring(hub, work)
  clearInterval(timer)
  most = Math.max(most, running())
  console.log(`${most - before} processes more: ${JSON.stringify(seen)}`)
  await Promise.all(opened.splice(0).map(client => client.delete()))
  await until(() => running() <= before, { what: 'the processes of the sessions to end', timeoutMs: 60_000 })
  if (STRICT) expect(await slowerThanCalm(hub, seen, calm)).toEqual([])
  return most - before
}

async function session(server: string): Promise<RawClient> {
  const client = await new RawClient(hub, `/mcp/@admin/${server}`, credential).open('2025-11-25', ABLE)
  opened.push(client)
  return client
}

async function call(client: RawClient, name: string): Promise<Answer> {
  const text = await (await client.send('tools/call', { name, arguments: { wrong: true } })).text()
  return JSON.parse(text.slice(text.indexOf('{"jsonrpc"'))) as Answer
}

/** Each session calls the tool of its server once; returns the answers. */
function calls(servers: readonly string[], tool: string): Promise<Answer[]> {
  return Promise.all(servers.map(async server => call(await session(server), tool)))
}

const sixty = (server: string): string[] => Array.from({ length: SESSIONS }, () => server)

test('60 sessions that can be asked call a tool that nobody tried, with wrong arguments', async () => {
  let answers: readonly Answer[] = []
  const most = await mostProcesses(async () => {
    answers = await calls(sixty('failing'), 'fail')
  })
  expect(answers.filter(({ result }) => result?.isError)).toHaveLength(SESSIONS)
  expect(most).toBeLessThanOrEqual(LIMITS.trialProcessesPerUserAndServer)
}, 120_000)

test('60 sessions use a server that is known to ask: some have a process, the others share', async () => {
  let answers: readonly Answer[] = []
  const most = await mostProcesses(async () => {
    answers = await calls(sixty('asking'), 'shared')
  })
  const pids = new Set(answers.map(({ result }) => result?.content[0].text))
  expect(pids.size).toBe(LIMITS.foreignProcessesPerUserAndServer + 1)
  expect(most).toBe(LIMITS.foreignProcessesPerUserAndServer)
}, 120_000)

test('60 sessions of a server with a process for each: those beyond the limit are refused', async () => {
  let answers: readonly Answer[] = []
  const most = await mostProcesses(async () => {
    answers = await calls(sixty('single'), 'fail')
  })
  const served = answers.filter(({ result }) => result?.isError)
  expect(served).toHaveLength(LIMITS.foreignProcessesPerUserAndServer)
  const refused = answers.flatMap(({ error }) => (error ? [error] : []))
  expect(refused).toHaveLength(SESSIONS - served.length)
  expect(new Set(refused.map(({ data }) => data?.code))).toEqual(new Set(['quota_servers']))
  expect(most).toBe(LIMITS.foreignProcessesPerUserAndServer)
}, 120_000)

test('60 sessions over many servers have no more processes than one user may have of all', async () => {
  const servers = MANY.flatMap(name => Array.from({ length: SESSIONS / MANY.length }, () => name))
  let answers: readonly Answer[] = []
  const most = await mostProcesses(async () => {
    answers = await calls(servers, 'fail')
  })
  expect(answers.filter(({ result }) => result?.isError)).toHaveLength(LIMITS.foreignProcessesPerUser)
  expect(most).toBe(LIMITS.foreignProcessesPerUser)
}, 120_000)

test('sessions that are opened, used and dropped without end', async () => {
  const most = await mostProcesses(async () => {
    const endMs = performance.now() + LOOP_MS
    const loop = async (): Promise<void> => {
      while (performance.now() < endMs) {
        const client = await new RawClient(hub, '/mcp/@admin/single', credential).open('2025-11-25', ABLE)
        const answer = call(client, 'fail').catch(() => undefined)
        await Bun.sleep(20)
        await (await client.delete()).text()
        await answer
      }
    }
    await Promise.all(Array.from({ length: 20 }, loop))
  })
  expect(most).toBeLessThanOrEqual(LIMITS.foreignProcessesPerUser)
}, 120_000)

test('its owner is not limited so, and a stranger’s session is asked as before once others ended', async () => {
  const own = await Promise.all(
    Array.from({ length: LIMITS.foreignProcessesPerUserAndServer + 2 }, async () => {
      const client = await new RawClient(hub, '/mcp/single', await admin.mcpKey()).open('2025-11-25', ABLE)
      opened.push(client)
      return call(client, 'fail')
    }),
  )
  expect(new Set(own.map(({ result }) => result?.content[0].text)).size).toBe(own.length)
  const { result } = await call(await session('single'), 'fail')
  expect(result?.isError).toBe(true)
  await Promise.all(opened.splice(0).map(client => client.delete()))
}, 120_000)
