import type { ErrorKind } from '../contract/definition.ts'
import { type ErrorCode, type FieldError, HubError } from '../contract/errors.ts'

/** An Error as it crosses a worker port, since structured clone loses `code` and `cause`. */
export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly hint?: string
  readonly own?: ErrorKind
  readonly errors?: readonly FieldError[]
}

/** Converts an error. One that is not a HubError becomes `internal`: its text, from a library or the system, is only logged. */
export function toWireError(error: unknown): WireError {
  if (error instanceof HubError)
    return {
      code: error.code,
      message: error.message,
      ...(error.data ? { data: error.data } : {}),
      ...(error.own ? { own: error.own } : {}),
      ...(error.errors ? { errors: error.errors } : {}),
    }
  return { code: 'internal', message: `The hub failed at this (${faultName(error)}); its log says more` }
}

/** The public part of a system error: its code, such as ECONNRESET, otherwise its name. */
export function faultName(error: unknown): string {
  if (!(error instanceof Error)) return 'an unknown fault'
  if ('code' in error && /^[A-Z][A-Z0-9_]{2,63}$/.test(String(error.code))) return String(error.code)
  // If no descriptors are left, Bun's spawn has the code only in the message.
  return /^E[A-Z]{3,15}(?=:)/.exec(error.message)?.[0] ?? error.name
}

/** The HubError of a wire error, to be thrown in another thread. */
export function fromWireError(wire: WireError): HubError {
  const { code, message, data, hint, own, errors } = wire
  const rest = {
    ...(data ? { data } : {}),
    ...(hint === undefined ? {} : { hint }),
    ...(own ? { own } : {}),
    ...(errors ? { errors } : {}),
  }
  return new HubError(code, message, rest)
}
