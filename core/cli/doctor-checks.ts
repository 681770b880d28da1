import { constants } from 'node:fs'
import { access, chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { dataDirHolder, LOCK_FILE } from '../config/data-lock.ts'
import { findSettingsFile } from '../config/load.ts'
import { openSettingsFile } from '../config/settings-file.ts'
import { StartError } from '../config/start-error.ts'
import { openSandbox } from '../connections/sandbox/sandbox.ts'
import { BytesInFlight } from '../domain/byte-account.ts'
import { readHubEnvironment } from '../hub/bundled-settings.ts'
import { FILE_ADDITIONS } from '../hub/file-additions.ts'
import { StoreOpenError } from '../store/errors.ts'
import { faultName } from '../transport-kit/wire-error.ts'
import { findHub, HubClient } from './client.ts'
import type { CommandIo } from './io.ts'
import { dataDirOf } from './local-files.ts'
import { inspectSecrets } from './secrets-status.ts'

/** The outcome of one check. `wrong`: the hub would not work; `warn`: one of its features would not. */
export interface Finding {
  readonly subject: string
  readonly state: 'ok' | 'warn' | 'wrong'
  readonly detail: string
  /** Advice for solving the problem. */
  readonly remedy?: string
}

type Check = (io: CommandIo) => Promise<readonly Finding[]>

/** No user's program runs while the sandbox is checked. */
const NOTHING_HELD = new BytesInFlight({ perUser: 0, perAddress: 0, total: 0 })

/** In the order in which a starting hub would fail on them. */
export const CHECKS: readonly Check[] = [
  async () => [runtime()],
  async io => [environment(io)],
  async io => [await dataFolder(io)],
  async io => [await settingsFile(io)],
  async io => [await secrets(io)],
  async io => [await port(io)],
  sandbox,
  programs,
]

function runtime(): Finding {
  const subject = 'Bun'
  const wanted = manifest.engines.bun.replace('>=', '')
  const found = process.versions.bun
  if (found === undefined)
    return { subject, state: 'wrong', detail: 'this is not Bun', remedy: `npx -y bun@${wanted} start` }
  const older = found.localeCompare(wanted, 'en', { numeric: true }) < 0
  if (!older) return { subject, state: 'ok', detail: `${found} at ${process.execPath}` }
  return {
    subject,
    state: 'wrong',
    detail: `${found}, and at least ${wanted} is wanted`,
    remedy: `npx -y bun@${wanted} start`,
  }
}

function environment(io: CommandIo): Finding {
  try {
    readHubEnvironment(io.env)
    return { subject: 'environment', state: 'ok', detail: 'every variable can be read' }
  } catch (error) {
    return refused('environment', error, 'Set the variable right, or unset it for its default.')
  }
}

function refused(subject: string, error: unknown, remedy: string): Finding {
  if (!(error instanceof StartError)) throw error
  return { subject, state: 'wrong', detail: `${error.code}: ${error.message}`, remedy }
}

const NOT_READ = 'not checked, since the environment cannot be read'

async function dataFolder(io: CommandIo): Promise<Finding> {
  const subject = 'data folder'
  let path: string
  try {
    path = dataDirOf(io)
  } catch {
    return { subject, state: 'warn', detail: NOT_READ }
  }
  const stats = await stat(path).catch(() => undefined)
  if (!stats) return missingFolder(subject, path)
  const owner = `chown ${process.getuid?.() ?? ''} ${path}`
  if (!stats.isDirectory()) return { subject, state: 'wrong', detail: `${path} is no folder`, remedy: 'Set DATA_DIR.' }
  if (!(await may(path, constants.W_OK | constants.X_OK))) {
    return { subject, state: 'wrong', detail: `${path} cannot be written`, remedy: `${owner}, or set DATA_DIR` }
  }
  if (await may(join(path, LOCK_FILE), constants.F_OK)) {
    const holder = await dataDirHolder(path)
    if (holder !== undefined)
      return { subject, state: 'ok', detail: `${path}, in use by the hub with process id ${holder}` }
  }
  if ((stats.mode & 0o077) === 0o011) return { subject, state: 'ok', detail: `${path}, not in use` }
  const mode = (stats.mode & 0o777).toString(8)
  const remedy = `The hub does it at its start; by hand: chmod 0711 ${path}`
  return { subject, state: 'warn', detail: `${path} has mode ${mode}, and 711 is wanted`, remedy }
}

/** The folder can be created when its nearest existing parent is writable. */
async function missingFolder(subject: string, path: string): Promise<Finding> {
  const parent = await nearestFolder(dirname(path))
  if (await may(parent, constants.W_OK)) return { subject, state: 'ok', detail: `${path} will be made` }
  const remedy = 'Make it and give it to the hub’s user, or set DATA_DIR.'
  return { subject, state: 'wrong', detail: `${path} does not exist, and ${parent} cannot be written`, remedy }
}

async function settingsFile(io: CommandIo): Promise<Finding> {
  const subject = 'settings file'
  const remedy = 'Repair the file; the hub never writes over one that it cannot read.'
  try {
    const dataDir = dataDirOf(io)
    const path = await findSettingsFile(readHubEnvironment(io.env).settingsFile, io.cwd, dataDir)
    if (path === undefined)
      return { subject, state: 'ok', detail: 'none yet; the sample will be copied to the data folder' }
    const file = await openSettingsFile(path, {
      ...{ dataDir, runtime: process.execPath, program: 'core/main.ts', additions: FILE_ADDITIONS },
    })
    file.dispose()
    const { servers, groups } = file.state.file
    const detail = `${path}: ${servers.length} servers, ${groups.length} groups${file.readOnly ? ', read-only' : ''}`
    const { warnings } = file.state
    if (warnings.length === 0) return { subject, state: 'ok', detail }
    return { subject, state: 'warn', detail: `${detail}; ${warnings.join('; ')}` }
  } catch (error) {
    if (error instanceof StartError && error.code === 'env_invalid' && !error.message.startsWith('SETTINGS_FILE')) {
      return { subject, state: 'warn', detail: NOT_READ }
    }
    return refused(subject, error, remedy)
  }
}

async function secrets(io: CommandIo): Promise<Finding> {
  const subject = 'secrets'
  try {
    const { lines, lost, waiting } = await inspectSecrets(io)
    const detail = lines.join('; ')
    if (lost > 0)
      return { subject, state: 'wrong', detail, remedy: 'Give the hub back its master key: docs/security.md' }
    if (waiting === 0) return { subject, state: 'ok', detail }
    return { subject, state: 'warn', detail, remedy: 'Stop the hub and run: patchbay secrets rotate' }
  } catch (error) {
    if (error instanceof StartError && error.code.startsWith('master_key')) {
      return refused(subject, error, 'Restore it from a backup.')
    }
    if (!(error instanceof StartError || error instanceof StoreOpenError)) throw error
    return { subject, state: 'warn', detail: `not checked: ${error.message}` }
  }
}

async function port(io: CommandIo): Promise<Finding> {
  const subject = 'port'
  let host: string
  let number: number
  try {
    ;({ host = '127.0.0.1', port: number = 3000 } = readHubEnvironment(io.env))
  } catch {
    return { subject, state: 'warn', detail: NOT_READ }
  }
  const { url } = await findHub(io)
  const answer = await (await HubClient.connect(io)).get('/health').catch(() => undefined)
  if (typeof answer?.status === 'string')
    return { subject, state: 'ok', detail: `a hub answers at ${url}: ${answer.status}` }
  const failure = await tryListening(host, number)
  const where = `${host}:${number}`
  if (failure === undefined)
    return { subject, state: 'ok', detail: number === 0 ? 'a free one will be taken' : `${where} is free` }
  const remedy =
    failure === 'EADDRINUSE'
      ? `Stop what listens there (ss -ltnp 'sport = :${number}' names it), or set PORT`
      : 'Set HOST to an address of this machine, and PORT to one that the user may open.'
  return { subject, state: 'wrong', detail: `cannot listen on ${where}: ${failure}`, remedy }
}

function tryListening(host: string, number: number): Promise<string | undefined> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', error => resolve(faultName(error)))
    server.listen({ host, port: number }, () => server.close(() => resolve(undefined)))
  })
}

