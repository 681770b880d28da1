import type { Era } from '../../domain/era.ts'
import type { Variables } from '../../domain/server/variables.ts'
import type { Child } from '../spawn/children.ts'
import type { CarriedCredential } from './carried-credential.ts'
import type { ConnectionEvents } from './connection-events.ts'
import type { WorkerPort } from './port.ts'

/** The parts that a `Connection` is made of. */
export interface ConnectionOptions {
  readonly number: number
  readonly port: WorkerPort
  readonly child: Child | undefined
  readonly credential: CarriedCredential | undefined
  readonly events: ConnectionEvents
  readonly era: Era
  readonly hubVersion: string
  /** Redacts the error messages of calls; the worker redacts everything else except results. */
  readonly redact: (text: string) => string
  readonly variables: Variables
  /** Runs some work in a turn of the event loop of its own. */
  readonly turns: (work: () => void) => void
  /** Called when the connection no longer uses its worker thread. */
  readonly released: () => void
}
