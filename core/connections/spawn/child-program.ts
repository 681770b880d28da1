import { closeSync, openSync, readSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { HubError } from '../../contract/errors.ts'
import { faultName } from '../../transport-kit/wire-error.ts'
import type { SandboxPolicy } from '../sandbox/sandbox.ts'
import { statsOf } from '../stats-of.ts'

/** A program to start for a server, with its environment and its sandbox policy. */
export interface ChildSpec {
  readonly serverId: string
  readonly sessionId?: string
  /** The user whose session needs it, where that is not the owner of the server. */
  readonly foreignUserId?: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /** True to carry its output through main even where a worker could read it. */
  readonly carriedByMain?: boolean
  /** Redacts the server's secrets in reports on it. Default: the secrets held for the server. */
  readonly redact?: (text: string) => string
  /** Runs it in the sandbox, where `cwd` is ignored. */
  readonly confinement?: SandboxPolicy
}

/** Bytes of a program that are read to find the interpreter that it names. */
const FIRST_LINE_BYTES = 256
const FILE_HINT = 'Make it executable with chmod +x, or name its interpreter in "command" and the file in "args".'

/**
 * The absolute path of the program; throws `cwd_not_found`, `command_not_found` or `command_not_executable`. Bun
 * reports a missing working directory and a missing program alike, so both are checked before.
 */
export function findProgram(spec: ChildSpec, path: string): string {
  const { command, cwd } = spec
  if (cwd !== undefined && !statsOf(cwd)?.isDirectory()) {
    throw new HubError('cwd_not_found', `Cannot start "${command}": the working directory "${cwd}" does not exist`)
  }
  const found = Bun.which(command, { PATH: path, ...(cwd === undefined ? {} : { cwd }) })
  if (found && !statsOf(found)?.isDirectory()) return found
  const there = found ?? (command.includes('/') ? resolve(cwd ?? '/', command) : fileInPath(command, path))
  const stats = there === undefined ? undefined : statsOf(there)
  if (stats?.isDirectory()) {
    throw new HubError('command_not_executable', `Cannot start "${command}": it is a folder, not a program`, {
      hint: 'Give the path of a program in it.',
    })
  }
  if (stats) {
    throw new HubError('command_not_executable', `Cannot start "${command}": the hub may not execute this file`, {
      hint: FILE_HINT,
    })
  }
  throw new HubError(
    'command_not_found',
    `Cannot start "${command}": there is no such program in PATH${wrongCommand(command)}`,
    {
      hint: 'Install it, or give its whole path in "command".',
    },
  )
}

/** The reason why a command names no program, if it can be recognized; otherwise empty. */
function wrongCommand(command: string): string {
  if (/^[A-Za-z]:[\\/]|\\/.test(command)) return '; it is a path of Windows, and the hub runs on another system'
  if (/^(?:cmd|powershell)(?:\.exe)?$/i.test(command))
    return '; it is a shell of Windows: give the program that it should start as "command"'
  const [program = '', ...args] = command.trim().split(/\s+/)
  if (args.length === 0) return ''
  return `; "command" is the program alone: write "${program}" there, and "${args.join(' ')}" as items of "args"`
}

/** A file of this name that cannot be executed: the runtime finds only those that can. */
function fileInPath(name: string, path: string): string | undefined {
  const files = path.split(':').map(folder => join(folder, name))
  return files.find(file => isAbsolute(file) && statsOf(file)?.isFile())
}

/**
 * The error for a failed start: `command_not_executable`, `command_not_found` where the program is gone, or `spawn_failed` with the
 * system's code. `program`: its path, absent where a sandbox starts it.
 */
export function spawnError(spec: ChildSpec, error: unknown, program?: string): HubError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const why = program === undefined || !statsOf(program) ? undefined : notExecutable(code, program)
  if (why !== undefined) {
    return new HubError('command_not_executable', `Cannot start "${spec.command}": ${why}`, {
      cause: error,
      hint: FILE_HINT,
    })
  }
  if (code === 'ENOENT') {
    return new HubError(
      'command_not_found',
      `Cannot start "${spec.command}": it, or the interpreter it names, does not exist`,
    )
  }
  return new HubError('spawn_failed', `Cannot start "${spec.command}": ${faultName(error)}`, { cause: error })
}

/** Why the system does not execute a file that is there; undefined for any other failure. */
function notExecutable(code: string, program: string): string | undefined {
  if (code !== 'ENOENT' && code !== 'EACCES' && code !== 'ENOEXEC') return undefined
  const interpreter = interpreterOf(program)
  const named = interpreter === undefined ? 'it' : `the interpreter "${interpreter}" that it names`
  if (code === 'EACCES') return `the hub may not execute ${named} (EACCES)`
  if (code === 'ENOENT')
    return `${interpreter === undefined ? 'the loader that it needs' : named} does not exist (ENOENT)`
  return `${named} is neither a program for this machine nor a script with a #! line (ENOEXEC)`
}

/** The interpreter in a script's `#!` line. */
function interpreterOf(program: string): string | undefined {
  if (!statsOf(program)?.isFile()) return undefined
  let file: number | undefined
  try {
    file = openSync(program, 'r')
    const bytes = Buffer.alloc(FIRST_LINE_BYTES)
    const text = bytes.toString('latin1', 0, readSync(file, bytes, 0, FIRST_LINE_BYTES, 0))
    return /^#![ \t]*(\S+)/.exec(text)?.[1]
  } catch {
    // A program may be executable and not readable: then nobody learns its interpreter.
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
