import type { FieldError } from '../contract/errors.ts'
import type { AfterCommit, Writer } from '../store/transact.ts'
import type { RegistryDeps } from './context.ts'

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
