import { afterEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { constants, type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { atMost } from '../support/pace.ts'
import { alive, descendants } from '../support/processes.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { timed, until } from '../support/wait.ts'

const SETTINGS = { mcpServers: { echo: stdioFixture('echo') } }
/** Each call leaves a record of some 300 bytes; this is a good deal more than a pipe or the small disk takes. */
const CALLS = 600

let hub: Hub | undefined
let pid = 0
let folder = ''

afterEach(async () => {
  if (pid > 0 && alive(pid)) process.kill(pid, 'SIGKILL')
  await hub?.exited()
  if (hub) await removeTemp(hub.folder)
  if (folder !== '') await removeTemp(folder)
  hub = undefined
  folder = ''
}, 120_000)

/** A hub whose standard output is a named pipe, and the reading end of that. */
async function startPiped(): Promise<{ readonly admin: Client; readonly reader: FileHandle }> {
  folder = await makeTemp('pipe')
  const pipe = join(folder, 'log')
  expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0)
  const reader = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  hub = await startHub({ settings: SETTINGS, wrap: ['sh', '-c', `exec "$@" >${pipe}`, 'sh'] })
  pid = hub.pid
  const admin = await hub.setup()
  await online(admin, ['echo'])
  return { admin, reader }
}

async function callOften(admin: Client): Promise<number> {
  const client = await admin.mcp('/mcp/echo')
  let slowest = 0
  for (let call = 0; call < CALLS; call += 1) {
    slowest = Math.max(slowest, (await timed(() => callText(client, 'echo', { text: 'x'.repeat(100) }))).ms)
  }
  await client.close()
  return slowest
}

/** Why the log takes no lines now. */
async function refusal(admin: Client): Promise<{ readonly code: string } | undefined> {
  const { sinks } = await admin.ok('GET', '/api/admin/logging')
  return sinks[0].reason
}

async function endsWell(): Promise<void> {
  hub?.signal('SIGTERM')
  expect(await hub?.exited(10_000)).toBe(0)
}

test('a log that nobody reads any more stops no call, and the hub still ends in good order', async () => {
  const { admin, reader } = await startPiped()
  expect(await refusal(admin)).toBeUndefined()
  await reader.close()
  expect(await callOften(admin)).toBeLessThan(atMost(250))
  expect((await admin.request('GET', '/health')).status).toBe(200)
  expect((await until(() => refusal(admin), { what: 'the sink to say why' })).code).toBe('log_unwritable')
  await endsWell()
}, 120_000)

test('a log whose reader has stopped reading stops no call, and the hub still ends in good order', async () => {
  const { admin, reader } = await startPiped()
  expect(await callOften(admin)).toBeLessThan(atMost(250))
  expect((await admin.request('GET', '/health')).status).toBe(200)
  await endsWell()
  await reader.close()
}, 120_000)

test('a log file on a full disk stops no call, and goes on where it stopped once there is room again', async () => {
  folder = await makeTemp('disk')
  const script = `head -c 1000000 /dev/zero > ${folder}/ballast\nexec "$@"`
  hub = await startHub({
    settings: SETTINGS,
    env: { LOG_FILE: join(folder, 'hub.log') },
    wrap: [
      ...['bwrap', '--dev-bind', '/', '/', '--size', '1048576', '--tmpfs', folder, '--die-with-parent', '--'],
      ...['sh', '-c', script, 'sh'],
    ],
  })
  const isHub = (child: number): boolean => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(HUB_MAIN)
  pid = descendants(hub.pid).find(child => isHub(child.pid))?.pid ?? 0
  const admin = await hub.setup()
  await online(admin, ['echo'])
  expect(await callOften(admin)).toBeLessThan(atMost(250))
  expect((await until(() => refusal(admin), { what: 'the sink to say why' })).code).toBe('storage_full')
  const seen = `/proc/${pid}/root${folder}`
  await Bun.spawn(['rm', join(seen, 'ballast')]).exited
  const text = await until(
    async () => {
      await callOften(admin)
      const now = await readFile(join(seen, 'hub.log'), 'utf8')
      return now.split('\n').filter(line => line.includes('tools/call')).length > CALLS ? now : undefined
    },
    { timeoutMs: 60_000, what: 'the log to go on' },
  )
  // The last one may just be under way.
  for (const line of text.split('\n').slice(0, -1)) JSON.parse(line)
  await until(async () => (await refusal(admin)) === undefined, { what: 'the end of the failure' })
  process.kill(pid, 'SIGTERM')
  await hub.exited(10_000)
}, 120_000)
