import { z } from 'zod'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { ANSWERED_FIELDS } from '../../domain/json/fields.ts'
import { pointerPath } from '../../domain/json/json-pointer.ts'
import { NAME_CHARACTERS } from '../../domain/names.ts'
import type { OwnedRecord, PluginRecordKinds, RecordKindDefinition } from '../../features/services/owned-records.ts'
import type { Route } from '../../http/route.ts'
import { namingChanger } from '../../http/routes/changer.ts'
import { answeredFields, ownedRecordRoutes } from '../../http/routes/owned-records.ts'
import { anyObject, shownFields, validatedByRegistry } from '../../http/routes/schemas.ts'
import type { Registry } from '../../registry/api.ts'
import type { OpenKinds } from '../../registry/owned/open-kinds.ts'
import { SHOWN, schemaRecords } from '../../registry/owned/schema-records.ts'
import { pluginSealing, type RecordKind } from '../../registry/record-kinds.ts'
import type { Sealer } from '../../secrets/seal.ts'
import type { Store } from '../../store/open.ts'
import { attributed, checkedFields, writtenSchema } from './routes.ts'

/** The parts of the hub that records of plugins use. */
export interface RecordParts {
  readonly store: Store
  readonly sealer: Sealer
  readonly kinds: OpenKinds
  readonly registry: { readonly audit: Pick<Registry['audit'], 'record' | 'changer'> }
}

/** The parts of the plugin host that the kinds of one plugin use. */
export interface PluginRecordParts {
  readonly plugin: string
  readonly log: Pick<PluginLogger, 'error'>
  hub(): RecordParts
  addRoutes(routes: readonly Route[]): void
  /** Runs when the plugin stops. */
  undo(remove: () => void): void
  /** Throws Error for a plugin that has ended. */
  requireOpen(): void
}

type Definition = RecordKindDefinition<JsonObject>

const KIND = /^[a-z][a-z0-9-]{0,31}$/
const RESERVED: ReadonlySet<string> = new Set(['name', 'enabled', SHOWN, ...ANSWERED_FIELDS])

/** The kinds of records of one plugin. */
export function pluginRecordKinds({
  plugin,
  log,
  hub,
  addRoutes,
  undo,
  requireOpen,
}: PluginRecordParts): PluginRecordKinds {
  return {
    define<Fields>(given: RecordKindDefinition<Fields>) {
      requireOpen()
      const definition = given as unknown as Definition
      const where = `records ${String(definition.kind).slice(0, 64)}`
      const wrong = problemOf(definition)
      if (wrong !== undefined) throw new Error(`${where}: ${wrong}`)
      const schema = objectSchema(definition, where)
      const { store, sealer, kinds, registry } = hub()
      const kind = kindOf(plugin, definition)
      const own = hooks(plugin, definition)
      const records = schemaRecords(store, sealer, {
        kind,
        secrets: definition.secrets ?? [],
        check: (fields, { id, name, role }) => {
          const checked = checkedFields(definition.schema, fields, schema)
          return own(() => definition.prepare?.(checked, { id, name, role }) ?? checked)
        },
        ...(definition.show ? { show: record => shownBy(definition, record, log) } : {}),
        ...(definition.removing ? { removing: async record => own(() => definition.removing?.(record)) } : {}),
        changed: () => definition.changed?.(),
      })
      const remove = kinds.add({ kind, moving: records.moving, mirror: records.mirror })
      undo(remove)
      const { audit } = registry
      const routes = ownedRecordRoutes({
        ...{ kind, tag: 'plugins', audited: kind.kind, path: `/api/plugins/${plugin}/${definition.kind}` },
        ...{ records: records.requests, audit, ...shapesOf(definition, schema) },
      })
      addRoutes(namingChanger(routes, audit))
      return { list: userId => records.active(userId) as unknown as Promise<readonly OwnedRecord<Fields>[]> }
    },
  }
}

