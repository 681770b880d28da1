import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { readdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { descendants } from '../support/processes.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const DISK_BYTES = 2_097_152
const SETTINGS = { mcpServers: { echo: stdioFixture('echo'), other: stdioFixture('echo', { WHO: 'other' }) } }

const hubs: { readonly hub: Hub; readonly pid: number }[] = []
const folders: string[] = []

afterAll(async () => {
  for (const { hub, pid } of hubs) {
    // The wrapper would only die of the signal.
    process.kill(pid, 'SIGTERM')
    await hub.exited()
    await removeTemp(hub.folder)
  }
  for (const folder of folders) await removeTemp(folder)
}, 120_000)

/** A hub that sees one folder as a disk of 2 MiB, `free` bytes of it free; `prepare` is shell text that runs before. */
async function onSmallDisk(disk: string, prepare: string, free: number, env: Record<string, string>): Promise<Hub> {
  folders.push(disk)
  const script = `${prepare}\nhead -c ${DISK_BYTES - free} /dev/zero > ${disk}/ballast\nexec "$@"`
  const hub = await startHub({
    settings: SETTINGS,
    env,
    wrap: [
      ...['bwrap', '--dev-bind', '/', '/', '--size', String(DISK_BYTES), '--tmpfs', disk, '--die-with-parent', '--'],
      ...['sh', '-c', script, 'sh'],
    ],
  })
  hubs.push({ hub, pid: inner(hub.pid) })
  return hub
}

/** The hub itself, below the program that made the disk for it. */
function inner(pid: number): number {
  const isHub = (child: number): boolean => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(HUB_MAIN)
  return descendants(pid).find(child => isHub(child.pid))?.pid ?? pid
}

test('a settings file on a full disk: 507 storage_full, the old file is whole, and calls go on', async () => {
  const disk = await makeTemp('disk')
  const source = await makeTemp('source')
  folders.push(source)
  await writeFile(join(source, 'mcp_settings.json'), JSON.stringify(SETTINGS, null, 2))
  const prepare = `cp ${source}/mcp_settings.json ${disk}/ && chmod 600 ${disk}/mcp_settings.json`
  const hub = await onSmallDisk(disk, prepare, 64 * 1024, { SETTINGS_FILE: join(disk, 'mcp_settings.json') })
  const admin = await hub.setup()
  await online(admin, ['echo', 'other'])
  const seen = `/proc/${hubs[0]?.pid}/root${disk}`
  const before = await readFile(join(seen, 'mcp_settings.json'), 'utf8')
  const args = ['x'.repeat(80_000)]
  const answer = await admin.request('PATCH', '/api/servers/other', { args })
  expect(answer.status).toBe(507)
  expect(answer.json.code).toBe('storage_full')
  expect(await readFile(join(seen, 'mcp_settings.json'), 'utf8')).toBe(before)
  expect((await readdir(seen)).sort()).toEqual(['ballast', 'mcp_settings.json'])
  expect((await admin.ok('GET', '/api/servers/other')).args).not.toEqual(args)
  expect(await callText(await admin.mcp('/mcp/echo'), 'echo', { text: 'on' })).toBe('on')
  expect((await admin.request('GET', '/health')).status).toBe(200)
}, 120_000)

test('a store on a full disk: 507 storage_full, nothing half-done, and calls go on', async () => {
  const disk = await makeTemp('disk')
  const hub = await onSmallDisk(disk, ':', 1_500 * 1024, { DATA_DIR: disk })
  const admin = await hub.setup()
  await online(admin, ['echo', 'other'])
  const seen = `/proc/${hubs.at(-1)?.pid}/root${disk}`
  const client = await admin.mcp('/mcp/echo')
  let refused: Awaited<ReturnType<typeof admin.request>> | undefined
  let made = 0
  // Smaller ones after that, until what is left is less than any change needs.
  for (const characters of [100_000, 20_000, 4_000]) {
    refused = undefined
    for (let n = 0; n < 60 && !refused; n += 1) {
      const body = { name: `big-${characters}-${n}`, command: 'true', args: ['x'.repeat(characters)], enabled: false }
      const answer = await admin.request('POST', '/api/servers', body)
      if (answer.status === 201) made += 1
      else refused = answer
    }
    expect(refused?.status).toBe(507)
    expect(refused?.json.code).toBe('storage_full')
  }
  expect((await admin.ok('GET', '/api/servers')).items).toHaveLength(2 + made)
  expect(await callText(client, 'echo', { text: 'on' })).toBe('on')
  const health = async () => {
    const { status, json } = await admin.request('GET', '/health')
    return { httpStatus: status, status: json.status, store: json.checks.store }
  }
  expect(await health()).toEqual({ httpStatus: 200, status: 'degraded', store: 'unwritable' })
  // What is seen and counted never takes the room that changes need.
  expect(await readdir(join(seen, 'history'))).toEqual([])
  // Room again, and nobody has to write anything for the hub to see it.
  await unlink(join(seen, 'ballast'))
  await until(async () => (await health()).status === 'ok')
  await admin.ok('POST', '/api/groups', { name: 'after', members: [] })
}, 120_000)
