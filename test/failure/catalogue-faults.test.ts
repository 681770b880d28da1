import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { processStat } from '../support/processes.ts'
import { callText, online, statusOf, toolNames } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { timed } from '../support/wait.ts'

let hub: Hub
let admin: Client
let unharmed: () => Promise<void>

beforeAll(async () => {
  hub = await startHub({
    countTimers: true,
    settings: {
      mcpServers: {
        ...Object.fromEntries(
          ['many', 'endless', 'fat', 'malformed', 'same'].map(kind => [
            kind,
            stdioFixture('unruly', { CATALOG: kind }),
          ]),
        ),
        echo: stdioFixture('echo'),
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['many', 'endless', 'fat', 'malformed', 'same', 'echo'])
  unharmed = await watchFor(hub, admin, { grownBytes: 150_000_000 })
}, 120_000)

afterEach(() => unharmed(), 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

for (const [name, count, warning] of [
  ['many', 5_000, 'more than 5000 items'],
  ['endless', 64, 'more than 64 pages'],
  ['same', 4, 'the same next page again'],
  ['same', 4, '6 items are listed more than once'],
  ['fat', 4, '1 items over 262144 bytes'],
] as const) {
  test(`the catalogue of "${name}" is cut at its limit, the rest works, and what was left out is told`, async () => {
    await admin.ok('POST', `/api/servers/${name}/restart?wait=10s`)
    const client = await admin.mcp(`/mcp/${name}`)
    expect((await toolNames(client)).length).toBe(count)
    const { warnings } = await admin.ok('GET', `/api/servers/${name}/tools`)
    expect(JSON.stringify(warnings)).toContain(warning)
    expect(await statusOf(admin, name)).toMatchObject({ state: 'online', counts: { tools: count } })
  }, 120_000)
}

test('tools in a form that MCP does not know cost nobody the tools of the others in the group', async () => {
  await admin.ok('POST', '/api/groups', { name: 'beside', members: ['echo', 'malformed'] })
  const names = await toolNames(await admin.mcp('/mcp/beside'))
  expect(names).toEqual(expect.arrayContaining(['echo', 'quick', 'odd_0', 'odd_1', 'odd_2', 'odd_3', 'odd_7']))
  for (const name of ['odd_4', 'odd_5', 'odd_6']) expect(names).not.toContain(name)
  const { warnings } = await admin.ok('GET', '/api/servers/malformed/tools')
  expect(JSON.stringify(warnings)).toContain('the tool \\"odd_6\\" is left out')
}, 120_000)

test('reading huge lists again and again delays nobody for long and leaks nothing', async () => {
  const client = await admin.mcp('/mcp/echo')
  const before = processStat(hub.pid)?.residentBytes ?? 0
  // What the machine does besides delays calls as well.
  let quiet = 0
  for (let call = 0; call < 100; call += 1) {
    quiet = Math.max(quiet, (await timed(() => callText(client, 'echo', { text: 'x' }))).ms)
  }
  let slowest = 0
  for (let round = 0; round < 5; round += 1) {
    for (const name of ['many', 'fat']) await admin.ok('POST', `/api/servers/${name}/restart`)
    for (let call = 0; call < 40; call += 1) {
      slowest = Math.max(slowest, (await timed(() => callText(client, 'echo', { text: 'x' }))).ms)
      // So that the calls are spread over the reading; none waits for it.
      await Bun.sleep(5)
    }
    await online(admin, ['many', 'fat'])
  }
  expect(slowest).toBeLessThan(atMost(250) + 5 * quiet)
  expect((processStat(hub.pid)?.residentBytes ?? 0) - before).toBeLessThan(150_000_000)
}, 120_000)
