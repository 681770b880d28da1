import type { SettingsState } from '../config/shape/settings.ts'
import { isJsonObject, type JsonValue } from '../contract/json.ts'
import type { NotCarried } from '../features/imports.ts'
import type { RecordKind } from '../registry/record-kinds.ts'
import type { ImportItem } from './import-items.ts'

/** Owned records that a hub's file brings. */
export interface HubRecords {
  readonly items: readonly ImportItem[]
  readonly notCarried: readonly NotCarried[]
  readonly warnings: readonly string[]
}

/**
 * The records of those kinds that are carried. `ownerOf` says whose something is; `groups` has the names of groups by their former
 * ids.
 */
export function readHubRecords(
  { records }: SettingsState,
  kinds: readonly RecordKind[],
  ownerOf: (owner: string | undefined) => { readonly owner?: string },
  groups: ReadonlyMap<string, string>,
): HubRecords {
  const items: ImportItem[] = []
  const notCarried: NotCarried[] = []
  const warnings: string[] = []
  for (const { kind, fromHub } of kinds) {
    const carry = fromHub?.carry
    if (!carry) continue
    const entries = records.get(kind) ?? []
    let isAny = false
    for (const entry of entries) {
      const pointer = `#${entry.pointer}`
      const { owner, name } = entry.body
      if (typeof name !== 'string') {
        notCarried.push({ pointer, what: `${carry.one} without a name`, instead: 'Give it one.' })
        continue
      }
      isAny = true
      items.push({
        ...{ kind: 'record', record: kind, pointer, name, ...ownerOf(typeof owner === 'string' ? owner : undefined) },
        body: carry.read(entry, groups, notCarried),
        place: inner => inner.replace(/^#/, () => pointer),
      })
    }
    if (isAny) warnings.push(carry.warning)
  }
  return { items, notCarried, warnings }
}

/** Returns the parts of a section that are not carried. */
export function besideRecords(kinds: readonly RecordKind[], name: string, value: JsonValue): JsonValue {
  const carry = kindOfSection(kinds, name)?.fromHub?.carry
  return carry && isJsonObject(value) ? carry.rest(value) : value
}

/** The kind whose records a section holds. */
export function kindOfSection(kinds: readonly RecordKind[], name: string): RecordKind | undefined {
  return kinds.find(({ file }) => file?.keys.includes(name))
}
