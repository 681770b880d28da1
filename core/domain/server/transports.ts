import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { TransportContribution } from '../../contract/points.ts'
import { OpenPrograms } from './programs.ts'
import { OpenServerFields } from './server-fields.ts'
import { ANSWER_FIELDS, COMMON_FIELDS } from './server-table.ts'
import { schemaFault } from './transport-schema.ts'

/** A transport whose plugin runs. */
export interface Transport {
  readonly name: string
  readonly label: string
  /** JSON Schema of its own fields; of a process also of those that name stored programs. */
  readonly schema: JsonObject
  /** The same for people: without fields of plugins that do not run, which servers keep from before. */
  readonly shown: JsonObject
  /** The names of its own fields, in the order of the schema. */
  readonly fields: readonly string[]
  /** `process`: each connection starts a program; `remote`: it needs no process; `answers`: there is no MCP server behind it. */
  readonly kind: 'process' | 'remote' | 'answers'
  /** True when its servers may use either era. */
  readonly modern: boolean
}

/** The transports of the plugins that run now. */
export interface Transports {
  of(name: string): Transport | undefined
  all(): readonly Transport[]
  readonly programs: OpenPrograms
  readonly serverFields: OpenServerFields
}

/** The plugin host adds transports as plugins contribute them; all code that needs a server's own fields reads them here. */
export class OpenTransports implements Transports {
  readonly programs: OpenPrograms
  readonly serverFields: OpenServerFields
  readonly #added = new Map<string, Omit<Transport, 'fields' | 'shown'>>()
  readonly #byName = new Map<string, Transport>()
  readonly #listeners: (() => void)[] = []

  constructor(programs = new OpenPrograms(), serverFields = new OpenServerFields()) {
    this.programs = programs
    this.serverFields = serverFields
    programs.onChanged(() => {
      for (const transport of this.#added.values()) if (transport.kind === 'process') this.#open(transport)
    })
    serverFields.onChanged(opened => {
      for (const transport of this.#added.values()) this.#open(transport)
      if (opened) for (const listener of this.#listeners) listener()
    })
  }

  of(name: string): Transport | undefined {
    return this.#byName.get(name)
  }

  all(): readonly Transport[] {
    return [...this.#byName.values()]
  }

  /** Throws an Error with the reason if the contribution is invalid. */
  add(contribution: TransportContribution): void {
    const { transport: name, label, configSchema: schema, kind, modern = false, child } = contribution
    const refuse = (why: string): never => {
      throw new Error(`transport "${name}" ${why}`)
    }
    if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) refuse('needs a name of lower-case letters, digits and dashes')
    if (this.#byName.has(name)) refuse('is offered by another plugin already')
    const fault = schemaFault(schema)
    if (fault) refuse(`has a configSchema that cannot be used: ${fault}`)
    const fields = Object.keys(propertiesOf(schema))
    const taken = fields.find(field => COMMON_FIELDS.includes(field) || ANSWER_FIELDS.includes(field))
    if (taken !== undefined) refuse(`has a field "${taken}", which every server has`)
    const added = {
      ...{ name, label, schema, modern },
      kind: kind === 'answers' ? ('answers' as const) : child ? ('process' as const) : ('remote' as const),
    }
    this.#added.set(name, added)
    this.#open(added)
    for (const listener of this.#listeners) listener()
  }

  remove(name: string): void {
    this.#byName.delete(name)
    this.#added.delete(name)
  }

  #open(added: Omit<Transport, 'fields' | 'shown'>): void {
    const { schema: own, kind, name } = added
    const [schema, shown] = (['all', 'running'] as const).map(which => {
      const programs = kind === 'process' ? this.programs.schemas(which) : {}
      const more = { ...programs, ...this.serverFields.schemas(name, which) }
      return Object.keys(more).length === 0 ? own : { ...own, properties: { ...propertiesOf(own), ...more } }
    }) as [JsonObject, JsonObject]
    this.#byName.set(name, { ...added, schema, shown, fields: Object.keys(propertiesOf(schema)) })
  }

  /** Calls back whenever one was added, or fields of servers were opened. */
  onAdded(listener: () => void): void {
    this.#listeners.push(listener)
  }
}

/** The schema of each property of an object's schema. */
export function propertiesOf({ properties }: JsonObject): Readonly<Record<string, JsonObject>> {
  return isJsonObject(properties) ? (properties as Readonly<Record<string, JsonObject>>) : {}
}

/** The names of all transports' own fields, each once. */
export function transportFields(transports: Transports): readonly string[] {
  return [...new Set(transports.all().flatMap(({ fields }) => fields))]
}

/** The schema of a field of a flat body: from its own transport, or else from any transport that has the field. */
export function fieldSchema(transports: Transports, transport: unknown, field: string): JsonObject | undefined {
  const own = typeof transport === 'string' ? transports.of(transport) : undefined
  for (const { schema } of [...(own ? [own] : []), ...transports.all()]) {
    const properties = propertiesOf(schema)
    if (Object.hasOwn(properties, field)) return properties[field]
  }
  return undefined
}
