import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { postgresPrograms } from './postgres-programs.ts'
import { makeTemp, removeTemp } from './temp.ts'
import { until } from './wait.ts'

/** PostgreSQL refuses to run as root; this is Debian's `nobody`. */
const NOBODY = 65_534

/** A PostgreSQL of the tests' own on 127.0.0.1, its data in a temporary folder. It ends with the process that started it. */
export interface Postgres {
  /** URL of the database `postgres`, for a user who may create others. */
  readonly url: string
  readonly pid: number
  /** Makes an empty database and returns its address. */
  database(name: string): Promise<string>
  /** Ends it as a crash does: at once, every connection cut. */
  crash(): Promise<void>
  /** Runs it again, on the same port with the same data. */
  again(): Promise<void>
  /** Ends it and removes its data. */
  stop(): Promise<void>
}

/** Throws with the name of the missing part if PostgreSQL is not available. */
export async function startPostgres(): Promise<Postgres> {
  const { bin, share, env } = await postgresPrograms()
  const folder = await makeTemp('postgres')
  const data = join(folder, 'data')
  const asRoot = process.getuid?.() === 0
  if (asRoot) await chown(folder, NOBODY, NOBODY)
  // The end of this process, by any cause, ends the server too.
  const before = [
    'setpriv',
    ...(asRoot ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []),
    '--pdeathsig',
    'KILL',
  ]
  const options = {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  } as const
  const made = Bun.spawnSync(
    [
      ...before,
      join(bin, 'initdb'),
      ...['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
      ...(share === undefined ? [] : ['-L', share]),
    ],
    options,
  )
  if (!made.success) {
    await removeTemp(folder)
    throw new Error(`initdb failed:\n${made.stdout}${made.stderr}`)
  }
  const port = await freePort()
  const url = `postgres://test@127.0.0.1:${port}/postgres`
  const run = async () => {
    const settings = [
      'fsync=off',
      'jit=off',
      'autovacuum=off',
      'shared_buffers=16MB',
      'wal_level=minimal',
      'max_wal_senders=0',
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      `port=${port}`,
    ]
    const child = Bun.spawn(
      [...before, join(bin, 'postgres'), '-D', data, ...settings.flatMap(setting => ['-c', setting])],
      { ...options, stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
    )
    await until(() => query(url, 'select 1'), { timeoutMs: 60_000, intervalMs: 50, what: 'PostgreSQL to answer' })
    return child
  }
  let child = await run()
  const end = async (): Promise<void> => {
    child.kill('SIGQUIT')
    await child.exited
  }
  return {
    url,
    get pid() {
      return child.pid
    },
    async database(name) {
      await query(url, `create database ${name}`)
      return url.replace(/postgres$/, name)
    },
    crash: end,
    async again() {
      child = await run()
    },
    async stop() {
      await end()
      await removeTemp(folder)
    },
  }
}

async function query(url: string, statement: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(statement)
    return true
  } finally {
    await client.end()
  }
}
