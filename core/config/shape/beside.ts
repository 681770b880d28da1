import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** Members of an entry that are no part of the body of its server, group or user. */
export interface BesideBody {
  /** As for `PUT /api/servers/{ref}/shares`. */
  readonly shares?: JsonValue
  /** Settings of plugins, by name. */
  readonly attached?: JsonObject
}

/** The settings of bundled plugins beside things: a file is read before the plugins run that have them. */
const ATTACHED = ['quota', 'approvals', 'guards']

/** Names of all such members. */
export const BESIDE_BODY: readonly string[] = ['shares', ...ATTACHED]

/** The members of an entry that stand beside its body. */
export function besideBody(entry: JsonValue): BesideBody {
  if (!isJsonObject(entry)) return {}
  const found = ATTACHED.filter(name => entry[name] !== undefined).map(name => [name, entry[name] ?? null])
  return {
    ...(entry.shares === undefined ? {} : { shares: entry.shares }),
    ...(found.length === 0 ? {} : { attached: Object.fromEntries(found) }),
  }
}
