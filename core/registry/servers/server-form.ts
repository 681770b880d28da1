import { homedir } from 'node:os'
import { type FieldError, HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import { type ServerPlace, type WrongForm, wrongForm } from '../../domain/program/wrong-form.ts'
import { flattenServerBody, serverInvalid } from '../../domain/server/body.ts'
import { holdsMask } from '../../domain/server/secrets.ts'
import { visibleText } from '../../domain/text/visible-text.ts'

/** Longest suggestion in an answer, as JSON characters. */
const LONGEST_SUGGESTION = 16 * 1024

/** The system of the hub; only administrators learn its home folder. */
function placeFor(isAdmin: boolean): ServerPlace {
  return { isWindows: process.platform === 'win32', ...(isAdmin ? { home: homedir() } : {}) }
}

/**
 * The wrong form in a flat body. A suggestion that holds a mask of a secret or a hidden character, or is very long, is left out:
 * nobody could apply it, or see what it does.
 */
export function formOf(flat: JsonObject, isAdmin: boolean): WrongForm | undefined {
  const form = wrongForm(flat, placeFor(isAdmin))
  if (!form?.suggestion) return form
  const text = JSON.stringify(form.suggestion)
  const { suggestion, ...rest } = form
  return text.length > LONGEST_SUGGESTION || holdsMask(suggestion) || visibleText(text) !== text ? rest : form
}

/** The wrong form in a body as it was sent, as an error of its field; `fails`: it cannot work as it is written. */
export interface FormFinding {
  readonly fails: boolean
  readonly error: FieldError
}

const CODES = { command: 'command_invalid', args: 'command_invalid', cwd: 'format', url: 'url_invalid' } as const

/** The finding for a body of the API; undefined for a body in a form that works. */
export function findingOf(actor: Actor, body: JsonObject): FormFinding | undefined {
  const form = formOf(flattenServerBody(body, []), actor.kind === 'user' && actor.role === 'admin')
  if (!form) return undefined
  const { field, fails, detail } = form
  const code = CODES[field]
  const suggestion = form.suggestion && asSent(form.suggestion, body)
  return { fails, error: { pointer: `#/${field}`, code, detail, ...(suggestion ? { suggestion } : {}) } }
}

/** The suggestion for the body's own shape: nested in `config`, and `type` in place of `transport`. */
function asSent(suggestion: JsonObject, body: JsonObject): JsonObject {
  const { transport, ...fields } = suggestion
  const named = transport === undefined ? {} : { [Object.hasOwn(body, 'type') ? 'type' : 'transport']: transport }
  return isJsonObject(body.config) ? { ...named, config: fields } : { ...named, ...fields }
}

/** The error of an invalid body, with the finding in place of what its field says else. */
export function withFinding(error: unknown, finding: FormFinding | undefined, body: JsonObject): unknown {
  if (!finding || !(error instanceof HubError) || error.code !== 'validation_failed') return error
  const { pointer } = finding.error
  const isOfField = (one: FieldError): boolean => one.pointer.endsWith(pointer.slice(1))
  const others = (error.errors ?? []).filter(one => !isOfField(one))
  return serverInvalid([finding.error, ...others], body)
}
