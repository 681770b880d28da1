import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, cp, mkdir, readdir, readFile, rename, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { HubDidNotStart, PASSWORD, startHub } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const CANARY = 'canary-of-the-start'
let temp: string
beforeAll(async () => {
  temp = await makeTemp('start')
}, 120_000)
afterAll(() => removeTemp(temp))

/** The end of a start that must not succeed: exit code, and the one line on standard error. */
async function refusal(options: Parameters<typeof startHub>[0]): Promise<{ exit: number; line: string }> {
  const outcome = await startHub(options).then(
    async hub => {
      await hub.stop()
      return new Error('The hub started')
    },
    (error: unknown) => error,
  )
  if (!(outcome instanceof HubDidNotStart)) throw outcome
  const lines = outcome.log.split('\n').filter(line => line !== '' && !line.startsWith('{"level":"'))
  expect(lines).toHaveLength(1)
  expect(outcome.log).not.toContain(CANARY)
  return { exit: outcome.exitCode, line: lines[0] ?? '' }
}

describe('the environment ends the start with 2 and one line that names the variable', () => {
  type EnvRow = readonly [env: Record<string, string>, code: string, ...says: string[]]
  /** Several values at once, with a secret in one. What is checked by itself is in test/unit/config too. */
  const several = { PORT: '-1', WORKERS: '0', LOG_MAX_SIZE: '10XB', DATABASE_URL: `mysql://me:${CANARY}@db/x` }
  const core: readonly EnvRow[] = [[several, 'env_invalid', ...Object.keys(several)]]
  const others: readonly EnvRow[] = [
    [{ JWT_SECRET: 'canary-of-the-start-of-31-byte-' }, 'secret_too_short', 'JWT_SECRET', '32'],
    [{ SYSLOG_ENABLED: 'true' }, 'env_invalid', 'SYSLOG_HOST'],
    [{ PORT: '-1', WORKERS: '0', HOST: 'a b' }, 'env_invalid', 'PORT', 'WORKERS', 'HOST'],
    [{ ADMIN_USERNAME: 'canary', ADMIN_PASSWORD: CANARY }, 'env_invalid', 'ADMIN_PASSWORD'],
    [{ LOG_FILE: '/etc/passwd' }, 'log_file_forbidden', '/etc/passwd'],
    [{ PORT: '70000' }, 'env_invalid', 'PORT', '65535'],
    [{ PORT: '1e3' }, 'env_invalid', 'PORT'],
    [{ LOG_LEVEL: 'loud' }, 'env_invalid', 'LOG_LEVEL', 'error, warn, info, debug, trace'],
    [{ LOG_ROTATION: 'hourlyish' }, 'env_invalid', 'LOG_ROTATION', 'hourly'],
    [{ ENABLE_REQUEST_LOGS: 'maybe' }, 'env_invalid', 'ENABLE_REQUEST_LOGS', 'true'],
    [{ ASSISTANT_ENABLED: '1' }, 'env_invalid', 'ASSISTANT_API_KEY'],
    [{ TRUSTED_PROXIES: '*' }, 'env_invalid', 'TRUSTED_PROXIES'],
    [{ BASE_PATH: 'a b' }, 'env_invalid', 'BASE_PATH'],
    [{ PUBLIC_URL: `https://me:${CANARY}@a.example` }, 'env_invalid', 'PUBLIC_URL'],
    [{ ADMIN_USERNAME: 'ann' }, 'env_invalid', 'ADMIN_PASSWORD'],
    [{ ADMIN_USERNAME: 'ann', ADMIN_PASSWORD: 'password123456' }, 'env_invalid', 'ADMIN_PASSWORD'],
    [{ ADMIN_USERNAME: 'a b', ADMIN_PASSWORD: PASSWORD }, 'env_invalid', 'ADMIN_USERNAME'],
    [{ LOG_FILE: '/tmp' }, 'log_file_forbidden', '/tmp'],
  ]
  const rows = extent(core, [...core, ...others])
  test.each(rows.map(([env, code, ...says]) => [Object.keys(env).join(' '), { env, code, says }] as const))(
    '%s',
    async (_names, { env, code, says }) => {
      const { exit, line } = await refusal({ env })
      expect(exit).toBe(2)
      expect(line).toStartWith(`error: ${code}: `)
      for (const word of says) expect(line).toContain(word)
    },
  )

  beyondCore(() => {
    test('and so do arguments that are none', async () => {
      for (const args of [['serv'], ['serve', '--prot', '1'], ['serve', 'now']]) {
        const { exit, line } = await refusal({ args })
        expect([exit, line.startsWith('error: usage: ')]).toEqual([2, true])
      }
    })
  })
})

