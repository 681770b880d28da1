import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Hub, send, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { descendants } from '../support/processes.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { expectHardened, expectWell } from './rows.ts'

let hub: Hub
/** Process id of the hub itself, below the program that started it. */
let pid = 0

/** A small disk that the hub alone sees. */
let disk = ''

beforeAll(async () => {
  disk = await makeTemp('disk')
  const script = `head -c 1040000 /dev/zero > ${disk}/ballast\nexec "$@"`
  hub = await startHub({
    env: { LOG_FILE: join(disk, 'hub.log'), ENABLE_REQUEST_LOGS: 'true' },
    wrap: [
      ...['bwrap', '--dev-bind', '/', '/', '--size', '1048576', '--tmpfs', disk, '--die-with-parent', '--'],
      ...['sh', '-c', script, 'sh'],
    ],
  })
  const isHub = (child: number): boolean => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(HUB_MAIN)
  pid = descendants(hub.pid).find(child => isHub(child.pid))?.pid ?? 0
}, 120_000)

afterAll(async () => {
  if (pid > 0) process.kill(pid, 'SIGTERM')
  await hub?.exited()
  for (const folder of [hub?.folder, disk]) if (folder) await removeTemp(folder)
}, 120_000)

const health = async (url: string) => {
  const answer = await send(url, 'GET', '/health')
  expectHardened(answer)
  return { code: answer.status, status: answer.json.status, checks: answer.json.checks }
}

test('/health is degraded while descriptors are short, says so, and recovers without a restart', async () => {
  const limit = (soft: number) =>
    expect(Bun.spawnSync(['prlimit', `--pid=${pid}`, `--nofile=${soft}:`]).exitCode).toBe(0)
  const before = /^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1]
  limit(readdirSync(`/proc/${pid}/fd`).length + 20)
  const short = await until(async () => {
    const now = await health(hub.url)
    return now.status === 'degraded' ? now : undefined
  })
  expect(short).toMatchObject({ code: 200, checks: { store: 'ok', descriptors: 'short' } })
  limit(Number(before))
  await until(async () => (await health(hub.url)).status === 'ok')
  await expectWell(hub)
}, 120_000)

test('/health is degraded while the log cannot be written, says so, and recovers without a restart', async () => {
  expect(await health(hub.url)).toMatchObject({ code: 200, status: 'ok', checks: { sinks: 'ok' } })
  const failing = await until(
    async () => {
      // Each of these requests leaves a record in the log.
      await Promise.all(Array.from({ length: 10 }, () => fetch(`${hub.url}/api/public/servers`)))
      const now = await health(hub.url)
      return now.status === 'degraded' ? now : undefined
    },
    { timeoutMs: 60_000, intervalMs: 0 },
  )
  expect(failing).toMatchObject({ code: 200, checks: { store: 'ok', sinks: 'failed' } })
  await Bun.spawn(['rm', `/proc/${pid}/root${disk}/ballast`]).exited
  await until(async () => (await health(hub.url)).status === 'ok', { timeoutMs: 60_000 })
  process.kill(pid, 0)
}, 120_000)