/** The same probe as at a hub's start, in a temporary folder beside the hub's. */
async function sandbox(io: CommandIo): Promise<readonly Finding[]> {
  const subject = 'sandbox'
  let folder: string
  try {
    folder = dataDirOf(io)
  } catch {
    return [{ subject, state: 'warn', detail: NOT_READ }]
  }
  const place = await mkdtemp(join(await nearestFolder(folder), '.patchbay-doctor-')).catch(() => undefined)
  if (place === undefined)
    return [{ subject, state: 'warn', detail: `not checked, since nothing can be made in ${folder}` }]
  try {
    await chmod(place, 0o711)
    const { level, detail, notes } = await openSandbox(place, NOTHING_HELD)
    if (level === 'full' && notes.length === 0) return [{ subject, state: 'ok', detail: `level full: ${detail}` }]
    if (level === 'full') {
      const remedy = 'docs/security.md, "Memory" and "Core dumps"'
      return [{ subject, state: 'warn', detail: `level full: ${detail}; but ${notes.join('; ')}`, remedy }]
    }
    const remedy = /is missing/.test(detail)
      ? installing(['bubblewrap', 'util-linux'])
      : 'Run the hub as root on Linux, with a data folder whose parents everybody may search (chmod o+x).'
    const consequence = 'only administrators may run commands as servers'
    return [{ subject, state: 'warn', detail: `level ${level}: ${detail}; ${consequence}`, remedy }]
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

async function nearestFolder(path: string): Promise<string> {
  let folder = path
  while (folder !== dirname(folder) && !(await may(folder, constants.F_OK))) folder = dirname(folder)
  return folder
}

/** Not needed by the hub itself: programs that start most common servers, and certificates for remote ones. */
async function programs(io: CommandIo): Promise<readonly Finding[]> {
  const wanted = [
    ['npx', 'npm', 'servers that are npm packages'],
    ['uvx', 'pipx && pipx install uv', 'servers that are Python packages'],
    ['git', 'git', 'packages that come from a repository'],
  ] as const
  const findings: Finding[] = []
  for (const [program, pkg, what] of wanted) {
    const path = await findProgram(program, io)
    if (path) findings.push({ subject: program, state: 'ok', detail: path })
    else
      findings.push({
        subject: program,
        state: 'warn',
        detail: `not found; needed for ${what}`,
        remedy: installing([pkg]),
      })
  }
  const certificates = '/etc/ssl/certs/ca-certificates.crt'
  if (await may(certificates, constants.R_OK))
    findings.push({ subject: 'certificates', state: 'ok', detail: certificates })
  else {
    const detail = 'those of this system are missing; needed by programs that servers are made of'
    findings.push({ subject: 'certificates', state: 'warn', detail, remedy: installing(['ca-certificates']) })
  }
  return findings
}

function installing(packages: readonly string[]): string {
  return `On Debian or Ubuntu: apt-get install ${packages.join(' ')}`
}

async function findProgram(name: string, io: CommandIo): Promise<string | undefined> {
  for (const folder of (io.env.PATH ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter)) {
    const path = join(folder, name)
    if (folder !== '' && (await may(path, constants.X_OK))) return path
  }
  return undefined
}

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