describe('the settings file ends the start with 78, and stays as it is', () => {
  const broken = ['broken', '{ "mcpServers": ', 'settings_json'] as const
  const newer = ['of a newer version', '{"version":99}', 'settings_newer'] as const
  const others = [
    ['empty', '', 'settings_json'],
    ['a list', '[]', 'settings_json'],
    ['a key twice', '{"mcpServers":{},"mcpServers":{}}', 'settings_duplicate'],
  ] as const
  const twice = [
    'two entries of one owner and name',
    '{"mcpServers":{"a":{"url":"https://a.example"},"A":{"url":"https://a.example"}}}',
    'settings_duplicate',
  ] as const
  test.each(extent([broken], [broken, twice, newer, ...others]))('%s', async (_what, settings, code) => {
    const folder = await makeTemp('start')
    const path = join(folder, 'mcp_settings.json')
    await writeFile(path, settings, { mode: 0o600 })
    const { exit, line } = await refusal({ folder })
    expect(exit).toBe(78)
    expect(line).toStartWith(`error: ${code}: `)
    expect(await readFile(path, 'utf8')).toBe(settings)
    await removeTemp(folder)
  })

  const odd = [
    ['a named pipe', 'mkfifo', 'it is no regular file'],
    ['of more than 16 MiB', 'truncate --size=16777217', 'it has 16777217 bytes'],
    ['a folder', 'mkdir', 'it is no regular file'],
    ['a device', 'ln -s /dev/null', 'it is no regular file'],
  ] as const
  beyondCore(() => {
    test.each(odd)('%s, at once', async (_what, make, why) => {
      const folder = await makeTemp('start')
      expect(Bun.spawnSync([...make.split(' '), join(folder, 'mcp_settings.json')]).success).toBe(true)
      const { exit, line } = await refusal({ folder })
      expect([exit, line]).toEqual([78, expect.stringMatching(new RegExp(`^error: settings_json: .*: ${why}`))])
      await removeTemp(folder)
    })
  })

  test('writable by everybody', async () => {
    const folder = await makeTemp('start')
    const path = join(folder, 'mcp_settings.json')
    await writeFile(path, '{}')
    await chmod(path, 0o666)
    const { exit, line } = await refusal({ folder })
    expect([exit, line.startsWith('error: settings_mode: ')]).toEqual([78, true])
    await removeTemp(folder)
  })
})

test('keys of the settings file that nobody knows are said and kept, and a start beside is refused and changes nothing', async () => {
  const settings = { mcpServers: {}, mcpServer: {}, systemConfig: { logLevel: 'loud', colour: 'red' } }
  const hub = await startHub({ settings })
  for (const word of ['mcpServer', 'colour', 'logLevel'])
    await until(() => hub.log().includes(`"${word}`) || hub.log().includes(`\\"${word}`), { what: word })
  expect(JSON.parse(await readFile(hub.settingsFile, 'utf8'))).toEqual(settings)
  await hub.setup()
  // The hub removes the file in the background, once there is an administrator.
  await until(async () => !(await readdir(hub.dataDir)).includes('setup-token'))
  // Another thread makes the last folder.
  await until(async () => (await readdir(hub.dataDir)).includes('history'))
  const before = (await readdir(hub.dataDir)).sort()
  const { exit, line } = await refusal({ folder: hub.folder })
  expect([exit, line.startsWith('error: data_dir_locked: ')]).toEqual([1, true])
  expect((await readdir(hub.dataDir)).sort()).toEqual(before)
  await hub.stop()
})

