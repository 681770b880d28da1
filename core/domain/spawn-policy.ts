import { HubError } from '../contract/errors.ts'
import type { Role } from '../contract/records.ts'

/** What the boot probe found that this machine can enforce on a child process. */
export type SandboxLevel = 'full' | 'uid' | 'none'

export interface SpawnPolicyInput {
  readonly policy: 'sandboxed' | 'admin' | 'off'
  readonly level: SandboxLevel
  readonly ownerRole: Role
  /** What the server's configuration asks for. */
  readonly sandbox?: 'full' | 'off'
}

/**
 * The one rule that stands before every start of a process and before saving what would start one: create, edit,
 * start, restart, test, batch, import. Asked at each start, since a machine may lose its sandbox and an owner the role.
 * Returns how the child runs; throws `stdio_not_permitted`.
 */
export function spawnPolicy(input: SpawnPolicyInput): { readonly sandbox: 'full' | 'off' } {
  if (input.policy === 'off') throw refused('STDIO_POLICY is "off": nobody may run commands')
  if (input.ownerRole === 'admin') {
    if (input.sandbox !== 'full') return { sandbox: 'off' }
    if (input.level === 'full') return { sandbox: 'full' }
    throw refused(`the server asks for the sandbox, and this machine offers level "${input.level}"`)
  }
  if (input.policy === 'admin') throw refused('STDIO_POLICY is "admin": only administrators may run commands')
  if (input.level !== 'full') {
    throw refused(`ordinary users run commands only inside the sandbox, and this machine offers level "${input.level}"`)
  }
  return { sandbox: 'full' }
}

function refused(why: string): HubError {
  return new HubError('stdio_not_permitted', `Cannot run a command for this server: ${why}`, {
    hint: 'Use a remote server (url), or ask an administrator to own the server.',
  })
}
