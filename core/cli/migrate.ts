import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lockDataDir } from '../config/data-lock.ts'
import { readHubEnvironment } from '../hub/bundled-settings.ts'
import { asStartError } from '../hub/storage.ts'
import { backUp } from '../moving/backup/backup.ts'
import { copyStore, type StoreDigest } from '../moving/backup/migrate.ts'
import { isUnused } from '../moving/backup/restore.ts'
import { lockStore, openStore, openStoreReadOnly, refreshStatistics, SQLITE_FILE, type Store } from '../store/open.ts'
import { CommandError, OUTPUT, readArguments, UsageError } from './arguments.ts'
import type { CommandIo } from './io.ts'
import { dataDirOf } from './local-files.ts'
import { plain, printJson, printTable } from './output.ts'

/** The text of `patchbay migrate --help`. */
export const help = `patchbay migrate --from sqlite --to postgres [--replace] [--json]
patchbay migrate --from postgres --to sqlite [--replace] [--json]

Moves everything that the hub's database holds to the other kind of database: SQLite is the file ${SQLITE_FILE} of the data
folder (DATA_DIR), PostgreSQL is what DATABASE_URL names. The hub must be stopped. All rows are written in one
transaction, read back and compared by counts and digests before it is committed. Keys, passwords, sign-ins and secrets go
on working with the same data folder.

To PostgreSQL, the SQLite file is put aside afterwards, in the folder "backups" of the data folder, so that a start without
DATABASE_URL is refused instead of serving old rows. From PostgreSQL, the rows there stay as they are.

  --replace   replace a database that holds users or servers; the old one is put aside in the folder "backups"
  --json      what was moved, as JSON
`

/** A step may read or write a whole table. */
const STATEMENT_MS = 300_000
/** SQLite's files beside the database; a hub that was killed leaves them. */
const SIDE_FILES = ['', '-wal', '-shm']

interface Place {
  readonly dataDir: string
  readonly databaseUrl: string
  readonly replace: boolean
  /** Folder for replaced files; created when needed. */
  readonly aside: string
}

interface Done {
  readonly tables: StoreDigest
  /** Present place of the SQLite file, or of the replaced one; null if nothing was moved. */
  readonly aside: string | null
}

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readArguments(argv, {
    options: { ...OUTPUT, from: { type: 'string' }, to: { type: 'string' }, replace: { type: 'boolean' } },
    positionals: [],
  })
  const direction = `${values.from ?? ''} to ${values.to ?? ''}`
  if (direction !== 'sqlite to postgres' && direction !== 'postgres to sqlite') {
    throw new UsageError('one of --from and --to must be sqlite, the other postgres')
  }
  const { databaseUrl } = readHubEnvironment(io.env)
  if (databaseUrl === undefined) throw new UsageError('DATABASE_URL is not set; it names the PostgreSQL database')
  const dataDir = dataDirOf(io)
  if (!existsSync(dataDir)) throw new CommandError(`There is no data folder ${dataDir}; set DATA_DIR`)
  const time = new Date().toISOString().replaceAll(/[-:]/g, '')
  const aside = join(dataDir, 'backups', `migrated-${time}`)
  const place: Place = { dataDir, databaseUrl, replace: values.replace === true, aside }
  const move = direction === 'sqlite to postgres' ? toPostgres : toSqlite
  const done = await locked(place, () => move(place))
  if (values.json) printJson(io, { from: values.from, to: values.to, ...done })
  else report(io, done, direction)
  return 0
}

function report(io: CommandIo, { tables, aside }: Done, direction: string): void {
  const filled = Object.entries(tables).filter(([, { rows }]) => rows > 0)
  printTable(
    io,
    ['TABLE', 'ROWS', 'SHA-256'],
    filled.map(([table, { rows, digest }]) => [table, rows, digest]),
  )
  const rows = filled.reduce((sum, [, table]) => sum + table.rows, 0)
  io.stdout(plain(`moved ${rows} rows, equal by digest\n`))
  if (aside !== null) io.stdout(plain(`what was there before is in ${aside}\n`))
  io.stdout(
    direction === 'sqlite to postgres'
      ? 'start the hub with this DATABASE_URL\n'
      : 'start the hub without DATABASE_URL; the rows in PostgreSQL are as they were\n',
  )
}

/** Neither database may be in use by a hub meanwhile. Failures of the copy are reported as they are. */
async function locked<T>({ dataDir, databaseUrl }: Place, work: () => Promise<T>): Promise<T> {
  const lock = await lockDataDir(dataDir)
  try {
    return await asStartError(async () => {
      const databaseLock = await lockStore({ dataDir, databaseUrl })
      try {
        return await work()
      } finally {
        await databaseLock?.release()
      }
    })
  } finally {
    await lock.release()
  }
}

async function copied(from: Store, to: Store): Promise<Omit<Done, 'aside'>> {
  try {
    return { tables: await copyStore(from, to) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CommandError(`${why}. Nothing was changed`, { cause: error })
  }
}

async function toPostgres({ dataDir, databaseUrl, replace, aside }: Place): Promise<Done> {
  const path = join(dataDir, SQLITE_FILE)
  if (!existsSync(path)) throw new CommandError(`There is no SQLite database ${path}`)
  await using opened = new AsyncDisposableStack()
  const from = await openStore({ dataDir, usedBefore: true })
  opened.defer(() => from.close())
  const to = await openStore({ dataDir, databaseUrl, statementMs: STATEMENT_MS })
  opened.defer(() => to.close())
  const isFree = await isUnused(to)
  if (!isFree && !replace) {
    throw new CommandError('The PostgreSQL database holds users or servers; --replace puts them aside')
  }
  await mkdir(aside, { recursive: true, mode: 0o700 })
  if (!isFree) await backUp(to, join(aside, 'database.backup'), {})
  const moved = await copied(from, to)
  await refreshStatistics(to)
  await opened.disposeAsync()
  await putAside(path, aside)
  return { ...moved, aside }
}

async function toSqlite({ dataDir, databaseUrl, replace, aside }: Place): Promise<Done> {
  const path = join(dataDir, SQLITE_FILE)
  const isThere = existsSync(path)
  if (isThere && !replace) throw new CommandError(`There is a database ${path} already; --replace puts it aside`)
  const found = await openStoreReadOnly({ dataDir, databaseUrl })
  await found?.close()
  if (!found) throw new CommandError('The PostgreSQL database that DATABASE_URL names holds nothing of Patchbay')
  // Moved into place as a whole: a start after a crash must not find half a database.
  const folder = await mkdtemp(join(dataDir, 'migrate-'))
  try {
    const moved = await fromPostgres({ dataDir, databaseUrl }, folder)
    if (isThere) {
      await mkdir(aside, { recursive: true, mode: 0o700 })
      await putAside(path, aside)
    }
    await rename(join(folder, SQLITE_FILE), path)
    return { ...moved, aside: isThere ? aside : null }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function fromPostgres(
  { dataDir, databaseUrl }: Pick<Place, 'dataDir' | 'databaseUrl'>,
  folder: string,
): Promise<Omit<Done, 'aside'>> {
  await using opened = new AsyncDisposableStack()
  const from = await openStore({ dataDir, databaseUrl, statementMs: STATEMENT_MS })
  opened.defer(() => from.close())
  const to = await openStore({ dataDir: folder })
  opened.defer(() => to.close())
  return await copied(from, to)
}

async function putAside(path: string, aside: string): Promise<void> {
  for (const end of SIDE_FILES) {
    if (existsSync(path + end)) await rename(path + end, join(aside, SQLITE_FILE + end))
  }
}