describe('the data folder', () => {
  /** A folder that a hub has used, with its database in one file. */
  let data = ''
  const copied = async (name: string): Promise<string> => {
    await cp(data, join(temp, name), { recursive: true })
    return join(temp, name)
  }
  const modes = new Map<string, string>()
  beforeAll(async () => {
    data = join(temp, 'a/b/data')
    const hub = await startHub({ env: { DATA_DIR: data } })
    await hub.setup()
    // The token's file is removed once the first user exists.
    await until(async () => !(await readdir(data)).includes('setup-token'), { what: 'the set-up token to go' })
    for (const name of ['.', ...(await readdir(data))]) {
      const found = await stat(join(data, name))
      if (name === '.' || found.isFile()) modes.set(name, (found.mode & 0o777).toString(8))
    }
    await hub.stop()
  }, 120_000)

  test('is made for its owner alone, but for the way to the servers’ own folders', () => {
    const { '.': own, ...files } = Object.fromEntries(modes)
    expect(own).toBe('711')
    expect(Object.keys(files)).toContain('patchbay.db')
    expect(Object.entries(files).filter(([, mode]) => mode !== '600')).toEqual([])
  })

  test('that is a file, or that cannot be, ends the start with 1', async () => {
    const path = join(temp, 'file')
    await writeFile(path, '')
    for (const dir of extent([path], [path, join(path, 'below'), '/proc/none'])) {
      const { exit, line } = await refusal({ env: { DATA_DIR: dir } })
      expect([exit, line.startsWith('error: data_dir_unwritable: ')]).toEqual([1, true])
    }
  })

  beyondCore(() => {
    test('with a file of the hub that cannot be read or written ends the start with 1', async () => {
      const files = ['master.key', 'jwt.key', 'instance-id', 'hub.pid', 'cli-token', 'address']
      for (const name of files) {
        const path = join(data, name)
        await rename(path, `${path}.kept`).catch(() => undefined)
        await mkdir(path)
        const { exit, line } = await refusal({ env: { DATA_DIR: data } })
        expect([name, exit, line.startsWith(`error: data_dir_unwritable: Cannot use ${path} `)]).toEqual([
          name,
          1,
          true,
        ])
        await rmdir(path)
        await rename(`${path}.kept`, path).catch(() => undefined)
      }
      await writeFile(join(data, 'hub.lock'), 'no lock')
      const { exit, line } = await refusal({ env: { DATA_DIR: data } })
      expect([exit, line]).toEqual([1, expect.stringMatching(/^error: data_dir_unwritable: .*may be removed/)])
      await unlink(join(data, 'hub.lock'))
      await (await startHub({ env: { DATA_DIR: data } })).stop()
    }, 120_000)
  })

  beyondCore(() => {
    test('on a full disk ends the start with 1', async () => {
      const disk = join(temp, 'disk')
      await mkdir(disk)
      for (const bytes of [4096, 65_536]) {
        const wrap = [
          'bwrap',
          '--dev-bind',
          '/',
          '/',
          '--size',
          String(bytes),
          '--tmpfs',
          disk,
          '--die-with-parent',
          '--',
        ]
        const { exit, line } = await refusal({ wrap, env: { DATA_DIR: join(disk, 'data') } })
        expect(exit).toBe(1)
        expect(line).toMatch(/^error: (?:data_dir_unwritable|store_unavailable): .*(?:no space left|is full)/)
      }
    })
  })

  test('with a database that was emptied, or is damaged inside, ends the start with 1, and leaves it', async () => {
    const path = join(data, 'patchbay.db')
    const whole = await readFile(path)
    const page = Buffer.alloc(4096, 0xff)
    const damaged = Buffer.concat([whole.subarray(0, 4096), page, whole.subarray(8192)])
    for (const content of extent([damaged], [Buffer.alloc(0), damaged])) {
      await writeFile(path, content)
      const { exit, line } = await refusal({ env: { DATA_DIR: data } })
      expect([exit, line.startsWith(`error: store_corrupt: ${path} `)]).toEqual([1, true])
      expect(content.equals(await readFile(path))).toBe(true)
    }
  })

  test('in which a hub has run, without its database, ends the start with 78 and stays as it is', async () => {
    const data = await copied('missing')
    for (const name of ['patchbay.db', 'patchbay.db-wal', 'patchbay.db-shm'])
      await rm(join(data, name), { force: true })
    const { exit, line } = await refusal({ env: { DATA_DIR: data } })
    expect([exit, line.startsWith('error: store_missing: ')]).toEqual([78, true])
    expect(line).toContain(join(data, 'master.key'))
    expect(await readdir(data)).not.toContain('patchbay.db')
  })

  beyondCore(() => {
    test('with a database that is none ends the start with 1, and leaves it', async () => {
      const path = join(await copied('none'), 'patchbay.db')
      await writeFile(path, 'no database at all, and long enough to be read as the head of one'.repeat(20))
      const { exit, line } = await refusal({ env: { DATA_DIR: dirname(path) } })
      expect([exit, line.startsWith('error: store_corrupt: ')]).toEqual([1, true])
      // The message is in the hub's words, with the code of the database, and not in the words of its library.
      expect(line).toContain('(the file is not a whole database, SQLITE_NOTADB)')
      expect(await readFile(path, 'utf8')).toStartWith('no database at all')
    })
  })

  beyondCore(() =>
    test('with a database that was just made when the hub was killed starts', async () => {
      const data = join(temp, 'young')
      await mkdir(data)
      await writeFile(join(data, 'patchbay.db'), '')
      await (await startHub({ env: { DATA_DIR: data } })).stop()
    }),
  )
})
