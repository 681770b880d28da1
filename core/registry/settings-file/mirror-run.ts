import type { FieldError } from '../../contract/errors.ts'
import { quoteName } from '../../domain/names.ts'
import type { AfterCommit, Writer } from '../../store/transact.ts'
import type { RegistryDeps } from '../context.ts'
import { type Owner, ownerOf, userByName } from '../owners.ts'
import type { FileDocuments } from './file-documents.ts'

/** The context of one run of the mirror, with its results. */
export interface MirrorRun {
  readonly deps: RegistryDeps
  readonly trx: Writer
  readonly after: AfterCommit
  readonly documents: FileDocuments
  /** Created, changed and removed entries, such as `servers/ada~time`. */
  readonly applied: string[]
  readonly problems: { readonly entry: string; readonly errors: readonly FieldError[] }[]
}

/** The owner of an entry: `plainOwner` unless it names one. Undefined, and reported, when that user does not exist. */
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
