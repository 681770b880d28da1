import type { FieldError } from '../contract/errors.ts'
import { type AfterCommit, type Writer, write } from '../store/transact.ts'
import type { FileMirror, FileState } from './api.ts'
import type { RegistryDeps } from './context.ts'
import { mirrorGroups } from './mirror-groups.ts'
import { mirrorServers } from './mirror-servers.ts'
import { mirrorUsers, removeVanishedUsers } from './mirror-users.ts'

export interface MirrorDeps extends RegistryDeps {
  /** Hears of each server that goes. */
  readonly forgetServer: (id: string) => void
}

/** One run of the mirror: where it writes, and what it has to tell. */
export interface MirrorRun {
  readonly deps: MirrorDeps
  readonly trx: Writer
  readonly after: AfterCommit
  /** What was made, changed or removed: `servers/ada~time`. */
  readonly applied: string[]
  readonly problems: { readonly entry: string; readonly errors: readonly FieldError[] }[]
}

/** Applies one state at a time, so that the last one given is the one that stays. */
export function createMirror(deps: MirrorDeps): FileMirror {
  let turn: Promise<unknown> = Promise.resolve()
  return {
    apply(state) {
      const applied = turn.then(() => applyState(deps, state))
      turn = applied.catch(() => undefined)
      return applied
    },
  }
}

function applyState(deps: MirrorDeps, state: FileState): ReturnType<FileMirror['apply']> {
  return write(deps.store, async (trx, after) => {
    const run: MirrorRun = { deps, trx, after, applied: [], problems: [] }
    const vanished = await mirrorUsers(run, state.users)
    await mirrorServers(run, state.servers)
    await mirrorGroups(run, state.groups)
    // Last: what they own of the file is gone by now.
    await removeVanishedUsers(run, vanished)
    return { applied: run.applied, problems: run.problems }
  })
}
