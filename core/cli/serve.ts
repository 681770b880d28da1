import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Auth } from '../auth/create.ts'
import { loadConfig } from '../config/load.ts'
import { ownRuntimeFolder } from '../config/one-file.ts'
import { inDataDir } from '../config/start-error.ts'
import { quoteName } from '../domain/names.ts'
import type { Hub } from '../hub/api.ts'
import { FILE_ADDITIONS } from '../hub/file-additions.ts'
import { startHub } from '../hub/hub.ts'
import type { Registry } from '../registry/api.ts'
import type { CommandIo } from './io.ts'
import { ADDRESS_FILE, CLI_TOKEN_FILE, SETUP_TOKEN_FILE } from './local-files.ts'
import { plain } from './output.ts'

/** The local token is valid for 12 h; a new one is written well before that. */
const CLI_TOKEN_EVERY_MS = 60 * 60_000

/** The text of `patchbay serve --help`. */
export const help = `patchbay serve (or patchbay alone)

Runs the hub until SIGTERM or Ctrl-C (a second one ends it at once). It takes no arguments: settings
come from the environment (PORT, HOST, DATA_DIR, SETTINGS_FILE, … see docs/reference/environment.md) and from
mcp_settings.json. Prints its address, and the set-up token while there is no administrator, on standard error; the log
goes to standard output.
`

/** Runs the hub until a signal stops it. Resolves with the exit code. Throws StartError. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  if (argv.length > 0) {
    io.stderr(
      `error: usage: serve takes no arguments, but got ${quoteName(argv[0] ?? '')}; settings come from the environment\n`,
    )
    return 2
  }
  const stopped = whenSignalled(() =>
    io.stderr('stopping: calls in flight may finish; a second signal ends the hub at once\n'),
  )
  let hub: Hub | undefined
  process.on('unhandledRejection', error => {
    if (hub) hub.log.error('Unhandled rejection; the hub goes on', { error })
    else io.stderr(`Unhandled rejection during the start, which continues: ${plain(io.redactor.text(String(error)))}\n`)
  })
  // By default the signal would end the process. Ignored until there is a log to reopen.
  process.on('SIGHUP', () => void hub?.reopenLog())
  const loaded = await loadConfig(io.env, io.cwd, { additions: FILE_ADDITIONS })
  const { dataDir } = loaded.config
  const setupToken = () => readOrMakeToken(join(dataDir, SETUP_TOKEN_FILE))
  const { redactor, servers, aroundProbe } = io
  const runtime = await inDataDir(join(dataDir, 'bin'), () => ownRuntimeFolder(dataDir))
  const baseEnv = baseEnvironment(io.env, runtime)
  hub = await startHub({ loaded, setupToken, redactor, servers, baseEnv, aroundProbe })
  const stopLocalToken = await writeCliFiles(hub, dataDir)
  io.stderr(`listening on ${hub.address}\n`)
  if (hub.setupToken !== undefined) io.stderr(`setup token: ${hub.setupToken}\n`)
  const takenOver = await Promise.race([stopped, hub.takenOver])
  if (takenOver) hub.log.error('The hub stops: another one uses its database', { error: takenOver })
  stopLocalToken()
  await hub.stop()
  await rm(join(dataDir, ADDRESS_FILE), { force: true })
  if (takenOver) throw takenOver
  return 0
}

/** Writes the files by which the command line finds the hub. Stops the hub and throws when that fails. */
async function writeCliFiles(hub: Hub, dataDir: string): Promise<() => void> {
  const addressFile = join(dataDir, ADDRESS_FILE)
  try {
    await inDataDir(addressFile, () => writeFile(addressFile, `${hub.address}\n`, { mode: 0o600 }))
    return await keepLocalFiles(hub, dataDir)
  } catch (error) {
    await hub.stop()
    throw error
  }
}

/** Resolves at the first SIGTERM or SIGINT; a second one, of either kind, has its default effect and ends the process
 * at once. */
function whenSignalled(onFirst: () => void): Promise<void> {
  return new Promise(resolve => {
    const signals = ['SIGTERM', 'SIGINT'] as const
    const first = (): void => {
      for (const signal of signals) process.off(signal, first)
      onFirst()
      resolve()
    }
    for (const signal of signals) process.on(signal, first)
  })
}

/** Kept across starts until set-up is done, so that a token that was noted down stays valid. */
async function readOrMakeToken(path: string): Promise<string> {
  const kept = await readFile(path, 'utf8').then(
    text => text.trim(),
    () => '',
  )
  if (/^[\w-]{32,}$/.test(kept)) return kept
  const token = randomBytes(24).toString('base64url')
  await inDataDir(path, () => writeFile(path, `${token}\n`, { mode: 0o600 }))
  return token
}

/**
 * Writes a session token of the first administrator to a file that only the hub's own user can read, so that the CLI
 * works on the hub's machine without a sign-in: a reader of that file could read the database and its keys as well.
 * Deletes the set-up token as soon as there is an administrator.
 */
async function keepLocalFiles(hub: Hub, dataDir: string): Promise<() => void> {
  const tokenFile = join(dataDir, CLI_TOKEN_FILE)
  const write = async () => {
    if (!hub.inPlace()) return
    const token = await localToken(hub.registry, hub.auth)
    if (!token) return rm(tokenFile, { force: true })
    await writeFile(tokenFile, `${token}\n`, { mode: 0o600 })
    await rm(join(dataDir, SETUP_TOKEN_FILE), { force: true })
  }
  const again = () =>
    void write().catch(error => hub.log.warn('The local token of the CLI could not be written', { error }))
  await inDataDir(tokenFile, write)
  const timer = setInterval(again, CLI_TOKEN_EVERY_MS)
  const unlisten = [hub.bus.on('user.created', again), hub.bus.on('user.updated', again)]
  return () => {
    clearInterval(timer)
    for (const stop of unlisten) stop()
  }
}

async function localToken(registry: Registry, auth: Auth): Promise<string | undefined> {
  if (await registry.users.needsSetup()) return undefined
  const users = await registry.users.list({ kind: 'system', purpose: 'local token' }, { scope: 'all' })
  const admin = users.find(user => user.role === 'admin' && !user.disabled)
  return admin && (await auth.tokens.issue(admin)).token
}

/** Adds the hub's own runtime to PATH, for child processes on machines without one. */
function baseEnvironment(env: Readonly<Record<string, string | undefined>>, runtime: string) {
  const path = [env.PATH, runtime].filter(Boolean).join(delimiter)
  return { PATH: path, HOME: env.HOME ?? homedir(), LANG: env.LANG ?? 'C.UTF-8' }
}
