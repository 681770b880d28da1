import type { FieldError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerFields, ServerFieldsInUse } from '../../features/server-fields.ts'
import { schemaFault } from './transport-schema.ts'

interface Declared extends ServerFields {
  readonly plugin: string
}

/** A field that has a value while its plugin does not run. */
export interface ClosedField {
  readonly field: string
  readonly plugin: string
}

/** Fields of servers besides those of their transports: of all plugins that come with the hub, and which are open. */
export class OpenServerFields {
  readonly #declared = new Map<string, Declared>()
  readonly #open = new Map<string, ServerFieldsInUse>()
  readonly #listeners: ((opened: boolean) => void)[] = []

  /** A plugin's fields, whether it runs or not. Throws Error for a schema that cannot be used. */
  declare(plugin: string, all: Readonly<Record<string, ServerFields>>): void {
    for (const [id, given] of Object.entries(all)) {
      for (const [field, schema] of Object.entries(given.fields)) {
        const fault = schemaFault(schema)
        if (fault) throw new Error(`serverFields "${id}": the schema of "${field}" cannot be used: ${fault}`)
      }
      this.#declared.set(id, { plugin, ...given })
    }
    this.#changed()
  }

  /** Throws Error for fields that the plugin has not declared. */
  add(plugin: string, id: string, inUse: ServerFieldsInUse): void {
    if (this.#declared.get(id)?.plugin !== plugin)
      throw new Error(`serverFields "${id}": the plugin’s definition has no such "serverFields"`)
    this.#open.set(id, inUse)
    this.#changed(true)
  }

  remove(id: string): void {
    this.#open.delete(id)
    this.#changed()
  }

  /** Calls back whenever fields have been declared, closed, or `opened`. */
  onChanged(listener: (opened: boolean) => void): void {
    this.#listeners.push(listener)
  }

  /** The schemas of a transport's further fields: of all, or of those that are open. */
  schemas(transport: string, which: 'all' | 'running'): Readonly<Record<string, JsonObject>> {
    const found = this.#of(transport).filter(([id]) => which === 'all' || this.#open.has(id))
    return Object.assign({}, ...found.map(([, { fields }]) => fields))
  }

  /** Faults in the open fields of a configuration beyond their schemas. */
  check(transport: string, config: JsonObject): readonly FieldError[] {
    return this.#of(transport).flatMap(([id]) => this.#open.get(id)?.check?.(config) ?? [])
  }

  /** The fields with a value whose plugins do not run. */
  closed(transport: string, config: JsonObject): readonly ClosedField[] {
    const open = this.schemas(transport, 'running')
    return this.#of(transport).flatMap(([, { plugin, fields }]) =>
      Object.keys(fields).flatMap(field =>
        config[field] === undefined || Object.hasOwn(open, field) ? [] : [{ field, plugin }],
      ),
    )
  }

  #of(transport: string): readonly [string, Declared][] {
    return [...this.#declared].filter(([, { transports }]) => transports.includes(transport))
  }

  #changed(opened = false): void {
    for (const listener of this.#listeners) listener(opened)
  }
}
