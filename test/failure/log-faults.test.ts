import { afterEach, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { constants, type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { atMost } from '../support/pace.ts'
import { alive, descendants } from '../support/processes.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { timed, until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const SETTINGS = { mcpServers: { echo: known('echo') } }
/** Each call leaves a record of some 300 bytes; this is a good deal more than a pipe or the small disk takes. */
const CALLS = 280
/** Bytes that a pipe takes before its writer waits. */
const PIPE_BYTES = 64 * 1024

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
async function startPiped(): Promise<{ readonly admin: Client; readonly pipe: string; readonly reader: FileHandle }> {
  folder = await makeTemp('pipe')
  const pipe = join(folder, 'log')
  expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0)
  const reader = await openPipe(pipe)
  hub = await startHub({ settings: SETTINGS, wrap: ['sh', '-c', `exec "$@" >${pipe}`, 'sh'] })
  pid = hub.pid
  const admin = await hub.setup()
  await online(admin, ['echo'])
  return { admin, pipe, reader }
}

function openPipe(pipe: string): Promise<FileHandle> {
  return open(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
}

async function callOften(admin: Client, calls = CALLS): Promise<number> {
  const client = await admin.mcp('/mcp/echo')
  let slowest = 0
  for (let call = 0; call < calls; call += 1) {
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

test('a log that nobody reads any more, or whose reader has stopped reading, stops no call, and the hub still ends in good order', async () => {
  const { admin, pipe, reader } = await startPiped()
  expect(await refusal(admin)).toBeUndefined()
  await reader.close()
  expect(await callOften(admin, 50)).toBeLessThan(atMost(250))
  expect((await admin.request('GET', '/health')).status).toBe(200)
  expect((await until(() => refusal(admin), { what: 'the sink to say why' })).code).toBe('log_unwritable')
  const next = await openPipe(pipe)
  expect(await callOften(admin)).toBeLessThan(atMost(250))
  expect((await admin.request('GET', '/health')).status).toBe(200)
  hub?.signal('SIGTERM')
  expect(await hub?.exited(10_000)).toBe(0)
  // The pipe was full, and delayed nobody.
  const held = Buffer.alloc(1024 * 1024)
  expect((await next.read(held, 0, held.length)).bytesRead).toBeGreaterThan(PIPE_BYTES / 2)
  await next.close()
}, 120_000)

beyondCore(() => {
  test('a log file on a full disk stops no call, continues where it stopped once there is room again, and in a new file when it is moved away', async () => {
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
    const calls = (text: string): number => text.split('\n').filter(line => line.includes('tools/call')).length
    const stoppedAt = calls(await readFile(join(seen, 'hub.log'), 'utf8'))
    await Bun.spawn(['rm', join(seen, 'ballast')]).exited
    const text = await until(
      async () => {
        await callOften(admin, 20)
        const now = await readFile(join(seen, 'hub.log'), 'utf8')
        return calls(now) > stoppedAt + 20 ? now : undefined
      },
      { timeoutMs: 60_000, what: 'the log to go on' },
    )
    // The last line may be incomplete.
    for (const line of text.split('\n').slice(0, -1)) JSON.parse(line)
    await until(async () => (await refusal(admin)) === undefined, { what: 'the end of the failure' })
    for (const signal of [true, false]) await movedAway(admin, join(seen, 'hub.log'), signal)
    process.kill(pid, 'SIGHUP')
    expect((await admin.request('GET', '/health')).status).toBe(200)
    process.kill(pid, 'SIGTERM')
    await hub.exited(10_000)
  }, 120_000)
})

/** After SIGHUP, and without it, lines go to a new file. */
async function movedAway(admin: Client, file: string, signal: boolean): Promise<void> {
  const client = await admin.mcp('/mcp/echo')
  const written = () => existsSync(file) && readFileSync(file, 'utf8').includes('tools/call')
  // Lines wait a moment for each other before they are written.
  await until(written, { what: 'lines in the file' })
  await rename(file, `${file}.away`)
  if (signal) process.kill(pid, 'SIGHUP')
  const goesOn = async () => (await callText(client, 'echo', { text: 'x' })) === 'x' && written()
  await until(goesOn, { what: `lines in the new file, ${signal ? 'with' : 'without'} SIGHUP` })
  expect(readFileSync(`${file}.away`, 'utf8')).not.toBe('')
  await client.close()
}
