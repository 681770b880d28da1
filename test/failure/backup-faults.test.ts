/** Backups that are damaged, newer, older or of another key, and restores that are refused or killed. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { copyFile, cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { writeBackupFile } from '../../core/moving/backup/backup-file.ts'
import { schemaNames } from '../../core/store/migrate.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, PASSWORD, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { inFolder } from '../support/moving.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const PASSPHRASE = 'a long passphrase of mine'
const SECRET = 'sk-backup-secret-1'
/** Pages of 200 rows each, in a backup that takes a while to restore. */
const PAGES = 100

let temp: string
let number = 0
/** Runs until the first test has stopped it. */
let hub: Hub | undefined
let admin: Client
/** Its folder, its backup, and the same with its key. */
let used: string
let plain: string
let keyed: string
/** A new folder. */
let folder: string
/** A folder into which the backup with its key was restored. */
let restored: string

beforeAll(async () => {
  temp = await makeTemp('backup-faults')
  hub = await startHub()
  used = hub.folder
  admin = await hub.setup()
  await admin.ok('POST', '/api/servers', { name: 'stored', ...known('echo', { API_KEY: SECRET }) })
  plain = join(temp, 'plain')
  keyed = join(temp, 'keyed')
  expect((await inFolder(hub.folder, ['backup', plain])).code).toBe(0)
  expect((await inFolder(hub.folder, ['backup', keyed, '--with-key'], { stdin: `${PASSPHRASE}\n` })).code).toBe(0)
}, 120_000)

afterAll(async () => {
  await hub?.stop({ keep: true })
  await removeTemp(used)
  await removeTemp(temp)
})

beforeEach(async () => {
  number += 1
  folder = join(temp, `folder-${number}`)
  await mkdir(join(folder, 'data'), { recursive: true, mode: 0o700 })
})

async function withKey(): Promise<void> {
  await copyFile(join(used, 'data', 'master.key'), join(folder, 'data', 'master.key'))
}

/** All rows that a folder's hub holds, as text. */
async function rowsIn(of: string): Promise<string> {
  number += 1
  const file = join(temp, `rows-${number}`)
  const { code, stderr } = await inFolder(of, ['backup', file])
  if (code !== 0) throw new Error(stderr)
  return gunzipSync(await readFile(file))
    .toString()
    .split('\n')
    .slice(1, -2)
    .join('\n')
}

/** Starts a hub on the folder, and reads the secret of its server through a call. */
async function secretIn(of: string): Promise<string> {
  const hub = await startHub({ folder: of })
  const admin = await hub.signIn('admin')
  await online(admin, ['stored'])
  const text = await callText(await admin.mcp('/mcp/stored'), 'env', { name: 'API_KEY' })
  await hub.stop({ keep: true })
  return text
}

async function refused(file: string, code: string, exit = 78, ...options: string[]): Promise<string> {
  const done = await inFolder(folder, ['restore', file, ...options], { stdin: `${PASSPHRASE}\n` })
  expect([done.stdout, done.code, /^error: (\w+):/.exec(done.stderr)?.[1] ?? '']).toEqual(['', exit, code])
  return done.stderr
}

