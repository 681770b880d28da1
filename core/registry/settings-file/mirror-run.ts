import type { FieldError } from '../../contract/errors.ts'
import { quoteName } from '../../domain/names.ts'
import type { AfterCommit, Writer } from '../../store/transact.ts'
import type { RegistryDeps } from '../context.ts'
import { type Owner, ownerOf, userByName } from '../owners.ts'

/** One run of the mirror: where it writes, and what it has to tell. */
export interface MirrorRun {
  readonly deps: RegistryDeps
  readonly trx: Writer
  readonly after: AfterCommit
  /** What was made, changed or removed: `servers/ada~time`. */
  readonly applied: string[]
  readonly problems: { readonly entry: string; readonly errors: readonly FieldError[] }[]
}

/** Whose an entry is: `plainOwner`'s unless it names somebody. Undefined, and reported, when that user is not there. */
export async function entryOwner(
  run: MirrorRun,
  named: string | undefined,
  plainOwner: Owner,
  report: (errors: readonly FieldError[]) => void,
): Promise<Owner | undefined> {
  if (named === undefined) return plainOwner
  const row = await userByName(run.trx, named)
  if (row) return ownerOf(row)
  report([{ pointer: '#/owner', code: 'enum', detail: `There is no user ${quoteName(named)} to own it` }])
  return undefined
}
