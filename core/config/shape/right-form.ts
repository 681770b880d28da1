import type { JsonObject } from '../../contract/json.ts'
import { mergePatch } from '../../domain/json/merge-patch.ts'
import { addressOfBridge } from '../../domain/program/bridges.ts'
import { wrongForm } from '../../domain/program/wrong-form.ts'
import type { EntryFields } from './entry-fields.ts'
import { withOwnReferences } from './secret-references.ts'
import { ALIASES, readServerEntry, standsFor } from './server.ts'
import { usualEntry } from './usual-entry.ts'

/** The body of an entry in the form that works here; a program that only connects to an address is that address. */
export function readEntry(name: string, written: JsonObject, pointer: string, fields: EntryFields): ReadEntry {
  const usual = usualEntry(written, pointer, fields)
  const { body, warnings } = readServerEntry(name, withOwnReferences(usual.entry), fields)
  const formed = inRightForm(body)
  const names = { ...writtenNames(usual.entry), ...usual.written }
  return { body: formed.body, written: names, warnings: [...usual.warnings, ...warnings, ...formed.warnings] }
}

/** An entry as a body, and what was left out or written in another form. */
export interface ReadEntry {
  readonly body: JsonObject
  /** The document's names of body fields, where they differ. */
  readonly written: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

function writtenNames(entry: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(ALIASES).flatMap(([field, aliases]) => {
      const alias = Object.hasOwn(entry, field) ? undefined : aliases.find(name => standsFor(name, field, entry))
      return alias === undefined ? [] : [[field, alias]]
    }),
  )
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

/** A sentence about the lists of approved tools, which several clients have in entries of the same form. */
export function leftWithClient({ alwaysAllow, autoApprove }: JsonObject): string[] {
  const approved = [alwaysAllow, autoApprove].flatMap(list => (Array.isArray(list) ? list : []))
  if (approved.length === 0) return []
  return ['the tools that it calls without asking stay with the client (alwaysAllow, autoApprove)']
}
