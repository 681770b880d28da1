import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { readdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { descendants } from '../support/processes.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const DISK_BYTES = 2_097_152
/** The history stores nothing where less than 32 MiB are free. */
const STORE_DISK_BYTES = 48 * 1024 * 1024
const SETTINGS = { mcpServers: { echo: known('echo'), other: known('echo', { WHO: 'other' }) } }

/** Bytes left free on the disk of the settings file, and on the disk of the data folder. */
const SETTINGS_FREE = 64 * 1024
const STORE_FREE = 1_500 * 1024

let hub: Hub
let admin: Client
/** The hub itself, below the program that made the disks for it. */
let pid = 0
let settingsDisk = ''
let storeDisk = ''
let source = ''

beforeAll(async () => {
  settingsDisk = await makeTemp('disk')
  storeDisk = await makeTemp('store')
  source = await makeTemp('source')
  await writeFile(join(source, 'mcp_settings.json'), JSON.stringify(SETTINGS, null, 2))
  const script = [
    `cp ${source}/mcp_settings.json ${settingsDisk}/ && chmod 600 ${settingsDisk}/mcp_settings.json`,
    `head -c ${DISK_BYTES - SETTINGS_FREE} /dev/zero > ${settingsDisk}/ballast`,
    `head -c ${STORE_DISK_BYTES - STORE_FREE} /dev/zero > ${storeDisk}/ballast`,
    'exec "$@"',
  ]
  const disk = (folder: string, bytes: number) => ['--size', String(bytes), '--tmpfs', folder]
  hub = await startHub({
    settings: SETTINGS,
    env: { SETTINGS_FILE: join(settingsDisk, 'mcp_settings.json'), DATA_DIR: storeDisk },
    wrap: [
      ...['bwrap', '--dev-bind', '/', '/', '--die-with-parent'],
      ...[...disk(settingsDisk, DISK_BYTES), ...disk(storeDisk, STORE_DISK_BYTES), '--'],
      ...['sh', '-c', script.join('\n'), 'sh'],
    ],
  })
  const isHub = (child: number): boolean => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(HUB_MAIN)
  pid = descendants(hub.pid).find(child => isHub(child.pid))?.pid ?? hub.pid
  admin = await hub.setup()
  await online(admin, ['echo', 'other'])
}, 120_000)

afterAll(async () => {
  // The signal goes to the hub itself, since the wrapper would die of it without passing it on.
  process.kill(pid, 'SIGTERM')
  await hub.exited()
  for (const folder of [hub.folder, settingsDisk, storeDisk, source]) await removeTemp(folder)
}, 120_000)

test('a settings file on a full disk: 507 storage_full, the old file is whole, and calls continue', async () => {
  const seen = `/proc/${pid}/root${settingsDisk}`
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

test('a store on a full disk: 507 storage_full, nothing half-done, and calls continue', async () => {
  const seen = `/proc/${pid}/root${storeDisk}`
  const client = await admin.mcp('/mcp/echo')
  let refused: Awaited<ReturnType<typeof admin.request>> | undefined
  let made = 0
  // Smaller changes follow, until less is left than any change needs.
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
    const { store, history, historyFault } = json.checks
    return { httpStatus: status, status: json.status, store, history, code: historyFault?.code }
  }
  // The first batch of records is written after the hub has run for a moment.
  await until(async () => (await health()).history === 'paused')
  const paused = { history: 'paused', code: 'storage_full' }
  expect(await health()).toEqual({ httpStatus: 200, status: 'degraded', store: 'unwritable', ...paused })
  // Records and counts never take the room that changes need.
  expect(await readdir(join(seen, 'history'))).toEqual([])
  // When there is room again, the hub sees it without a write by anybody.
  await unlink(join(seen, 'ballast'))
  await until(async () => (await health()).store === 'ok')
  // A search stores waiting records, from the first one on: nothing was lost.
  await until(async () => {
    const { items } = await admin.ok('GET', '/api/logs/search?order=asc&limit=10')
    return items.some(({ message }: { message: string }) => message === 'The hub is running')
  })
  await until(async () => (await health()).status === 'ok')
  await admin.ok('POST', '/api/groups', { name: 'after', members: [] })
}, 120_000)
