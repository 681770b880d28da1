import type { FromWorker, OpenedMessage } from '../../protocol.ts'
import type { Deadlines } from '../deadlines.ts'
import type { ListPaces } from '../lists/list-paces.ts'

/** What a link has of the worker that holds it. */
export interface LinkContext {
  readonly version: string
  readonly deadlines: Deadlines
  readonly paces: ListPaces
  frame(text: string): void
  control(message: FromWorker): void
  /** The link is over; nothing more comes from it. */
  gone(): void
}

/** What an upstream says of itself at first. */
export type Handshake = Omit<OpenedMessage, 'type' | 'conn'>
