import { cappedRights } from '../../domain/server/owner-rights.ts'
import type { RegistryDeps } from '../context.ts'
import type { Owner } from '../owners.ts'
import type { ServerRow } from '../rows.ts'
import { type Author, authorCap, outsideAdministration, refusePlainStart } from './author-rights.ts'
import { reconfiguresBy } from './colleague.ts'
import { fullyFilled } from './documents.ts'
import { checkHeldRights, type heldAfterSave } from './held-rights.ts'
import type { Draft } from './server-draft.ts'

/** Result of a save before it is stored. */
interface Save {
  readonly owner: Owner
  readonly held: ReturnType<typeof heldAfterSave>
  readonly settings: Draft['settings']
  /** Names of the fields that change. */
  readonly changed: readonly string[]
  /** True when the server gets another owner. */
  readonly moved: boolean
}

/** Throws if the change is forbidden. Disabling is always allowed, even if the rules have become stricter. */
export function checkSave(
  deps: RegistryDeps,
  author: Author,
  row: ServerRow,
  draft: Draft,
  { owner, held, settings, changed, moved }: Save,
): void {
  const { actor } = author
  const limit = reconfiguresBy(author, changed) ? authorCap(author, owner) : undefined
  const unchanged = changed.every(field => field === 'enabled')
  const starts = settings.enabled && (unchanged || row.enabled === 0)
  if (starts) refusePlainStart(actor, cappedRights(owner, held.cap), settings)
  // A moved server that awaits review is checked at the review, by the rules valid then.
  if (!(moved && held.awaitsReview) && (!unchanged || settings.enabled))
    checkHeldRights(deps, cappedRights(owner, limit), held, settings, fullyFilled(draft), {
      id: row.id,
      unchanged,
    })
  if (limit !== undefined && row.origin === 'file') {
    throw outsideAdministration(`"${row.name}" stands in the settings file, which is not changed from this address`)
  }
}
