import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, link, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beginRotation, readMasterKeys } from '../../core/secrets/master-keys.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { BUN_CACHE, HubDidNotStart, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const STORED = 'canary-of-a-stored-server-7b1d'
const FILED = 'canary-of-a-file-entry-93ac'
const HOSTED = 'canary-of-a-hosted-key-51fe'
/** Sealed values: the stored server, the file entry in the database and in the file, the hosted key. */
const VALUES = 4

let origin: string

/** A data folder and a settings file with secrets in every place where a hub keeps them. */
beforeAll(async () => {
  origin = await makeTemp('rotation')
  const hub = await startHub({
    folder: origin,
    settings: { mcpServers: { filed: known('echo', { API_KEY: 'first' }) } },
  })
  const admin = await hub.setup()
  await admin.ok('PATCH', '/api/servers/filed', { env: { API_KEY: FILED } })
  await admin.ok('POST', '/api/servers', { name: 'stored', ...known('echo', { API_KEY: STORED }) })
  await admin.ok('PATCH', '/api/settings', { hostedKeys: { modelscope: HOSTED } })
  await online(admin, ['stored', 'filed'])
  await hub.stop({ keep: true })
}, 120_000)

afterAll(() => removeTemp(origin))

async function copied(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await makeTemp('rotation')
  try {
    await cp(origin, folder, { recursive: true })
    await work(folder)
  } finally {
    await removeTemp(folder)
  }
}

interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function patchbay(
  folder: string,
  args: readonly string[],
  options: { env?: Record<string, string>; wrap?: readonly string[] } = {},
): Promise<Finished> {
  const child = Bun.spawn([...(options.wrap ?? []), process.execPath, HUB_MAIN, ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      // Not set below strace, since its count of writes would then include those of the cache.
      ...(options.wrap ? {} : BUN_CACHE),
      DATA_DIR: join(folder, 'data'),
      SETTINGS_FILE: join(folder, 'mcp_settings.json'),
      ...options.env,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, stdout, stderr }
}

const kid = async (folder: string): Promise<string> => (await readMasterKeys(join(folder, 'data'), {}))[0]?.kid ?? ''

/** Files below the folder that contain the text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found: string[] = []
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name)
    if ((await stat(path)).isFile() && (await readFile(path, 'latin1')).includes(text)) found.push(name)
  }
  return found
}

async function expectAllOpen(folder: string, env: Record<string, string> = {}): Promise<void> {
  const hub = await startHub({ folder, env })
  try {
    const admin = await hub.signIn('admin')
    await online(admin, ['stored', 'filed'])
    const said = async (server: string) => {
      const call = await admin.ok('POST', `/api/servers/${server}/tools/env/call`, { arguments: { name: 'API_KEY' } })
      return call.result.content[0].text
    }
    expect([await said('stored'), await said('filed')]).toEqual([STORED, FILED])
    expect((await admin.ok('GET', '/api/settings')).hostedKeys.modelscope.last4).toBe(HOSTED.slice(-4))
  } finally {
    await hub.stop({ keep: true })
  }
}

test(
  'rotate seals everything again, in database and settings file, and leaves nothing under the old key',
  () =>
    copied(async folder => {
      const old = await kid(folder)
      expect((await filesWith(folder, `enc:v1:${old}:`)).length).toBeGreaterThan(1)
      expect(JSON.parse((await patchbay(folder, ['secrets', 'status', '--json'])).stdout)).toMatchObject({
        keys: [{ kid: old, from: 'master.key', values: VALUES }],
        lost: 0,
        waiting: 0,
      })
      const done = await patchbay(folder, ['secrets', 'rotate', '--json'])
      const key = await kid(folder)
      expect([done.code, done.stderr]).toEqual([0, ''])
      expect(JSON.parse(done.stdout)).toEqual({ key, old, sealedAnew: VALUES, kept: 0, lost: [] })
      expect(key).not.toBe(old)
      expect(await filesWith(folder, old)).toEqual([])
      expect(await readdir(join(folder, 'data'))).not.toContain('master.key.old')
      for (const canary of [STORED, FILED, HOSTED]) expect(await filesWith(folder, canary)).toEqual([])
      const opened = await patchbay(folder, ['secrets', 'status', '--json'])
      expect(JSON.parse(opened.stdout)).toMatchObject({ keys: [{ kid: key, values: VALUES }], lost: 0, waiting: 0 })
      if (extent(false, true)) await expectAllOpen(folder)
    }),
  60_000,
)

test(
  'the key moves to the environment and changes there; with the wrong one the hub says so and changes nothing',
  () =>
    copied(async folder => {
      const first = Buffer.alloc(32, 1).toString('base64')
      const second = Buffer.alloc(32, 2).toString('hex')
      expect((await patchbay(folder, ['secrets', 'rotate'], { env: { MASTER_KEY: first } })).stdout).toContain(
        'remove the file master.key',
      )
      await rm(join(folder, 'data/master.key'))
      const both = { MASTER_KEY: second, MASTER_KEY_OLD: first }
      // A hub that runs before the values are sealed again opens them with either key, and says that a rotation is due.
      await expectAllOpen(folder, both)
      expect((await patchbay(folder, ['doctor'], { env: both })).stdout).toMatch(/warn {3}secrets: .*is the old one/)
      const done = await patchbay(folder, ['secrets', 'rotate'], { env: both })
      expect(done.stdout).toContain('unset MASTER_KEY_OLD')
      const alone = await patchbay(folder, ['secrets', 'rotate'], { env: { MASTER_KEY: second } })
      expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('MASTER_KEY_OLD')])

      const before = await readFile(join(folder, 'mcp_settings.json'), 'utf8')
      for (const env of extent<readonly Record<string, string>[]>(
        [{ MASTER_KEY: first }],
        [{ MASTER_KEY: first }, {}],
      )) {
        const refused = await startHub({ folder, env }).then(
          () => undefined,
          (error: unknown) => error,
        )
        expect(refused).toBeInstanceOf(HubDidNotStart)
        const { exitCode, log } = refused as HubDidNotStart
        expect([exitCode, log]).toEqual([1, expect.stringContaining('error: master_key_missing: ')])
      }
      expect(await readdir(join(folder, 'data'))).not.toContain('master.key')
      expect((await patchbay(folder, ['doctor'])).stdout).toMatch(/wrong {2}secrets: .*is missing/)
      expect(await readFile(join(folder, 'mcp_settings.json'), 'utf8')).toBe(before)
      const opened = await patchbay(folder, ['secrets', 'status', '--json'], { env: { MASTER_KEY: second } })
      expect(JSON.parse(opened.stdout)).toMatchObject({ keys: [{ values: VALUES }], lost: 0, waiting: 0 })
      if (extent(false, true)) await expectAllOpen(folder, { MASTER_KEY: second })
    }),
  90_000,
)

test(
  'with ACCEPT_LOST_SECRETS the hub starts, keeps the sealed values, refuses to rotate, and opens them again with their key',
  () =>
    copied(async folder => {
      const file = join(folder, 'data/master.key')
      await rename(file, `${file}.away`)
      const hub = await startHub({ folder, env: { ACCEPT_LOST_SECRETS: 'true' } })
      const admin = await hub.signIn('admin')
      for (const name of ['stored', 'filed']) {
        const { status, env } = await admin.ok('GET', `/api/servers/${name}`)
        expect([name, status.reason?.code]).toEqual([name, 'config_invalid'])
        expect(env?.API_KEY ?? '••••').toBe('••••')
      }
      expect((await admin.ok('GET', '/api/settings')).hostedKeys.modelscope).toMatchObject({ set: true, last4: '' })
      await hub.logged('must be entered again')
      // Nothing is sealed again while a hub runs.
      const refused = await patchbay(folder, ['secrets', 'rotate'])
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('error: data_dir_locked: ')])
      await hub.stop({ keep: true })
      await rename(`${file}.away`, file)
      const opened = await patchbay(folder, ['secrets', 'status', '--json'])
      // The database holds a copy of the file's entry, which the next start makes again.
      expect(JSON.parse(opened.stdout)).toMatchObject({ keys: [{ values: VALUES - 1 }], lost: 0 })
      if (extent(false, true)) await expectAllOpen(folder)
    }),
  60_000,
)

beyondCore(() => {
  test(
    'a value that does not open is named and kept, and so is the old key',
    () =>
      copied(async folder => {
        const path = join(folder, 'mcp_settings.json')
        const database = new Database(join(folder, 'data/patchbay.db'))
        const row = database.query<{ config: string }, []>("select config from server where name = 'stored'").get()
        // The sealed value of one server, put into the entry of another, and into another row of the database.
        const sealed = /enc:v1:[^"]+/.exec(row?.config ?? '')?.[0] ?? ''
        database.run("update server set config = replace(config, 'API_KEY', 'OTHER_KEY') where name = 'stored'")
        database.close()
        const document = JSON.parse(await readFile(path, 'utf8')) as { mcpServers: Record<string, object> }
        document.mcpServers.thief = { command: 'cat', env: { API_KEY: sealed } }
        await writeFile(path, JSON.stringify(document), { mode: 0o600 })
        const done = await patchbay(folder, ['secrets', 'rotate'])
        expect([done.code, done.stderr]).toEqual([1, ''])
        expect(done.stdout).toContain('server "stored" of admin, /env/OTHER_KEY')
        expect(done.stdout).toContain('settings file, server "thief", /env/API_KEY')
        expect(await readdir(join(folder, 'data'))).toContain('master.key.old')
        expect(await readFile(path, 'utf8')).toContain(sealed)

        // With a running hub, neither opens for the server that it was moved to.
        const hub = await startHub({ folder })
        const admin = await hub.signIn('admin')
        for (const name of ['stored', 'thief']) {
          const reason = () => statusOf(admin, name).then(status => status.reason)
          expect((await until(reason, { what: `the reason of ${name}` })).code).toBe('config_invalid')
        }
        await online(admin, ['filed'])
        await hub.stop({ keep: true })
      }),
    60_000,
  )

  test(
    'rotate that stopped between keeping the old key and making the new one is taken up again',
    () =>
      copied(async folder => {
        const old = await kid(folder)
        await link(join(folder, 'data/master.key'), join(folder, 'data/master.key.old'))
        expect((await patchbay(folder, ['secrets', 'rotate'])).code).toBe(0)
        expect(await kid(folder)).not.toBe(old)
        expect(await filesWith(folder, old)).toEqual([])
      }),
    30_000,
  )
})

/** Kills a rotation by a fault that strace injects. Expects that nothing is lost and that running it again finishes it. */
async function killedAndRepeated(
  inject: (folder: string) => readonly string[] | Promise<readonly string[]>,
): Promise<string> {
  if (Bun.which('strace') === null) throw new Error('This test needs strace: apt-get install strace')
  let left = ''
  await copied(async folder => {
    const old = await kid(folder)
    const wrap = ['strace', '-f', '-qq', '-o', '/dev/null', ...(await inject(folder))]
    const killed = await patchbay(folder, ['secrets', 'rotate'], { wrap })
    const status = JSON.parse((await patchbay(folder, ['secrets', 'status', '--json'])).stdout)
    const values: number[] = status.keys.map((key: { values: number }) => key.values)
    expect([status.lost, values.reduce((sum, each) => sum + each, 0)]).toEqual([0, VALUES])
    left = `${killed.code} ${JSON.stringify(values)}`
    const again = await patchbay(folder, ['secrets', 'rotate', '--json'])
    expect([again.code, JSON.parse(again.stdout).lost]).toEqual([0, []])
    expect(await filesWith(folder, old)).toEqual([])
  })
  return left
}

const at = (call: string, nth: number) => ['-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${nth}`]

beyondCore(() => {
  for (const [what, calls, places] of [
    // The first eight make the shared memory of the database.
    ['write of the database', 'pwrite64', [9, 10, 11, 12, 13, 14, 15, 40]],
    ['fsync', 'fsync,fdatasync', [1, 2, 3, 4, 5]],
  ] as const) {
    test(`kill -9 at each ${what} of a rotation: every value still opens, and running it again finishes it`, async () => {
      const states = new Set<string>()
      for (const nth of places) states.add(await killedAndRepeated(() => at(calls, nth)))
      // The kills did hit different places.
      expect(states.size).toBeGreaterThan(1)
    }, 300_000)
  }
})

const KEY_FILES = [
  ['the old key is to be kept', at('link', 1), `137 [${VALUES}]`],
  ['the new key is to take its place', at('rename', 1), `137 [${VALUES}]`],
  ['the old key is to go', at('unlink', 1), `137 [${VALUES},0]`],
] as const

beyondCore(() => {
  test.each(KEY_FILES)(
    'kill -9 when %s: every value still opens, and running it again finishes it',
    async (_, inject, left) => {
      expect(await killedAndRepeated(() => inject)).toBe(left)
    },
    120_000,
  )

  test('kill -9 when the settings file is to be replaced: its value still opens, and running it again finishes it', async () => {
    // The keys are made before, so this is the first file that is renamed.
    const begun = async (folder: string): Promise<readonly string[]> => {
      await beginRotation(join(folder, 'data'), {})
      return at('rename', 1)
    }
    expect(await killedAndRepeated(begun)).toBe(`137 [${VALUES - 1},1]`)
  }, 120_000)
})
