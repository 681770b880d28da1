import type { WireError } from '../../transport-kit/wire-error.ts'
import type { ChildRelay } from '../process/child-streams.ts'
import type { TravellingDescriptor } from '../process/descriptors.ts'
import type { ProcessMark } from '../process/process-tree.ts'

/** A process of a server. Main owns it; a worker carries its bytes. */
export interface Child {
  readonly pid: number
  /** Undefined when its bytes go through `relay`. */
  readonly descriptors: { readonly read: TravellingDescriptor; readonly write: TravellingDescriptor } | undefined
  readonly relay: ChildRelay | undefined
  /** Resolves with a description of how the process ended. Never rejects. */
  readonly exited: Promise<string>
  readonly running: boolean
  readonly sandboxed: boolean
  /** Resolves when nothing writes to its stderr any more. Never rejects. */
  readonly errorsEnded: Promise<void>
  /** The lines that were written to the server's stderr since this process began. */
  errorLines(): readonly string[]
  /** Why a process ended in the sandbox before its program ran. Known some milliseconds after `exited`. */
  startFailure(): WireError | undefined
  /** Records its descendants (`seen`: those of a moment ago), so that they end with it even outside its group. */
  poll(seen?: readonly ProcessMark[]): void
  /** Ends stdin, then sends TERM, then KILL, each to the whole group; resolves when no process of it is left. See `stopOnce`. */
  stop(): Promise<void>
}
