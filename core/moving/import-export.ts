import { HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { validationError } from '../domain/validation-error.ts'
import type { ServerTemplates } from '../features/templates.ts'
import type { OpenAttached } from '../registry/attached.ts'
import { isPluginKind, type RecordKind } from '../registry/record-kinds.ts'
import { EXPORT_SECRETS, EXPORT_SETTINGS, EXPORT_VERSION, secretPlace } from './export-form.ts'
import { extraItems } from './extras/read-extras.ts'
import type { ImportContent, ImportItem, MissingValue } from './import-items.ts'
import { exportHash } from './json-pieces.ts'
import { openWithPassphrase, type PassphraseSealed } from './passphrase.ts'

/** True when a document is a result of `POST /api/export`, of whatever hub. */
export function isExport(document: JsonValue): document is JsonObject {
  return isJsonObject(document) && document.format === 'patchbay-export'
}

/** The things of this hub, of the kinds that exports have. */
export interface ExportKinds {
  readonly kinds: readonly RecordKind[]
  readonly templates: ServerTemplates | undefined
  readonly attached: Pick<OpenAttached, 'names'>
}

/**
 * Reads an export. Secrets come from `answers`, by their pointers, else from the file by its passphrase. Throws
 * `export_newer`, and `validation_failed` without the passphrase or with another one.
 */
export async function readExport(
  document: JsonObject,
  answers: Readonly<Record<string, string>>,
  passphrase: string | undefined,
  { kinds, templates, attached }: ExportKinds,
): Promise<ImportContent> {
  const { version } = document
  if (typeof version !== 'number' || version > EXPORT_VERSION) {
    throw new HubError(
      'export_newer',
      `The export has version ${String(version)}, and ${EXPORT_VERSION} is the last known here`,
    )
  }
  const secrets = { ...(await openSecrets(document.secrets, passphrase)), ...answers }
  const { sha256, ...content } = document
  const formerOwner = typeof document.owner === 'string' ? document.owner : ''
  const isWhole = (await exportHash(content)) === sha256
  return {
    source: 'patchbay',
    items: [
      ...entriesOf(document.servers).map(([name, body]) => serverItem(name, body, { secrets, formerOwner, templates })),
      ...entriesOf(document.groups).map(([name, body]) => groupItem(name, body)),
      ...settingItems(document.settings),
      ...kinds.flatMap(({ kind: record, moved: { section } }) =>
        entriesOf(document[section]).map(([name, body]) =>
          ownedItem({ section, record, name, formerOwner }, body, secrets),
        ),
      ),
      ...entriesOf(document.hostedKeys).flatMap(([name, value]) => keyItem(name, value, secrets)),
      ...extraItems(document, { formerOwner, attached, filled: (value, missing) => filled(value, secrets, missing) }),
    ],
    notCarried: ofOtherKinds(content, kinds),
    warnings: isWhole ? [] : ['The file was changed since it was exported'],
  }
}

/** Sections of kinds of records that no plugin has here now. */
function ofOtherKinds(document: JsonObject, kinds: readonly RecordKind[]): ImportContent['notCarried'] {
  const known = new Set(kinds.map(({ moved: { section } }) => section))
  const others = Object.keys(document).filter(section => isPluginKind(section) && !known.has(section))
  return others.map(section => ({
    pointer: `#/${pointerToken(section)}`,
    what: `records of the kind ${JSON.stringify(section.slice(0, 98))}`,
    instead: `Start the plugin ${JSON.stringify(section.split('.')[0]?.slice(0, 64))}, and import once more.`,
  }))
}

type Secrets = Readonly<Record<string, string>>

async function openSecrets(sealed: JsonValue | undefined, passphrase: string | undefined): Promise<Secrets> {
  if (!isJsonObject(sealed)) return {}
  const refused = (code: 'required' | 'import_invalid', detail: string) =>
    validationError([{ pointer: '#/passphrase', code, detail }])
  if (passphrase === undefined) throw refused('required', 'The secrets of the export are sealed: send its "passphrase"')
  const text = await openWithPassphrase(sealed as unknown as PassphraseSealed, passphrase, EXPORT_SECRETS)
  if (text === undefined) throw refused('import_invalid', 'This is not the passphrase of the export')
  return JSON.parse(text) as Secrets
}

function entriesOf(map: JsonValue | undefined): [string, JsonValue][] {
  return Object.entries(isJsonObject(map) ? map : {})
}

interface ExportParts {
  readonly secrets: Secrets
  readonly formerOwner: string
  readonly templates: ServerTemplates | undefined
}

function serverItem(name: string, entry: JsonValue, parts: ExportParts): ImportItem {
  const { secrets, formerOwner, templates } = parts
  const pointer = `#/servers/${pointerToken(name)}`
  if (!isJsonObject(entry)) {
    return { kind: 'server', pointer, name, body: { name }, problem: 'The entry is not an object' }
  }
  const missing: MissingValue[] = []
  const { template: origin, ...fields } = entry
  const body = filled(fields, secrets, missing) as JsonObject
  const template = templates?.check(origin)
  const place = (inner: string) => inner.replace(/^#/, pointer)
  return {
    kind: 'server',
    pointer,
    name,
    body: { ...body, name },
    place,
    missing,
    references: 'none',
    formerOwner,
    ...(template ? { template } : {}),
  }
}

/** Returns the value with the secrets inserted; unknown ones are empty, and asked for. */
function filled(value: JsonValue, secrets: Secrets, missing: MissingValue[]): JsonValue {
  if (typeof value === 'string') {
    const at = secretPlace(value)
    if (at === undefined) return value
    if (!Object.hasOwn(secrets, at)) missing.push({ name: at, secret: true })
    return Object.hasOwn(secrets, at) ? (secrets[at] ?? '') : ''
  }
  if (Array.isArray(value)) return value.map(item => filled(item, secrets, missing))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, secrets, missing)]))
}

function groupItem(name: string, entry: JsonValue): ImportItem {
  const body = isJsonObject(entry) ? entry : {}
  return { kind: 'group', pointer: `#/groups/${pointerToken(name)}`, name, body, formerPaths: [] }
}

function ownedItem(
  { section, record, name, formerOwner }: Readonly<Record<'section' | 'record' | 'name' | 'formerOwner', string>>,
  entry: JsonValue,
  secrets: Secrets,
): ImportItem {
  const pointer = `#/${section}/${pointerToken(name)}`
  const missing: MissingValue[] = []
  const body = filled(isJsonObject(entry) ? entry : {}, secrets, missing) as JsonObject
  const place = (inner: string) => inner.replace(/^#/, pointer)
  return { kind: 'record', record, pointer, name, body, missing, formerOwner, place }
}

function settingItems(settings: JsonValue | undefined): ImportItem[] {
  return EXPORT_SETTINGS.flatMap((name): ImportItem[] => {
    const value = isJsonObject(settings) ? settings[name] : undefined
    return typeof value === 'string' ? [{ kind: 'setting', pointer: `#/settings/${name}`, name, value }] : []
  })
}

/** One whose value is not known is left to its user. */
function keyItem(name: string, value: JsonValue, secrets: Secrets): ImportItem[] {
  const at = typeof value === 'string' ? secretPlace(value) : undefined
  const known = at === undefined ? undefined : secrets[at]
  const pointer = `#/hostedKeys/${pointerToken(name)}`
  return known === undefined ? [] : [{ kind: 'secret', pointer, name, value: known }]
}
