import { ERROR_CODES } from '../../contract/codes.ts'
import { type ErrorCode, HubError } from '../../contract/errors.ts'
import { visibleText } from '../../domain/text/visible-text.ts'

const MOST_CHARACTERS = 500
const CODED = /^(\w+): /

/** Why a message was not taken: a stable code, and the text of it that is kept, which begins with the code. */
export interface DeliveryFault {
  readonly code: ErrorCode
  readonly detail: string
}

/** Describes the failure of an attempt. An error of a plugin without a code counts as `delivery_failed`. */
export function faultOf(error: unknown): DeliveryFault {
  const message = error instanceof Error ? error.message : String(error)
  return faultText(error instanceof HubError ? error.code : 'delivery_failed', message)
}

/** A fault that the hub itself finds. */
export function faultText(code: ErrorCode, message: string): DeliveryFault {
  return { code, detail: visibleText(`${code}: ${message}`.slice(0, MOST_CHARACTERS)) }
}

/** The code that a kept detail begins with; undefined of one from before the details had codes. */
export function codeOfDetail(detail: string): ErrorCode | undefined {
  const [, code = ''] = CODED.exec(detail) ?? []
  return Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : undefined
}
