import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { footprint } from '../support/footprint.ts'
import { type Hub, HubDidNotStart, ROOT, startHub } from '../support/hub.ts'
import { callText, online, type Status } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { KNOWN, known } from './fixtures/known.ts'

/** The hub itself takes about 27 descriptors, keeps 32 back, and refuses a start when fewer than 14 more are left. */
const MOST_DESCRIPTORS = 104
const TINY = join(ROOT, 'test/support/mcp-servers/tiny.sh')

const hubs: Hub[] = []

afterAll(async () => {
  for (const hub of hubs) await hub.stop()
}, 120_000)

async function start(options: Parameters<typeof startHub>[0]): Promise<Hub> {
  const hub = await startHub(options)
  hubs.push(hub)
  return hub
}

async function failure(work: Promise<Hub>): Promise<HubDidNotStart> {
  const outcome = await work.catch((error: unknown) => error)
  if (outcome instanceof HubDidNotStart) return outcome
  throw new Error(`The hub started: ${String(outcome)}`)
}

test('a port or a data folder that is taken ends the start with 1 and one line, and the other hub does not notice', async () => {
  const first = await start({ settings: { mcpServers: { echo: known('echo') } } })
  const port = new URL(first.url).port
  const taken = await failure(startHub({ env: { PORT: port } }))
  expect(taken.exitCode).toBe(1)
  expect(taken.log.split('\n').filter(line => line.startsWith('error: '))).toEqual([
    expect.stringContaining('error: port_in_use: '),
  ])
  const locked = await failure(startHub({ folder: first.folder }))
  expect(locked.exitCode).toBe(1)
  expect(locked.log).toContain(`error: data_dir_locked: `)
  expect(locked.log).toContain(String(first.pid))
  const admin = await first.setup()
  await online(admin, ['echo'])
  expect(await callText(await admin.mcp('/mcp/echo'), 'echo', { text: 'unharmed' })).toBe('unharmed')
}, 120_000)

beyondCore(() => {
  test('without descriptors for another child the start is refused, the hub keeps its own, and those that come free are used', async () => {
    const names = Array.from({ length: 14 }, (_, n) => `server-${n}`)
    const hub = await start({
      wrap: ['prlimit', `--nofile=${MOST_DESCRIPTORS}`, '--'],
      env: { WORKERS: '1' },
      settings: {
        mcpServers: Object.fromEntries(names.map(name => [name, { command: TINY, args: [name], ...KNOWN }])),
      },
    })
    const admin = await hub.setup()
    type Listed = { readonly name: string; readonly status: Status }
    const listed = async (): Promise<readonly Listed[]> => (await admin.ok('GET', '/api/servers')).items
    const refused = await until(
      async () => {
        const all = await listed()
        const found = all.filter(({ status }) => status.reason?.code === 'spawn_failed')
        return all.every(({ status }) => status.state !== 'connecting') && found.length > 0 ? found : undefined
      },
      { timeoutMs: 60_000, what: 'starts that are refused' },
    )
    expect(refused[0]?.status.reason?.message).toContain('EMFILE')
    await admin.ok('POST', '/api/groups', { name: 'kept', members: [] })
    expect((await admin.request('GET', '/health')).status).toBe(200)
    const running = (await listed()).filter(({ status }) => status.state === 'online').map(({ name }) => name)
    expect(running.length).toBeGreaterThan(0)
    for (const name of running) await admin.ok('POST', `/api/servers/${name}/stop`)
    await online(admin, [refused[0]?.name ?? ''], 60_000)
  }, 120_000)

  test('clients that take every descriptor are refused, and the hub answers again when they have gone', async () => {
    const hub = hubs.at(-1) as Hub
    const admin = await hub.setup()
    const { hostname, port } = new URL(hub.url)
    const crowd = await Promise.allSettled(
      Array.from({ length: 2 * MOST_DESCRIPTORS }, () =>
        Bun.connect({ hostname, port: Number(port), socket: { data() {}, open() {}, close() {}, error() {} } }),
      ),
    )
    await admin.request('GET', '/health').catch(() => undefined)
    expect(footprint(hub.pid).descriptors).toBeLessThanOrEqual(MOST_DESCRIPTORS)
    for (const one of crowd) if (one.status === 'fulfilled') one.value.end()
    await until(async () => (await admin.request('GET', '/health')).status === 200, { timeoutMs: 60_000 })
    await admin.ok('POST', '/api/groups', { name: 'after', members: [] })
  }, 120_000)
})
