// Bytes that programs of one owner do not read are bounded over all threads, not in each of them.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { LIMITS } from '../../core/config/limits.ts'
import { OwnerBacklogs } from '../../core/connections/connection/owner-backlogs.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const MIB = 2 ** 20
/** Threads of their own, each with less than a program and a thread may have, and together more than an owner may. */
const NAMES = ['one', 'two', 'three']
const CALLS = 2

let hub: Hub
let admin: Client

beforeAll(async () => {
  const server = { ...stdioFixture('unread'), isolate: true, timeout: 60_000 }
  hub = await startHub({ settings: { mcpServers: Object.fromEntries(NAMES.map(name => [name, server])) } })
  admin = await hub.setup()
  await online(admin, NAMES)
}, 120_000)

afterAll(async () => {
  // Else the calls that are never answered would be waited for.
  await Promise.all(NAMES.map(name => admin.ok('POST', `/api/servers/${name}/stop`)))
  await hub?.stop()
}, 120_000)

test('programs in threads of their own that read nothing: the one furthest behind is ended, the others stay', async () => {
  const credential = await admin.mcpKey()
  const pids = async () => Promise.all(NAMES.map(async name => (await statusOf(admin, name)).pid))
  const before = await pids()
  const text = 'x'.repeat(3.4 * MIB)
  expect(CALLS * text.length).toBeLessThan(LIMITS.upstreamWriteBacklogBytes)
  expect(NAMES.length * CALLS * text.length).toBeGreaterThan(LIMITS.ownerWriteBacklogBytes + NAMES.length * MIB)
  const answers: string[] = []
  for (const name of NAMES) {
    const client = await new RawClient(hub, `/mcp/${name}`, credential).open()
    // The first call stops the program; those behind it wait.
    for (let call = 0; call <= CALLS; call += 1) {
      const args = call === 0 ? {} : { text }
      void client
        .send('tools/call', { name: 'stop', arguments: args })
        .then(async response => answers.push(await response.text()))
        .catch(() => undefined)
    }
  }
  await until(() => answers.length >= CALLS + 1, { what: 'the calls of one program to fail', timeoutMs: 60_000 })
  expect(answers[0]).toContain('does not read its standard input')
  await until(async () => (await pids()).filter((pid, at) => pid !== before[at]).length === 1, {
    what: 'one program to be gone',
    timeoutMs: 60_000,
  })
  expect(answers).toHaveLength(CALLS + 1)
}, 120_000)

test('a stranger’s large calls end nobody’s connection to a program that reads: what is too much is refused', async () => {
  await admin.ok('POST', '/api/servers', { name: 'echo', ...stdioFixture('echo'), visibility: 'public' })
  await online(admin, ['echo'])
  const mallory = await hub.user('mallory')
  const [strange, own] = await Promise.all([
    new RawClient(hub, '/mcp/@admin/echo', await mallory.mcpKey()).open(),
    new RawClient(hub, '/mcp/echo', await admin.mcpKey()).open(),
  ])
  const { pid } = await statusOf(admin, 'echo')
  const echo = (client: RawClient, text: string) => client.call('tools/call', { name: 'echo', arguments: { text } })
  const text = 'x'.repeat(3.9 * 1_000_000)
  const large = Promise.all(Array.from({ length: 8 }, () => echo(strange, text)))
  const small: unknown[] = []
  for (let call = 0; call < 20; call += 1) small.push((await echo(own, `small ${call}`)).error)
  expect(small.filter(error => error !== undefined)).toEqual([])
  const codes = (await large).map(({ error }) => (error?.data as { code?: string } | undefined)?.code ?? 'answered')
  expect(codes.filter(code => !['answered', 'overloaded', 'result_too_large', 'quota_bytes'].includes(code))).toEqual(
    [],
  )
  console.log(codes.join(' '))
  expect((await statusOf(admin, 'echo')).pid).toBe(pid)
}, 120_000)

test('the largest goes first, in whatever thread, until the rest fits', () => {
  const ended: string[] = []
  const thread = (name: string) => ({
    control: ({ owner, least }: { readonly owner: string; readonly least: number }) =>
      void ended.push(`${name}: ${owner} ${least}`),
  })
  const [a, b, c] = [thread('a'), thread('b'), thread('c')]
  const backlogs = new OwnerBacklogs(100)
  backlogs.set(a, 'ada', 60, 30)
  backlogs.set(b, 'ada', 40, 40)
  backlogs.set(c, 'bob', 90, 90)
  expect(ended).toEqual([])
  // A program that reads is not ended for those that do not.
  backlogs.set(c, 'ada', 1, 1)
  expect(ended).toEqual(['b: ada 40'])
  backlogs.set(b, 'ada', 0, 0)
  backlogs.set(c, 'ada', 39, 20)
  backlogs.remove(a)
  backlogs.set(b, 'ada', 61, 50)
  expect(ended).toEqual(['b: ada 40'])
  backlogs.set(c, 'ada', 80, 20)
  expect(ended).toEqual(['b: ada 40', 'b: ada 50'])
})
