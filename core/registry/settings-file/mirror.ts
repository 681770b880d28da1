import { write } from '../../store/transact.ts'
import type { FileMirror, FileState } from '../api.ts'
import type { RegistryDeps } from '../context.ts'
import { checkFileDocuments } from './file-documents.ts'
import { mirrorAttached } from './mirror-attached.ts'
import { mirrorGroups } from './mirror-groups.ts'
import type { MirrorRun } from './mirror-run.ts'
import { mirrorServers } from './mirror-servers.ts'
import { mirrorShares } from './mirror-shares.ts'
import { mirrorUsers, removeVanishedUsers } from './mirror-users.ts'

/** Applies states one at a time, so that the last one takes effect. */
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

async function applyState(deps: RegistryDeps, state: FileState): ReturnType<FileMirror['apply']> {
  // Before the transaction, which others wait for.
  const documents = await checkFileDocuments(deps, state.servers)
  return write(deps.store, async (trx, after) => {
    const run: MirrorRun = { deps, trx, after, documents, applied: [], problems: [] }
    const vanished = await mirrorUsers(run, state.users)
    await mirrorServers(run, state.servers)
    await mirrorGroups(run, state.groups)
    await mirrorShares(run, state)
    await mirrorAttached(run, state)
    // Last, since their entries have been removed from the file before.
    await removeVanishedUsers(run, vanished)
    return { applied: run.applied, problems: run.problems }
  })
}
