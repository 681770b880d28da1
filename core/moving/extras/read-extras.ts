import type { EntryExtras } from '../../config/shape/extras.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'
import { SHARE_ROLES } from '../../domain/ownership.ts'
import type { AttachedKind } from '../../features/attached.ts'
import type { OpenAttached } from '../../registry/attached.ts'
import type { NewShare } from '../../registry/shares-api.ts'
import type { ImportItem, MissingValue } from '../import-items.ts'
import type { Of } from '../import-scope.ts'

/** Sections of an export by the kind of thing. */
export const SECTIONS = { server: 'servers', group: 'groups', user: 'users', key: 'keys' } as const

interface Parts {
  readonly formerOwner: string
  readonly attached: Pick<OpenAttached, 'names'>
  /** Inserts secrets, and adds those that are not known to `missing`. */
  filled(value: JsonValue, missing: MissingValue[]): JsonValue
}

/** Teams, shares, and settings of plugins for things, of an export. */
export function extraItems(document: JsonObject, parts: Parts): ImportItem[] {
  const { formerOwner } = parts
  const from = formerOwner === '' ? {} : { formerOwner }
  const found: ImportItem[] = entriesOf(document.teams).flatMap(([name, team]) => teamItem(name, team))
  for (const of of ['server', 'group'] as const)
    for (const [name, list] of entriesOf(sectionOf(document.shares, of)))
      found.push({ ...sharesItem(of, name, list, `#/shares/${SECTIONS[of]}/${pointerToken(name)}`), ...from })
  for (const of of Object.keys(SECTIONS) as AttachedKind[]) {
    for (const attached of parts.attached.names(of)) {
      for (const [name, written] of entriesOf(sectionOf(document[attached], of))) {
        const pointer = `#/${attached}/${SECTIONS[of]}/${pointerToken(name)}`
        const missing: MissingValue[] = []
        const value = parts.filled(written, missing)
        found.push({ ...attachedItem({ attached, of, name, pointer, value }), ...from, missing })
      }
    }
  }
  return found
}

function sectionOf(value: JsonValue | undefined, of: AttachedKind): JsonValue | undefined {
  return isJsonObject(value) ? value[SECTIONS[of]] : undefined
}

function entriesOf(map: JsonValue | undefined): [string, JsonValue][] {
  return Object.entries(isJsonObject(map) ? map : {})
}

function teamItem(name: string, team: JsonValue): ImportItem[] {
  if (!isJsonObject(team)) return []
  const { members, source } = team
  const names = Array.isArray(members) ? members.filter(member => typeof member === 'string') : []
  const { provider, group } = isJsonObject(source) ? source : {}
  const from = typeof provider === 'string' && typeof group === 'string' ? { source: { provider, group } } : {}
  return [{ kind: 'team', pointer: `#/teams/${pointerToken(name)}`, name, members: names, ...from }]
}

function sharesItem(of: 'server' | 'group', name: string, list: JsonValue, pointer: string): Of<'shares'> {
  const warnings: string[] = []
  const shares = (Array.isArray(list) ? list : []).flatMap((share, at): NewShare[] => {
    const { subject, role } = isJsonObject(share) ? share : {}
    const known = SHARE_ROLES.find(one => one === role)
    if (typeof subject === 'string' && known !== undefined) return [{ subject, role: known }]
    warnings.push(`Number ${at + 1} is no share: it needs "subject" and one of the roles ${SHARE_ROLES.join(', ')}`)
    return []
  })
  if (!Array.isArray(list)) warnings.push('It is no list of shares')
  return { kind: 'shares', pointer, of, name, shares, ...(warnings.length === 0 ? {} : { warnings }) }
}

function attachedItem({
  pointer,
  ...given
}: {
  readonly attached: string
  readonly of: AttachedKind
  readonly name: string
  readonly pointer: string
  readonly value: JsonValue
}): Of<'attached'> {
  return { kind: 'attached', pointer, ...given, place: inner => inner.replace(/^#/, () => pointer) }
}

/** Shares and settings of plugins for one entry of a hub's settings file. */
export function extrasOfEntry(
  { shares, attached = {} }: EntryExtras,
  {
    of,
    name,
    owner,
    pointer,
  }: {
    readonly of: 'server' | 'group' | 'user'
    readonly name: string
    readonly owner?: string
    readonly pointer: string
  },
): ImportItem[] {
  const whose = owner === undefined || of === 'user' ? {} : { owner }
  const found: ImportItem[] = []
  if (shares !== undefined && of !== 'user')
    found.push({ ...sharesItem(of, name, shares, `${pointer}/shares`), ...whose })
  for (const [member, value] of Object.entries(attached))
    found.push({ ...attachedItem({ attached: member, of, name, pointer: `${pointer}/${member}`, value }), ...whose })
  return found
}
