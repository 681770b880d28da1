import type { WireError } from '../../transport-kit/wire-error.ts'

/** A message to the thread of a plugin. */
export type ToThread =
  | { readonly type: 'load'; readonly file: string }
  | { readonly type: 'ask'; readonly id: number; readonly message: unknown }

/** The answer to one `ask`. */
export interface FromThread {
  readonly id: number
  readonly value?: unknown
  readonly error?: WireError
}