test('the hub works on while a backup is made', async () => {
  if (!hub) throw new Error('the hub does not run')
  await online(admin, ['stored'])
  const client = await admin.mcp('/mcp/stored')
  const making = inFolder(used, ['backup', join(folder, 'meanwhile')])
  for (let call = 0; call < 20; call += 1) {
    await admin.ok('POST', '/api/servers', { name: `s${call}`, command: 'never', enabled: false })
    expect(await callText(client, 'echo', { text: 'x' })).toBe('x')
  }
  expect((await making).code).toBe(0)
  // The same over HTTP, one at a time and only after a sign-in.
  const get = (token: string) =>
    fetch(`${hub?.url}/api/admin/backup`, { headers: { authorization: `Bearer ${token}` } })
  const [first, second] = await Promise.all([get(admin.token), get(admin.token)])
  expect([first.status, second.status].sort()).toEqual([200, 503])
  const ok = first.status === 200 ? first : second
  expect(ok.headers.get('content-disposition')).toMatch(/^attachment; filename="patchbay-[\d-]+\.backup"$/)
  const downloaded = join(folder, 'downloaded')
  await writeFile(downloaded, new Uint8Array(await ok.arrayBuffer()))
  // A client that disconnects in the middle delays nobody.
  await (await get(admin.token)).body?.cancel()
  await until(async () => {
    const again = await get(admin.token)
    await again.body?.cancel()
    return again.status === 200
  })
  const apiKey = (await admin.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })).secret
  expect((await get(apiKey)).status).toBe(403)
  await admin.ok('POST', '/api/admin/users', { username: 'dora', password: PASSWORD })
  expect((await get((await hub.signIn('dora')).token)).status).toBe(403)
  expect((await readdir(hub.dataDir)).filter(name => name.endsWith('.part'))).toEqual([])
  await hub.stop({ keep: true })
  hub = undefined
  expect(gunzipSync(await readFile(downloaded)).toString()).toContain('"stored"')
  if (extent(true, false)) return
  await withKey()
  expect((await inFolder(folder, ['restore', downloaded])).stderr).toBe('')
  expect(await rowsIn(folder)).toContain('"stored"')
}, 120_000)

test('a backup is a file of its owner alone, holds no secret in the clear, and overwrites none', async () => {
  for (const file of [plain, keyed]) {
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const text = gunzipSync(await readFile(file)).toString()
    expect(text).not.toContain(SECRET)
    expect(text).not.toContain((await readFile(join(used, 'data', 'master.key'), 'utf8')).trim())
  }
  const before = await readFile(plain)
  const again = await inFolder(used, ['backup', plain])
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already')])
  expect((await readFile(plain)).equals(before)).toBe(true)
})

test('with --with-key a backup and its passphrase are enough; another passphrase is not', async () => {
  const short = await inFolder(used, ['backup', join(folder, 'x'), '--with-key'], { stdin: 'short\n' })
  expect([short.code, short.stderr]).toEqual([1, expect.stringContaining('at least 12')])
  const wrong = await inFolder(folder, ['restore', keyed, '--passphrase-stdin'], { stdin: 'another passphrase' })
  expect([wrong.code, wrong.stderr]).toEqual([78, expect.stringContaining('backup_key_missing')])
  expect(await refused(keyed, 'backup_key_missing')).toContain('--passphrase-stdin')
  expect(await refused(plain, 'backup_key_missing')).toContain('MASTER_KEY')
  expect(await readdir(join(folder, 'data'))).not.toContain('patchbay.db')
  const done = await inFolder(folder, ['restore', keyed, '--passphrase-stdin'], { stdin: PASSPHRASE })
  expect([done.code, done.stderr]).toEqual([0, ''])
  restored = folder
}, 120_000)

test('a hub that is used keeps what it holds without --replace; with it, the old can be put back', async () => {
  folder = restored
  const other = await startHub({ folder })
  const boss = await other.signIn('admin')
  await online(boss, ['stored'])
  expect(await callText(await boss.mcp('/mcp/stored'), 'env', { name: 'API_KEY' })).toBe(SECRET)
  await boss.ok('POST', '/api/admin/users', { username: 'carol', password: PASSWORD })
  const running = await inFolder(folder, ['restore', plain])
  expect([running.code, running.stderr]).toEqual([1, expect.stringContaining('data_dir_locked')])
  await other.stop({ keep: true })
  const before = await rowsIn(folder)
  const old = await readFile(join(folder, 'data', 'master.key'), 'utf8')
  const done = await inFolder(folder, ['restore', plain])
  expect([done.code, done.stderr]).toEqual([1, expect.stringContaining('--replace')])
  expect(await rowsIn(folder)).toBe(before)
  let rotated = before
  if (extent(false, true)) {
    // Makes sure that the key that is put aside differs from that of the backup.
    expect((await inFolder(folder, ['secrets', 'rotate'])).code).toBe(0)
    rotated = await rowsIn(folder)
  }
  const replaced = await inFolder(folder, ['restore', keyed, '--passphrase-stdin', '--replace', '--json'], {
    stdin: PASSPHRASE,
  })
  expect([replaced.code, replaced.stderr]).toEqual([0, ''])
  const { aside } = JSON.parse(replaced.stdout)
  expect((await readdir(aside)).sort()).toEqual(['database.backup', ...extent([], ['master.key'])])
  expect(await readFile(join(folder, 'data', 'master.key'), 'utf8')).toBe(old)
  expect(await rowsIn(folder)).not.toContain('"carol"')
  if (extent(true, false)) return
  expect(await secretIn(folder)).toBe(SECRET)
  // The state before can be restored too.
  await copyFile(join(aside, 'master.key'), join(folder, 'data', 'master.key'))
  expect((await inFolder(folder, ['restore', join(aside, 'database.backup'), '--replace'])).code).toBe(0)
  expect((await rowsIn(folder)).replace(/"token_epoch":\d+/g, '')).toBe(rotated.replace(/"token_epoch":\d+/g, ''))
}, 120_000)

