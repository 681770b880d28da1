import type { UpstreamFrame } from '../../protocol/frames.ts'
import type { FromWorker, OpenedMessage } from '../../protocol.ts'
import type { Deadlines } from '../deadlines.ts'
import type { ListPaces } from '../lists/list-paces.ts'

/** The parts of its worker that a link uses. */
export interface LinkContext {
  readonly version: string
  readonly deadlines: Deadlines
  readonly paces: ListPaces
  /** Sends what belongs to a call, or came from the upstream by itself. */
  frame(frame: UpstreamFrame): void
  control(message: FromWorker): void
  /** The link has ended; it sends nothing more. */
  gone(): void
}

/** The server's handshake result: identity, capabilities, instructions. */
export interface Handshake extends Omit<OpenedMessage, 'type' | 'conn'> {
  /** True when the server's capabilities are in no form that can be read: each list is asked for. */
  readonly isUndeclared?: boolean
}
