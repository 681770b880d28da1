import { write } from '../../store/transact.ts'
import type { FileMirror, FileState } from '../api.ts'
import type { RegistryDeps } from '../context.ts'
import { mirrorGroups } from './mirror-groups.ts'
import type { MirrorRun } from './mirror-run.ts'
import { mirrorServers } from './mirror-servers.ts'
import { mirrorUsers, removeVanishedUsers } from './mirror-users.ts'

/** Applies one state at a time, so that the last one given is the one that stays. */
export function createMirror(deps: RegistryDeps): FileMirror {
  let turn: Promise<unknown> = Promise.resolve()
  return {
    apply(state) {
      const applied = turn.then(() => applyState(deps, state))
      turn = applied.catch(() => undefined)
      return applied
    },
  }
}

function applyState(deps: RegistryDeps, state: FileState): ReturnType<FileMirror['apply']> {
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