test('a file that is cut, changed or something else changes nothing', async () => {
  await cp(join(used, 'data'), join(folder, 'data'), { recursive: true })
  await copyFile(join(used, 'mcp_settings.json'), join(folder, 'mcp_settings.json'))
  const before = await rowsIn(folder)
  const whole = await readFile(plain)
  const text = gunzipSync(whole).toString()
  const lines = text.trimEnd().split('\n')
  const bad = join(folder, 'bad')
  const cases: Uint8Array[] = [
    ...[0, 1, 10, whole.length >> 1, whole.length - 9, whole.length - 1].map(length => whole.subarray(0, length)),
    ...[20, whole.length >> 1, whole.length - 20, whole.length - 3].map(at => {
      const flipped = Uint8Array.from(whole)
      flipped[at] = (flipped[at] ?? 0) ^ 0x10
      return flipped
    }),
    Buffer.from('{"format":"patchbay-backup"}'),
    gzipSync('hello\n'),
    gzipSync('{"hello": 1}\n'),
    gzipSync(lines.slice(0, -1).join('\n')),
    gzipSync(`${text}{"user":{}}\n`),
    gzipSync(text.replace('"admin"', '"mallory"')),
    gzipSync(lines.filter(line => !line.startsWith('{"user"')).join('\n')),
  ]
  // The suite tries a backup cut to a half, and one without its end.
  for (const bytes of extent(
    [3, 13].map(at => cases[at] as Uint8Array),
    cases,
  )) {
    await writeFile(bad, bytes)
    await refused(bad, 'backup_corrupt', 78, '--replace')
  }
  expect((await refused(join(folder, 'absent'), '', 1)).trim()).toEndWith('ENOENT')
  expect(await rowsIn(folder)).toBe(before)
  expect((await readdir(join(folder, 'data'))).filter(name => /^restore-|^backups$/.test(name))).toEqual([])
}, 120_000)

test('rows that the tables do not take are refused before anything is written', async () => {
  await withKey()
  const schema = schemaNames().at(-1) ?? ''
  const header = { format: 'patchbay-backup' as const, version: 1, hub: '0', schema, createdAt: '', keys: [] }
  const cases = [
    { table: 'kysely_migration', row: { name: 'x', timestamp: 'y' } },
    { table: 'sqlite_schema', row: { name: 'x' } },
    { table: 'user', row: { id: 'x', '"; drop table user; --': 1 } },
    { table: 'user', row: { id: 'only' } },
    { table: 'access_key', row: keyOf('nobody') },
    { table: 'setting', row: { scope: 's', key: 'k', value: ['x'], secret: 0, updated_at: '' } },
  ]
  for (const [at, { table, row }] of extent(
    [0, 4].map(each => cases[each] as (typeof cases)[number]),
    cases,
  ).entries()) {
    const file = join(folder, `bad-${at}`)
    const rows = (async function* () {
      yield { table, rows: [row] }
    })()
    await writeBackupFile(file, { header: { ...header, database: 'sqlite' }, rows })
    await refused(file, 'backup_corrupt')
  }
  for (const change of extent([{ schema: '9999-of-later' }], [{ version: 2 }, { schema: '9999-of-later' }])) {
    const file = join(folder, `newer-${Object.keys(change)}`)
    const rows = (async function* () {})()
    await writeBackupFile(file, { header: { ...header, ...change, database: 'sqlite' }, rows })
    await refused(file, 'backup_newer')
  }
  expect(await readdir(join(folder, 'data'))).not.toContain('patchbay.db')
})