function kindOf(plugin: string, { kind, title, most, acts = false }: Definition): RecordKind {
  const name = `${plugin}.${kind}`
  return {
    ...{ kind: name, label: title, missing: 'record_not_found', quota: 'quota_records', most, acts },
    fileSection: `records.${name}`,
    sealedAs: pluginSealing(name),
    moved: { section: name, offUnlessSeen: acts, offOnRequest: acts },
  }
}

function problemOf({ kind, title, most, secrets = [], example }: Definition): string | undefined {
  if (!KIND.test(kind)) return 'the kind is no word of lower-case letters, digits and "-"'
  if (typeof title !== 'string' || title === '') return 'it has no title'
  if (!Number.isSafeInteger(most) || most < 1) return '"most" is no whole number from 1 on'
  if (!isJsonObject(example)) return 'its example is no object'
  const wrong = secrets.find(pointer => !pointer.startsWith('/') || !pointerPath(pointer))
  return wrong === undefined ? undefined : `its secret ${JSON.stringify(wrong)} is no JSON Pointer`
}

interface ObjectSchema {
  readonly properties: Readonly<Record<string, JsonObject>>
  readonly required: readonly string[]
}

/** The schema of the fields as JSON Schema. Throws Error for one of anything but an object with fields of its own. */
function objectSchema({ schema, example }: Definition, where: string): JsonObject & ObjectSchema {
  const written = writtenSchema(schema, `${where}: its schema`)
  const { type, properties, required = [] } = written
  if (type !== 'object' || !isJsonObject(properties)) throw new Error(`${where}: its schema is none of an object`)
  const taken = Object.keys(properties).find(name => RESERVED.has(name))
  if (taken !== undefined) throw new Error(`${where}: every record has a "${taken}", which the schema cannot have too`)
  const full = { ...written, properties, required } as unknown as JsonObject & ObjectSchema
  try {
    checkedFields(schema, example, full)
  } catch (cause) {
    throw new Error(`${where}: its example does not fit its schema`, { cause })
  }
  return full
}

function shapesOf({ acts = false, show, example, title }: Definition, { properties, required }: ObjectSchema) {
  const name = { type: 'string', minLength: 1, maxLength: NAME_CHARACTERS, description: `Unique among your ${title}s` }
  const enabled = { type: 'boolean', default: true, description: 'False: it does nothing' }
  const members = { name, ...(acts ? { enabled } : {}), ...properties } as Readonly<Record<string, JsonObject>>
  const written = { name: 'one', ...(acts ? { enabled: true } : {}), ...example }
  const answered = {
    ...{ id: 'f4b1…', ref: 'ada~one', owner: 'ada', ...written, origin: 'api', revision: 1 },
    ...{ createdAt: '2026-11-24T09:30:00.000Z', updatedAt: '2026-11-24T09:30:00.000Z' },
  }
  return {
    body: validatedByRegistry({ type: 'object', properties: members, required: ['name', ...required] }, written),
    patch: validatedByRegistry({ type: 'object', properties: members }, example),
    schema: z.object({
      ...shownFields(members, ['name', ...(acts ? ['enabled'] : []), ...required]),
      ...answeredFields,
      ...(show ? { [SHOWN]: anyObject } : {}),
    }),
    example: answered,
  }
}

/** The fields that the plugin shows beside a record. Its fault costs these alone, and is logged. */
function shownBy({ kind, show }: Definition, record: OwnedRecord<JsonObject>, log: PluginRecordParts['log']) {
  try {
    return show?.(record) ?? {}
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    log.error('A record could not be shown whole', { kind, record: record.id, error: why })
    return {}
  }
}

/** Runs a function of the plugin. Throws what it refuses with, and `internal` for its faults. */
function hooks(plugin: string, { kind }: Definition) {
  return <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      if (error instanceof HubError) throw error
      const why = error instanceof Error ? error.message : String(error)
      throw attributed(new Error(`Its records "${kind}" failed: ${why}`, { cause: error }), plugin)
    }
  }
}
