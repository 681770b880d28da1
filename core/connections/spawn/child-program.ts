import { resolve } from 'node:path'
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

/**
 * The absolute path of the program; throws `cwd_not_found`, `command_not_found`, or `spawn_failed` for a folder. Bun
 * reports a missing working directory and a missing program alike, so both are checked before.
 */
export function findProgram(spec: ChildSpec, path: string): string {
  if (spec.cwd !== undefined && !statsOf(spec.cwd)?.isDirectory()) {
    throw new HubError(
      'cwd_not_found',
      `Cannot start "${spec.command}": the working directory "${spec.cwd}" does not exist`,
    )
  }
  const found = Bun.which(spec.command, { PATH: path, ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }) })
  if (found && !statsOf(found)?.isDirectory()) return found
  if (found ?? (spec.command.includes('/') && statsOf(resolve(spec.cwd ?? '/', spec.command))?.isDirectory()))
    throw new HubError('spawn_failed', `Cannot start "${spec.command}": it is a folder, not a program (EACCES)`)
  throw new HubError('command_not_found', `Cannot start "${spec.command}": there is no such program in PATH`, {
    hint: 'Install it, or give its whole path in "command".',
  })
}

/** The error for a failed start: `command_not_found`, or `spawn_failed` with the system's code. */
export function spawnError(spec: ChildSpec, error: unknown): HubError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const detail = faultName(error)
  if (code === 'ENOENT') {
    return new HubError(
      'command_not_found',
      `Cannot start "${spec.command}": it, or the interpreter it names, does not exist`,
    )
  }
  return new HubError('spawn_failed', `Cannot start "${spec.command}": ${detail}`, { cause: error })
}