function keyOf(owner: string): Record<string, unknown> {
  const text = { id: 'k', owner_id: owner, hash: 'h', label: 'l', last4: '1234', scopes: '["mcp"]' }
  return { ...text, expires_at: null, last_used_at: null, created_at: '' }
}

beyondCore(() => {
  test('a backup with tables of an older version is brought up to date', async () => {
    await withKey()
    await writeFile(join(folder, 'mcp_settings.json'), '{}')
    const file = join(folder, 'older')
    const at = '2026-01-01T00:00:00.000Z'
    const user = {
      ...{ id: 'u1', number: 1, name: 'admin', name_key: 'admin', role: 'admin', password_hash: null, token_epoch: 1 },
      ...{ disabled: 0, must_change_password: 0, origin: 'store', revision: 1, created_at: at, updated_at: at },
    }
    const rows = (async function* () {
      yield { table: 'user', rows: [user] }
      yield { table: 'access_key', rows: [keyOf('u1')] }
    })()
    const header = { format: 'patchbay-backup' as const, version: 1, hub: '0', createdAt: at, keys: [] }
    await writeBackupFile(file, { header: { ...header, schema: '0001-first-tables', database: 'sqlite' }, rows })
    expect((await inFolder(folder, ['restore', file])).stderr).toBe('')
    const restored = await rowsIn(folder)
    expect(restored).toContain('"network_grant":"none"')
    expect(restored).toContain('"hash":"h"')
  })
})

beyondCore(() => {
  test('a restore that is killed at any moment leaves the old or the new whole', async () => {
    const big = join(temp, 'big')
    const lines = gunzipSync(await readFile(plain))
      .toString()
      .trimEnd()
      .split('\n')
    const header = JSON.parse(lines[0] ?? '')
    const user = JSON.parse(lines.find(line => line.startsWith('{"user"')) ?? '').user
    const rows = (async function* () {
      yield { table: 'user', rows: [user] }
      for (let page = 0; page < PAGES; page += 1) {
        const keys = Array.from({ length: 200 }, (_, n) => ({
          ...keyOf(user.id),
          id: `${page}-${n}`,
          hash: `${page}-${n}`,
        }))
        yield { table: 'access_key', rows: keys }
      }
    })()
    await writeBackupFile(big, { header, rows })
    await cp(join(used, 'data'), join(folder, 'data'), { recursive: true })
    await copyFile(join(used, 'mcp_settings.json'), join(folder, 'mcp_settings.json'))
    const old = await rowsIn(folder)
    const seen = new Set<string>()
    // The kill comes later each time, since the time that a restore takes depends on the machine.
    for (let ms = 150; ; ms *= 1.4) {
      const child = Bun.spawn([process.execPath, HUB_MAIN, 'restore', big, '--replace'], {
        cwd: folder,
        env: { DATA_DIR: join(folder, 'data'), SETTINGS_FILE: join(folder, 'mcp_settings.json') },
        stdio: ['ignore', 'ignore', 'ignore'],
      })
      // The moment of the kill.
      await Promise.race([child.exited, Bun.sleep(ms)])
      child.kill('SIGKILL')
      await child.exited
      const now = await rowsIn(folder)
      const keys = now.match(/^\{"access_key"/gm)?.length ?? 0
      seen.add(now === old ? 'old' : keys === PAGES * 200 ? 'new' : `${keys} keys`)
      if (now !== old) break
    }
    for (const state of seen) expect(['old', 'new']).toContain(state)
    expect(seen).toContain('old')
    expect(seen).toContain('new')
  }, 600_000)
})
