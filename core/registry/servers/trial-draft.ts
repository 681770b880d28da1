import type { JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import { cappedRights } from '../../domain/server/owner-rights.ts'
import { read } from '../../store/transact.ts'
import type { EffectiveServer } from '../api.ts'
import type { RegistryDeps } from '../context.ts'
import { chooseOwner, rowOwner } from '../owners.ts'
import { type ServerRow, serverRecord } from '../rows.ts'
import { authorOf, refuseColleague, refuseHostedMove } from './colleague.ts'
import { checkedDraft } from './document-check.ts'
import { readDocument } from './document-parts.ts'
import { fullyFilled } from './documents.ts'
import { effectiveServer, secretValues } from './effective-server.ts'
import { heldByAuthor, heldRights, NO_LIMITS } from './held-rights.ts'
import { refuseMovedServer } from './server-draft.ts'
import { requireProgram } from './server-program.ts'
import { checkServerRights } from './server-rights.ts'
import { changedFields } from './server-secrets.ts'

/** The settings for a trial connection of this body, in place of the server in `row`, if there is one. */
export async function trialDraft(
  deps: RegistryDeps,
  actor: Actor,
  row: ServerRow | undefined,
  body: JsonObject,
): Promise<EffectiveServer> {
  const { store } = deps
  const stored = row && { ownerId: row.owner_id, id: row.id, settings: serverRecord(row) }
  const draft = await checkedDraft(deps, actor, body, stored)
  const chosen = await read(store, db => chooseOwner(db, actor, draft.owner, row && rowOwner(row)))
  const author = await authorOf(deps, actor, row)
  if (row) {
    // A trial has a name of its own.
    const changed = changedFields(serverRecord(row), draft.settings).filter(field => field !== 'name')
    refuseColleague(deps, author, row, draft, changed)
    await refuseHostedMove(deps, author, row, draft)
  }
  const { cap } = heldByAuthor(author, chosen, row ? heldRights(row) : NO_LIMITS)
  const owner = cappedRights(chosen, cap)
  if (stored) refuseMovedServer(deps, actor, owner, draft, stored)
  const settings = { ...draft.settings, config: draft.filled }
  checkServerRights(deps, owner, settings.transport, fullyFilled(draft))
  await requireProgram(deps.transports.programs, owner.id, draft.settings, stored?.settings)
  const secrets = secretValues([draft.settings, settings])
  const { document } = draft
  const asStored = { ...settings, config: draft.settings.config }
  const effective = effectiveServer(settings, owner, asStored, async sha256 =>
    document ? document.content : readDocument(store, row?.id ?? '', sha256),
  )
  return { ...effective, secrets, ...(cap === undefined ? {} : { rightsCap: cap }) }
}
