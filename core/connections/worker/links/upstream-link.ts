import type { WireError } from '../../../contract/errors.ts'
import type { AnswerIo, LongMessage, TransportDefinition, TransportIo } from '../../../contract/transport.ts'
import type { LinkLimits, ListKind } from '../../protocol.ts'

/** What a link gets of the worker for its transport. */
export type LinkIo = Pick<TransportIo, 'fetch' | 'child'> & Pick<AnswerIo, 'reach'>

/** One connection to one upstream inside a worker, whatever the upstream speaks. What it has to say goes to its context. */
export interface UpstreamLink {
  /** Aborts when the link is over. */
  readonly signal: AbortSignal
  /** An answer is awaited, so that bytes of the upstream are wanted. */
  readonly expecting: boolean
  /** Opens the transport; the outcome goes out as `opened` or `failed`. `useful` is called with each answer that came. */
  start(transport: TransportDefinition, io: LinkIo, isAnswer: () => void): Promise<void>
  /** One request of a caller, as JSON-RPC text. */
  call(id: number, text: string): void
  callWith(id: number, text: string, headers: Readonly<Record<string, string>>): void
  cancel(id: number, reason: string): void
  /** A notification toward the upstream. */
  send(text: string): void
  /** The caller's answer to a request of the upstream. */
  answer(key: number, json: string): void
  /** A message was too long and was dropped; `related` is the request whose stream carried it. */
  tooLong(message: LongMessage, related?: number): void
  setLimits(limits: LinkLimits): void
  /** Reads the lists again; without `kinds` all of them. */
  refresh(kinds?: readonly ListKind[]): void
  /** Main has taken the last part of a list; `full`: and takes no more of it. */
  listTaken(kind: ListKind, full: string | undefined): void
  /** What carried the messages is gone. */
  lost(reason: WireError): void
  /** Ends in good order. */
  close(): Promise<void>
}

/** A module whose kind is not what its plugin announced. */
export function wrongKind(wanted: TransportDefinition['kind'], found: TransportDefinition['kind']): WireError {
  return {
    code: 'transport_unavailable',
    message: `The transport's plugin announces kind "${wanted}", and its module is of kind "${found}"`,
  }
}
