import { isAbsolute, join } from 'node:path'
import { HubError } from '../../contract/errors.ts'
import { WORK_FOLDER } from '../../domain/server/spawn-policy.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { statsOf } from '../stats-of.ts'
import { PACKAGE_FOLDER, RUNTIME_FOLDER, SANDBOX_PATH } from './profile.ts'

/** Paths that a sandbox shares with the machine, so that they are the same inside and outside. */
const SHARED = ['/usr/', '/bin/', '/sbin/', '/lib/', '/lib64/']
const OF_RUNTIME = ['bun', 'bunx']

/** The stderr of the sandbox's stages when they fail, and their exit codes. */
const STAGE = /^(?:bwrap|setpriv|prlimit): (.*)$/
const STAGE_EXITS: ReadonlySet<number | null> = new Set([1, 126, 127])
/** Messages of bubblewrap and of the shell behind it for a missing program, and for one that cannot be executed. */
const NO_PROGRAM = /^(?:execvp|(?:line )?\d+: (?:exec: )?).*: (?:No such file or directory|not found)$/
const NOT_EXECUTABLE =
  /^(?:execvp|(?:line )?\d+: (?:exec: )?).*: (?:.*required file not found|.*Permission denied|.*Exec format error|.*Is a directory)$/
/** Failures of one server alone: its program, its folders, its owner's limits. */
const OWN_FAILURE = /^(?:execvp|(?:line )?\d+: |Can't chdir|Can't find source path)|Resource temporarily unavailable/

/**
 * The error when a stage of the sandbox failed before the program ran: `command_not_found`, `command_not_executable`,
 * `spawn_failed`, or `sandbox_lost` where the sandbox itself could not be created. Undefined for any other exit.
 */
export function stageFailure(command: string, exitCode: number | null, stderrTail: string): WireError | undefined {
  const stageError = STAGE_EXITS.has(exitCode) ? STAGE.exec(stderrTail)?.[1] : undefined
  if (stageError === undefined) return undefined
  if (NO_PROGRAM.test(stageError)) {
    const message = `Cannot start "${command}" in the sandbox: it, or the interpreter it names, does not exist there`
    return { code: 'command_not_found', message }
  }
  if (NOT_EXECUTABLE.test(stageError)) {
    const why = stageError.endsWith('required file not found')
      ? 'the interpreter that it names does not exist there'
      : stageError
    return { code: 'command_not_executable', message: `Cannot start "${command}" in the sandbox: ${why}` }
  }
  if (!OWN_FAILURE.test(stageError)) {
    const { code, message } = sandboxLost(command, stageError)
    return { code, message }
  }
  const why = /Resource temporarily unavailable/.test(stageError)
    ? `EAGAIN, its owner has too many processes (${stageError})`
    : stageError
  return { code: 'spawn_failed', message: `Cannot start "${command}" in the sandbox: ${why}` }
}

/** The error for a start when the sandbox, which worked at the hub's start, cannot be created any more. */
export function sandboxLost(command: string, why: string): HubError {
  return new HubError('sandbox_lost', `Cannot start "${command}": the sandbox of this machine is lost (${why})`)
}

/**
 * The path inside the sandbox of a command's program. One in the server's own folder is left to the sandbox, since its
 * links may lead elsewhere outside. Throws `command_not_found`, and `command_not_executable` for a file that not everybody may execute.
 */
export function resolveInside(command: string): string {
  if (command === process.execPath) return `${RUNTIME_FOLDER}/bun`
  if (!command.includes('/')) return byName(command)
  if (!SHARED.some(folder => command.startsWith(folder))) {
    if (!isAbsolute(command) || command.startsWith(`${WORK_FOLDER}/`)) return command
    if (command === `${RUNTIME_FOLDER}/bun` || command.startsWith(`${PACKAGE_FOLDER}/`)) return command
    throw notFound(command, `of this machine’s programs the sandbox shows those below /usr`)
  }
  if (isProgram(command)) return command
  const stats = statsOf(command)
  if (stats) throw notExecutable(command, stats.isDirectory() ? 'it is a folder' : undefined)
  throw notFound(command, 'there is no such program')
}

/** True when a program that is called by its name exists inside the sandbox. */
export function isInside(name: string): boolean {
  try {
    return resolveInside(name) !== ''
  } catch (error) {
    if (error instanceof HubError && /^command_not_/.test(error.code)) return false
    throw error
  }
}

function byName(command: string): string {
  for (const folder of SANDBOX_PATH) {
    if (folder === RUNTIME_FOLDER ? OF_RUNTIME.includes(command) : isProgram(join(folder, command))) {
      return join(folder, command)
    }
  }
  if (SANDBOX_PATH.some(folder => folder !== RUNTIME_FOLDER && statsOf(join(folder, command))?.isFile()))
    throw notExecutable(command)
  throw notFound(command, `there is no such program in ${SANDBOX_PATH.join(':')}`)
}

function isProgram(path: string): boolean {
  // A program that only its owner may execute cannot be run inside.
  const stats = statsOf(path)
  return stats?.isFile() === true && (stats.mode & 0o001) !== 0
}

function notExecutable(command: string, why = 'not everybody may execute it'): HubError {
  return new HubError('command_not_executable', `Cannot start "${command}" in the sandbox: ${why}`, {
    hint: 'Make it executable for everybody with chmod a+x, or name its interpreter in "command".',
  })
}

function notFound(command: string, why: string): HubError {
  return new HubError('command_not_found', `Cannot start "${command}" in the sandbox: ${why}`, {
    hint: 'Install it for everybody below /usr, or use a package runner (npx, uvx).',
  })
}
