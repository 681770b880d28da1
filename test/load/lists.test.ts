import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { calmHealth, type HealthFigures, healthDuring, slowerThanCalm } from '../support/health-watch.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** 600 MiB, and the memory of the thread that stores log records. */
const RESIDENT_MIB = 640
const HEAVY = join(import.meta.dir, '../support/mcp-servers/heavy-lists.ts')

let hub: Hub
let user: Client
let calm: HealthFigures
const programs: Bun.Subprocess[] = []

// Each test has a hub of its own: a heap gives memory back late, and would count for the next test.
beforeEach(async () => {
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { echo: stdioFixture('echo') } } })
  await online(await hub.setup(), ['echo'])
  calm = await calmHealth(hub, 1_000)
  user = await hub.user('mallory')
}, 120_000)

afterEach(async () => {
  for (const program of programs.splice(0)) program.kill('SIGKILL')
  await hub?.stop()
}, 120_000)

async function holds(what: string, seen: HealthFigures): Promise<void> {
  console.log(`${what}: ${JSON.stringify(seen)}, calm ${JSON.stringify(calm)}`)
  expect(await slowerThanCalm(hub, seen, calm)).toEqual([])
  expect(seen.residentMiB).toBeLessThan(RESIDENT_MIB)
}

/** A hostile upstream; returns its URL. */
async function heavy(env: Record<string, string>): Promise<string> {
  const program = Bun.spawn([process.execPath, HEAVY, 'http'], { env, stdout: 'pipe', stderr: 'inherit' })
  programs.push(program)
  const { value } = await program.stdout.getReader().read()
  return `http://127.0.0.1:${new TextDecoder().decode(value).trim()}/mcp`
}

function add(name: string, url: string): Promise<unknown> {
  return user.ok('POST', '/api/servers', { name, type: 'streamable-http', url })
}

// biome-ignore lint/suspicious/noExplicitAny: see Answer.json
const statusOf = async (name: string): Promise<any> => (await user.ok('GET', `/api/servers/${name}`)).status

async function listed(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const what = `the lists of ${name}`
    await until(async () => (await statusOf(name)).counts.tools > 0, { what, timeoutMs: 60_000 })
  }
}

beyondCore(() => {
  test('lists of 4 × 16 MB that change twice a second hold neither the hub nor its memory', async () => {
    const url = await heavy({ CHANGES_MS: '500' })
    const seen = await healthDuring(hub, async () => {
      await add('restless', url)
      await listed(['restless'])
      await Bun.sleep(2_000)
    })
    await holds('restless', seen)
    expect((await statusOf('restless')).state).toBe('online')
  }, 120_000)
})

test('five servers with such lists fill the account of their user, and their state says so', async () => {
  // Five of them need two to five times the limit of their user.
  const url = await heavy({ CHANGES_MS: '500', MEGABYTES: extent('8', '16') })
  const names = ['a', 'b', 'c', 'd', 'e']
  const seen = await healthDuring(hub, async () => {
    await Promise.all(names.map(name => add(name, url)))
    const refused = async (): Promise<boolean> => {
      // One request for all: five at a time would be more than a user may send.
      const { items } = (await user.ok('GET', '/api/servers')) as { items: { status: { reason?: { code: string } } }[] }
      return items.some(({ status }) => status.reason?.code === 'quota_catalog_bytes')
    }
    await until(refused, { what: 'a refusal', timeoutMs: 60_000 })
  })
  await holds('five', seen)
}, 120_000)

beyondCore(() => {
  test('pages of millions of small values, an endless hello and heavy notifications cost no more than others', async () => {
    const [values, hello, notices] = await Promise.all([
      heavy({ SHAPE: 'values' }),
      heavy({ SHAPE: 'small', HUGE_HELLO: '1' }),
      heavy({ SHAPE: 'small', NOTICES: '1' }),
    ])
    const seen = await healthDuring(hub, async () => {
      await Promise.all([add('values', values), add('hello', hello), add('notices', notices)])
      await listed(['hello', 'notices'])
      await until(async () => (await user.ok('GET', '/api/servers/values/tools')).warnings.length > 0, {
        what: 'the warning',
        timeoutMs: 60_000,
      })
    })
    await holds('odd', seen)
    const { serverInfo, counts } = await statusOf('hello')
    expect({ serverInfo, tools: counts.tools }).toEqual({ serverInfo: { name: 'heavy', version: '1' }, tools: 5_000 })
    const { warnings } = await user.ok('GET', '/api/servers/hello/tools')
    expect(warnings.join()).toContain('the instructions of the server are cut at 65536 bytes')
  }, 120_000)

  test('a group of many large members has a list of bounded size and bounded pages, and says what is left out', async () => {
    const url = await heavy({ SHAPE: 'small' })
    const names = ['g1', 'g2', 'g3', 'g4']
    await Promise.all(names.map(name => add(name, url)))
    await listed(names)
    await user.ok('POST', '/api/groups', { name: 'wide', members: names.map(server => ({ server })) })
    const seen = await healthDuring(hub, async () => {
      const mcp = await user.mcp('/mcp/wide')
      const found: string[] = []
      let cursor: string | undefined
      do {
        const page = await mcp.listTools(cursor === undefined ? {} : { cursor })
        found.push(...page.tools.map(({ name }) => name))
        cursor = page.nextCursor
      } while (cursor !== undefined)
      expect(new Set(found).size).toBe(5_000)
      expect(mcp.getInstructions()).toContain('15000 tools are left out')
    })
    await holds('group', seen)
    const view = await user.ok('GET', '/api/groups/wide/tools?limit=1')
    expect(view.warnings).toContainEqual({
      code: 'items_left_out',
      message: '15000 tools are left out: one address offers at most 5000',
      params: { kind: 'tools', count: 15_000, limit: 5_000 },
    })
  }, 120_000)
})
