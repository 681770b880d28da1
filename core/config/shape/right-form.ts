import type { JsonObject } from '../../contract/json.ts'
import { mergePatch } from '../../domain/json/merge-patch.ts'
import { addressOfBridge } from '../../domain/program/bridges.ts'
import { wrongForm } from '../../domain/program/wrong-form.ts'
import { withOwnReferences } from './secret-references.ts'
import { readServerEntry } from './server.ts'

/**
 * Timeouts below this value may be in seconds: clients whose entries do not state the unit use seconds or some thousand
 * milliseconds.
 */
const SHORT_TIMEOUT_MS = 1_000

/** The body of an entry in the form that works here; a program that only connects to an address is that address. */
export function readEntry(
  name: string,
  entry: JsonObject,
): { readonly body: JsonObject; readonly warnings: readonly string[] } {
  const { body, warnings } = readServerEntry(name, withOwnReferences(entry))
  const formed = inRightForm(body)
  return { body: formed.body, warnings: [...warnings, ...formed.warnings] }
}

/** The body with the form that is meant in place of a wrong one, and a sentence that says so. */
export function inRightForm(body: JsonObject): { readonly body: JsonObject; readonly warnings: readonly string[] } {
  const address = addressOfBridge(body)
  const warning = 'the hub connects to the address itself, without the program that did so'
  if (address) return { body: address, warnings: [warning] }
  const form = wrongForm(body, { isWindows: process.platform === 'win32' })
  if (!form?.suggestion) return { body, warnings: [] }
  return { body: mergePatch(body, form.suggestion), warnings: [`written as it works here: ${form.detail}`] }
}

/** Sentences about fields that several clients use in entries of the same form, and that are not taken over exactly. */
export function leftWithClient({ alwaysAllow, autoApprove, timeout }: JsonObject, body: JsonObject): string[] {
  const approved = [alwaysAllow, autoApprove].flatMap(list => (Array.isArray(list) ? list : []))
  const isShort = typeof timeout === 'number' && body.timeout === timeout && timeout > 0 && timeout < SHORT_TIMEOUT_MS
  return [
    ...(approved.length === 0
      ? []
      : ['the tools that it calls without asking stay with the client (alwaysAllow, autoApprove)']),
    ...(isShort
      ? [`its timeout counts as ${timeout} milliseconds; for a client that counts in seconds, set it again`]
      : []),
  ]
}
