import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'

/** One alert rule, channel, dashboard or assistant endpoint of the file. */
export interface FileAlert {
  /** Place of the entry in the file: a JSON pointer. */
  readonly pointer: string
  /** Body as for `POST /api/monitoring/rules`, `…/channels` or `…/dashboards`. */
  readonly body: JsonObject
}

/** Entries of the sections `alerting` and `notifications`. */
export interface FileAlerts {
  readonly rules: readonly FileAlert[]
  readonly channels: readonly FileAlert[]
}

/**
 * Reads both sections, at the top level and in `systemConfig`; of two entries with one name that of the top level counts.
 * Entries are validated later, by the kinds of channels that run.
 */
export function readAlerts(document: JsonObject, warnings: string[]): FileAlerts {
  const inner = isJsonObject(document.systemConfig) ? document.systemConfig : {}
  const places = [
    { section: document, at: '' },
    { section: inner, at: '/systemConfig' },
  ]
  return {
    rules: byName(places.flatMap(({ section, at }) => rulesOf(section.alerting, `${at}/alerting`, warnings))),
    channels: byName(
      places.flatMap(({ section, at }) => channelsOf(section.notifications, `${at}/notifications`, warnings)),
    ),
  }
}

/** Reads `dashboards`, a list, and `dashboard`, one or a list, at the top level and in `systemConfig`. */
export function readDashboards(document: JsonObject, warnings: string[]): readonly FileAlert[] {
  const inner = isJsonObject(document.systemConfig) ? document.systemConfig : {}
  const places = [
    { section: document, at: '' },
    { section: inner, at: '/systemConfig' },
  ]
  return byName(
    places.flatMap(({ section, at }) =>
      ['dashboards', 'dashboard'].flatMap(key => dashboardsOf(section[key], `${at}/${key}`, warnings)),
    ),
  )
}

function dashboardsOf(section: JsonValue | undefined, at: string, warnings: string[]): FileAlert[] {
  if (section === undefined) return []
  if (isJsonObject(section)) return [{ pointer: at, body: section }]
  if (Array.isArray(section)) return listed(section, at, 'dashboard')
  warnings.push(`${at} is neither a dashboard nor a list of dashboards; it is not used`)
  return []
}

/** Returns the entries of a list; one that is not an object is rejected later, with its place. */
export function listed(entries: readonly JsonValue[], at: string, what: string): FileAlert[] {
  return entries.map((entry, index) => ({
    pointer: `${at}/${index}`,
    body: isJsonObject(entry) ? entry : { name: `${what} ${index + 1}`, [what]: entry },
  }))
}

function rulesOf(section: JsonValue | undefined, at: string, warnings: string[]): FileAlert[] {
  if (section === undefined) return []
  const rules = isJsonObject(section) ? (section.rules ?? []) : undefined
  if (!Array.isArray(rules)) {
    warnings.push(`${at} has no list "rules"; it is not used`)
    return []
  }
  return listed(rules, `${at}/rules`, 'rule')
}

function channelsOf(section: JsonValue | undefined, at: string, warnings: string[]): FileAlert[] {
  if (section === undefined) return []
  if (!isJsonObject(section)) {
    warnings.push(`${at} is not an object; it is not used`)
    return []
  }
  return Object.entries(section).map(([name, entry]) => {
    const { type = name, config = {}, ...fields } = isJsonObject(entry) ? entry : { entry }
    return { pointer: `${at}/${pointerToken(name)}`, body: { ...fields, name, type, config } }
  })
}

/** The first of each name; one without a name stays, to be refused. */
function byName(entries: readonly FileAlert[]): readonly FileAlert[] {
  const seen = new Set<JsonValue>()
  return entries.filter(({ body: { name } }) => {
    const isLater = name !== undefined && seen.has(name)
    if (name !== undefined) seen.add(name)
    return !isLater
  })
}
