import type { AnswerIo, LongMessage, TransportDefinition, TransportIo } from '../../../transport-kit/definition.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import type { ResultStyle } from '../../protocol/frames.ts'
import type { LinkLimits, ListKind } from '../../protocol.ts'

/** Functions that the worker provides for a link's transport. */
export type LinkIo = Pick<TransportIo, 'fetch' | 'connect' | 'child'> & Pick<AnswerIo, 'reach'>

/** One connection to one upstream inside a worker, whatever the upstream speaks. Its events go to its context. */
export interface UpstreamLink {
  /** Aborts when the link has ended. */
  readonly signal: AbortSignal
  /** True while a response is pending, so that a long message may be one. */
  readonly expecting: boolean
  /** Opens the transport; the outcome is sent as `opened` or `failed`. `isAnswer` is called for each response. */
  start(transport: TransportDefinition, io: LinkIo, isAnswer: () => void): Promise<void>
  /** Sends one request of a caller, as JSON-RPC text. */
  call(id: number, text: string): void
  callWith(id: number, text: string, headers: Readonly<Record<string, string>>, style: ResultStyle): void
  cancel(id: number, reason: string): void
  /** Sends a notification to the upstream. */
  send(text: string): void
  /** Sends the caller's response to a server request. */
  answer(key: number, json: string): void
  /** A message was too long and was dropped; `related` is the request whose stream carried it. */
  tooLong(message: LongMessage, related?: number): void
  setLimits(limits: LinkLimits): void
  /** Reads the lists again; without `kinds` all of them. */
  refresh(kinds?: readonly ListKind[]): void
  /** Main has accepted the last part of a list; `full`: the reason why it accepts no more. */
  listTaken(kind: ListKind, full: string | undefined): void
  /** The transport's connection is gone. */
  lost(reason: WireError): void
  /** Closes it gracefully. */
  close(): Promise<void>
}

/** The error for a transport module of another kind than its plugin declared. */
export function wrongKind(wanted: TransportDefinition['kind'], found: TransportDefinition['kind']): WireError {
  return {
    code: 'transport_unavailable',
    message: `The transport's plugin announces kind "${wanted}", and its module is of kind "${found}"`,
  }
}
